//! From a plan's actions to marks in the ledger and procedures that wait for them to be durable. No choice is made here: an
//! action is begun as it stands, or left to the next plan.

use std::collections::BTreeSet;

use crate::kube::Name;
use crate::memory::{AHEAD_LONGEST, Addition, Launch, LaunchKind, Ledger, Removal};
use crate::observation::{ObjectKind, Source};
use crate::plan::{Action, ActionKind, DecisionId, Plan, PlanId};
use crate::planner;
use crate::policy::{Direction, Mode, StopMode, VmPoolSpec};
use crate::procedure::{Receipt, VmStart, VmStop};
use crate::publish::LastAction;
use crate::scalers::nodes::{Unheeded, must_stay};
use crate::snapshot::{BaseState, NodeEntry, PoolEntry, Snapshot};
use crate::units::{Span, Time};

use super::Begun;
use super::executor::{Executor, Machine, Running};
use super::receipts::RELEASE_RESTS;

/// Procedures that may be under way at once. More launches than this in a few minutes are more than any cloud grants, and
/// their marks would not fit the ledger.
const IN_FLIGHT_MAX: usize = 500;
/// Bytes of the ledger: it is stored in one object, and no object of ours is above 64 KiB.
const LEDGER_BYTES_MAX: usize = 60 * 1024;

/// About how much an approval adds to it.
const APPROVAL_BYTES: usize = 200;

impl Executor {
    /// Begins the actions of a plan. Returns how many have to wait because so much is under way already.
    pub(super) fn apply(&mut self, now: Time, plan: &Plan, snapshot: &Snapshot, warrant: Warrant) -> u32 {
        let may = self.may.begin || warrant == Warrant::Approval;
        if !may || self.writer.is_fenced() || plan.actions.is_empty() {
            return 0;
        }
        self.memory.ledger.forget(now, now - longest_window(snapshot));
        let mut bytes = bytes_of(&self.memory.ledger);
        let (mut begun, mut waiting) = (false, 0);
        for together in plan.actions.chunk_by(for_one_gang) {
            for action in together.iter().filter(|action| is_launch(action)) {
                self.memory.ledger.note_launch(&action.precondition.token);
            }
            let more: usize = together.iter().map(bytes_of_action).sum();
            let fits =
                bytes + more <= LEDGER_BYTES_MAX && self.running.len() + together.len() <= IN_FLIGHT_MAX;
            if !together.iter().all(|action| may_begin(action, snapshot, warrant)) {
                continue;
            }
            if !fits {
                waiting += together.len() as u32;
                continue;
            }
            bytes += more;
            for action in together {
                let Some(pool) = snapshot.pool_named(&action.target.pool) else { continue };
                begun |= self.begin(now, plan.id, action, &pool.spec);
            }
        }
        if begun {
            self.writer.want();
        }
        waiting
    }

    /// Whether so much more, and that it was approved, can be under way at once.
    pub(super) fn has_room_for(&self, actions: &[Action]) -> bool {
        let more = actions.iter().map(bytes_of_action).sum::<usize>() + APPROVAL_BYTES;
        let bytes = bytes_of(&self.memory.ledger) + more;
        bytes <= LEDGER_BYTES_MAX && self.running.len() + actions.len() <= IN_FLIGHT_MAX
    }

    fn begin(&mut self, now: Time, plan: PlanId, action: &Action, pool: &VmPoolSpec) -> bool {
        let name = &action.target.name;
        let decision = DecisionId { plan, action: action.id };
        if action.kind == ActionKind::UncordonNode {
            return self.take_back(now, name);
        }
        if self.is_busy(name) {
            return false;
        }
        match action.kind {
            ActionKind::StartInstance => self.launch(now, decision, action, pool, LaunchKind::Start),
            ActionKind::CreateInstance => self.launch(now, decision, action, pool, LaunchKind::Create),
            ActionKind::StopInstance => self.remove(now, decision, action, pool, Kind::Drain),
            ActionKind::CordonNode => self.remove(now, decision, action, pool, Kind::Wait),
            ActionKind::ReleaseInstance => self.remove(now, decision, action, pool, Kind::Release),
            _ => return false,
        }
        let begun = LastAction { decision, kind: action.kind, target: name.clone(), at: now };
        self.begun.insert(action.target.pool.clone(), begun);
        let stored_by = self.memory.ledger.version + 1;
        self.started.push((stored_by, Begun { decision, action: action.clone() }));
        true
    }

