//! Small clusters in which something is under way, or left over from what was.

use super::{SMALL, a_removal, checked, kept, kinds, made};
use crate::fixtures::{Cluster, a_pool, labels, noon};
use crate::kube::{Name, RestartPolicy};
use crate::memory::{Launch, LaunchKind, Removal};
use crate::observation::{ErrorClass, InstanceState, Observation, Source, SourceError};
use crate::plan::{ActionCode, ActionKind, HoldReason, Plan, UnsafeToRemove};
use crate::units::{Span, Time};

#[test]
fn a_machine_that_is_off_already_does_not_leave_a_second_time() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0)).min = 1;
    cluster.without_removal_budgets();
    for name in ["n1", "n2", "n3"] {
        cluster.node(name, "cpu");
    }
    cluster.instance("n3", "cpu", InstanceState::Stopped);
    let removal = Removal { stopping: true, ..a_removal(&cluster, "n3") };
    cluster.memory.ledger.removals.insert("n3".into(), removal);
    assert_eq!(kinds(&checked(&mut cluster)), [(ActionKind::StopInstance, "n2".to_owned())]);
}

#[test]
fn what_is_being_let_go_counts_until_it_is_gone() {
    // Seed 2772 of the storms: the list lagged, and a pool was filled up twice.
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 2, 1.0));
    cluster.node("n1", "cpu");
    cluster.running("busy-1", "n1", &[("cpu", "3")]);
    cluster.pending("web-1", &[("cpu", "3")]);
    let release = Removal { release: true, ..a_removal(&cluster, "made") };
    cluster.memory.ledger.removals.insert("made".into(), release);
    assert_eq!(checked(&mut cluster).actions, []);
    cluster.memory.ledger.removals.clear();
    assert_eq!(made(&checked(&mut cluster), "cpu"), 1);
}

#[test]
fn a_machine_on_its_way_up_is_one_place_whatever_its_former_node_says() {
    // Seed 112 of the storms: a machine for every look at one pod, since the node of its former life was still said to be ready.
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    cluster.running("lost-1", "n1", &[("cpu", "4")]);
    cluster.instance("n1", "cpu", InstanceState::Starting);
    cluster.pending("web-1", &[("cpu", "3")]);
    let launch = a_launch(&cluster, LaunchKind::Start, "sim:///n1");
    cluster.memory.ledger.launches.insert("n1".into(), launch);
    assert_eq!(checked(&mut cluster).actions, []);
}

#[test]
fn a_young_node_that_fell_is_no_place() {
    // Seeds 765 and 2571 of the storms: part of a gang was meant for nodes that hung or flapped a minute after they had come.
    // One that is ready and has none of its GPUs yet is on its way.
    for (status, ready_for, expected) in
        [("False", 0, 0), ("False", 60, 1), ("Unknown", 0, 1), ("True", 60, 0)]
    {
        let mut cluster = Cluster::new();
        let gpus = [("cpu", "4"), ("memory", "16Gi"), ("pods", "110"), ("nvidia.com/gpu", "1")];
        cluster.pool("cpu", a_pool(if status == "True" { &gpus } else { &SMALL }, 10, 1.0));
        let created = cluster.now - Span::from_mins(2);
        let node = cluster.node("n1", "cpu");
        node.metadata.creation_timestamp = Some(created);
        node.status.conditions[0].status = status.into();
        node.status.conditions[0].last_transition_time = Some(created + Span::from_secs(ready_for));
        node.status.allocatable.remove("nvidia.com/gpu");
        cluster.pending("web-1", &[("cpu", "3")]);
        assert_eq!(made(&checked(&mut cluster), "cpu"), expected, "{status} {ready_for}");
    }
}

fn a_launch(cluster: &Cluster, kind: LaunchKind, provider_id: &str) -> Launch {
    Launch {
        kind,
        pool: "cpu".into(),
        zone: "".into(),
        instance_type: "".into(),
        provider_id: provider_id.into(),
        token: "cpu-1".into(),
        since: cluster.now,
        deadline: cluster.now + Span::from_mins(15),
        decision: None,
    }
}

