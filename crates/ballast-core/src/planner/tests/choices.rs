//! Which pool serves, and what is not started: one rule each.

use super::*;
use crate::kube::{Taint, TaintEffect};
use crate::policy::Strategy;

/// The pool that a pod gets where every pool has this strategy.
fn chosen(strategy: Strategy) -> String {
    let mut cluster = Cluster::new();
    cluster.pool("cheap", a_pool(&[("cpu", "8"), ("memory", "32Gi")], 10, 1.0));
    cluster.pool("tight", a_pool(&[("cpu", "3"), ("memory", "4Gi")], 10, 2.0));
    cluster.pool("urgent", a_pool(&[("cpu", "8"), ("memory", "32Gi")], 10, 3.0)).priority = 10;
    cluster.pools.values_mut().for_each(|pool| pool.strategy = strategy);
    cluster.pending("web-1", &[("cpu", "3"), ("memory", "4Gi")]);
    checked(&mut cluster).actions[0].target.pool.to_string()
}

#[test]
fn the_lowest_price_is_chosen() {
    assert_eq!(chosen(Strategy::Price), "cheap");
}

#[test]
fn the_least_waste_is_chosen() {
    assert_eq!(chosen(Strategy::LeastWaste), "tight");
}

#[test]
fn the_highest_priority_is_chosen() {
    assert_eq!(chosen(Strategy::Priority), "urgent");
}

/// A node that joined a minute ago with a taint, a pod that would fit on it, and the plan.
fn with_a_taint(is_for_the_start: bool) -> Plan {
    let taint = Taint {
        key: "node.example.com/agent".into(),
        value: Default::default(),
        effect: TaintEffect::NoSchedule,
    };
    let mut cluster = Cluster::new();
    let pool = cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    if is_for_the_start {
        pool.template.startup_taints = vec![taint.clone()];
    }
    let created = cluster.now - Span::from_mins(1);
    let node = cluster.node("n1", "cpu");
    node.spec.taints = vec![taint];
    node.metadata.creation_timestamp = Some(created);
    cluster.pending("web-1", &[("cpu", "3")]);
    checked(&mut cluster)
}

#[test]
fn a_node_with_its_startup_taints_is_starting() {
    let plan = with_a_taint(true);
    assert_eq!(plan.actions, [], "it waits for the node and starts no second one");
    assert!(matches!(&plan.report.waiting[0].on, WaitingOn::Starting { count: 1, .. }));
    assert_eq!(made(&with_a_taint(false), "cpu"), 1, "another taint stays");
}

#[test]
fn a_plan_whose_steps_are_used_up_says_so_and_starts_what_it_looked_at_to_the_end() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    (0..8).for_each(|node| _ = cluster.node(&format!("n{node}"), "cpu"));
    for node in 0..8 {
        cluster.running(&format!("old-{node}"), &format!("n{node}"), &[("cpu", "2")]);
    }
    cluster.pending("large-1", &[("cpu", "4")]);
    for node in 0..8 {
        cluster.pending(&format!("small{node}-1"), &[("cpu", &format!("12{node}0m"))]);
    }
    let with_steps = |steps: u64| {
        let (snapshot, scratch) = (cluster.store().snapshot(), &mut Default::default());
        crate::planner::plan_with(&snapshot, &cluster.memory, cluster.now, scratch, &[], steps).0
    };
    let used_up = |plan: &Plan| plan.report.holds.iter().any(|hold| hold.reason == HoldReason::StepsUsedUp);
    let whole = with_steps(1_000_000);
    assert!(!used_up(&whole));
    assert_eq!(made(&whole, "cpu"), 1, "what is small fits on what is there");
    let cut = with_steps(4);
    assert!(used_up(&cut));
    assert_eq!(made(&cut, "cpu"), 1, "nothing is started for what was not looked at to the end");
    assert_eq!(cut, with_steps(4), "the same input makes the same cut");
}

#[test]
fn a_stock_out_of_one_type_says_nothing_of_another() {
    use crate::memory::{BackOff, BackOffKey};
    for (failed, nodes) in [("small", 0), ("large", 1), ("", 0)] {
        let mut cluster = Cluster::new();
        cluster.pool("cpu", a_pool(&SMALL, 10, 1.0)).template.instance_type = Some("small".into());
        cluster.pending("web-1", &[("cpu", "1")]);
        let key = BackOffKey { pool: "cpu".into(), instance_type: failed.into(), zone: "".into() };
        let until = cluster.now + Span::from_mins(30);
        cluster.memory.ledger.back_off =
            vec![BackOff { key, class: ErrorClass::StockOut, failures: 1, until }];
        assert_eq!(made(&checked(&mut cluster), "cpu"), nodes, "{failed}");
    }
}