    fn launch(
        &mut self,
        now: Time,
        decision: DecisionId,
        action: &Action,
        pool: &VmPoolSpec,
        kind: LaunchKind,
    ) {
        let target = &action.target;
        let patience = self.memory.history.boot_deadline(&target.pool, kind, pool.times.boot_deadline);
        let launch = Launch {
            kind,
            pool: target.pool.clone(),
            zone: target.zone.clone(),
            instance_type: pool.template.instance_type.clone().unwrap_or_default(),
            provider_id: target.provider_id.clone(),
            token: action.precondition.token.clone(),
            since: now,
            deadline: now + patience.min(AHEAD_LONGEST),
            decision: Some(decision),
        };
        let machine = Machine::Start(VmStart::begin(&target.name, &launch));
        self.memory.ledger.added.push(Addition { at: now, pool: target.pool.clone() });
        self.memory.ledger.launches.insert(target.name.clone(), launch);
        self.insert(now, target.name.clone(), machine, true, false);
    }

    fn remove(&mut self, now: Time, decision: DecisionId, action: &Action, pool: &VmPoolSpec, kind: Kind) {
        let target = &action.target;
        let patience = if kind == Kind::Wait { AHEAD_LONGEST } else { pool.times.drain_deadline };
        let removal = Removal {
            pool: target.pool.clone(),
            uid: target.uid.clone(),
            provider_id: target.provider_id.clone(),
            token: action.precondition.token.clone(),
            mark: self.next_mark(),
            mode: if &*action.to == "Deleted" { StopMode::Delete } else { pool.stop },
            release: kind == Kind::Release,
            since: now,
            deadline: now + patience.min(AHEAD_LONGEST),
            waits_for: action.precondition.waits_for.clone(),
            stopping: false,
            displaces: action.precondition.displaces.clone(),
            decision: Some(decision),
        };
        let machine = Machine::Stop(VmStop::begin(&target.name, &removal));
        if kind != Kind::Release {
            self.memory.ledger.removed.push(Addition { at: now, pool: target.pool.clone() });
        }
        self.memory.ledger.removals.insert(target.name.clone(), removal);
        self.insert(now, target.name.clone(), machine, true, false);
    }

    /// Takes a removal back, or a cordon that has none off.
    fn take_back(&mut self, now: Time, name: &Name) -> bool {
        match self.running.get_mut(name).map(|running| &mut running.machine) {
            Some(Machine::Stop(stop)) => {
                stop.cancel();
                self.nudge(now, name);
            }
            Some(_) => {}
            None => self.uncordon(now, name),
        }
        false
    }

    /// Takes back the removals of an approved plan that wait and whose nodes are needed by now. It is no new decision to leave
    /// a node as it was, so nobody is asked.
    pub(super) fn take_back_approved(&mut self, now: Time, plan: &Plan) {
        if !self.may.send || self.writer.is_fenced() {
            return;
        }
        for action in plan.actions.iter().filter(|action| action.kind == ActionKind::UncordonNode) {
            if self.memory.ledger.is_approved(&action.target.name) {
                self.take_back(now, &action.target.name);
            }
        }
    }

    /// Takes back what a document, an annotation or the loss of other machines forbids by now.
    pub(super) fn heed(&mut self, now: Time, snapshot: &Snapshot) {
        let ledger = &self.memory.ledger;
        let unheeded = Unheeded::new(snapshot, ledger);
        let least = |name: &Name| match ledger.is_approved(name) {
            true => Warrant::Approval.least(),
            false => Warrant::Policy.least(),
        };
        let is_forbidden = |(name, running): &(&Name, &Running)| match &running.machine {
            Machine::Start(start) => {
                start.is_untouched()
                    && ledger
                        .launches
                        .get(*name)
                        .is_some_and(|launch| no_launch(launch, snapshot, least(name), now))
            }
            Machine::Stop(stop) => {
                let removal = ledger.removals.get(*name).filter(|_| !stop.is_beyond_recall());
                // What waits for its ledger to be stored has not begun: it goes the way of what would be decided now.
                let is_unsure = |pool: &Name| !stop.has_begun() && planner::is_blind(snapshot, pool, now);
                removal.is_some_and(|removal| {
                    is_unsure(&removal.pool)
                        || no_removal(name, removal, snapshot, &unheeded, least(name), now)
                })
            }
            Machine::Uncordon(_) => false,
        };
        let mut forbidden: Vec<Name> =
            self.running.iter().filter(is_forbidden).map(|(name, _)| name.clone()).collect();
        for pool in &snapshot.pools {
            forbidden.extend(self.missed(now, snapshot, pool));
        }
        for name in forbidden {
            self.call_off(now, &name);
        }
    }

