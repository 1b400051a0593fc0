//! Which nodes go.
//!
//! Candidates are weighed one after the other, the emptiest first, the last by name first. All that a candidate would
//! displace is placed elsewhere on the same trial that holds what was granted, so that removals are feasible together and
//! never take what a grant will need.

use std::collections::{BTreeMap, BTreeSet};

use crate::grant::{Bins, Room, Rooms};
use crate::kube::Name;
use crate::memory::{GangHold, LaunchKind, Memory};
use crate::observation::{ObjectKind, Source};
use crate::plan::{Candidate, Hold as PlanHold, HoldReason, Limit, PodBlock, Subject, UnsafeToRemove};
use crate::policy::{Direction, RemovalBudget, StopMode, VmPoolSpec};
use crate::snapshot::{BaseState, Class, NodeEntry, PoolEntry, Snapshot};
use crate::units::{Money, Share, Span, Time};

use super::census::is_young;
use super::holds::{Hold, holds};
use super::leaving::{leave, still_to_leave};
use super::protection::{Unheeded, capped};

/// No more than this share of a pool or cluster is removed within a window, whatever a document says, unless it lifts the
/// ceiling by name.
const CEILING: Share = Share::percent(34);
/// Labels of nodes that are never touched.
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
/// The annotation of a node that is never touched.
const DO_NOT_DISRUPT: [&str; 3] = [
    "ballast.dev/do-not-disrupt",
    "karpenter.sh/do-not-disrupt",
    "cluster-autoscaler.kubernetes.io/scale-down-disabled",
];

/// What goes, and why the others stay.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    /// Slots of the nodes that go.
    pub nodes: Vec<Going>,
    /// Every candidate that was weighed, by name.
    pub candidates: Vec<Candidate>,
    /// Budgets and cool-downs that kept candidates, each once.
    pub holds: Vec<PlanHold>,
    /// When the next candidate may go, if nothing changes.
    pub next_at: Option<Time>,
    /// Since when nodes have been unneeded.
    pub idle_since: BTreeMap<Name, Time>,
}

/// A node that goes.
#[derive(Debug)]
pub(crate) struct Going {
    pub slot: u32,
    pub idle_since: Time,
    /// Pods that are displaced, by number.
    pub displaces: Vec<u32>,
    /// Pods that run to their end on it first, by number.
    pub waits_for: Vec<u32>,
    pub why: Why,
}

/// Why a node goes.
#[derive(Debug)]
pub(crate) enum Why {
    /// Nobody has needed it for long enough.
    Unneeded,
    /// The pool is above its maximum.
    AboveMaximum,
    /// It was launched for a gang that could not be completed.
    GangGivenUp { gang: Name, since: Time },
}

/// What removals are weighed with: the trial that holds what was granted, and what is counted down meanwhile.
pub(crate) struct Weighing<'a, 'b> {
    snapshot: &'a Snapshot,
    memory: &'a Memory,
    now: Time,
    bins: &'a mut Bins<'b>,
    rooms: &'a mut Rooms,
    /// Pools in which nothing is removed.
    held_pools: &'a [bool],
    /// Nodes that are kept for gangs.
    holds: BTreeMap<&'a Name, Hold<'a>>,
    /// Where annotations of pods are not heeded.
    unheeded: Unheeded<'a>,
    budgets: Budgets,
    paces: Vec<Pace>,
    removals: Removals,
    /// Pools whose cool-down was told of, and pools or the cluster whose budget was.
    told: BTreeSet<(bool, Option<usize>)>,
}

/// How fast a pool comes and when it last grew.
struct Pace {
    boot: Span,
    last_added: Option<Time>,
}

/// What is counted down while nodes are chosen.
struct Budgets {
    pools: Vec<i64>,
    cluster: i64,
    /// Disruptions that each budget still allows.
    disruptions: Vec<i64>,
    /// All claims and volumes there are have been told of.
    volumes_known: bool,
}

/// Nodes that little would have to leave, the emptiest first; among equals those whose pods cost least to delete, then the
/// last by name.
fn candidates(snapshot: &Snapshot) -> Vec<u32> {
    let mut slots: Vec<(u32, i64, u32, u32)> = snapshot
        .lightly_used
        .iter()
        .map(|&slot| {
            let node = snapshot.node(slot);
            let costs =
                node.pods.iter().map(|&pod| snapshot.class(snapshot.pod(pod).class).traits.deletion_cost);
            let cost: i64 = costs.map(i64::from).sum();
            (node.utilisation_milli(), cost, u32::MAX - snapshot.rank(slot), slot)
        })
        .collect();
    slots.sort_unstable();
    slots.into_iter().map(|(_, _, _, slot)| slot).collect()
}

