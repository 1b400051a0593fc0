//! The oracle: it sees the true world and every request, and knows only the promises.
//!
//! It shares no judgement with the planner: what it counts it counts in the world. Numbers such as `I-6` are those of the list
//! of invariants; each is one check.

mod growth;
mod joint;
mod removal;

use std::collections::{BTreeMap, VecDeque};

use ballast_core::kube::Name;
use ballast_core::memory::LedgerError;
use ballast_core::plan::{Plan, Severity};
use ballast_core::policy::{ClusterPolicySpec, Mode, RemovalBudget, VmPoolSpec};
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

/// What watches over the promises.
#[derive(Debug)]
pub(crate) struct Oracle {
    policy: ClusterPolicySpec,
    pools: Vec<PoolRules>,
    breaches: Vec<Breach>,
    broken: u64,
    /// When each node was last read past every cache.
    reads: BTreeMap<Name, Time>,
    /// Healthy nodes that were removed within the longest window: when, and from which pool.
    removed: VecDeque<(Time, u32)>,
    /// Of each machine that is starting: pods that had ever come, less those that did not wait, when it was launched.
    launched: BTreeMap<u32, i64>,
    /// How many pods waited lately, the oldest first.
    recent: VecDeque<(Time, i64)>,
}

/// What the oracle knows of a pool.
#[derive(Debug)]
struct PoolRules {
    spec: VmPoolSpec,
    /// More than `max` may exist from the start; from there it may only shrink.
    most: i64,
    budget: RemovalBudget,
}

impl Oracle {
    pub(crate) fn new(spec: &ScenarioSpec) -> Self {
        let pools = spec.pools.iter().map(|pool| PoolRules {
            most: i64::from(pool.spec.max.max(pool.running)),
            budget: pool.spec.budget.clone().unwrap_or_else(|| spec.policy.removal.per_pool.clone()),
            spec: pool.spec.clone(),
        });
        Self {
            policy: spec.policy.clone(),
            pools: pools.collect(),
            breaches: Vec::new(),
            broken: 0,
            reads: BTreeMap::new(),
            removed: VecDeque::new(),
            launched: BTreeMap::new(),
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

    fn breach(&mut self, world: &World, promise: &'static str, message: String) {
        self.broken += 1;
        if self.breaches.len() < KEPT {
            self.breaches.push(Breach { at: world.now, promise, message });
        }
    }

    /// I-10: a ledger that was stored cannot be read back.
    pub(crate) fn ledger_lost(&mut self, world: &World, error: &LedgerError) {
        self.breach(world, "I-10", error.to_string());
    }

    /// A plan was made.
    pub(crate) fn plan(&mut self, world: &World, watch: &Watch, plan: &Plan) {
        for note in plan.report.promises.iter().filter(|note| note.severity == Severity::Fatal) {
            self.breach(world, "check", note.message.clone());
        }
        // What was planned from a view that shows no truth cannot be held against the truth.
        if watch.shows_the_truth() {
            self.check_jointly(world, plan);
        }
    }

    /// A request is about to be carried out.
    pub(crate) fn before(&mut self, world: &World, watch: &Watch, request: &Request) {
        self.check_mode(world, request);
        match request {
            Request::StopInstance { pool, id, mode } => self.check_stop(world, pool, id, *mode),
            Request::Evict { namespace, name, uid } => self.check_evict(world, namespace, name, uid),
            Request::Cordon { name, .. } => self.check_cordon(world, watch, name),
            Request::StartInstance { id, .. } => self.check_start(world, id),
            Request::CreateInstance { pool, token, .. } => self.check_create(world, pool, token),
            _ => {}
        }
    }

    /// A request was carried out.
    pub(crate) fn after(&mut self, world: &World, request: &Request, reply: &Reply) {
        match (request, reply) {
            (Request::ReadNode { .. }, Reply::Node(node)) => {
                self.reads.insert(node.name.clone(), world.now);
            }
            (Request::StartInstance { id, .. }, Reply::Done) => self.note_launch(world, id),
            (Request::CreateInstance { .. }, Reply::Instance(made)) => self.note_launch(world, &made.id),
            _ => {}
        }
    }

    /// Everything at one instant has happened.
    pub(crate) fn step(&mut self, world: &World) {
        let waiting: i64 = world.meter.waiting.iter().map(|&waiting| i64::from(waiting)).sum();
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
            if size > most {
                let name = &world.pools[at].name;
                self.breach(
                    world,
                    "I-6",
                    format!("pool `{name}` has {size} machines, at most {most} are allowed"),
                );
            }
            // Where reality is outside, it may only move toward the range.
            self.pools[at].most = i64::from(self.pools[at].spec.max).max(size.min(most));
        }
    }

    /// I-24: Observe changes nothing, Recommend only what is Ballast's own.
    fn check_mode(&mut self, world: &World, request: &Request) {
        let allowed = match self.policy.mode {
            Mode::Enforce => true,
            Mode::Recommend => {
                let own = matches!(request, Request::WriteLedger { .. } | Request::WriteHistory { .. });
                own || !request.changes()
            }
            Mode::Observe => !request.changes(),
        };
        if !allowed {
            self.breach(world, "I-24", format!("{:?} allows no such request: {request:?}", self.policy.mode));
        }
    }
}
