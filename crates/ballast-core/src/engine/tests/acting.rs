//! What the engine asks for, and in which order.

use crate::engine::Engine;
use crate::fixtures::{Cluster, labels};
use crate::memory::{History, LaunchKind, StoredHistory};
use crate::observation::{ErrorClass, InstanceState};
use crate::plan::HoldReason;
use crate::policy::Mode;
use crate::procedure::{Receipt, Reply, Request};
use crate::units::Span;

use super::world::{Fault, World, failed, four_cores};

/// Three pods wait, each for a whole node.
pub(super) fn three_wait() -> Cluster {
    let mut cluster = Cluster::new();
    four_cores(&mut cluster);
    cluster.node("n1", "cpu");
    cluster.running("busy-1", "n1", &[("cpu", "3")]);
    for at in 0..3 {
        cluster.pending(&format!("job-{at}"), &[("cpu", "3")]);
    }
    cluster
}

/// Two nodes, the second of them unneeded for a long time.
pub(super) fn one_unneeded() -> Cluster {
    let mut cluster = Cluster::new();
    four_cores(&mut cluster);
    cluster.node("n1", "cpu");
    cluster.node("n2", "cpu");
    cluster.running("busy-1", "n1", &[("cpu", "3")]);
    cluster.without_removal_budgets();
    cluster
}

#[test]
fn the_ledger_is_written_before_anything_is_asked_for() {
    let cluster = three_wait();
    let mut engine = Engine::new(None).unwrap();
    let first = engine.tick(cluster.now, cluster.observations());
    let [(id, Request::WriteLedger { version: 1, body })] = first.requests.as_slice() else {
        panic!("{:?}", first.requests);
    };
    assert!(body.contains("cpu-1"));
    assert_eq!(engine.memory().ledger.added.len(), 3);
    // Nothing goes on while the write is out.
    let later = cluster.now + Span::from_secs(3);
    assert_eq!(engine.tick(later, Vec::new()).requests, []);
    let then = engine.settle(later, *id, Reply::Done);
    assert_eq!(then.requests.len(), 3);
    assert!(then.requests.iter().all(|(_, request)| matches!(request, Request::CreateInstance { .. })));
}

#[test]
fn a_plan_that_would_break_a_promise_is_refused_and_says_so() {
    for is_kept in [false, true] {
        let mut cluster = one_unneeded();
        let mut plan = cluster.plan();
        if is_kept {
            let node = cluster.nodes.get_mut("n2").unwrap();
            node.metadata.annotations = labels(&[("ballast.dev/do-not-disrupt", "true")]);
        }
        let mut engine = Engine::new(None).unwrap();
        engine.executor.permit(cluster.now, crate::engine::executor::Permissions::ALL);
        engine.carry_out(cluster.now, &cluster.store().snapshot(), &mut plan);
        let (requests, _) = engine.executor.take(cluster.now);
        let refused = plan.report.holds.iter().any(|hold| hold.reason == HoldReason::PlanRefused);
        assert_eq!((refused, requests.is_empty()), (is_kept, is_kept));
        assert_eq!(engine.memory().ledger.removals.is_empty(), is_kept);
        assert_eq!(plan.report.promises.len(), usize::from(is_kept));
    }
}

#[test]
fn pods_that_wait_get_nodes_and_no_more_than_they_need() {
    let mut world = World::new(three_wait());
    world.run(Span::from_mins(5));
    assert_eq!((world.waiting(), world.made, world.up()), (0, 3, 4));
    assert!(world.engine.memory().ledger.launches.is_empty());
    assert_eq!(world.engine.memory().history.boots["cpu"][&LaunchKind::Create].took.len(), 3);
}

