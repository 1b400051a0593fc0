//! The oracle: it sees the true world and every request, and knows only the promises.
//!
//! It shares no judgement with the planner: what it counts it counts in the world. Numbers such as `I-6` are those of the list
//! of invariants; each is one check, and how often each was held against something is counted, so that a campaign can tell
//! what it never tried.

mod documents;
mod gangs;
mod growth;
mod joint;
mod layout;
mod removal;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ballast_core::kube::Name;
use ballast_core::memory::LedgerError;
use ballast_core::observation::ErrorClass;
use ballast_core::plan::{Plan, Severity};
use ballast_core::policy::{ClusterPolicySpec, VmPoolSpec};
use ballast_core::procedure::{Reply, Request};
use ballast_core::units::{Span, Time};

use crate::scenario::ScenarioSpec;
use crate::score::Breach;
use crate::watch::Watch;
use crate::world::World;

/// The breaches that are kept in words; beyond, they are only counted.
const KEPT: usize = 100;

/// How long it takes at the most from a decision to its request: the ledger is written first, and where Kubernetes refuses that
/// for a while the request waits.
const DECIDED_WITHIN: Span = Span::from_mins(10);

/// How long a window of a schedule may go unheeded: what was decided just before it began or ended may still arrive.
const SCHEDULE_HEEDED_WITHIN: Span = Span::from_mins(1);

/// What watches over the promises.
#[derive(Debug)]
pub(crate) struct Oracle {
    policy: ClusterPolicySpec,
    pools: Vec<PoolRules>,
    breaches: Vec<Breach>,
    broken: u64,
    /// How often each promise was held against something.
    exercised: BTreeMap<&'static str, u64>,
    /// When a document last changed.
    changed_at: Option<Time>,
    /// Machines and tokens that were asked for, or asked to stop, before that.
    begun: BTreeSet<Name>,
    /// The same up to now.
    asked: BTreeSet<Name>,
    /// When each node was last read past every cache.
    reads: BTreeMap<Name, Time>,
    /// Healthy nodes that were removed within the longest window: when, and from which pool.
    removed: VecDeque<(Time, u32)>,
    /// Pods that each removal may displace, by the name of its node.
    displaces: BTreeMap<Name, Vec<Name>>,
    /// The launches that were decided within the last hour, by the provider's identity or the token.
    decided: BTreeMap<Name, Decided>,
    /// Of each machine that is starting: how it was decided to launch it.
    launched: BTreeMap<u32, Decided>,
    /// Machines that plans launched, by name, and since when each gang has some.
    promised: BTreeMap<Name, Promised>,
    gangs_since: BTreeMap<Name, Forming>,
    /// How many pods waited lately, the oldest first.
    recent: VecDeque<(Time, i64)>,
}

/// Since when a gang forms for which something was launched, and whether that began anew at its deadline, as it may once.
#[derive(Clone, Copy, Debug)]
struct Forming {
    since: Time,
    renewed: bool,
}

/// When a launch was decided.
#[derive(Clone, Copy, Debug)]
struct Decided {
    at: Time,
    /// Pods that had ever come, less those that waited: those cannot be what it is for.
    base: i64,
}

/// A machine that a plan launched.
#[derive(Debug)]
struct Promised {
    /// The gang that it is for; empty where it is for none.
    gang: Name,
    since: Time,
    kind: u32,
    /// The provider's identity, or the token that it is made with.
    identity: Name,
    /// Its cloud has begun with it.
    came: bool,
}

/// What the oracle knows of a pool.
#[derive(Debug)]
struct PoolRules {
    spec: VmPoolSpec,
    /// More than `max` may exist from the start; from there it may only shrink.
    most: i64,
}

impl PoolRules {
    /// The lowest minimum and the highest maximum that may be heeded now.
    fn range(&self, now: Time) -> (u32, u32) {
        let (min, max) = self.spec.range_at(now);
        let (min_before, max_before) = self.spec.range_at(now - SCHEDULE_HEEDED_WITHIN);
        (min.min(min_before), max.max(max_before))
    }
}

/// Pods that wait.
fn waiting(world: &World) -> i64 {
    world.meter.waiting.iter().map(|&waiting| i64::from(waiting)).sum()
}

impl Oracle {
    /// All that is judged.
    #[cfg(test)]
    const PROMISES: [&'static str; 16] = [
        "I-1", "I-2", "I-3", "I-4", "I-6", "I-7", "I-8", "I-10", "I-12", "I-13", "I-16", "I-19", "I-23",
        "I-24", "I-27", "check",
    ];

