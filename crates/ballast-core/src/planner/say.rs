//! Saying: who gets what, who waits for what, what the model does not know.

use std::collections::BTreeMap;

use super::actions::{self, Numbering};
use super::place::Placed;
use crate::grant::{Bins, Capacity, Grant, Need, NewBin, Place, Placement, Tier};
use crate::kube::{Name, PodVolume, Taint, TaintEffect};
use crate::memory::Memory;
use crate::observation::{ObjectKind, Source};
use crate::plan::{
    Action, Hold, HoldReason, Infeasible, Limit, PoolVerdict, Shared, SkipReason, Subject, Unmodelled,
    Waiting, WaitingOn,
};
use crate::scalers::nodes::NodeWishes;
use crate::snapshot::{Claim, Class, GANG_SIZE, NodeEntry, Snapshot};
use crate::units::{Span, Time};

/// All that follows from where the needs were placed. Good for as long as they are placed the same.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) grants: Shared<Grant>,
    pub(super) waiting: Shared<Waiting>,
    /// What no option can serve, and no growth either that is only put off.
    pub(super) infeasible: Shared<Infeasible>,
    unmodelled: Vec<Unmodelled>,
    pub(super) launches: Shared<Action>,
    /// The limit that keeps each pool from growing further, where more is asked of it.
    limits: BTreeMap<Name, Limit>,
    numbering: Numbering,
}

impl Said {
    /// What is not judged as the scheduler would judge it: of what asks, of what is there, and of what would be launched.
    pub(super) fn unmodelled(&self, snapshot: &Snapshot, now: Time) -> Vec<Unmodelled> {
        let daemons = (!self.launches.is_empty()).then(|| unknown_daemons(snapshot, now)).flatten();
        let asked = self.unmodelled.iter().cloned();
        asked.chain(daemons).chain(resizes(snapshot)).chain(cordons(snapshot)).collect()
    }

    /// Of needs that were placed; the first `rising` of the new nodes are not this plan's.
    pub(super) fn new(
        bins: &Bins<'_>,
        rising: usize,
        needs: &[Need<'_>],
        placed: &Placed,
        wishes: &NodeWishes,
        numbering: Numbering,
    ) -> Self {
        let loads = Loads::new(bins, wishes.wishes.len());
        let mut all = wishes.waiting.clone();
        waiting(bins, &loads, needs, &placed.placements, wishes, &mut all);
        let infeasible = put_off(bins, rising, placed, &mut all);
        let limits = limits_of(placed);
        Self {
            grants: Shared::from(grants(bins, &loads, needs, &placed.placements, wishes)),
            waiting: Shared::from(all),
            infeasible,
            unmodelled: unmodelled(bins.snapshot),
            launches: Shared::from(actions::launches(bins, rising, wishes, &limits, numbering)),
            limits,
            numbering,
        }
    }

    /// Pools that the growth budget keeps from growing, and when more may start at the earliest.
    pub(super) fn held_growth(
        &self,
        bins: &Bins<'_>,
        rising: usize,
        memory: &Memory,
        now: Time,
    ) -> Vec<Hold> {
        let held = self.limits.iter().filter(|(_, limit)| **limit == Limit::Growth);
        let hold = |(name, _): (&Name, &Limit)| {
            let window = Span::from_mins(1);
            let added = memory.ledger.added.iter().map(|added| added.at).filter(|&at| at > now - window);
            let own = |bin: &&NewBin| bins.snapshot.pools[bin.pool as usize].name == *name;
            let ready = bins.trial.new[..rising].iter().filter(own).filter_map(|bin| bin.ready_at).min();
            let slides = added.min().unwrap_or(now) + window;
            let until = Some(ready.map_or(slides, |ready| ready.max(now).min(slides)));
            Hold { subject: Subject::Pool { name: name.clone() }, reason: HoldReason::GrowthBudget, until }
        };
        held.map(hold).collect()
    }

    /// The same placements, with launches numbered and dated for now.
    pub(super) fn renumber(
        &mut self,
        bins: &Bins<'_>,
        rising: usize,
        wishes: &NodeWishes,
        numbering: Numbering,
    ) {
        if self.numbering != numbering {
            let launches = actions::launches(bins, rising, wishes, &self.limits, numbering);
            self.launches = Shared::from(launches);
            self.numbering = numbering;
        }
    }
}

/// The limit that binds each pool first, of all that were told of needs that are left.
fn limits_of(placed: &Placed) -> BTreeMap<Name, Limit> {
    let verdicts = placed.infeasible.iter().flat_map(|left| &left.pools);
    let verdicts = verdicts.map(|verdict| (&verdict.pool, &verdict.reason));
    let skips = placed.skipped.iter().map(|skip| (&skip.pool, &skip.reason));
    let mut limits = BTreeMap::new();
    for (pool, reason) in verdicts.chain(skips) {
        if let SkipReason::AtLimit { limit } = reason
            && !limits.contains_key(pool)
        {
            limits.insert(pool.clone(), limit.clone());
        }
    }
    limits
}

/// Where each wish has units on nodes that are not there yet.
struct Loads<'b> {
    /// Where the row of each wish ends.
    ends: Vec<usize>,
    /// Node and units, in one row for each wish.
    rows: Vec<(Option<&'b NewBin>, u32)>,
}

impl<'b> Loads<'b> {
    /// Of everything that was placed.
    fn new(bins: &'b Bins<'_>, wishes: usize) -> Self {
        let mut ends = vec![0; wishes + 1];
        let new = &bins.trial.new;
        new.iter().flat_map(|bin| &bin.load).for_each(|&(wish, _)| ends[wish + 1] += 1);
        for wish in 0..wishes {
            ends[wish + 1] += ends[wish];
        }
        // Each row is filled from its beginning, which is moved on to its end.
        let mut rows = vec![(None, 0); ends[wishes]];
        for bin in new {
            for &(wish, units) in &bin.load {
                rows[ends[wish]] = (Some(bin), units);
                ends[wish] += 1;
            }
        }
        Self { ends, rows }
    }

