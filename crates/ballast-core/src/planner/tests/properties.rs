//! What holds for every cluster: the check is clean, deltas and lists lead to the same plan, plans are repeatable.

use std::sync::Arc;

use proptest::prelude::*;

use crate::check::check;
use crate::fixtures::{Cluster, a_pool, changed, labels, sized};
use crate::kube::{ContainerPort, Name, Phase, PodSpec};
use crate::observation::{Body, Change, InstanceState, Object, ObjectKey, ObjectKind, Observation, Source};
use crate::planner::Scratch;
use crate::snapshot::Store;
use crate::units::{Quantity, Span};

/// A cluster made from small numbers.
#[derive(Clone, Debug)]
struct Seedling {
    nodes: Vec<(u8, u8)>,
    stopped: u8,
    /// CPU in hundreds of millicores, node (or none), kind.
    pods: Vec<(u8, Option<u8>, u8)>,
    max: u8,
    gang: u8,
    /// The first of the resources that only some pods ask for.
    first: u8,
}

fn seedling() -> impl Strategy<Value = Seedling> {
    let nodes = prop::collection::vec((0u8..3, 0u8..10), 0..12);
    let pods = prop::collection::vec((1u8..45, prop::option::of(0u8..12), 0u8..8), 0..60);
    (nodes, 0u8..4, pods, 0u8..20, 0u8..4, 0u8..9).prop_map(|(nodes, stopped, pods, max, gang, first)| {
        Seedling { nodes, stopped, pods, max, gang, first }
    })
}

/// A resource that only some pods ask for. There are more than the model has dimensions for.
fn rare(at: u8) -> String {
    format!("example.com/{}", char::from(b'z' - at % 9))
}

fn grow(seedling: &Seedling) -> Cluster {
    let mut cluster = Cluster::new();
    for (pool, cpu, price) in [("a", "4", 1.0), ("b", "8", 1.5), ("c", "2", 0.9)] {
        let gpus = if pool == "b" { "4" } else { "0" };
        let mut spec = a_pool(
            &[("cpu", cpu), ("memory", "32Gi"), ("nvidia.com/gpu", gpus)],
            u32::from(seedling.max),
            price,
        );
        // Two of the pools have some of each resource that is not everywhere.
        if pool != "a" {
            let rare = (0..9).map(|at| (rare(at).into(), Quantity::from_units(2)));
            spec.template.allocatable.extend(rare);
        }
        cluster.pool(pool, spec);
    }
    if seedling.gang == 0 {
        cluster.without_removal_budgets();
    }
    for (at, &(pool, state)) in seedling.nodes.iter().enumerate() {
        let node = cluster.node(&format!("n{at}"), ["a", "b", "c"][pool as usize]);
        node.spec.unschedulable = state == 9;
        if state == 8 {
            node.status.conditions[0].status = "False".into();
        }
    }
    for at in 0..seedling.stopped {
        cluster.instance(&format!("off{at}"), "a", InstanceState::Stopped);
    }
    for (at, &(cpu, node, kind)) in seedling.pods.iter().enumerate() {
        let cpu = format!("{}00m", cpu);
        let gpu = if kind == 1 { "1" } else { "0" };
        let pod = cluster.pending(&format!("p{}-{at}", kind), &[("cpu", &cpu), ("nvidia.com/gpu", gpu)]);
        match kind {
            2 => pod.metadata.owner_references.clear(),
            3 => pod.metadata.labels = labels(&[("ballast.dev/gang", "g"), ("ballast.dev/gang-size", "3")]),
            4 | 5 => {
                let container = &mut Arc::make_mut(&mut pod.spec).containers[0];
                let rare = [rare(seedling.first + at as u8 % 4), rare(at as u8 % 9)];
                container.resources.requests.extend(rare.map(|name| (name.into(), Quantity::from_units(1))));
            }
            _ => {}
        }
        if let Some(node) = node.filter(|&node| usize::from(node) < seedling.nodes.len()) {
            pod.node_name = format!("n{node}").into();
            pod.status.phase = Phase::Running;
        }
    }
    cluster
}

