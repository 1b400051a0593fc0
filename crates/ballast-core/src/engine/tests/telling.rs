//! What is told on pools, nodes and pods of what an engine does.

use crate::fixtures::Cluster;
use crate::observation::ErrorClass;
use crate::plan::DecisionId;
use crate::publish::{Event, EventReason, RegardingKind};
use crate::units::Span;

use super::acting::three_wait;
use super::world::{World, four_cores};

/// Reasons with the kinds and names of the objects, in the order in which they were told.
fn row(told: &[Event]) -> Vec<(EventReason, RegardingKind, &str)> {
    told.iter().map(|event| (event.reason, event.regarding.kind, &*event.regarding.name)).collect()
}

#[test]
fn a_launch_is_told_on_its_pool_and_its_node_by_one_decision() {
    let mut world = World::new(three_wait());
    world.run(Span::from_mins(5));
    use EventReason::{Launching, NodeJoined};
    use RegardingKind::{Node, VmPool};
    let launching = (Launching, VmPool, "cpu");
    let joined = ["cpu-1", "cpu-2", "cpu-3"].map(|name| (NodeJoined, Node, name));
    assert_eq!(row(&world.told)[..3], [launching; 3]);
    assert_eq!(row(&world.told)[3..], joined);
    for name in ["cpu-1", "cpu-2", "cpu-3"] {
        let of_it: Vec<&Event> = world.told.iter().filter(|event| event.note.contains(name)).collect();
        let [launched, joined] = of_it[..] else { panic!("{of_it:?}") };
        let decision = launched.decision.as_ref().expect("a decision");
        assert!(decision.parse::<DecisionId>().is_ok() && launched.decision == joined.decision);
        assert!(launched.note.ends_with(&format!(" (decision {decision})")), "{}", launched.note);
        assert_eq!(&*joined.regarding.uid, format!("uid-{name}"));
    }
}

#[test]
fn a_drain_with_a_budget_in_its_way_is_told_on_node_pod_and_pool() {
    let mut cluster = Cluster::new();
    four_cores(&mut cluster);
    cluster.node("n1", "cpu");
    cluster.node("n2", "cpu");
    cluster.running("web-1", "n1", &[("cpu", "1")]);
    cluster.running("web-2", "n2", &[("cpu", "2")]);
    cluster.without_removal_budgets();
    let mut world = World::new(cluster);
    world.refuses_evictions = 2;
    world.run(Span::from_mins(5));
    use EventReason::{AskedToLeave, DrainBlocked, Draining, MachineStopped};
    use RegardingKind::{Node, Pod, VmPool};
    let told = [
        (Draining, Node, "n1"),
        (DrainBlocked, Node, "n1"),
        (DrainBlocked, Node, "n1"),
        (AskedToLeave, Pod, "web-1"),
        (MachineStopped, VmPool, "cpu"),
    ];
    assert_eq!(row(&world.told), told);
    assert!(world.told.iter().all(|event| event.decision == world.told[0].decision));
    assert!(world.told[1].note.contains("pod default/web-1 may not leave now"), "{}", world.told[1].note);
}

#[test]
fn launches_that_come_to_nothing_are_told_on_their_pool() {
    let mut world = World::new(three_wait());
    world.refuses = Some(ErrorClass::StockOut);
    world.run(Span::from_mins(2));
    let failed = world.told.iter().filter(|event| event.reason == EventReason::LaunchFailed);
    let failed: Vec<&Event> = failed.collect();
    assert!(failed.len() >= 3, "{:?}", row(&world.told));
    assert!(failed.iter().all(|event| event.regarding.kind == RegardingKind::VmPool));
    assert!(failed[0].note.contains("could not be launched"), "{}", failed[0].note);
}
