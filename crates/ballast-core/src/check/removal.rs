//! Promises 1, 3, 4, 5, 10, 11 and 17 for what is removed.

use std::collections::{BTreeMap, BTreeSet};

use super::{fatal, is_removal, subject};
use crate::kube::Name;
use crate::memory::Memory;
use crate::observation::{ObjectKind, Source};
use crate::plan::{Action, ActionKind, Plan, PromiseNote, Subject};
use crate::policy::{BarePods, Direction, LocalStorage, RemovalBudget, StopMode};
use crate::resources::Resources;
use crate::snapshot::{BaseState, Class, NodeEntry, PodEntry, Snapshot};
use crate::units::{Share, Time};

pub(super) fn check(
    snapshot: &Snapshot,
    memory: &Memory,
    plan: &Plan,
    sizes: &[u32],
    notes: &mut Vec<PromiseNote>,
) {
    let going: Vec<&Action> = plan.actions.iter().filter(|action| is_removal(action)).collect();
    if going.is_empty() {
        return;
    }
    known(snapshot, plan, &going, notes);
    let capped = Capped::new(snapshot, memory, &going);
    for action in &going {
        match snapshot.node_named(&action.target.name) {
            Some(node) => untouched(snapshot, action, node, &capped, plan.now, notes),
            None => notes.push(fatal(2, subject(action), format!("{} is not there", action.target.name))),
        }
    }
    minimums(snapshot, memory, plan, &going, sizes, notes);
    budgets(snapshot, memory, plan, &going, sizes, notes);
    feasible(snapshot, &going, notes);
}

/// Promise 3: what is not known removes nothing.
fn known(snapshot: &Snapshot, plan: &Plan, going: &[&Action], notes: &mut Vec<PromiseNote>) {
    let mut sources = vec![Source::kubernetes(ObjectKind::PodDisruptionBudget)];
    sources.extend(going.iter().map(|action| Source::instances(&action.target.pool)));
    sources.sort();
    sources.dedup();
    for source in sources.iter().filter(|source| snapshot.trouble(source, plan.now).is_some()) {
        let message = format!("{:?} {} is not known, yet the plan removes", source.kind, source.name);
        notes.push(fatal(3, Subject::Cluster, message));
    }
    let lists = [ObjectKind::Node, ObjectKind::Pod, ObjectKind::PodDisruptionBudget];
    for kind in lists {
        if snapshot.settles_at(&Source::kubernetes(kind), plan.now).is_some() {
            let message = format!("{}s were suddenly fewer, yet the plan removes", kind.name());
            notes.push(fatal(3, Subject::Cluster, message));
        }
    }
}