impl<'a, 'b> Weighing<'a, 'b> {
    /// Before the first candidate, after everything that is granted is placed.
    pub(crate) fn new(
        bins: &'a mut Bins<'b>,
        rooms: &'a mut Rooms,
        memory: &'a Memory,
        now: Time,
        gangs: &'a BTreeMap<Name, GangHold>,
        held_pools: &'a [bool],
    ) -> Self
    where
        'b: 'a,
    {
        let snapshot = bins.snapshot;
        let budgets = Budgets::new(snapshot, memory, rooms, now);
        let holds = holds(gangs);
        let paces = snapshot.pools.iter().map(|pool| Pace::new(pool, memory)).collect();
        let removals = Removals { holds: capped(snapshot), ..Removals::default() };
        let (unheeded, told) = (Unheeded::new(snapshot, &memory.ledger), BTreeSet::new());
        Self {
            snapshot,
            memory,
            now,
            bins,
            rooms,
            held_pools,
            holds,
            unheeded,
            budgets,
            paces,
            removals,
            told,
        }
    }

    /// Weighs every candidate.
    pub(crate) fn run(mut self) -> Removals {
        let mut weighed = Vec::new();
        for slot in candidates(self.snapshot) {
            let node = self.snapshot.node(slot);
            let Some(pool) = node.pool else { continue };
            let verdict = self.weigh(slot, node, pool as usize).err();
            if let Some(at) = verdict.as_ref().and_then(looks_again) {
                self.removals.next_at = Some(self.removals.next_at.map_or(at, |next| next.min(at)));
            }
            verdict.iter().for_each(|verdict| self.tell(verdict, pool as usize));
            let candidate = Candidate { node: node.name.clone(), unsafe_to_remove: verdict };
            weighed.push((self.snapshot.rank(slot), candidate));
        }
        // Ranks are in the order of names.
        weighed.sort_unstable_by_key(|(rank, _)| *rank);
        self.removals.candidates = weighed.into_iter().map(|(_, candidate)| candidate).collect();
        self.removals
    }

    /// Tells of a budget or a cool-down that keeps a node, once.
    fn tell(&mut self, verdict: &UnsafeToRemove, pool: usize) {
        let is_cool_down = matches!(verdict, UnsafeToRemove::CoolDown { .. });
        let of = match verdict {
            UnsafeToRemove::CoolDown { .. } => Some(pool),
            UnsafeToRemove::Budget { limit: Limit::PoolRemovalBudget } => Some(pool),
            UnsafeToRemove::Budget { .. } => None,
            _ => return,
        };
        if !self.told.insert((is_cool_down, of)) {
            return;
        }
        let subject = of
            .map_or(Subject::Cluster, |pool| Subject::Pool { name: self.snapshot.pools[pool].name.clone() });
        let (reason, until) = match verdict {
            UnsafeToRemove::CoolDown { until } => (HoldReason::CoolDown, Some(*until)),
            UnsafeToRemove::Budget { limit } => {
                (HoldReason::RemovalBudget { limit: limit.clone() }, self.slides_at(of))
            }
            _ => return,
        };
        self.removals.holds.push(PlanHold { subject, reason, until });
    }

    /// When the budget of a pool, or of the cluster, allows the next removal; never where it allows none at all.
    fn slides_at(&self, pool: Option<usize>) -> Option<Time> {
        let rules = &self.snapshot.policy.removal;
        let entry = pool.map(|pool| &self.snapshot.pools[pool]);
        let rule = match entry {
            Some(entry) => entry.spec.budget.as_ref().unwrap_or(&rules.per_pool),
            None => &rules.per_cluster,
        };
        let removed = self.memory.ledger.removed.iter().filter(|gone| gone.at > self.now - rule.window);
        let own = removed.filter(|gone| entry.is_none_or(|entry| gone.pool == entry.name));
        // What is spent by this plan is spent now.
        let first = own.map(|gone| gone.at).min().unwrap_or(self.now);
        (rule.share > Share::default()).then_some(first + rule.window)
    }