proptest! {
    #![proptest_config(sized(200, 5_000))]

    #[test]
    fn no_plan_breaks_a_promise(seedling in seedling()) {
        let mut cluster = grow(&seedling);
        let snapshot = cluster.store().snapshot();
        let plan = cluster.plan();
        prop_assert_eq!(check(&snapshot, &cluster.memory, &plan), []);
        for (wish, grant) in plan.wishes.iter().zip(&plan.grants) {
            prop_assert_eq!((&wish.namespace, &wish.workload), (&grant.namespace, &grant.workload));
            prop_assert!(wish.have <= grant.units && grant.units <= wish.at_most);
            prop_assert!(!wish.gang || grant.units == wish.have || grant.units >= wish.floor, "all or nothing");
        }
        prop_assert_eq!(plan, grow(&seedling).plan(), "the same input gives the same plan");
    }

    #[test]
    fn deltas_and_lists_lead_to_the_same_plan(before in seedling(), after in seedling()) {
        let cold = grow(&after);
        // Everything of `before` is seen first, then changed into `after` piece by piece, in another order.
        let mut store = grow(&before).store();
        // One scratch for both plans: what it remembers of the first must not be seen in the second.
        let mut scratch = crate::planner::Scratch::default();
        crate::planner::plan(&store.snapshot(), &cold.memory, cold.now, &mut scratch);
        let target = cold.observations();
        for observation in target.iter().filter(|observation| &*observation.source.name == "ClusterPolicy") {
            store.observe(observation.clone());
        }
        for observation in target.iter().filter(|observation| &*observation.source.name == "VmPool") {
            store.observe(observation.clone());
        }
        change_into(&mut store, &grow(&before), &cold);
        let warm = store.snapshot();
        let snapshot = cold.store().snapshot();
        let (warm, _) = crate::planner::plan(&warm, &cold.memory, cold.now, &mut scratch);
        let (cold, _) = crate::planner::plan(&snapshot, &cold.memory, cold.now, &mut Default::default());
        prop_assert_eq!(serde_json::to_string(&warm).unwrap(), serde_json::to_string(&cold).unwrap());
    }

    #[test]
    fn what_is_remembered_changes_no_plan(
        seedling in seedling(),
        events in prop::collection::vec((0u8..16, any::<u8>(), 1u8..45), 1..32),
    ) {
        let mut cluster = grow(&seedling);
        let mut store = cluster.store();
        let mut scratch = Scratch::default();
        for event in events {
            happen(&mut cluster, &mut store, event);
            let snapshot = store.snapshot();
            let warm = crate::planner::plan(&snapshot, &cluster.memory, cluster.now, &mut scratch);
            let cold = crate::planner::plan(&snapshot, &cluster.memory, cluster.now, &mut Scratch::default());
            let text = |plan| serde_json::to_string(plan).unwrap();
            prop_assert_eq!(text(&warm.0), text(&cold.0), "after {:?}", event);
            prop_assert_eq!(&warm.1, &cold.1);
            cluster.memory.history = warm.1;
        }
    }
}

/// Something happens to a cluster: its kind, whom it befalls, a size.
fn happen(cluster: &mut Cluster, store: &mut Store, (kind, whom, size): (u8, u8, u8)) {
    let node: Name = format!("n{}", usize::from(whom) % cluster.nodes.len().max(1)).into();
    match kind {
        // A pod that waits, of an own shape or of one that is there.
        0 | 1 => {
            let name = format!("new-{}", cluster.pods.len());
            let (cpu, memory) = (format!("{}00m", size), format!("{}Gi", whom / 4));
            let pod = cluster.pending(&name, &[("cpu", &cpu), ("memory", &memory)]);
            if kind == 1 {
                pod.metadata.labels = labels(&[("ballast.dev/gang", "h"), ("ballast.dev/gang-size", "2")]);
            }
            if whom % 7 == 0 {
                pod.spec = port_of(&pod.spec);
            }
            store.observe(changed(pod.clone(), cluster.now));
        }
        2..=9 if !cluster.pods.is_empty() => {
            let at = usize::from(whom) % cluster.pods.len();
            let pod = &mut cluster.pods[at];
            match kind {
                2 | 3 => pod.metadata.deletion_timestamp = Some(cluster.now),
                4 | 5 => pod.status.phase = Phase::Succeeded,
                _ if pod.node_name.is_empty() && cluster.nodes.contains_key(&node) => pod.node_name = node,
                _ => pod.status.phase = Phase::Failed,
            }
            store.observe(changed(pod.clone(), cluster.now));
        }
        10 => cluster.now += Span::from_secs(i64::from(size) * 20),
        11 => cluster.memory.ledger.launches_made += 1,
        12..=14 => {
            let Some(node) = cluster.nodes.get_mut(&node) else { return };
            match kind {
                12 => node.spec.unschedulable = !node.spec.unschedulable,
                13 => node.metadata.labels = labels(&[("kubernetes.io/hostname", &node.metadata.name)]),
                _ => _ = node.status.allocatable.insert("cpu".into(), Quantity::from_units(size.into())),
            }
            let change = Change::Applied(Object::Node(node.clone()));
            store.observe(Observation {
                source: Source::kubernetes(ObjectKind::Node),
                taken_at: cluster.now,
                outcome: Ok(Body::Changed(vec![change])),
            });
        }
        _ => {
            cluster.policy.limits.nodes = Some(u32::from(size));
            for observation in cluster.observations() {
                store.observe(observation);
            }
        }
    }
}

