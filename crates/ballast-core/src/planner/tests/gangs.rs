//! Gangs: all or nothing, kept for while they form, given back at their deadline.

use super::*;

#[test]
fn a_gang_gets_all_or_nothing() {
    let mut cluster = Cluster::new();
    cluster.pool("gpu", a_pool(&[("cpu", "32"), ("memory", "64Gi"), ("nvidia.com/gpu", "8")], 2, 20.0));
    for member in 0..3 {
        let pod = cluster.pending(&format!("train-{member}"), &[("cpu", "8"), ("nvidia.com/gpu", "8")]);
        pod.metadata.labels = labels(&[("ballast.dev/gang", "train"), ("ballast.dev/gang-size", "3")]);
    }
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, [], "two nodes would not do");
    let reason = &plan.report.infeasible[0].pools[0].reason;
    assert_eq!(*reason, SkipReason::AtLimit { limit: Limit::PoolMax });
    cluster.pools.get_mut("gpu").expect("it is there").max = 3;
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "gpu"), 3);
    assert_eq!(plan.actions[0].reason.code, ActionCode::PendingGang);
}

fn a_waiting_gang(cluster: &mut Cluster, members: u32) {
    for member in 0..members {
        let pod = cluster.pending(&format!("train-{member}"), &[("cpu", "3")]);
        let size = members.to_string();
        pod.metadata.labels = labels(&[("ballast.dev/gang", "train"), ("ballast.dev/gang-size", &size)]);
    }
}

#[test]
fn the_growth_budget_counts_a_gang_whole() {
    let mut cluster = Cluster::new();
    cluster.policy.growth = crate::policy::Growth::default();
    cluster.pool("cpu", a_pool(&SMALL, 20, 1.0));
    a_waiting_gang(&mut cluster, 8);
    cluster.pending("web", &[("cpu", "3")]);
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 8, "the gang whole, and nothing besides until it is up");
    assert!(plan.actions.iter().all(|action| &*action.gang == "default/train"));
    // It waits for its turn, which is not to be refused.
    let turn = WaitingOn::Growth { count: 1, pool: "cpu".into(), ready_at: None };
    assert!(plan.report.waiting.iter().any(|wait| wait.on == turn && wait.pods() == 1));
    assert!(plan.report.infeasible.is_empty());
}

/// Three machines were launched for a gang, and two of them came: with their names, and how long they are kept for it.
fn a_gang_that_lacks_its_third() -> (Cluster, Vec<String>, Span) {
    let mut cluster = Cluster::new();
    let pool = cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    pool.scale_down.cool_down = Span::ZERO;
    let deadline = pool.times.gang_deadline;
    a_waiting_gang(&mut cluster, 3);
    let plan = checked(&mut cluster);
    let nodes: Vec<String> = plan.actions.iter().map(|action| action.target.name.to_string()).collect();
    nodes[..2].iter().for_each(|name| _ = cluster.node(name, "cpu"));
    (cluster, nodes, deadline)
}

/// The cloud says that it has none.
fn no_machine(cluster: &mut Cluster) {
    let key = crate::memory::BackOffKey { pool: "cpu".into(), ..Default::default() };
    cluster.memory.ledger.note_failure(key, ErrorClass::StockOut, cluster.now);
}

#[test]
fn what_was_launched_for_a_gang_is_kept_for_it_and_given_back_at_its_deadline() {
    let (mut cluster, nodes, deadline) = a_gang_that_lacks_its_third();
    // None will be had for long.
    no_machine(&mut cluster);
    cluster.memory.ledger.back_off[0].until = crate::units::Time::FAR_FUTURE;
    let launched = cluster.now;
    cluster.now = launched + deadline - Span::from_secs(1);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    let held = UnsafeToRemove::HeldForGang { gang: "default/train".into(), until: launched + deadline };
    assert_eq!(kept(&plan, &nodes[0]), Some(held));
    cluster.now = launched + deadline;
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, nodes[1].clone())], "one, as the budget allows");
    assert_eq!(plan.actions[0].reason.code, ActionCode::GangGivenUp);
}

#[test]
fn a_gang_that_can_be_completed_after_all_keeps_what_came_for_it() {
    let (mut cluster, nodes, deadline) = a_gang_that_lacks_its_third();
    cluster.now += deadline;
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions.len(), 1, "the third is launched anew: {:?}", plan.actions);
    assert_eq!(plan.actions[0].kind, ActionKind::CreateInstance);
    // That one fails too: what there is is kept for as long as before.
    let again = cluster.now;
    cluster.now += Span::from_secs(1);
    no_machine(&mut cluster);
    let plan = checked(&mut cluster);
    let held = UnsafeToRemove::HeldForGang { gang: "default/train".into(), until: again + deadline };
    assert_eq!(kept(&plan, &nodes[0]), Some(held));
}

