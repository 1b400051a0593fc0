//! Removals in small clusters, one rule each.

use super::*;
use crate::observation::InstanceState;

#[test]
fn nodes_whose_machines_are_gone_count_for_nothing() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 3, 1.0)).stop = crate::policy::StopMode::Delete;
    cluster.node("n1", "cpu");
    cluster.node("n9", "cpu");
    cluster.without_removal_budgets();
    for (name, cordoned) in [("ghost-1", true), ("ghost-2", false)] {
        let node = cluster.node(name, "cpu");
        node.status.conditions[0].status = "Unknown".into();
        node.spec.unschedulable = cordoned;
        let mark = labels(&[(crate::snapshot::CORDON_MARK, "stop-1")]);
        node.metadata.annotations = if cordoned { mark } else { Default::default() };
        cluster.instances.remove(&*format!("sim:///{name}"));
    }
    // Two of four unready would be too many for the health gate, and the pool would be above its maximum.
    cluster.running("busy-1", "n1", &[("cpu", "4")]);
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, "n9".to_owned())]);
    let gone = HoldReason::MachineGone { count: 2, first: "ghost-1".into() };
    assert_eq!(plan.report.holds.iter().map(|hold| &hold.reason).collect::<Vec<_>>(), [&gone]);
    for pod in 0..2 {
        cluster.pending(&format!("web-{pod}"), &[("cpu", "4")]);
    }
    // Seed 773 of the storms: a process that has just begun cannot tell a machine that is gone from a list that lacks it.
    assert_eq!(made(&checked(&mut cluster), "cpu"), 0, "with the two, four would be one too many");
    // It has listened for long enough. The same, whichever was seen first.
    for is_turned in [false, true] {
        let mut store = crate::snapshot::Store::new();
        for ago in [Span::from_hours(2), Span::ZERO] {
            cluster.now = crate::fixtures::noon() - ago;
            let mut observations = cluster.observations();
            if is_turned {
                observations.reverse();
            }
            observations.into_iter().for_each(|observation| store.observe(observation));
        }
        let scratch = &mut Default::default();
        let (plan, _) = crate::planner::plan(&store.snapshot(), &cluster.memory, cluster.now, scratch);
        assert_eq!(made(&plan, "cpu"), 1, "one on n9, one on a third node");
    }
}

#[test]
fn idle_nodes_go_after_their_time_and_not_before() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    cluster.node("n2", "cpu");
    let at = cluster.now + Span::from_mins(10);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    assert_eq!(kept(&plan, "n2"), Some(UnsafeToRemove::TooSoon { at }));
    assert_eq!(plan.report.next_look, Some(cluster.now + Span::from_secs(60)));
    cluster.now = at;
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, "n2".to_owned())], "one by one: the budget");
    assert_eq!(plan.actions[0].reason.limit, Some(Limit::PoolRemovalBudget));
    assert_eq!(plan.actions[0].precondition.uid, plan.actions[0].target.uid);
}

#[test]
fn a_minimum_holds_while_a_removal_is_under_way() {
    let mut cluster = Cluster::new();
    let pool = cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    pool.min = 2;
    pool.scale_down.idle_after = Span::ZERO;
    pool.scale_down.payback = false;
    for name in ["n1", "n2", "n3"] {
        cluster.node(name, "cpu");
    }
    let removal = a_removal(&cluster, "n3");
    cluster.memory.ledger.removals.insert("n3".into(), removal);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    assert_eq!(kept(&plan, "n2"), Some(UnsafeToRemove::AtMinimum));
}

#[test]
fn what_is_displaced_must_fit_elsewhere_together() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    for node in ["n1", "n2", "n3"] {
        cluster.node(node, "cpu");
        cluster.running(&format!("web-{node}"), node, &[("cpu", "1900m")]);
    }
    cluster.without_removal_budgets();
    let plan = checked(&mut cluster);
    // Two fit on one node, three do not: exactly one goes.
    assert_eq!(plan.actions.len(), 1);
    assert_eq!(plan.actions[0].precondition.displaces.len(), 1);
}

#[test]
fn pods_that_must_stay_keep_their_node() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    cluster.node("n2", "cpu");
    cluster.running("web-1", "n1", &[("cpu", "1")]).metadata.owner_references.clear();
    cluster.running("db-1", "n2", &[("cpu", "1")]).metadata.annotations =
        std::sync::Arc::new([("karpenter.sh/do-not-disrupt".into(), "true".into())].into());
    cluster.without_removal_budgets();
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    let why = |node| match kept(&plan, node) {
        Some(UnsafeToRemove::PodBlocks { why, .. }) => Some(why),
        _ => None,
    };
    assert_eq!((why("n1"), why("n2")), (Some(PodBlock::Bare), Some(PodBlock::DoNotDisrupt)));
}