#[test]
fn a_machine_that_came_up_is_no_empty_place_whatever_an_older_list_says() {
    // Seed 33 of the storms: the creation was not answered, so that its identity was not known; half a gang was launched.
    let joined = |kind: LaunchKind, id: &str, ready_at: Time| {
        let mut cluster = Cluster::new();
        cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
        cluster.node("cpu-1", "cpu").status.conditions[0].last_transition_time = Some(ready_at);
        cluster.instance("cpu-1", "cpu", InstanceState::Starting);
        cluster.running("first-1", "cpu-1", &[("cpu", "3")]);
        cluster.pending("second-1", &[("cpu", "3")]);
        let launch = a_launch(&cluster, kind, id);
        cluster.memory.ledger.launches.insert("cpu-1".into(), launch);
        cluster.now += Span::from_mins(3);
        made(&checked(&mut cluster), "cpu")
    };
    assert_eq!(joined(LaunchKind::Create, "", noon() + Span::from_mins(2)), 1);
    assert_eq!(joined(LaunchKind::Create, "sim:///cpu-1", noon() + Span::from_mins(2)), 1);
    assert_eq!(joined(LaunchKind::Start, "sim:///cpu-1", noon() + Span::from_mins(2)), 1);
    assert_eq!(
        joined(LaunchKind::Start, "sim:///cpu-1", noon() - Span::from_mins(20)),
        0,
        "the node of its former life"
    );
}

#[test]
fn a_node_that_only_runs_empty_is_taken_back_before_any_is_started() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    let node = cluster.node("n1", "cpu");
    node.spec.unschedulable = true;
    node.metadata.annotations = labels(&[(crate::snapshot::CORDON_MARK, "m1")]);
    cluster.running("batch-1", "n1", &[("cpu", "2")]);
    cluster.pending("web-1", &[("cpu", "2")]);
    assert_eq!(
        kinds(&cluster.plan()),
        [(ActionKind::CreateInstance, "cpu-1".to_owned())],
        "being drained for good"
    );
    let removal =
        Removal { mark: "m1".into(), waits_for: vec!["uid-batch-1".into()], ..a_removal(&cluster, "n1") };
    cluster.memory.ledger.removals.insert("n1".into(), removal);
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::UncordonNode, "n1".to_owned())]);
    assert_eq!(plan.actions[0].reason.code, ActionCode::CordonNotNeeded);
}

#[test]
fn an_instance_of_ours_that_never_joined_is_let_go() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.instance("lost", "cpu", InstanceState::Running);
    assert_eq!(checked(&mut cluster).actions, [], "without our token it is not ours");
    cluster.instances.values_mut().next().expect("it is there").token = "cpu-7".into();
    assert_eq!(checked(&mut cluster).actions, [], "it may be about to join: it was only just seen");
    cluster.memory.history.idle_since.insert("lost".into(), cluster.now - Span::from_mins(16));
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::ReleaseInstance, "lost".to_owned())]);
    assert_eq!(plan.actions[0].reason.code, ActionCode::NeverJoined);
    // Seed 366 of the storms: what an old list shows may be a node by now.
    let mut store = cluster.store();
    let error = SourceError { class: ErrorClass::Transient, message: "no list".into() };
    let source = Source::instances(&"cpu".into());
    store.observe(Observation { source, taken_at: cluster.now, outcome: Err(error) });
    let (plan, _) =
        crate::planner::plan(&store.snapshot(), &cluster.memory, cluster.now, &mut Default::default());
    assert_eq!(plan.actions, []);
}

