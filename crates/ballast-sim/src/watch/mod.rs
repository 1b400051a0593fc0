//! The watch: the true world in, observations out, as a controller would get them from watches and lists.
//!
//! A view follows the truth by deltas. A fault can let it stand still, fail, be suddenly empty or hold only half; once it is
//! mended it is listed anew. A controller that was started anew gets everything listed.

mod feed;
mod instances;

use std::sync::Arc;

use ballast_core::kube::{DaemonSet, DaemonSetSpec, Meta, Name, PodTemplateSpec};
use ballast_core::observation::{Body, Change, Object, ObjectKind, Observation, Source};
use ballast_core::policy::{ClusterPolicy, VmPool};
use ballast_core::units::{Span, Time};

use self::feed::Feed;
use self::instances::PoolFeed;
use crate::scenario::{FaultKind, ScenarioSpec, View};
use crate::world::{World, daemon_template};

/// How often a view that does not change says that it is still there, as bookmarks do.
const BOOKMARK: Span = Span::from_secs(30);

/// How much of a list a view that is cut off shows.
fn less_than_half(len: usize) -> usize {
    len.saturating_sub(1) / 2
}

/// What a controller sees the world by.
#[derive(Debug)]
pub(crate) struct Watch {
    nodes: Feed,
    pods: Feed,
    budgets: Feed,
    pools: Vec<PoolFeed>,
    /// Kinds whose objects never change.
    still: Vec<(Source, Vec<Object>)>,
    still_told_at: Option<Time>,
    /// Since when the one who listens has been there.
    pub(crate) since: Time,
    no_pool: Name,
}

impl Watch {
    pub(crate) fn new(spec: &ScenarioSpec) -> Self {
        let pools = spec.pools.iter().map(|pool| PoolFeed::new(&pool.name, spec)).collect();
        Self {
            nodes: Feed::new(ObjectKind::Node),
            pods: Feed::new(ObjectKind::Pod),
            budgets: Feed::new(ObjectKind::PodDisruptionBudget),
            pools,
            still: still_objects(spec),
            still_told_at: None,
            since: spec.start,
            no_pool: Name::default(),
        }
    }

    /// Forgets what was told: whoever listens next knows nothing.
    pub(crate) fn restart(&mut self, now: Time) {
        self.since = now;
        for feed in [&mut self.nodes, &mut self.pods, &mut self.budgets] {
            feed.restart();
        }
        for pool in &mut self.pools {
            pool.restart();
        }
        self.still_told_at = None;
    }

    /// What there is to tell now.
    pub(crate) fn observe(&mut self, world: &mut World) -> Vec<Observation> {
        let now = world.now;
        let mut told = Vec::new();
        self.observe_still(now, &mut told);
        self.observe_budgets(world, &mut told);
        self.observe_nodes(world, &mut told);
        self.observe_pods(world, &mut told);
        for (at, pool) in self.pools.iter_mut().enumerate() {
            told.extend(pool.observe(world, at));
        }
        told
    }

    /// Whether a fault keeps a view from showing the truth, and since when.
    pub(crate) fn trouble(&self, view: View, pool: Option<usize>) -> Option<(FaultKind, Time)> {
        match view {
            View::Nodes => self.nodes.trouble,
            View::Pods => self.pods.trouble,
            View::Budgets => self.budgets.trouble,
            View::Instances => pool.and_then(|pool| self.pools[pool].trouble),
        }
    }

    /// Whether no fault keeps any view from showing the truth.
    pub(crate) fn shows_the_truth(&self) -> bool {
        let feeds = [&self.nodes, &self.pods, &self.budgets];
        feeds.iter().all(|feed| feed.trouble.is_none())
            && self.pools.iter().all(|pool| pool.trouble.is_none())
    }

    /// When the cloud of a pool last told the truth of its machines, up to an instant.
    pub(crate) fn told_at(&self, pool: usize, until: Time) -> Option<Time> {
        self.pools[pool].told_at(until)
    }

    /// People have changed documents.
    pub(crate) fn documents_changed(&mut self, spec: &ScenarioSpec) {
        self.still = still_objects(spec);
        self.still_told_at = None;
    }

    fn observe_still(&mut self, now: Time, told: &mut Vec<Observation>) {
        if self.still_told_at.is_some_and(|at| now < at + BOOKMARK) {
            return;
        }
        let fresh = self.still_told_at.is_none();
        for (source, objects) in &self.still {
            let body = if fresh { Body::Listed(objects.clone()) } else { Body::Changed(Vec::new()) };
            told.push(Observation { source: source.clone(), taken_at: now, outcome: Ok(body) });
        }
        self.still_told_at = Some(now);
    }