    /// Lets a node go, or says why it stays.
    fn weigh(&mut self, slot: u32, node: &NodeEntry, pool: usize) -> Result<(), UnsafeToRemove> {
        let entry = &self.snapshot.pools[pool];
        let machine = self.snapshot.machine_of(node);
        if let Some(reason) = never(self.snapshot, node, machine, entry, self.memory, self.now) {
            return Err(reason);
        }
        if self.held_pools[pool] {
            return Err(UnsafeToRemove::HealthGate);
        }
        let rank = self.snapshot.rank(slot) as usize;
        let is_nominated = self.snapshot.nominated.values().any(|nominated| *nominated == node.name);
        if is_nominated || self.bins.is_used(rank) {
            return Err(UnsafeToRemove::NeededByGrant);
        }
        let hold = self.holds.get(machine).copied();
        if let Some(hold) = hold.filter(|hold| self.now < hold.until(&entry.spec)) {
            return Err(UnsafeToRemove::HeldForGang {
                gang: hold.gang.clone(),
                until: hold.until(&entry.spec),
            });
        }
        let displaces = displaced(self.snapshot, node, &entry.spec, &self.budgets, &self.unheeded)?;
        let mark = self.bins.mark();
        let elsewhere = self.place_elsewhere(rank, &displaces);
        let going = elsewhere.and_then(|()| self.may_go(slot, node, pool, displaces, hold));
        match going {
            Ok(going) => {
                self.bins.close(rank);
                self.let_go(going, pool);
                Ok(())
            }
            Err(reason) => {
                self.bins.roll_back(mark);
                Err(reason)
            }
        }
    }

    /// Places all displaced pods on other nodes, or says which fits nowhere.
    fn place_elsewhere(&mut self, rank: usize, displaces: &[u32]) -> Result<(), UnsafeToRemove> {
        if !displaces.is_empty() {
            self.bins.close(rank);
        }
        for (need, pod) in leave(self.bins, rank, displaces) {
            let is_modelled = need.class.unmodelled.is_empty();
            if !is_modelled || self.bins.place_on_nodes(&need, need.count) < need.count {
                let pod = self.snapshot.pod(pod);
                let (pod, namespace) = (pod.name.clone(), pod.namespace.clone());
                return Err(UnsafeToRemove::NoPlaceFor { pod, namespace });
            }
        }
        Ok(())
    }

    /// A node that is not needed: only its pool's minimum, time and budgets keep it.
    fn may_go(
        &mut self,
        slot: u32,
        node: &NodeEntry,
        pool: usize,
        displaces: Vec<u32>,
        hold: Option<Hold<'_>>,
    ) -> Result<Going, UnsafeToRemove> {
        let (entry, room) = (&self.snapshot.pools[pool], &self.rooms.pools[pool]);
        let idle_since = self.memory.history.idle_since.get(&node.name).copied().unwrap_or(self.now);
        self.removals.idle_since.insert(node.name.clone(), idle_since);
        // What is on its way out already counts as gone, and what this plan launches is not there yet: a pool would else fall
        // below its minimum one plan at a time, or with the first launch that fails.
        let staying = room.size_before.saturating_sub(room.leaving);
        if staying <= room.min {
            return Err(UnsafeToRemove::AtMinimum);
        }
        let why = match hold {
            _ if staying > room.max => Why::AboveMaximum,
            Some(Hold { gang, since }) if displaces.is_empty() => {
                Why::GangGivenUp { gang: gang.clone(), since }
            }
            _ => Why::Unneeded,
        };
        // Time is there to see whether a node is needed again; of the others it is known.
        if matches!(why, Why::Unneeded) {
            let pace = &self.paces[pool];
            let lost = lost(self.snapshot, &displaces, self.now);
            let reason = not_yet(entry, node, pace, room.price, self.now, idle_since, lost);
            reason.map_or(Ok(()), Err)?;
        }
        // Nothing will be done, so that no budget is spent that others could use.
        if entry.spec.lowers(self.snapshot.policy.mode) {
            return Err(UnsafeToRemove::Mode);
        }
        self.budgets.bind(pool).map_or(Ok(()), Err)?;
        let waited_for = |pod: &u32| is_waited_for(self.snapshot, *pod, &entry.spec);
        let mut waits_for: Vec<u32> = node.pods.iter().copied().filter(waited_for).collect();
        waits_for.sort_by_key(|&pod| &self.snapshot.pod(pod).uid);
        Ok(Going { slot, idle_since, displaces, waits_for, why })
    }

