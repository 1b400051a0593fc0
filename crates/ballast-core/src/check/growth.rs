//! Promises 3, 4 and 6 for what is added: within every limit, on known sources, one launch for one need.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::{fatal, is_launch, subject};
use crate::kube::Name;
use crate::memory::Memory;
use crate::observation::{InstanceState, ObjectKind, Source};
use crate::plan::{Plan, PromiseNote, Subject, WaitingOn};
use crate::resources::Resources;
use crate::snapshot::{BaseState, Class, Gang, NodeEntry, PoolEntry, Snapshot};
use crate::units::{Money, Quantity};

pub(super) fn check(
    snapshot: &Snapshot,
    memory: &Memory,
    plan: &Plan,
    sizes: &[u32],
    notes: &mut Vec<PromiseNote>,
) {
    known(snapshot, plan, notes);
    let mut launched: BTreeMap<&Name, u32> = BTreeMap::new();
    for action in plan.actions.iter().filter(|action| is_launch(action)) {
        *launched.entry(&action.target.pool).or_default() += 1;
        once(memory, action, notes);
    }
    let mut totals = Totals::default();
    for (pool, &size) in snapshot.pools.iter().zip(sizes) {
        let added = launched.get(&pool.name).copied().unwrap_or(0);
        let (_, max) = pool.spec.range_at(plan.now);
        if added > 0 && size + added > max {
            let subject = Subject::Pool { name: pool.name.clone() };
            notes.push(fatal(
                4,
                subject,
                format!("pool {} would have {} nodes of {max}", pool.name, size + added),
            ));
        }
        totals.add(snapshot, pool, i64::from(size + added));
    }
    if !launched.is_empty() {
        totals.within(snapshot, notes);
    }
    whole(snapshot, plan, notes);
    quotas(snapshot, plan, notes);
}

/// Promise 4, for namespaces: nodes are started for what is within the quota of a namespace, together with what runs there.
fn quotas(snapshot: &Snapshot, plan: &Plan, notes: &mut Vec<PromiseNote>) {
    if snapshot.policy.tenants.iter().all(|tenant| tenant.quota.is_empty()) {
        return;
    }
    let mut first: BTreeMap<(&Name, &Name), &Class> = BTreeMap::new();
    for (&slot, queue) in &snapshot.pending {
        let class = snapshot.class(slot);
        first.extend(queue.first().map(|(_, name, _)| ((&class.key.namespace, name), class)));
    }
    let mut started: BTreeMap<&Name, Vec<(&Class, u32)>> = BTreeMap::new();
    for wait in plan.report.waiting.iter() {
        if let (Subject::Pods { namespace, name, .. }, WaitingOn::Planned { count, .. }) =
            (&wait.subject, &wait.on)
        {
            let class = first.get(&(namespace, name)).map(|class| (*class, *count));
            started.entry(namespace).or_default().extend(class);
        }
    }
    for (namespace, started) in started {
        let Some(tenant) = snapshot.policy.tenant(namespace) else { continue };
        let bound = snapshot.nodes().flat_map(|node| &node.pods).map(|&pod| snapshot.pod(pod));
        let bound = bound.filter(|pod| pod.namespace == *namespace).map(|pod| (snapshot.class(pod.class), 1));
        let bound: Vec<(&Class, u32)> = bound.collect();
        for (resource, most) in &tenant.quota {
            let of = |class: &Class| match &**resource {
                "pods" => 1000,
                _ => class.amounts.get(resource).map_or(0, |amount| i128::from(amount.milli())),
            };
            let sum = |all: &[(&Class, u32)]| -> i128 {
                all.iter().map(|(class, count)| of(class) * i128::from(*count)).sum()
            };
            // More may run than a quota allows: it bounds what is started alone, and only where that asks for some of it.
            let asks = sum(&started);
            if asks > 0 && sum(&bound) + asks > i128::from(most.milli()) {
                let message = format!("nodes are started for {namespace} beyond its quota of {resource}");
                notes.push(fatal(4, Subject::Cluster, message));
            }
        }
    }
}