    fn observe_nodes(&mut self, world: &mut World, told: &mut Vec<Observation>) {
        let fault = world.faults.of_view(View::Nodes, &self.no_pool).cloned();
        let list = |world: &World| -> Vec<Object> {
            let there = world.machines.iter().filter_map(|machine| world.node_object(machine));
            there.map(Object::Node).collect()
        };
        let changes = |world: &mut World| {
            let gone = std::mem::take(&mut world.changes.nodes_gone).into_iter().map(Change::Deleted);
            let mut changes: Vec<Change> = gone.collect();
            for machine in std::mem::take(&mut world.changes.nodes) {
                let dirty = std::mem::take(&mut world.machines[machine as usize].dirty);
                if let (true, Some(node)) = (dirty, world.node_object(&world.machines[machine as usize])) {
                    changes.push(Change::Applied(Object::Node(node)));
                }
            }
            changes
        };
        told.extend(self.nodes.observe(world, fault.as_ref(), list, changes));
    }

    fn observe_pods(&mut self, world: &mut World, told: &mut Vec<Observation>) {
        let fault = world.faults.of_view(View::Pods, &self.no_pool).cloned();
        let list = |world: &World| -> Vec<Object> {
            world.pods.iter().map(|(pod, _)| Object::Pod(world.pod_object(pod))).collect()
        };
        let changes = |world: &mut World| {
            let gone = std::mem::take(&mut world.changes.pods_gone).into_iter().map(Change::Deleted);
            let mut changes: Vec<Change> = gone.collect();
            let touched = std::mem::take(&mut world.changes.pods);
            changes.reserve(touched.len());
            for pod in touched {
                // The number may belong to another pod by now, or to none.
                let dirty = world.pods.get_mut(pod).is_some_and(|entry| std::mem::take(&mut entry.dirty));
                if dirty {
                    changes.push(Change::Applied(Object::Pod(world.pod_object(pod))));
                }
            }
            changes
        };
        told.extend(self.pods.observe(world, fault.as_ref(), list, changes));
    }

    fn observe_budgets(&mut self, world: &mut World, told: &mut Vec<Observation>) {
        let fault = world.faults.of_view(View::Budgets, &self.no_pool).cloned();
        let list = |world: &World| -> Vec<Object> {
            let all = world.budgets.iter().map(|budget| world.budget_object(budget));
            all.map(Object::PodDisruptionBudget).collect()
        };
        let changes = |world: &mut World| {
            let mut changes = Vec::new();
            for at in 0..world.budgets.len() {
                if std::mem::take(&mut world.budgets[at].dirty) {
                    let object = world.budget_object(&world.budgets[at]);
                    changes.push(Change::Applied(Object::PodDisruptionBudget(object)));
                }
            }
            changes
        };
        told.extend(self.budgets.observe(world, fault.as_ref(), list, changes));
    }
}

/// The objects that never change in a scenario, by source.
fn still_objects(spec: &ScenarioSpec) -> Vec<(Source, Vec<Object>)> {
    let policy =
        ClusterPolicy { name: "cluster".into(), namespace: Name::default(), spec: spec.policy.clone() };
    let pools = spec.pools.iter().map(|pool| {
        let spec = pool.spec.clone();
        Object::VmPool(VmPool { name: pool.name.clone(), namespace: Name::default(), spec })
    });
    let daemons = spec.daemons.iter().map(|daemon| {
        let metadata =
            Meta { name: daemon.name.clone(), namespace: daemon.namespace.clone(), ..Meta::default() };
        let pod = Arc::new(daemon_template(&daemon.node_selector, &daemon.requests));
        let template = PodTemplateSpec { metadata: Meta::default(), spec: pod };
        Object::DaemonSet(DaemonSet { metadata, spec: DaemonSetSpec { template } })
    });
    let mut lists = vec![
        (ObjectKind::ClusterPolicy, vec![Object::ClusterPolicy(policy)]),
        (ObjectKind::VmPool, pools.collect()),
        (ObjectKind::DaemonSet, daemons.collect()),
    ];
    for kind in ObjectKind::ALL {
        let moves = matches!(kind, ObjectKind::Node | ObjectKind::Pod | ObjectKind::PodDisruptionBudget);
        if !moves && !lists.iter().any(|(listed, _)| *listed == kind) {
            lists.push((kind, Vec::new()));
        }
    }
    lists.into_iter().map(|(kind, objects)| (Source::kubernetes(kind), objects)).collect()
}