    fn let_go(&mut self, going: Going, pool: usize) {
        self.budgets.spend(self.snapshot, pool, &going.displaces);
        let room = &mut self.rooms.pools[pool];
        room.size -= 1;
        room.size_before = room.size_before.saturating_sub(1);
        room.ready = room.ready.saturating_sub(1);
        self.removals.nodes.push(going);
    }
}

impl Pace {
    fn new(pool: &PoolEntry, memory: &Memory) -> Self {
        let added = memory.ledger.added.iter().filter(|added| added.pool == pool.name);
        let again = match pool.spec.stop {
            StopMode::Delete => LaunchKind::Create,
            StopMode::Deallocate => LaunchKind::Start,
        };
        Self {
            boot: memory.history.boot_p95(&pool.name, again).unwrap_or(pool.spec.times.boot),
            last_added: added.map(|added| added.at).max(),
        }
    }
}

/// When time alone may have changed a verdict.
fn looks_again(verdict: &UnsafeToRemove) -> Option<Time> {
    match verdict {
        UnsafeToRemove::TooSoon { at } => Some(*at),
        UnsafeToRemove::CoolDown { until } | UnsafeToRemove::HeldForGang { until, .. } => Some(*until),
        _ => None,
    }
}

/// Whether a node whose removal is under way has to stay after all: of it, of its pool or of a pod that it still has to move
/// something was said meanwhile that would have kept it.
pub(crate) fn must_stay(
    snapshot: &Snapshot,
    node: &NodeEntry,
    pool: &PoolEntry,
    displaces: &[Name],
    unheeded: &Unheeded<'_>,
    now: Time,
) -> bool {
    let blocks = |&number: &u32| {
        let pod = snapshot.pod(number);
        let class = snapshot.class(pod.class);
        let covered = covering(snapshot, pod.class).next().is_some();
        !pod.leaving
            && displaces.contains(&pod.uid)
            && unheeded.block(class, &node.name, covered, &pool.spec.scale_down).is_some()
    };
    forbidden(snapshot, node, pool, now).is_some() || node.pods.iter().any(blocks)
}

/// What keeps a node whatever happens elsewhere.
fn never(
    snapshot: &Snapshot,
    node: &NodeEntry,
    machine: &Name,
    pool: &PoolEntry,
    memory: &Memory,
    now: Time,
) -> Option<UnsafeToRemove> {
    let object = node.node.as_ref()?;
    let removals = &memory.ledger.removals;
    let leaves = removals.contains_key(&node.name) || removals.contains_key(machine);
    if leaves || node.state == BaseState::CordonedByUs {
        return Some(UnsafeToRemove::BeingRemoved);
    }
    if let Some(reason) = forbidden(snapshot, node, pool, now) {
        return Some(reason);
    }
    if !pool.instances.contains_key(&object.spec.provider_id) {
        return Some(UnsafeToRemove::InstanceUnknown);
    }
    let rising = memory.ledger.launches.contains_key(machine)
        || (node.state == BaseState::NotReady && is_young(pool, object.metadata.creation_timestamp, now));
    let at = now + pool.spec.times.boot_deadline;
    rising.then_some(UnsafeToRemove::TooSoon { at })
}

/// What somebody has said that keeps a node.
fn forbidden(snapshot: &Snapshot, node: &NodeEntry, pool: &PoolEntry, now: Time) -> Option<UnsafeToRemove> {
    let object = node.node.as_ref()?;
    // Of the two objects one is of the past, and it may be this one; the work is on the other.
    if snapshot.has_twin(node) {
        return Some(UnsafeToRemove::SharedMachine);
    }
    if CONTROL_PLANE.iter().any(|label| object.metadata.labels.contains_key(*label)) {
        return Some(UnsafeToRemove::ControlPlane);
    }
    if DO_NOT_DISRUPT.iter().any(|key| object.metadata.annotation(key).is_some_and(|value| value != "false"))
    {
        return Some(UnsafeToRemove::DoNotDisrupt);
    }
    let is_off = !pool.spec.scale_down.enabled || pool.spec.pause.holds(Direction::Down, now);
    is_off.then_some(UnsafeToRemove::ScaleDownOff)
}