#[test]
fn a_node_that_is_not_needed_is_drained_and_stopped() {
    let mut world = World::new(one_unneeded());
    world.run(Span::from_mins(5));
    assert_eq!(world.cluster.instances["sim:///n2"].state, InstanceState::Stopped);
    let at = world.log.iter().position(|words| words.starts_with("cordon")).unwrap();
    let row: Vec<&str> = world.log[at..].iter().map(String::as_str).take(5).collect();
    assert_eq!(row, ["cordon n2", "read-node n2", "write 2", "read-node n2", "stop sim:///n2 Deallocate"]);
    assert!(world.engine.memory().ledger.removals.is_empty());
    assert_eq!(world.engine.memory().ledger.removed.len(), 1);
    // It comes back when it is needed, and takes pods again.
    world.cluster.pending("job-1", &[("cpu", "3")]);
    world.run(Span::from_mins(5));
    assert_eq!((world.waiting(), world.made), (0, 0));
    assert!(world.cordoned().is_empty());
}

#[test]
fn nothing_is_asked_for_unless_the_policy_says_enforce() {
    for mode in [Mode::Observe, Mode::Recommend] {
        let mut cluster = three_wait();
        cluster.policy.mode = mode;
        let mut world = World::new(cluster);
        world.run(Span::from_mins(2));
        assert_eq!(world.log, Vec::<String>::new());
        assert!(!world.engine.last_plan().unwrap().actions.is_empty());
    }
    let mut cluster = three_wait();
    cluster.policy.limits.cost_per_hour = None;
    let mut world = World::new(cluster);
    world.run(Span::from_mins(2));
    assert_eq!(world.log, Vec::<String>::new());
}

#[test]
fn a_pool_may_lower_the_mode_for_itself() {
    let mut cluster = three_wait();
    cluster.pools.get_mut("cpu").unwrap().mode = Some(Mode::Recommend);
    let mut world = World::new(cluster);
    world.run(Span::from_mins(2));
    world.log.retain(|words| words != "write-history");
    assert_eq!(world.log, Vec::<String>::new(), "beyond our own memory");
}

#[test]
fn a_mode_lowered_on_the_way_sends_nothing_more_and_goes_on_later() {
    let mut world = World::new(three_wait());
    world.tick();
    let sent = world.log.len();
    assert!(sent > 0);
    world.cluster.policy.mode = Mode::Observe;
    world.cluster.now += Span::from_secs(2);
    world.run(Span::from_mins(1));
    assert_eq!(world.log.len(), sent);
    world.cluster.policy.mode = Mode::Enforce;
    world.run(Span::from_mins(3));
    assert_eq!((world.waiting(), world.made), (0, 3));
}

#[test]
fn a_stock_out_backs_the_place_off() {
    let mut world = World::new(three_wait());
    world.refuses = Some(ErrorClass::StockOut);
    world.run(Span::from_secs(90));
    let ledger = &world.engine.memory().ledger;
    assert!(ledger.launches.is_empty());
    assert_eq!(ledger.back_off[0].class, ErrorClass::StockOut);
    assert_eq!(world.count("create"), 3, "it asks again only after the back-off");
    world.refuses = None;
    world.run(Span::from_mins(40));
    assert_eq!(world.waiting(), 0);
    assert!(world.engine.memory().ledger.back_off.is_empty());
}

#[test]
fn what_never_joins_is_let_go_and_counted() {
    let mut cluster = three_wait();
    cluster.pools.get_mut("cpu").unwrap().times.boot_deadline = Span::from_mins(3);
    let mut world = World::new(cluster);
    world.never_joins = true;
    world.run(Span::from_mins(5));
    assert_eq!(world.count("stop"), 3);
    assert!(world.cluster.instances.len() <= 4, "{:?}", world.cluster.instances.keys());
    assert_eq!(world.engine.memory().ledger.strikes["cpu"], 1, "one batch is one strike");
    assert!(world.engine.memory().ledger.removals.is_empty());
}

#[test]
fn a_pool_whose_boots_become_slower_comes_back() {
    for kind in [LaunchKind::Start, LaunchKind::Create] {
        let mut world = World::new(three_wait());
        let mut history = History::default();
        (0..20).for_each(|_| history.note_boot(&"cpu".into(), kind, Span::from_secs(40)));
        world.stored_history = Some(StoredHistory::write(&history, world.now(), 64 * 1024));
        world.restart();
        world.boot = Span::from_mins(4);
        world.run(Span::from_mins(30));
        assert_eq!(world.waiting(), 0, "after boots of {kind:?}: {:?}", world.log);
        let expected = if kind == LaunchKind::Create { 3 } else { 0 };
        assert_eq!(world.stops, expected, "what was learned of starts says nothing of what is made");
    }
}