/// What a cluster would have of everything that is limited.
#[derive(Default)]
struct Totals<'a> {
    nodes: i64,
    cores_milli: i64,
    memory: i64,
    cost: Money,
    /// By model.
    gpus: BTreeMap<&'a str, i64>,
}

impl<'a> Totals<'a> {
    fn add(&mut self, snapshot: &Snapshot, pool: &'a PoolEntry, nodes: i64) {
        self.nodes += nodes;
        self.cost += pool.spec.price.per_hour.unwrap_or_else(|| snapshot.assumed_price()) * nodes;
        let Some(template) = pool.templates.first() else { return };
        let of = |dimension: usize| template.allocatable[dimension].saturating_mul(nodes);
        self.cores_milli = self.cores_milli.saturating_add(of(Resources::CPU));
        self.memory = self.memory.saturating_add(of(Resources::MEMORY));
        let model = pool.spec.template.gpu_model.as_deref().unwrap_or_default();
        *self.gpus.entry(model).or_default() += template.gpus.count() as i64 * nodes;
    }

    /// Promise 4 for the whole cluster.
    fn within(&self, snapshot: &Snapshot, notes: &mut Vec<PromiseNote>) {
        let limits = &snapshot.policy.limits;
        let mut bound = |is_beyond: bool, what: String| {
            if is_beyond {
                notes.push(fatal(4, Subject::Cluster, format!("the cluster would {what}")));
            }
        };
        let Self { nodes, cores_milli, memory, cost, gpus } = self;
        bound(limits.nodes.is_some_and(|most| *nodes > i64::from(most)), format!("have {nodes} nodes"));
        bound(limits.cost_per_hour.is_some_and(|most| *cost > most), format!("cost {cost} per hour"));
        let cores = Quantity::from_milli(*cores_milli);
        bound(limits.cores.is_some_and(|most| cores > most), format!("have {cores} cores"));
        let memory = Quantity::from_units(*memory);
        bound(limits.memory.is_some_and(|most| memory > most), format!("have {memory} of memory"));
        for (model, &most) in &limits.gpus {
            let of_model = |(other, _): &(&&str, &i64)| &**model == "*" || **other == &**model;
            let count: i64 = gpus.iter().filter(of_model).map(|(_, count)| count).sum();
            bound(count > i64::from(most), format!("have {count} GPUs of model {model}"));
        }
    }
}

/// Promise 10: nothing is launched for a gang of which not all gets a place.
fn whole(snapshot: &Snapshot, plan: &Plan, notes: &mut Vec<PromiseNote>) {
    let launched: BTreeSet<&Name> =
        plan.actions.iter().map(|action| &action.gang).filter(|gang| !gang.is_empty()).collect();
    if launched.is_empty() {
        return;
    }
    let mut without_place: BTreeSet<(&Name, &Name)> = BTreeSet::new();
    let put_off = plan
        .report
        .waiting
        .iter()
        .filter(|wait| matches!(wait.on, WaitingOn::Growth { .. } | WaitingOn::Quota { .. }));
    let left = plan.report.infeasible.iter().map(|left| &left.subject);
    for subject in left.chain(put_off.map(|wait| &wait.subject)) {
        if let Subject::Pods { namespace, name, .. } = subject {
            without_place.insert((namespace, name));
        }
    }
    for own in snapshot.asks.keys().filter(|own| launched.contains(&own.gang_key())) {
        let is_own = |subject: &Subject| {
            let Subject::Workload { namespace, name, object: Some(object) } = subject else { return false };
            (namespace, name, &*object.kind) == (&own.namespace, &own.name, own.kind.name())
        };
        if plan.report.infeasible.iter().any(|left| is_own(&left.subject)) {
            let message =
                format!("a part of request {}/{} is launched, another has no place", own.namespace, own.name);
            notes.push(fatal(10, Subject::Cluster, message));
        }
    }
    for (&slot, queue) in &snapshot.pending {
        let Some(gang) = snapshot.class(slot).gang.as_ref().map(Gang::key) else { continue };
        let is_left = |name: &Name| without_place.contains(&(&snapshot.class(slot).key.namespace, name));
        if launched.contains(&gang) && queue.iter().any(|(_, name, _)| is_left(name)) {
            let message = format!("a part of gang {gang} is launched, another has no place");
            notes.push(fatal(10, Subject::Cluster, message));
        }
    }
}