/// Whether a pod's work is waited for: its pool says so, and the work has an end. What has none would be waited for in vain.
fn is_waited_for(snapshot: &Snapshot, pod: u32, spec: &VmPoolSpec) -> bool {
    let traits = &snapshot.class(snapshot.pod(pod).class).traits;
    spec.scale_down.wait_for_completion && traits.finite && !traits.daemon && !traits.mirror
}

/// The pods that a removal would displace, if all of them may go.
fn displaced(
    snapshot: &Snapshot,
    node: &NodeEntry,
    spec: &VmPoolSpec,
    budgets: &Budgets,
    unheeded: &Unheeded<'_>,
) -> Result<Vec<u32>, UnsafeToRemove> {
    let mut displaces = Vec::new();
    let mut spent: BTreeMap<usize, i64> = BTreeMap::new();
    let name = |pod: &u32| (&snapshot.pod(*pod).namespace, &snapshot.pod(*pod).name);
    let mut pods = node.pods.clone();
    pods.sort_by(|a, b| name(a).cmp(&name(b)));
    for number in pods {
        let pod = snapshot.pod(number);
        let class = snapshot.class(pod.class);
        if class.traits.ballast {
            return Err(UnsafeToRemove::ControlPlane);
        }
        if class.traits.daemon || class.traits.mirror || is_waited_for(snapshot, number, spec) {
            continue;
        }
        displaces.push(number);
        if pod.leaving {
            continue;
        }
        let covering: Vec<usize> = covering(snapshot, pod.class).collect();
        let mut block = unheeded.block(class, &node.name, !covering.is_empty(), &spec.scale_down);
        if class.volumes.are_missed && !budgets.volumes_known {
            block = block.or(Some(PodBlock::VolumeUnknown));
        }
        if covering.len() > 1 {
            block = block.or(Some(PodBlock::SeveralBudgets));
        }
        for at in covering {
            let spent = spent.entry(at).or_default();
            *spent += 1;
            if *spent > budgets.disruptions[at] {
                block = block.or(Some(PodBlock::DisruptionBudget));
            }
        }
        if let Some(why) = block {
            let (pod, namespace) = (pod.name.clone(), pod.namespace.clone());
            return Err(UnsafeToRemove::PodBlocks { pod, namespace, why });
        }
    }
    Ok(displaces)
}

/// Numbers of the disruption budgets that cover a class.
fn covering(snapshot: &Snapshot, class: u32) -> impl Iterator<Item = usize> {
    let key = &snapshot.class(class).key;
    let budgets = snapshot.budgets.values().enumerate();
    budgets.filter(|(_, budget)| key.is_covered_by(budget)).map(|(at, _)| at)
}

/// Classes that removals may displace, once for each pod: what is on nodes that little would have to leave.
pub(crate) fn displaceable(snapshot: &Snapshot) -> impl Iterator<Item = &Class> {
    let pods = snapshot.lightly_used.iter().flat_map(|&slot| &snapshot.node(slot).pods);
    pods.map(|&pod| snapshot.class(snapshot.pod(pod).class)).filter(|class| !class.traits.daemon)
}

/// What time says against the removal of a node that is not needed.
fn not_yet(
    pool: &PoolEntry,
    node: &NodeEntry,
    pace: &Pace,
    price: Money,
    now: Time,
    since: Time,
    lost: Span,
) -> Option<UnsafeToRemove> {
    let rules = &pool.spec.scale_down;
    if let Some(until) = pace.last_added.map(|at| at + rules.cool_down).filter(|&until| now < until) {
        return Some(UnsafeToRemove::CoolDown { until });
    }
    let boot = pace.boot;
    let patience = match node.state {
        BaseState::NotReady => rules.unready_after,
        _ if rules.idle_after == Span::ZERO => Span::ZERO,
        _ => rules.idle_after.max(boot.times(2)),
    };
    if now < since + patience {
        return Some(UnsafeToRemove::TooSoon { at: since + patience });
    }
    if rules.payback { does_not_pay(pool, price, now.since(since), boot, lost) } else { None }
}

/// A node that has been idle for some time will, for want of better knowledge, stay so for as long again. What that saves
/// must be worth stopping it, starting it again, and what is lost of the work that it displaces.
fn does_not_pay(
    pool: &PoolEntry,
    price: Money,
    idle: Span,
    boot: Span,
    lost: Span,
) -> Option<UnsafeToRemove> {
    let per_hour = price.as_f64() - pool.spec.price.stopped_per_hour.as_f64();
    let saves = per_hour * idle.as_hours_f64();
    let again = boot.as_hours_f64() + pool.spec.times.stop.as_hours_f64();
    let costs = price.as_f64() * (again + lost.as_hours_f64());
    let amount = |value: f64| Money::from_f64(value.max(0.0)).unwrap_or_default();
    (price > Money::ZERO && saves < costs)
        .then(|| UnsafeToRemove::DoesNotPay { saves: amount(saves), costs: amount(costs) })
}