#[test]
fn another_writer_ends_all_acting_until_its_ledger_is_read() {
    let mut world = World::new(three_wait());
    world.stored = Some((7, r#"{"version": 7, "launchesMade": 40}"#.to_owned()));
    world.run(Span::from_mins(5));
    assert_eq!(world.log[..2], ["write 1", "read-ledger"]);
    assert_eq!((world.waiting(), world.made), (0, 3));
    assert!(world.stored.as_ref().unwrap().0 > 7);
    assert!(world.log.iter().any(|words| words == "create cpu-41"), "{:?}", world.log);
}

#[test]
fn a_write_of_unknown_result_is_the_same_write_again() {
    for fault in [Fault::AnswerLost, Fault::RequestLost, Fault::Refused(ErrorClass::Transient)] {
        let mut world = World::new(three_wait());
        world.fault = Some((0, fault));
        world.run(Span::from_mins(5));
        assert_eq!(world.log[..2], ["write 1", "write 1"], "{fault:?}");
        assert_eq!((world.waiting(), world.made), (0, 3), "{fault:?}");
    }
}

#[test]
fn a_reply_that_belongs_to_nothing_changes_nothing() {
    let mut world = World::new(three_wait());
    world.run(Span::from_mins(2));
    let before = world.engine.memory().clone();
    let outcome =
        world.engine.settle(world.cluster.now, super::super::RequestId(9999), failed(ErrorClass::Auth));
    assert_eq!(outcome.requests, []);
    assert_eq!(*world.engine.memory(), before);
}

#[test]
fn a_reply_that_never_comes_counts_as_lost() {
    let cluster = three_wait();
    let mut engine = Engine::new(None).unwrap();
    let first = engine.tick(cluster.now, cluster.observations());
    let then = engine.settle(cluster.now, first.requests[0].0, Reply::Done);
    assert_eq!(then.requests.len(), 3);
    let later = cluster.now + Span::from_mins(6);
    let outcome = engine.tick(later, Vec::new());
    assert!(outcome.receipts.is_empty());
    let outcome = engine.tick(later + Span::from_secs(2), Vec::new());
    assert!(outcome.requests.iter().any(|(_, request)| matches!(request, Request::ReadInstance { .. })));
}

#[test]
fn a_pause_takes_a_removal_back_and_the_cordon_off() {
    let mut world = World::new(one_unneeded());
    // A pod that comes to the node and is on its way out holds the drain up.
    world.fault = Some((2, Fault::RequestLost));
    world.tick();
    assert_eq!(world.log, ["write 1", "cordon n2", "read-node n2"]);
    assert_eq!(world.cordoned().len(), 1);
    world.cluster.policy.pause.down = true;
    world.run(Span::from_mins(1));
    assert!(world.cordoned().is_empty());
    assert_eq!(world.stops, 0);
    assert!(world.engine.memory().ledger.removals.is_empty());
}

#[test]
fn a_pause_that_has_an_end_ends_by_itself() {
    let mut world = World::new(one_unneeded());
    let until = world.cluster.now + Span::from_mins(5);
    (world.cluster.policy.pause.down, world.cluster.policy.pause.until) = (true, Some(until));
    world.run(Span::from_mins(4));
    assert!(world.log.is_empty(), "{:?}", world.log);
    world.run(Span::from_mins(4));
    assert_eq!(world.stops, 1);
    let mut paused = three_wait();
    let until = paused.now + Span::from_secs(40);
    (paused.policy.pause.up, paused.policy.pause.until) = (true, Some(until));
    let mut engine = Engine::new(None).unwrap();
    let first = engine.tick(paused.now, paused.observations());
    assert_eq!(first.requests, []);
    assert!(first.wake_at <= until, "it looks again when the pause ends");
    let plan = first.plan.expect("it plans");
    assert_eq!(plan.report.holds.iter().filter_map(|hold| hold.until).collect::<Vec<_>>(), [until]);
    let then = engine.tick(until, Vec::new());
    assert_eq!(then.plan.map(|plan| plan.actions.len()), Some(3));
}

#[test]
fn what_is_protected_after_the_decision_stays() {
    type Protection = (&'static str, fn(&mut Cluster));
    let protections: [Protection; 4] = [
        ("the pool's document is gone", |cluster| _ = cluster.pools.remove("cpu")),
        ("its scale-down is off", |cluster| {
            cluster.pools.get_mut("cpu").unwrap().scale_down.enabled = false;
        }),
        ("the node is annotated", |cluster| {
            let node = cluster.nodes.get_mut("n2").unwrap();
            let mut annotations = (*node.metadata.annotations).clone();
            annotations.insert("ballast.dev/do-not-disrupt".into(), "true".into());
            node.metadata.annotations = std::sync::Arc::new(annotations);
        }),
        ("a pod that it moves is annotated", |cluster| {
            let pod = cluster.pods.last_mut().unwrap();
            pod.metadata.annotations = labels(&[("karpenter.sh/do-not-disrupt", "true")]);
        }),
    ];
    for (what, protect) in protections {
        let mut cluster = one_unneeded();
        cluster.running("web-1", "n2", &[("cpu", "500m")]);
        let mut world = World::new(cluster);
        // Nobody learns what is on the node, so that nothing is moved yet.
        world.fault = Some((2, Fault::RequestLost));
        world.tick();
        assert_eq!(world.log, ["write 1", "cordon n2", "read-node n2"], "{what}");
        protect(&mut world.cluster);
        world.run(Span::from_mins(1));
        assert!(world.cordoned().is_empty(), "{what}");
        assert_eq!((world.stops, world.count("evict")), (0, 0), "{what}");
        assert!(world.engine.memory().ledger.removals.is_empty(), "{what}");
    }
}

#[test]
fn a_pause_takes_back_launches_that_were_not_asked_for() {
    let cluster = three_wait();
    let mut engine = Engine::new(None).unwrap();
    let first = engine.tick(cluster.now, cluster.observations());
    let mut paused = three_wait();
    paused.policy.pause.up = true;
    let outcome = engine.tick(cluster.now + Span::from_secs(1), paused.observations());
    assert_eq!(outcome.receipts.len(), 3);
    assert!(outcome.receipts.iter().all(|ended| ended.receipt == Receipt::LaunchCancelled));
    let then = engine.settle(cluster.now + Span::from_secs(2), first.requests[0].0, Reply::Done);
    assert_eq!(then.requests, []);
}

#[test]
fn a_write_that_nobody_answers_is_sent_again_and_only_its_answer_counts() {
    let cluster = three_wait();
    let mut engine = crate::engine::Engine::new(None).unwrap();
    let first = engine.tick(cluster.now, cluster.observations());
    let [(first_id, ref write)] = first.requests[..] else { panic!("{:?}", first.requests) };
    let later = cluster.now + Span::from_mins(6);
    let again = engine.tick(later, Vec::new());
    let (id, second) = again.requests.iter().find(|(_, request)| request == write).expect("it is sent again");
    assert_eq!(second, write);
    assert!(engine.settle(later, first_id, Reply::Done).requests.is_empty(), "too late");
    assert!(!engine.settle(later, *id, Reply::Done).requests.is_empty());
}

#[test]
fn what_has_to_wait_because_so_much_is_under_way_says_so() {
    let mut cluster = three_wait();
    cluster.pools.get_mut("cpu").unwrap().max = 1000;
    for pod in 0..400 {
        cluster.pending(&format!("more-{pod}"), &[("cpu", "4")]);
    }
    let mut engine = crate::engine::Engine::new(None).unwrap();
    let plan = engine.tick(cluster.now, cluster.observations()).plan.expect("it was due");
    let waits = |hold: &crate::plan::Hold| matches!(hold.reason, crate::plan::HoldReason::TooMuchUnderWay { waiting } if waiting > 100);
    assert!(plan.report.holds.iter().any(waits), "{:?}", plan.report.holds);
}