/// Promises 1, 10 and 17: nothing in use, no gang member, no control plane, nothing of others.
fn untouched(
    snapshot: &Snapshot,
    action: &Action,
    node: &NodeEntry,
    capped: &Capped<'_>,
    now: Time,
    notes: &mut Vec<PromiseNote>,
) {
    let Some(pool) = node.pool.map(|at| &snapshot.pools[at as usize]) else {
        notes.push(fatal(17, subject(action), format!("{} is not ours", node.name)));
        return;
    };
    let roles = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
    let runs_ballast = node.pods.iter().any(|&pod| snapshot.class(snapshot.pod(pod).class).traits.ballast);
    if runs_ballast || roles.iter().any(|role| node.label(role).is_some()) {
        notes.push(fatal(
            17,
            subject(action),
            format!("{} runs the control plane or Ballast itself", node.name),
        ));
    }
    if snapshot.has_twin(node) {
        notes.push(fatal(
            1,
            subject(action),
            format!("another node stands for the machine of {}", node.name),
        ));
    }
    if is_kept(node) {
        notes.push(fatal(1, subject(action), format!("{} is annotated to be kept", node.name)));
    }
    if [&snapshot.policy.pause, &pool.spec.pause].iter().any(|pause| pause.holds(Direction::Down, now)) {
        notes.push(fatal(14, subject(action), format!("{} would go though removals are paused", node.name)));
    }
    if &*action.to == "Deleted" && pool.spec.stop != StopMode::Delete {
        notes.push(fatal(9, subject(action), format!("{} would be deleted, not stopped", node.name)));
    }
    let allowed: BTreeSet<&Name> = action.precondition.displaces.iter().collect();
    for pod in node.pods.iter().map(|&pod| snapshot.pod(pod)) {
        let class = snapshot.class(pod.class);
        let traits = &class.traits;
        let waited_for = action.kind == ActionKind::CordonNode && !allowed.contains(&pod.uid);
        if traits.daemon || traits.mirror || pod.leaving || waited_for {
            continue;
        }
        let rules = &pool.spec.scale_down;
        let is_capped = capped.namespaces.contains(&pod.namespace);
        let protected = (is_annotated(class) && !is_capped)
            || (traits.safe_to_evict != Some(true)
                && ((traits.system && !snapshot.budgets.values().any(|b| class.key.is_covered_by(b)))
                    || (traits.bare && rules.bare_pods == BarePods::Block)
                    || (traits.local_storage && rules.local_storage == LocalStorage::Block)));
        if protected || !allowed.contains(&pod.uid) {
            let message = format!("pod {}/{} on {} may not go", pod.namespace, pod.name, node.name);
            notes.push(fatal(1, subject(action), message));
        }
        if class.gang.is_some()
            && traits.safe_to_evict != Some(true)
            && !(is_capped && capped.is_alone(class))
        {
            notes.push(fatal(
                10,
                subject(action),
                format!("{}/{} is a gang member", pod.namespace, pod.name),
            ));
        }
    }
}

/// What is not heeded of pods, by the caps of their namespaces.
#[derive(Default)]
struct Capped<'a> {
    /// Namespaces that keep, by annotations of their pods, as many nodes as they may at the most, also without those that go or are
    /// on their way out.
    namespaces: BTreeSet<&'a Name>,
    /// Gangs that have one pod and no other.
    lone: BTreeSet<(&'a Name, &'a Name)>,
}

impl<'a> Capped<'a> {
    fn new(snapshot: &'a Snapshot, memory: &Memory, going: &[&Action]) -> Self {
        if snapshot.policy.tenants.iter().all(|tenant| tenant.protected_nodes.is_none()) {
            return Self::default();
        }
        let mut gangs: BTreeMap<(&Name, &Name), u32> = BTreeMap::new();
        for &slot in &snapshot.in_gangs {
            let gang = snapshot.class(slot).gang.as_ref();
            gang.iter().for_each(|gang| {
                *gangs.entry(gang.identity()).or_default() += snapshot.class_keys.users(slot)
            });
        }
        gangs.retain(|_, members| *members == 1);
        let mut capped = Self { namespaces: BTreeSet::new(), lone: gangs.into_keys().collect() };
        let mut kept: BTreeMap<&Name, usize> = BTreeMap::new();
        for node in snapshot.nodes() {
            let stays = stays(snapshot, memory, going, node);
            for namespace in capped.keepers(snapshot, node) {
                *kept.entry(namespace).or_default() += usize::from(stays);
            }
        }
        let cap =
            |namespace: &Name| snapshot.policy.tenant(namespace).and_then(|tenant| tenant.protected_nodes);
        kept.retain(|namespace, nodes| cap(namespace).is_some_and(|cap| *nodes >= cap as usize));
        capped.namespaces = kept.into_keys().collect();
        capped
    }

    /// Namespaces of the pods that keep a node by annotations.
    fn keepers<'b>(&self, snapshot: &'b Snapshot, node: &NodeEntry) -> BTreeSet<&'b Name> {
        let keeps = |pod: &&PodEntry| {
            let class = snapshot.class(pod.class);
            let is_guest = !class.traits.daemon && !class.traits.mirror && !pod.leaving;
            is_guest && (is_annotated(class) || self.is_alone(class))
        };
        node.pods.iter().map(|&pod| snapshot.pod(pod)).filter(keeps).map(|pod| &pod.namespace).collect()
    }

    /// Whether a class is kept by a gang that has one pod and no other.
    fn is_alone(&self, class: &Class) -> bool {
        let gang = class.gang.as_ref().filter(|_| class.traits.safe_to_evict.is_none());
        gang.is_some_and(|gang| self.lone.contains(&gang.identity()))
    }
}