fn port_of(spec: &PodSpec) -> Arc<PodSpec> {
    let mut spec = spec.clone();
    spec.containers[0].ports = vec![ContainerPort { host_port: 80, ..ContainerPort::default() }];
    Arc::new(spec)
}

#[test]
fn what_did_not_change_is_shared_and_what_comes_after_it_is_placed_anew() {
    let mut cluster = Cluster::new();
    cluster.pool("a", a_pool(&[("cpu", "4"), ("memory", "32Gi")], 20, 1.0));
    for at in 0..4 {
        cluster.node(&format!("n{at}"), "a");
        cluster.running(&format!("r{at}"), &format!("n{at}"), &[("cpu", "3")]);
    }
    cluster.pending("big", &[("cpu", "3")]);
    cluster.pending("small", &[("cpu", "1")]);
    let mut store = cluster.store();
    let mut scratch = Scratch::default();
    let mut plan_after = |change: Option<crate::kube::Pod>| {
        change.into_iter().for_each(|pod| store.observe(changed(pod, cluster.now)));
        crate::planner::plan(&store.snapshot(), &cluster.memory, cluster.now, &mut scratch).0
    };
    let first = plan_after(None);
    assert_eq!(first.actions.len(), 1, "the big one fits nowhere");
    let mut leaving = cluster.pods[3].clone();
    leaving.metadata.deletion_timestamp = Some(cluster.now);
    let second = plan_after(Some(leaving.clone()));
    assert!(std::ptr::eq(first.actions.as_slice(), second.actions.as_slice()), "nothing is free yet");
    leaving.status.phase = Phase::Succeeded;
    let third = plan_after(Some(leaving));
    assert_eq!(third.actions, [], "now it fits");
    assert!(std::ptr::eq(first.wishes.as_slice(), third.wishes.as_slice()), "the same are waiting");
}

/// Tells a store the difference between two clusters, the last things first.
fn change_into(store: &mut crate::snapshot::Store, before: &Cluster, after: &Cluster) {
    for pod in after.pods.iter().rev() {
        store.observe(changed(pod.clone(), after.now));
    }
    let gone = before
        .pods
        .iter()
        .filter(|pod| !after.pods.iter().any(|other| other.metadata.name == pod.metadata.name));
    let key = |meta: &crate::kube::Meta| ObjectKey {
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
    };
    let tell = |kind: ObjectKind, change: Change| Observation {
        source: Source::kubernetes(kind),
        taken_at: after.now,
        outcome: Ok(Body::Changed(vec![change])),
    };
    for pod in gone {
        store.observe(tell(ObjectKind::Pod, Change::Deleted(key(&pod.metadata))));
    }
    for node in after.nodes.values().rev() {
        store.observe(tell(ObjectKind::Node, Change::Applied(Object::Node(node.clone()))));
    }
    for node in before.nodes.values().filter(|node| !after.nodes.contains_key(&node.metadata.name)) {
        store.observe(tell(ObjectKind::Node, Change::Deleted(key(&node.metadata))));
    }
    for _ in 0..2 {
        // Twice: a list that is suddenly shorter is believed at the second look.
        for observation in after
            .observations()
            .into_iter()
            .filter(|observation| observation.source.kind == crate::observation::SourceKind::Instances)
        {
            store.observe(observation);
        }
    }
}