    /// The removals of a pool, the latest first, without which it would keep its minimum. It had enough when they were decided;
    /// since then the cloud may have taken others.
    fn missed(&self, now: Time, snapshot: &Snapshot, pool: &PoolEntry) -> Vec<Name> {
        let lacking = match pool.spec.range_at(now) {
            (0, _) => 0,
            (least, _) => least.saturating_sub(staying(snapshot, pool, &self.memory.ledger)),
        };
        let can_return = |name: &Name, removal: &Removal| {
            let running = self.running.get(name).map(|running| &running.machine);
            !removal.release && matches!(running, Some(Machine::Stop(stop)) if !stop.is_beyond_recall())
        };
        if lacking == 0 {
            return Vec::new();
        }
        let leaving = self.memory.ledger.removals.iter().filter(|(_, removal)| removal.pool == pool.name);
        let mut leaving: Vec<(&Name, &Removal)> =
            leaving.filter(|(name, removal)| can_return(name, removal)).collect();
        leaving.sort_by_key(|(name, removal)| (std::cmp::Reverse(removal.since), *name));
        leaving.into_iter().take(lacking as usize).map(|(name, _)| name.clone()).collect()
    }

    fn call_off(&mut self, now: Time, name: &Name) {
        let rests = self.running.get(name).is_some_and(Running::rests);
        match self.running.get_mut(name).map(|running| &mut running.machine) {
            // It is owed, and asks for nothing now: it goes on resting.
            Some(Machine::Stop(stop)) if rests && !stop.has_begun() => {
                self.postpone(name, now + RELEASE_RESTS)
            }
            Some(Machine::Stop(_)) => {
                self.take_back(now, name);
            }
            Some(Machine::Start(_)) => self.end(now, name, Receipt::LaunchCancelled),
            _ => {}
        }
    }
}

/// Whether a launch may not begin any more. What has no document is nobody's to launch.
fn no_launch(launch: &Launch, snapshot: &Snapshot, least: Mode, now: Time) -> bool {
    let Some(pool) = snapshot.pool_named(&launch.pool) else { return knows_pools(snapshot) };
    is_paused(snapshot, pool, Direction::Up, now) || pool.spec.lowers(least)
}

/// Whether a pool, or the whole cluster, is held still one way.
fn is_paused(snapshot: &Snapshot, pool: &PoolEntry, direction: Direction, now: Time) -> bool {
    [&snapshot.policy.pause, &pool.spec.pause].iter().any(|pause| pause.holds(direction, now))
}

/// Whether a removal may not go on any more: it is held against what forbids one to begin.
fn no_removal(
    name: &Name,
    removal: &Removal,
    snapshot: &Snapshot,
    unheeded: &Unheeded<'_>,
    least: Mode,
    now: Time,
) -> bool {
    let Some(pool) = snapshot.pool_named(&removal.pool) else { return knows_pools(snapshot) };
    let node = snapshot.node_named(name).filter(|node| !removal.release && node.uid() == removal.uid);
    is_paused(snapshot, pool, Direction::Down, now)
        || pool.spec.lowers(least)
        || node.is_some_and(|node| must_stay(snapshot, node, pool, &removal.displaces, unheeded, now))
}

/// Whether a pool that has no document was taken away, and is not just not read yet.
fn knows_pools(snapshot: &Snapshot) -> bool {
    let source = snapshot.sources.get(&Source::kubernetes(ObjectKind::VmPool));
    source.is_some_and(|source| source.good_at.is_some() && source.error.is_none())
}