#[test]
fn a_batch_pool_cordons_and_waits() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0)).scale_down.wait_for_completion = true;
    cluster.node("n1", "cpu");
    cluster.running("batch-1", "n1", &[("cpu", "1")]).metadata.owner_references[0].kind = "Job".into();
    cluster.without_removal_budgets();
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::CordonNode, "n1".to_owned())]);
    assert!(plan.actions[0].precondition.displaces.is_empty());
    assert_eq!(plan.actions[0].precondition.waits_for, [Name::from("uid-batch-1")]);
    let told = |plan: &Plan| {
        let (_, pods) = plan.actions[0].reason.message.split_once("; ").expect("it is not empty");
        pods.to_owned()
    };
    assert_eq!(told(&plan), "its 1 pod runs to its end");
    let bare = &mut cluster.pods[0];
    bare.metadata.owner_references.clear();
    assert!(matches!(kept(&checked(&mut cluster), "n1"), Some(UnsafeToRemove::PodBlocks { .. })));
    std::sync::Arc::make_mut(&mut cluster.pods[0].spec).restart_policy = Some(RestartPolicy::Never);
    assert_eq!(kinds(&checked(&mut cluster)), [(ActionKind::CordonNode, "n1".to_owned())]);
    // A service never ends: it is moved, or keeps its node where it fits nowhere else.
    cluster.running("web-1", "n1", &[("cpu", "500m")]);
    assert!(matches!(kept(&checked(&mut cluster), "n1"), Some(UnsafeToRemove::NoPlaceFor { .. })));
    cluster.node("n2", "cpu");
    cluster.running("web-2", "n2", &[("cpu", "3")]);
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::CordonNode, "n1".to_owned())]);
    assert_eq!(plan.actions[0].precondition.displaces, [Name::from("uid-web-1")]);
    assert_eq!(told(&plan), "its 1 pod fits elsewhere and 1 pod runs to its end");
    cluster.nodes.remove("n2");
    cluster.instances.remove("sim:///n2");
    cluster.pods.clear();
    assert_eq!(kinds(&checked(&mut cluster)), [(ActionKind::StopInstance, "n1".to_owned())]);
}

#[test]
fn what_is_no_node_and_not_ours_starts_nothing_and_stops_nothing() {
    let mut cluster = Cluster::new();
    cluster.policy.growth = crate::policy::Growth::default();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0)).create = false;
    for name in ["old-1", "old-2"] {
        cluster.instance(name, "cpu", InstanceState::Running);
    }
    cluster.instance("goes", "cpu", InstanceState::Stopping);
    cluster.instance("off", "cpu", InstanceState::Stopped);
    cluster.pending("web-1", &[("cpu", "3")]);
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StartInstance, "off".to_owned())], "they hold no growth up");
    let hold = &plan.report.holds[0];
    assert_eq!(hold.reason, HoldReason::NeverANode { count: 2, first: "old-1".into() });
}

#[test]
fn what_is_being_let_go_is_no_place() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.instance("made", "cpu", InstanceState::Running);
    cluster
        .instances
        .values_mut()
        .for_each(|instance| instance.since = Some(cluster.now - Span::from_mins(4)));
    cluster.pending("web-1", &[("cpu", "3")]);
    assert_eq!(checked(&mut cluster).actions, [], "it is on its way up");
    let release = Removal { release: true, ..a_removal(&cluster, "made") };
    cluster.memory.ledger.removals.insert("made".into(), release);
    assert_eq!(made(&checked(&mut cluster), "cpu"), 1);
}

#[test]
fn what_a_node_that_waits_will_still_move_keeps_its_room() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    for name in ["n1", "n2", "n3"] {
        cluster.node(name, "cpu");
    }
    cluster.without_removal_budgets();
    // Of two nodes one is needed for the pod that n1 moves; n3 is full.
    cluster.running("full-1", "n3", &[("cpu", "4")]);
    cluster.running("web-1", "n1", &[("cpu", "3")]);
    let batch = cluster.running("batch-1", "n1", &[("cpu", "500m")]);
    batch.metadata.owner_references[0].kind = "Job".into();
    let node = cluster.nodes.get_mut("n1").expect("it is there");
    node.spec.unschedulable = true;
    node.metadata.annotations = labels(&[(crate::snapshot::CORDON_MARK, "stop-1")]);
    let (waits_for, displaces) = (vec!["uid-batch-1".into()], vec!["uid-web-1".into()]);
    let removal = Removal { waits_for, displaces, ..a_removal(&cluster, "n1") };
    cluster.memory.ledger.removals.insert("n1".into(), removal);
    assert_eq!(checked(&mut cluster).actions, []);
    // What runs to its end needs no other place.
    cluster.pods.retain(|pod| &*pod.metadata.name != "web-1");
    assert_eq!(kinds(&checked(&mut cluster)), [(ActionKind::StopInstance, "n2".to_owned())]);
}