#[test]
fn a_source_that_failed_removes_nothing() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    for node in 0..6 {
        cluster.node(&format!("n{node}"), "cpu");
        cluster.running(&format!("web-{node}"), &format!("n{node}"), &[("cpu", "3")]);
    }
    cluster.without_removal_budgets();
    let mut store = cluster.store();
    cluster.pods.clear();
    for observation in cluster.observations() {
        store.observe(observation);
    }
    let (plan, _) =
        crate::planner::plan(&store.snapshot(), &cluster.memory, cluster.now, &mut Default::default());
    assert_eq!(plan.actions, [], "a list of pods that is suddenly empty is not believed");
    assert!(matches!(plan.report.holds[0].reason, HoldReason::SourceUnknown { .. }));
    let mut look_again = |after: Span| {
        cluster.now += after;
        cluster.observations().into_iter().for_each(|observation| store.observe(observation));
        let (snapshot, scratch) = (store.snapshot(), &mut Default::default());
        crate::planner::plan(&snapshot, &cluster.memory, cluster.now, scratch).0
    };
    for minutes in [1, 58] {
        let plan = look_again(Span::from_mins(minutes));
        assert_eq!(plan.actions, [], "a second look agrees, and a server that lies may lie twice");
        assert!(plan.report.holds[0].until.is_some());
    }
    assert_eq!(look_again(Span::from_mins(1)).actions.len(), 6, "it has been so for an hour");
}

#[test]
fn what_a_plan_adds_does_not_raise_what_it_may_remove() {
    let mut cluster = Cluster::new();
    cluster.pool("idle", a_pool(&SMALL, 20, 1.0));
    cluster.pool("wanted", a_pool(&[("cpu", "64"), ("memory", "64Gi")], 20, 1.0));
    for node in 0..10 {
        cluster.node(&format!("n{node}"), "idle");
    }
    for pod in 0..10 {
        cluster.pending(&format!("big-{pod}"), &[("cpu", "60")]);
    }
    cluster.without_removal_budgets();
    cluster.policy.removal.per_cluster.share = crate::units::Share::percent(20);
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "wanted"), 10);
    assert_eq!(plan.actions.len(), 10 + 2, "a fifth of the ten that were there");
}

/// A node that is being emptied, with what its removal displaces.
fn emptying(cluster: &mut Cluster, node: &str) {
    let removal = a_removal(cluster, node);
    cluster.memory.ledger.removals.insert(node.into(), removal);
    let object = cluster.nodes.get_mut(node).expect("it is there");
    object.spec.unschedulable = true;
}

#[test]
fn what_a_removal_under_way_displaces_keeps_its_place() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.without_removal_budgets();
    ["n1", "n2", "n3"].iter().for_each(|name| _ = cluster.node(name, "cpu"));
    // Only one of the two fits on the third.
    for (pod, node) in [("a", "n1"), ("b", "n2")] {
        let pod = cluster.running(pod, node, &[("cpu", "1900m")]);
        pod.metadata.owner_references = vec![crate::kube::OwnerReference {
            kind: "ReplicaSet".into(),
            name: "web".into(),
            controller: true,
            ..Default::default()
        }];
    }
    cluster.running("c", "n3", &[("cpu", "1")]);
    emptying(&mut cluster, "n1");
    let plan = checked(&mut cluster);
    assert_eq!(kept(&plan, "n2"), Some(UnsafeToRemove::NeededByGrant));
    assert_eq!(plan.actions, []);
}

#[test]
fn what_is_on_its_way_out_does_not_widen_the_budget() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 30, 1.0));
    cluster.without_removal_budgets();
    cluster.policy.removal.per_pool.share = crate::units::Share::percent(20);
    (10..20).for_each(|at| _ = cluster.node(&format!("n{at}"), "cpu"));
    emptying(&mut cluster, "n19");
    let since = cluster.now;
    cluster.memory.ledger.removed.push(crate::memory::Addition { at: since, pool: "cpu".into() });
    // Nine stay and one went: two of ten may go within the window, and one has.
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, "n18".into())]);
}

#[test]
fn a_machine_that_goes_down_after_its_node_went_does_not_widen_the_budget() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 30, 1.0));
    cluster.without_removal_budgets();
    cluster.policy.removal.per_pool.share = crate::units::Share::percent(20);
    (10..19).for_each(|at| _ = cluster.node(&format!("n{at}"), "cpu"));
    cluster.instance("n19", "cpu", InstanceState::Stopping);
    let since = cluster.now;
    cluster.memory.ledger.removed.push(crate::memory::Addition { at: since, pool: "cpu".into() });
    // The removal is over and its node gone; the list of instances is a little older.
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, "n18".into())]);
}