/// How many machines of a pool that are up, or on their way up, are not being removed.
fn staying(snapshot: &Snapshot, pool: &PoolEntry, ledger: &Ledger) -> u32 {
    const UP: [BaseState; 4] =
        [BaseState::Ready, BaseState::NotReady, BaseState::Cordoned, BaseState::CordonedByUs];
    let own = |node: &NodeEntry| node.pool.is_some_and(|at| snapshot.pools[at as usize].name == pool.name);
    let is_up = |node: Option<&NodeEntry>| node.is_some_and(|node| own(node) && UP.contains(&node.state));
    let nodes: u32 = UP.into_iter().map(|state| pool.counts.of(state)).sum();
    // Removals go by the name of the node, launches by that of the machine.
    let going = ledger.removals.keys().filter(|name| is_up(snapshot.node_named(name))).count() as u32;
    let launches = ledger.launches.iter().filter(|(_, launch)| launch.pool == pool.name);
    let nodeless = pool.nodeless.iter().map(|id| &pool.instances[id].name);
    let mut rising: BTreeSet<&Name> = launches.map(|(name, _)| name).chain(nodeless).collect();
    rising.retain(|name| !is_up(snapshot.node_of_machine(name)) && !ledger.removals.contains_key(*name));
    nodes - going + rising.len() as u32
}

/// By what a plan is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Warrant {
    /// The policy says `Enforce`.
    Policy,
    /// A person said yes to this very plan.
    Approval,
}

/// The ways of removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Drain,
    Wait,
    Release,
}

impl Warrant {
    /// The mode that a pool has to be in at least.
    fn least(self) -> Mode {
        match self {
            Self::Policy => Mode::Enforce,
            Self::Approval => Mode::Recommend,
        }
    }
}

/// A gang's actions stand one after the other, and are begun together.
fn for_one_gang(one: &Action, next: &Action) -> bool {
    !one.gang.is_empty() && one.gang == next.gang
}

/// Whether the mode of an action's pool lets it be done, and nothing has to come before: what follows another action of this
/// plan is left to the next one.
fn may_begin(action: &Action, snapshot: &Snapshot, warrant: Warrant) -> bool {
    let own = snapshot.pool_named(&action.target.pool).map(|pool| pool.spec.mode);
    let mode = own.map(|own| own.unwrap_or(snapshot.policy.mode).min(snapshot.policy.mode));
    mode >= Some(warrant.least()) && action.after.is_empty()
}

fn is_launch(action: &Action) -> bool {
    matches!(action.kind, ActionKind::StartInstance | ActionKind::CreateInstance)
}

/// The longest window of any removal budget.
fn longest_window(snapshot: &Snapshot) -> Span {
    let removal = &snapshot.policy.removal;
    let own = snapshot.pools.iter().filter_map(|pool| pool.spec.budget.as_ref()).map(|own| own.window);
    own.fold(removal.per_pool.window.max(removal.per_cluster.window), Span::max)
}

/// About how long a ledger is as JSON.
fn bytes_of(ledger: &Ledger) -> usize {
    let launches = ledger.launches.iter().map(|(name, launch)| {
        296 + name.len()
            + launch.pool.len()
            + launch.provider_id.len()
            + launch.token.len()
            + launch.zone.len()
    });
    let removals = ledger.removals.iter().map(|(name, removal)| {
        let pods = bytes_of_pods(&removal.displaces) + bytes_of_pods(&removal.waits_for);
        336 + name.len() + removal.pool.len() + removal.uid.len() + removal.provider_id.len() + pods
    });
    let moves = ledger.added.iter().chain(&ledger.removed).map(|entry| 42 + entry.pool.len());
    let workers = ledger.resizes.len() + ledger.worker_launches.len() + ledger.worker_removals.len();
    let approvals = ledger.approvals.iter().map(|own| 120 + own.message.len() + 6 * own.failed.len());
    let others =
        approvals.sum::<usize>() + 200 * ledger.back_off.len() + 60 * ledger.strikes.len() + 500 * workers;
    launches.chain(removals).chain(moves).sum::<usize>() + others
}

fn bytes_of_pods(identities: &[Name]) -> usize {
    identities.iter().map(|uid| uid.len() + 3).sum()
}

/// About how much an action adds to the ledger.
fn bytes_of_action(action: &Action) -> usize {
    let target = &action.target;
    let pods = bytes_of_pods(&action.precondition.displaces) + bytes_of_pods(&action.precondition.waits_for);
    386 + target.name.len() + 2 * target.pool.len() + target.uid.len() + target.provider_id.len() + pods
}