/// Whether a node is ours, neither goes by this plan nor is on its way out.
fn stays(snapshot: &Snapshot, memory: &Memory, going: &[&Action], node: &NodeEntry) -> bool {
    let names = [&node.name, snapshot.machine_of(node)];
    let is_leaving = matches!(node.state, BaseState::CordonedByUs | BaseState::Stopping)
        || names.iter().any(|name| memory.ledger.removals.contains_key(*name));
    node.pool.is_some() && !is_leaving && going.iter().all(|action| action.target.name != node.name)
}

/// Whether its pods are annotated so that nobody removes their node.
fn is_annotated(class: &Class) -> bool {
    class.traits.do_not_disrupt || class.traits.safe_to_evict == Some(false) || class.traits.on_completion
}

/// Somebody annotated the node so that nobody removes it.
fn is_kept(node: &NodeEntry) -> bool {
    let annotations = node.node.as_ref().map(|node| &node.metadata.annotations);
    let keys = [
        "ballast.dev/do-not-disrupt",
        "karpenter.sh/do-not-disrupt",
        "cluster-autoscaler.kubernetes.io/scale-down-disabled",
    ];
    let says =
        |key: &&str| annotations.and_then(|all| all.get(*key)).is_some_and(|value| &**value != "false");
    keys.iter().any(says)
}

/// Promise 4: no pool falls below its minimum.
fn minimums(
    snapshot: &Snapshot,
    memory: &Memory,
    plan: &Plan,
    going: &[&Action],
    sizes: &[u32],
    notes: &mut Vec<PromiseNote>,
) {
    let mut gone: BTreeMap<&Name, u32> = BTreeMap::new();
    for action in going {
        *gone.entry(&action.target.pool).or_default() += 1;
    }
    for (pool, size) in snapshot.pools.iter().zip(sizes) {
        let name = &pool.name;
        let Some(gone) = gone.get(name) else { continue };
        let leaving = memory.ledger.removals.values().filter(|removal| removal.pool == *name).count() as u32;
        let left = size.saturating_sub(gone + leaving);
        let (min, _) = pool.spec.range_at(plan.now);
        if left < min {
            let subject = Subject::Pool { name: name.clone() };
            notes.push(fatal(4, subject, format!("pool {name} would keep {left} nodes of at least {min}")));
        }
    }
}

/// Promise 5: removal budgets hold across everything that the ledger remembers.
fn budgets(
    snapshot: &Snapshot,
    memory: &Memory,
    plan: &Plan,
    going: &[&Action],
    sizes: &[u32],
    notes: &mut Vec<PromiseNote>,
) {
    let spent = |budget: &RemovalBudget, pool: Option<&Name>| {
        let since = plan.now - budget.window;
        let concerns = |name: &Name| pool.is_none_or(|pool| pool == name);
        memory.ledger.removed.iter().filter(|gone| gone.at > since && concerns(&gone.pool)).count() as u64
    };
    let mut hold = |budget: &RemovalBudget, pool: Option<&Name>, nodes: u64, removed: u64| {
        let ceiling = if budget.unlimited { budget.share } else { budget.share.min(Share::percent(34)) };
        let before = spent(budget, pool);
        let most = ceiling.of(nodes + before).max(u64::from(ceiling > Share::default()));
        if before + removed > most {
            let subject = pool.map_or(Subject::Cluster, |name| Subject::Pool { name: name.clone() });
            let message = format!(
                "{} of {nodes} nodes would go within {}, {most} may",
                before + removed,
                budget.window
            );
            notes.push(fatal(5, subject, message));
        }
    };
    let mut all = 0;
    for (pool, size) in snapshot.pools.iter().zip(sizes) {
        // What is on its way out is among what was spent.
        let leaving = leaving(snapshot, memory, &pool.name);
        let nodes = u64::from(size.saturating_sub(leaving));
        all += nodes;
        let removed = going.iter().filter(|action| action.target.pool == pool.name).count() as u64;
        if removed > 0 {
            let budget = pool.spec.budget.as_ref().unwrap_or(&snapshot.policy.removal.per_pool);
            hold(budget, Some(&pool.name), nodes, removed);
        }
    }
    hold(&snapshot.policy.removal.per_cluster, None, all, going.len() as u64);
}