/// Promise 3, for growth: a need is only known when pods and nodes are.
fn known(snapshot: &Snapshot, plan: &Plan, notes: &mut Vec<PromiseNote>) {
    let acts = !plan.actions.is_empty();
    for kind in [ObjectKind::Node, ObjectKind::Pod] {
        if acts && snapshot.trouble(&Source::kubernetes(kind), plan.now).is_some() {
            notes.push(fatal(
                3,
                Subject::Cluster,
                format!("{}s are not known, yet the plan acts", kind.name()),
            ));
        }
    }
}

/// Promise 6: one need backs at most one launch.
fn once(memory: &Memory, action: &crate::plan::Action, notes: &mut Vec<PromiseNote>) {
    let under_way = |name: &Name| memory.ledger.launches.contains_key(name);
    let token = &action.precondition.token;
    let doubled = memory.ledger.launches.values().any(|launch| launch.token == *token);
    if under_way(&action.target.name) || doubled || token.is_empty() {
        notes.push(fatal(6, subject(action), format!("{} is launched a second time", action.target.name)));
    }
}

/// Machines of each pool that are not off, each counted once. What is under way counts until it has ended.
pub(super) fn sizes(snapshot: &Snapshot, memory: &Memory) -> Vec<u32> {
    let twice = machines_with_two_nodes(snapshot);
    let of_pool = |(at, pool): (usize, &PoolEntry)| {
        let up = pool.counts.all_but(BaseState::Stopped) + pool.nodeless.len() as u32;
        let doubled = twice.iter().filter(|node| node.pool == Some(at as u32)).count() as u32;
        up - doubled + unseen(snapshot, pool, memory)
    };
    snapshot.pools.iter().enumerate().map(of_pool).collect()
}

/// Nodes that are up and bear the identity of another's machine: one was renamed, and its former self was not deleted yet.
fn machines_with_two_nodes(snapshot: &Snapshot) -> Vec<&NodeEntry> {
    // Where every node has an identity of its own, which is nearly always, there is none to look for.
    if snapshot.shared_ids.is_empty() {
        return Vec::new();
    }
    let mut seen: FxHashSet<(Option<u32>, &str)> = FxHashSet::default();
    let up = snapshot.nodes().filter(|node| node.state != BaseState::Stopped);
    up.filter(|node| !node.provider_id().is_empty() && !seen.insert((node.pool, node.provider_id())))
        .collect()
}

/// What is under way in a pool and is neither a node nor an instance that is up.
fn unseen(snapshot: &Snapshot, pool: &PoolEntry, memory: &Memory) -> u32 {
    let launches = memory.ledger.launches.iter().filter(|(_, launch)| launch.pool == pool.name);
    let removals = memory.ledger.removals.iter().filter(|(_, removal)| removal.pool == pool.name);
    let under_way = launches.map(|(name, launch)| (name, &launch.provider_id));
    let under_way = under_way.chain(removals.map(|(name, removal)| (name, &removal.provider_id)));
    let is_up = |node: &NodeEntry| {
        let own = node.pool.is_some_and(|at| snapshot.pools[at as usize].name == pool.name);
        own && node.state != BaseState::Stopped
    };
    let is_seen = |name: &Name, id: &Name| {
        snapshot.node_of_instance(id, name).is_some_and(is_up)
            || pool.state_of(id, name).is_some_and(|state| state != InstanceState::Stopped)
    };
    under_way.filter(|(name, id)| !is_seen(name, id)).count() as u32
}