#[test]
fn a_gang_that_is_still_not_whole_at_its_second_deadline_gives_back_what_came() {
    let (mut cluster, nodes, deadline) = a_gang_that_lacks_its_third();
    // The cloud takes every order and never delivers.
    for _ in 0..2 {
        cluster.now += deadline;
        let plan = checked(&mut cluster);
        assert_eq!(kinds(&plan).len(), 1, "{:?}", plan.actions);
        assert_eq!(plan.actions[0].kind, ActionKind::CreateInstance);
    }
    // With nothing on order any more, and while the cloud says that it has none, they go.
    cluster.now += Span::from_secs(1);
    no_machine(&mut cluster);
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, nodes[1].clone())]);
    assert_eq!(plan.actions[0].reason.code, ActionCode::GangGivenUp);
    // Once all of them are gone, the gang may have another try.
    cluster.nodes.clear();
    cluster.instances.clear();
    cluster.memory.ledger.back_off.clear();
    assert_eq!(made(&checked(&mut cluster), "cpu"), 3);
    assert!(!cluster.memory.history.gangs["default/train"].renewed);
}

#[test]
fn no_plan_gives_up_a_gang_that_it_launches_for() {
    let (mut cluster, nodes, deadline) = a_gang_that_lacks_its_third();
    cluster.pools.get_mut("cpu").expect("it is there").scale_down.wait_for_completion = true;
    // Somebody else has come upon the first, and no member fits beside it.
    let other = cluster.running("other", &nodes[0], &[("cpu", "1500m")]);
    other.metadata.owner_references[0].kind = "Job".into();
    cluster.now += deadline;
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 2);
    assert_eq!(plan.actions.len(), 2, "{:?}", plan.actions);
    let held = UnsafeToRemove::HeldForGang { gang: "default/train".into(), until: cluster.now + deadline };
    assert_eq!(kept(&plan, &nodes[0]), Some(held));
}

#[test]
fn a_gang_that_is_gone_holds_nothing() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    a_waiting_gang(&mut cluster, 2);
    checked(&mut cluster);
    assert_eq!(cluster.memory.history.gangs.len(), 1);
    cluster.pods.clear();
    checked(&mut cluster);
    assert_eq!(cluster.memory.history.gangs.len(), 0);
}

#[test]
fn a_gang_waits_for_its_members() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    let pod = cluster.pending("train-0", &[("cpu", "3")]);
    pod.metadata.labels = labels(&[("ballast.dev/gang", "train"), ("ballast.dev/gang-size", "3")]);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    assert_eq!(plan.report.waiting[0].on, WaitingOn::Gang { present: 1, needed: 3 });
}

#[test]
fn members_behind_a_gate_are_not_there_yet() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    a_waiting_gang(&mut cluster, 4);
    let gate = |pod: &mut crate::kube::Pod, gates: Vec<crate::kube::SchedulingGate>| {
        crate::fixtures::with_spec(pod, |spec| spec.scheduling_gates = gates);
    };
    cluster.pods[..2].iter_mut().for_each(|pod| gate(pod, vec![Default::default()]));
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    let waits = WaitingOn::Gang { present: 2, needed: 4 };
    assert!(plan.report.waiting.iter().any(|waiting| waiting.on == waits), "{:?}", plan.report.waiting);
    cluster.pods.iter_mut().for_each(|pod| gate(pod, Vec::new()));
    assert_eq!(made(&checked(&mut cluster), "cpu"), 4);
}

#[test]
fn a_gang_of_which_one_member_says_the_size_is_one_gang() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    for number in 0..4 {
        let pod = cluster.pending(&format!("g-{number}"), &[("cpu", "1500m")]);
        pod.metadata.labels = labels(&[("ballast.dev/gang", "train")]);
        if number == 0 {
            pod.metadata.labels = labels(&[("ballast.dev/gang", "train"), ("ballast.dev/gang-size", "4")]);
        }
    }
    let plan = checked(&mut cluster);
    // Two of them fit on a node.
    assert_eq!(made(&plan, "cpu"), 2, "{:?}", plan.report.waiting);
    cluster.pods.pop();
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, [], "three of four are there: {:?}", plan.report.waiting);
}