/// The time that displaced pods lose together: each is away for a moment, and work that has an end begins anew. It counts at
/// the price of the whole node, however little of it a pod takes: somebody waits for the work.
fn lost(snapshot: &Snapshot, displaces: &[u32], now: Time) -> Span {
    let of_one = |&number: &u32| {
        let pod = snapshot.pod(number);
        // What leaves by itself loses nothing by a removal; a service has nothing to begin anew.
        let begins_anew = snapshot.class(pod.class).traits.finite && !pod.leaving;
        let started = pod.started.filter(|_| begins_anew);
        MOVE + started.map_or(Span::ZERO, |started| now.since(started))
    };
    displaces.iter().map(of_one).fold(Span::ZERO, |all, one| all + one)
}

/// What a displaced pod is away: a container whose image is at hand is placed and started within a few seconds. A hundred small
/// pods keep their node for ten minutes longer by that; at a whole minute each it would be two hours, and nodes full of small
/// services would never be emptied.
const MOVE: Span = Span::from_secs(6);

impl Budgets {
    fn new(snapshot: &Snapshot, memory: &Memory, rooms: &Rooms, now: Time) -> Self {
        let rules = &snapshot.policy.removal;
        // What is on its way out is spent already; counted among the nodes as well it would widen the share that may go.
        let staying = |room: &Room| room.size_before.saturating_sub(room.leaving);
        let managed = rooms.pools.iter().map(staying).sum();
        let spent = |window: Span, pool: Option<&Name>| {
            let since = now - window;
            let concerns = |name: &Name| pool.is_none_or(|pool| name == pool);
            let removed =
                memory.ledger.removed.iter().filter(|gone| gone.at > since && concerns(&gone.pool)).count();
            removed as i64
        };
        let pools = snapshot.pools.iter().zip(&rooms.pools).map(|(pool, room)| {
            let rule = pool.spec.budget.as_ref().unwrap_or(&rules.per_pool);
            left(rule, staying(room), spent(rule.window, Some(&pool.name)))
        });
        let volumes = [ObjectKind::PersistentVolume, ObjectKind::PersistentVolumeClaim];
        let mut budgets = Self {
            pools: pools.collect(),
            cluster: left(&rules.per_cluster, managed, spent(rules.per_cluster.window, None)),
            disruptions: snapshot.budgets.values().map(|budget| budget.allows()).collect(),
            volumes_known: volumes
                .into_iter()
                .all(|kind| snapshot.trouble(&Source::kubernetes(kind), now).is_none()),
        };
        for (_, pods) in still_to_leave(snapshot, memory) {
            budgets.disrupt(snapshot, &pods);
        }
        budgets
    }

    fn bind(&self, pool: usize) -> Option<UnsafeToRemove> {
        if self.pools[pool] <= 0 {
            return Some(UnsafeToRemove::Budget { limit: Limit::PoolRemovalBudget });
        }
        (self.cluster <= 0).then_some(UnsafeToRemove::Budget { limit: Limit::ClusterRemovalBudget })
    }

    fn spend(&mut self, snapshot: &Snapshot, pool: usize, displaces: &[u32]) {
        self.pools[pool] -= 1;
        self.cluster -= 1;
        self.disrupt(snapshot, displaces);
    }

    fn disrupt(&mut self, snapshot: &Snapshot, displaces: &[u32]) {
        for &pod in displaces {
            for at in covering(snapshot, snapshot.pod(pod).class).collect::<Vec<_>>() {
                self.disruptions[at] -= 1;
            }
        }
    }
}

/// What a budget still allows: its share of the nodes, at least one, less what was spent.
fn left(budget: &RemovalBudget, nodes: u32, spent: i64) -> i64 {
    let share = if budget.unlimited { budget.share } else { budget.share.min(CEILING) };
    let allowed =
        if share == Share::default() { 0 } else { share.of(u64::from(nodes) + spent as u64).max(1) };
    i64::try_from(allowed).unwrap_or(i64::MAX) - spent
}