    pub(crate) fn new(spec: &ScenarioSpec) -> Self {
        let pools = spec.pools.iter().map(|pool| PoolRules {
            most: i64::from(pool.spec.max.max(pool.running)),
            spec: pool.spec.clone(),
        });
        Self {
            policy: spec.policy.clone(),
            pools: pools.collect(),
            breaches: Vec::new(),
            broken: 0,
            exercised: BTreeMap::new(),
            changed_at: None,
            begun: BTreeSet::new(),
            asked: BTreeSet::new(),
            reads: BTreeMap::new(),
            removed: VecDeque::new(),
            displaces: BTreeMap::new(),
            decided: BTreeMap::new(),
            launched: BTreeMap::new(),
            promised: BTreeMap::new(),
            gangs_since: BTreeMap::new(),
            recent: VecDeque::new(),
        }
    }

    /// How many promises were broken.
    pub(crate) fn broken(&self) -> u64 {
        self.broken
    }

    /// The first of them.
    pub(crate) fn breaches(&self) -> &[Breach] {
        &self.breaches
    }

    /// How often each promise was held against something.
    pub(crate) fn exercised(&self) -> &BTreeMap<&'static str, u64> {
        &self.exercised
    }

    /// Holds a promise against what is seen; where it is not kept, `what` says how.
    fn judge(&mut self, world: &World, promise: &'static str, is_kept: bool, what: impl FnOnce() -> String) {
        *self.exercised.entry(promise).or_default() += 1;
        if is_kept {
            return;
        }
        self.broken += 1;
        if self.breaches.len() < KEPT {
            self.breaches.push(Breach { at: world.now, promise, message: what() });
        }
    }

    /// I-10: a ledger that was stored can be read back.
    pub(crate) fn ledger_read(&mut self, world: &World, error: Option<&LedgerError>) {
        self.judge(world, "I-10", error.is_none(), || error.map(ToString::to_string).unwrap_or_default());
    }

    /// A plan was made.
    pub(crate) fn plan(&mut self, world: &World, watch: &Watch, plan: &Plan) {
        let fatal = plan.report.promises.iter().find(|note| note.severity == Severity::Fatal);
        self.judge(world, "check", fatal.is_none(), || {
            fatal.map(|note| format!("{} {}", note.promise, note.message)).unwrap_or_default()
        });
        // What was planned from a view that shows no truth cannot be held against the truth.
        if watch.shows_the_truth() {
            self.check_jointly(world, plan);
            self.check_launches(world, plan);
        }
        self.note_plan(world, plan);
    }

    /// A request is about to be carried out.
    pub(crate) fn before(&mut self, world: &World, watch: &Watch, request: &Request) {
        self.check_documents(world, request);
        match request {
            Request::StopInstance { pool, id, mode } => self.check_stop(world, watch, pool, id, *mode),
            Request::Evict { namespace, name, uid } => self.check_evict(world, namespace, name, uid),
            Request::Cordon { name, .. } => self.check_cordon(world, watch, name),
            Request::StartInstance { id, .. } => self.check_start(world, id),
            Request::CreateInstance { pool, zone, token, .. } => self.check_create(world, pool, zone, token),
            _ => {}
        }
        self.note_asked(request);
    }

    /// A request was carried out.
    pub(crate) fn after(&mut self, world: &World, request: &Request, reply: &Reply) {
        match (request, reply) {
            (Request::ReadNode { .. }, Reply::Node(node)) => {
                self.reads.insert(node.name.clone(), world.now);
            }
            (Request::StartInstance { id, .. }, Reply::Done) => self.note_launch(world, id, id),
            (Request::CreateInstance { token, .. }, Reply::Instance(made)) => {
                self.note_launch(world, &made.id, token);
            }
            _ => {}
        }
    }

    /// What came of a request has reached the one who asked. A refusal that was lost on its way is known to nobody.
    pub(crate) fn answered(&mut self, request: &Request, reply: &Reply) {
        let refused = |class| matches!(class, ErrorClass::StockOut | ErrorClass::Quota | ErrorClass::Invalid);
        if let Reply::Failed(error) = reply
            && refused(error.class)
        {
            self.note_refusal(request);
        }
    }

    /// Everything at one instant has happened.
    pub(crate) fn step(&mut self, world: &World) {
        self.note_arrivals(world);
        let waiting = waiting(world);
        while self.recent.front().is_some_and(|(at, _)| world.now.since(*at) > DECIDED_WITHIN) {
            self.recent.pop_front();
        }
        if self.recent.back().is_none_or(|(_, last)| *last != waiting) {
            self.recent.push_back((world.now, waiting));
        }
        for at in 0..self.pools.len() {
            let power = &world.meter.pools[at].power;
            let size = power[0] + power[1] + power[2];
            let most = self.pools[at].most;
            self.judge(world, "I-6", size <= most, || {
                let name = &world.pools[at].name;
                format!("pool `{name}` has {size} machines, at most {most} are allowed")
            });
            // Where reality is outside, it may only move toward the range.
            let (_, max) = self.pools[at].range(world.now);
            self.pools[at].most = i64::from(max).max(size.min(most));
        }
    }
}