    /// Units of a wish summed up by something that its nodes have, in order, with the latest time at which one is ready.
    fn sums<K: Ord>(&self, wish: usize, key: impl Fn(&NewBin) -> K) -> Vec<(K, u32, Option<Time>)> {
        let from = if wish == 0 { 0 } else { self.ends[wish - 1] };
        let mut sums: Vec<(K, u32, Option<Time>)> = Vec::new();
        for (bin, units) in &self.rows[from..self.ends[wish]] {
            let Some(bin) = bin else { continue };
            let key = key(bin);
            match sums.iter_mut().find(|(known, ..)| *known == key) {
                Some((_, sum, ready_at)) => (*sum, *ready_at) = (*sum + units, (*ready_at).max(bin.ready_at)),
                None => sums.push((key, *units, bin.ready_at)),
            }
        }
        sums.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));
        sums
    }
}

/// What each wish gets, and where.
fn grants(
    bins: &Bins<'_>,
    loads: &Loads<'_>,
    needs: &[Need<'_>],
    placements: &[Placement],
    wishes: &NodeWishes,
) -> Vec<Grant> {
    let mut grants: Vec<Option<Grant>> = vec![None; wishes.wishes.len()];
    for (need, placement) in needs.iter().zip(placements) {
        let wish = &wishes.wishes[need.wish];
        let place = |(capacity, pool): (Capacity, u32), units: u32| Place {
            capacity,
            pool: bins.snapshot.pools[pool as usize].name.clone(),
            units,
        };
        let free = Place { capacity: Capacity::Free, pool: Name::default(), units: placement.free };
        let sums = loads.sums(need.wish, |bin| (bin.capacity, bin.pool)).into_iter();
        let places = Some(free).filter(|free| free.units > 0).into_iter();
        grants[need.wish] = Some(Grant {
            scaler: wish.scaler,
            namespace: wish.namespace.clone(),
            workload: wish.workload.clone(),
            object: wish.object.clone(),
            units: wish.have + need.count - placement.left,
            places: places.chain(sums.map(|(key, units, _)| place(key, units))).collect(),
        });
    }
    grants.into_iter().flatten().collect()
}

/// Says what each need that was met waits for.
fn waiting(
    bins: &Bins<'_>,
    loads: &Loads<'_>,
    needs: &[Need<'_>],
    placements: &[Placement],
    wishes: &NodeWishes,
    all: &mut Vec<Waiting>,
) {
    for (need, placement) in needs.iter().zip(placements).filter(|(need, _)| need.tier != Tier::Headroom) {
        let subject = &wishes.subjects[need.wish];
        let mut say = |on: WaitingOn| all.push(Waiting { subject: subject.clone(), on });
        // What stands for pods waits for nobody: its room is held.
        if placement.free > 0 && !need.class.key.stands_for_pods() {
            say(WaitingOn::Scheduler { count: placement.free });
        }
        // Pools stand in the order of their names.
        for ((_, pool), count, ready_at) in loads.sums(need.wish, |bin| (bin.ready_at.is_some(), bin.pool)) {
            let pool = bins.snapshot.pools[pool as usize].name.clone();
            say(match ready_at {
                Some(ready_at) => WaitingOn::Starting { count, pool, ready_at },
                None => WaitingOn::Planned { count, pool },
            });
        }
    }
}

/// Says of needs that only the growth budget keeps from being served that they wait for their turn; returns those that have
/// nothing to wait for.
fn put_off(bins: &Bins<'_>, rising: usize, placed: &Placed, all: &mut Vec<Waiting>) -> Shared<Infeasible> {
    let is_turn = |verdict: &&PoolVerdict| verdict.reason == SkipReason::AtLimit { limit: Limit::Growth };
    let turn = |left: &Infeasible| left.pools.iter().find(is_turn).map(|verdict| verdict.pool.clone());
    if !placed.infeasible.iter().any(|left| turn(left).is_some()) {
        return placed.infeasible.clone();
    }
    let ready_at = bins.trial.new[..rising].iter().filter_map(|bin| bin.ready_at).min();
    let mut unserved = Vec::new();
    for left in placed.infeasible.iter() {
        match turn(left) {
            None => unserved.push(left.clone()),
            Some(pool) => {
                let on = WaitingOn::Growth { count: left.subject.pods(), pool, ready_at };
                all.push(Waiting { subject: left.subject.clone(), on });
            }
        }
    }
    Shared::from(unserved)
}

/// What nodes wait for that are on their way out: pods that still have to leave, and work that runs to its end.
pub(super) fn leaving(snapshot: &Snapshot, memory: &Memory) -> Vec<Waiting> {
    let mut all = Vec::new();
    for (name, removal) in &memory.ledger.removals {
        let Some(node) = snapshot.node_named(name) else { continue };
        let pods = node.pods.iter().map(|&pod| snapshot.pod(pod));
        let guests = pods.filter(|pod| {
            let traits = &snapshot.class(pod.class).traits;
            !traits.daemon && !traits.mirror
        });
        let (at_work, others): (Vec<_>, Vec<_>) =
            guests.partition(|pod| removal.waits_for.contains(&pod.uid));
        let mut say = |on: WaitingOn| all.push(Waiting { subject: Subject::Node { name: name.clone() }, on });
        if !at_work.is_empty() {
            say(WaitingOn::Completion { pods: at_work.len() as u32 });
        }
        if !others.is_empty() {
            say(WaitingOn::Drain { pods: others.len() as u32 });
        }
    }
    all
}

/// Names what the model does not know.
fn unmodelled(snapshot: &Snapshot) -> Vec<Unmodelled> {
    let mut found: BTreeMap<Name, (u32, Name)> = BTreeMap::new();
    for (&slot, queue) in &snapshot.pending {
        let class = snapshot.class(slot);
        let mut note = |feature: Name| {
            let example = queue.first().map(|(_, name, _)| name.clone()).unwrap_or_default();
            let entry = found.entry(feature).or_insert((0, example.clone()));
            *entry = (entry.0 + queue.len() as u32, entry.1.clone().min(example));
        };
        class.unmodelled.iter().for_each(|feature| note(feature.clone()));
        told_of_volumes(snapshot, class).for_each(|feature| note(feature.into()));
        // What is known well enough to plan with is told all the same.
        if class.gang.as_ref().is_some_and(|gang| gang.size == 0) {
            note(
                format!(
                    "gang without a size: what is there counts as all of it; a number in {GANG_SIZE} says it"
                )
                .into(),
            );
        }
        if class.key.spec.volumes.iter().any(PodVolume::is_disk) {
            note("disk without a claim: where and how often it can be attached is not judged".into());
        }
        let scheduler = &*class.key.spec.scheduler_name;
        if !scheduler.is_empty() && scheduler != "default-scheduler" {
            note(format!("scheduler {scheduler}: taken to place pods as the kube-scheduler does").into());
        }
    }
    found.into_iter().map(|(feature, (count, example))| Unmodelled { feature, count, example }).collect()
}

/// What is not judged of a pod's volumes, though it is known well enough to plan with.
fn told_of_volumes<'s>(snapshot: &'s Snapshot, class: &'s Class) -> impl Iterator<Item = &'static str> + 's {
    let is_once = |claim: &Claim| match claim {
        Claim::Own(_) => false,
        Claim::Named(name) => {
            let claim = snapshot.volume_claims.get(&(class.key.namespace.clone(), name.clone()));
            claim
                .is_some_and(|claim| claim.spec.access_modes.iter().any(|mode| &**mode == "ReadWriteOncePod"))
        }
    };
    let claims = &class.claims;
    let attached = !claims.is_empty();
    let told = [
        (attached, "attach limits of nodes: volumes are not counted"),
        (attached && class.volumes.are_missed, "claim or volume that was not given: taken to be anywhere"),
        (attached && claims.iter().any(is_once), "ReadWriteOncePod claim: taken to be free"),
    ];
    told.into_iter().filter(|(holds, _)| *holds).map(|(_, feature)| feature)
}

/// Pods that the scheduler would also place on nodes that are cordoned, where there are some.
fn cordons(snapshot: &Snapshot) -> Option<Unmodelled> {
    let cordon = Taint {
        key: "node.kubernetes.io/unschedulable".into(),
        value: Name::default(),
        effect: TaintEffect::NoSchedule,
    };
    let bears = |slot: u32| snapshot.class(slot).key.spec.tolerations.iter().any(|one| one.bears(&cordon));
    let queues = snapshot.pending.iter().filter(|(slot, _)| bears(**slot)).map(|(_, queue)| queue);
    let (count, example) = queues.fold((0, None::<&Name>), |(count, example), queue| {
        let first = queue.first().map(|(_, name, _)| name);
        (count + queue.len() as u32, example.into_iter().chain(first).min())
    });
    let is_cordoned = |node: &NodeEntry| node.node.as_ref().is_some_and(|node| node.spec.unschedulable);
    let example = example.filter(|_| snapshot.nodes().any(is_cordoned))?.clone();
    let feature = "pod that tolerates unschedulable nodes: cordoned nodes are not counted on".into();
    Some(Unmodelled { feature, count, example })
}

/// Pods that the kubelet has not given yet what their spec asks for: they are reckoned with what it asks for.
fn resizes(snapshot: &Snapshot) -> Option<Unmodelled> {
    let names = snapshot.resizing.iter().map(|&pod| &snapshot.pod(pod).name);
    let example = names.min()?.clone();
    let feature = "pod that is resized where it runs: reckoned with what its spec asks for".into();
    Some(Unmodelled { feature, count: snapshot.resizing.len() as u32, example })
}

/// New nodes may turn out smaller than they were planned where it is not known what runs on every node.
fn unknown_daemons(snapshot: &Snapshot, now: Time) -> Option<Unmodelled> {
    snapshot.trouble(&Source::kubernetes(ObjectKind::DaemonSet), now)?;
    let example = snapshot.pools.first().map(|pool| pool.name.clone()).unwrap_or_default();
    Some(Unmodelled { feature: "daemons on new nodes".into(), count: snapshot.pools.len() as u32, example })
}