/// The machine of an instance has become a node of another name, as on most clouds.
fn renamed(cluster: &mut Cluster, machine: &str, node: &str) {
    let mut object = cluster.nodes.remove(machine).expect("it is there");
    object.metadata.name = node.into();
    cluster.nodes.insert(node.into(), object);
}

#[test]
fn a_machine_is_one_place_whatever_its_node_is_called() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    let just_now = cluster.now - Span::from_secs(20);
    let node = cluster.node("cpu-1", "cpu");
    node.status.conditions[0].status = "False".into();
    node.metadata.creation_timestamp = Some(just_now);
    renamed(&mut cluster, "cpu-1", "ip-10-0-0-1");
    let launch = crate::memory::Launch {
        kind: crate::memory::LaunchKind::Create,
        pool: "cpu".into(),
        zone: "".into(),
        instance_type: "".into(),
        provider_id: "sim:///cpu-1".into(),
        token: "cpu-1".into(),
        since: just_now,
        deadline: cluster.now + Span::from_mins(15),
        decision: None,
    };
    cluster.memory.ledger.launches.insert("cpu-1".into(), launch);
    for pod in 0..2 {
        cluster.pending(&format!("web-{pod}"), &[("cpu", "4")]);
    }
    assert_eq!(made(&checked(&mut cluster), "cpu"), 1, "one waits for the node that is starting");
    // Nor may it go while it is coming up.
    cluster.pods.clear();
    cluster.without_removal_budgets();
    let node = cluster.nodes.values_mut().next().expect("it is there");
    node.status.conditions[0].status = "True".into();
    let plan = checked(&mut cluster);
    assert!(matches!(kept(&plan, "ip-10-0-0-1"), Some(UnsafeToRemove::TooSoon { .. })));
}

#[test]
fn what_joins_under_another_name_is_still_kept_for_its_gang() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    for member in 0..2 {
        let pod = cluster.pending(&format!("train-{member}"), &[("cpu", "3")]);
        pod.metadata.labels = labels(&[("ballast.dev/gang", "train"), ("ballast.dev/gang-size", "2")]);
    }
    let plan = checked(&mut cluster);
    let first = plan.actions[0].target.name.clone();
    cluster.without_removal_budgets();
    cluster.node(&first, "cpu");
    renamed(&mut cluster, &first, "ip-10-0-0-1");
    // The other finds no machine, and none will be had for long.
    let key = crate::memory::BackOffKey { pool: "cpu".into(), ..Default::default() };
    cluster.memory.ledger.note_failure(key, ErrorClass::StockOut, cluster.now);
    let plan = checked(&mut cluster);
    assert!(
        matches!(kept(&plan, "ip-10-0-0-1"), Some(UnsafeToRemove::HeldForGang { .. })),
        "{:?}",
        plan.actions
    );
    assert_eq!(cluster.memory.history.gangs["default/train"].nodes.len(), 1);
}

#[test]
fn nothing_is_released_on_a_list_of_nodes_that_was_suddenly_short() {
    // Seeds 1429 and 3260 of the storms: nodes were not listed, and their machines looked as if they had never joined.
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    for name in ["n1", "n2", "n3", "n4", "n5", "n6"] {
        cluster.node(name, "cpu");
        let instance = cluster.instances.get_mut(&*format!("sim:///{name}")).expect("an instance");
        (instance.token, instance.since) = ("made".into(), Some(noon() - Span::from_hours(5)));
        cluster.memory.history.idle_since.insert(name.into(), noon() - Span::from_hours(1));
    }
    let mut store = cluster.store();
    let list = |nodes: Vec<crate::observation::Object>, at: Time| Observation {
        source: Source::kubernetes(crate::observation::ObjectKind::Node),
        taken_at: at,
        outcome: Ok(crate::observation::Body::Listed(nodes)),
    };
    (0..2).for_each(|_| store.observe(list(Vec::new(), cluster.now)));
    let (plan, _) =
        crate::planner::plan(&store.snapshot(), &cluster.memory, cluster.now, &mut Default::default());
    assert_eq!(plan.actions, []);
    // Where they never were nodes, they go.
    cluster.nodes.clear();
    let released = kinds(&checked(&mut cluster));
    assert_eq!(released.iter().filter(|(kind, _)| *kind == ActionKind::ReleaseInstance).count(), 6);
}