/// Nodes of a pool on their way out, by whatever tells it: the ledger, our cordon, or their machine.
fn leaving(snapshot: &Snapshot, memory: &Memory, pool: &Name) -> u32 {
    let goes = |node: &&NodeEntry| {
        let own = node.pool.is_some_and(|at| snapshot.pools[at as usize].name == *pool);
        own && matches!(node.state, BaseState::CordonedByUs | BaseState::Stopping)
    };
    let removals = memory.ledger.removals.iter().filter(|(_, removal)| removal.pool == *pool);
    let mut names: BTreeSet<&Name> = removals.map(|(name, _)| name).collect();
    names.extend(snapshot.nodes().filter(goes).map(|node| &node.name));
    names.len() as u32
}

/// Promise 11, as far as it can be told without a packing: what is displaced is not more than what is free elsewhere, each
/// pod fits some node, and disruption budgets hold.
fn feasible(snapshot: &Snapshot, going: &[&Action], notes: &mut Vec<PromiseNote>) {
    let names: BTreeSet<&Name> = going.iter().map(|action| &action.target.name).collect();
    let stays = |node: &&NodeEntry| node.takes_pods() && !names.contains(&node.name);
    let mut free = Resources::ZERO;
    for node in snapshot.nodes().filter(stays) {
        let mut here = node.free();
        here.max_with(&Resources::ZERO);
        free.add(&here, 1);
    }
    let mut moved: Vec<&PodEntry> = Vec::new();
    for action in going {
        let Some(node) = snapshot.node_named(&action.target.name) else { continue };
        let displaces: BTreeSet<&Name> = action.precondition.displaces.iter().collect();
        let pods = node.pods.iter().map(|&pod| snapshot.pod(pod));
        moved.extend(pods.filter(|pod| displaces.contains(&pod.uid) && !pod.leaving));
    }
    let (mut need, mut devices) = (Resources::ZERO, 0);
    for class in moved.iter().map(|pod| snapshot.class(pod.class)) {
        need.add(&class.requests, 1);
        devices += class.gpu.milli();
    }
    for dimension in [Resources::CPU, Resources::MEMORY, Resources::PODS] {
        if need[dimension] > free[dimension] {
            let message =
                format!("what is displaced needs more {} than is free", snapshot.names.name(dimension));
            notes.push(fatal(11, Subject::Cluster, message));
        }
    }
    if devices > snapshot.nodes().filter(stays).map(|node| node.gpus.free_milli()).sum() {
        notes.push(fatal(11, Subject::Cluster, "what is displaced needs more GPUs than are free".into()));
    }
    let classes: BTreeSet<u32> = moved.iter().map(|pod| pod.class).collect();
    for class in classes.into_iter().map(|class| snapshot.class(class)) {
        let constraint = snapshot.constraint(class.constraint);
        let takes = |node: &NodeEntry| {
            let suits = node.profile().is_some_and(|profile| constraint.misfit(&profile).is_none());
            suits && class.requests.fits(&node.free())
        };
        if !snapshot.nodes().filter(stays).any(takes) {
            let message = format!("what is displaced of {} fits on no other node", class.key.namespace);
            notes.push(fatal(11, Subject::Cluster, message));
        }
    }
    disruptions(snapshot, &moved, notes);
}

fn disruptions(snapshot: &Snapshot, moved: &[&PodEntry], notes: &mut Vec<PromiseNote>) {
    for ((namespace, name), budget) in &snapshot.budgets {
        let covers = |pod: &&&PodEntry| snapshot.class(pod.class).key.is_covered_by(budget);
        let hit = moved.iter().filter(covers).count() as i64;
        let allowed = budget.allows();
        if hit > allowed {
            let message = format!("{hit} pods of budget {namespace}/{name} would go, {allowed} may");
            notes.push(fatal(11, Subject::Cluster, message));
        }
    }
}
