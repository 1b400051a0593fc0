//! What is left alone, and what is set right.

use std::collections::BTreeMap;

use crate::engine::Engine;
use crate::fixtures::{Cluster, labels};
use crate::kube::Name;
use crate::memory::{History, JobHistory, Ledger, Resize, StoredHistory};
use crate::observation::{
    Body, Change, ErrorClass, InstanceState, Object, ObjectKind, Observation, Source, SourceError,
};
use crate::procedure::{GaveUp, Receipt, Reply, Request};
use crate::snapshot::CORDON_MARK;
use crate::units::Span;

use super::acting::{one_unneeded, three_wait};
use super::world::{World, four_cores};

#[test]
fn a_forgotten_cordon_comes_off_and_a_persons_stays() {
    let mut cluster = Cluster::new();
    four_cores(&mut cluster);
    for name in ["n1", "n2", "n3"] {
        cluster.node(name, "cpu");
        cluster.running(&format!("busy-{name}"), name, &[("cpu", "3")]);
    }
    let mut world = World::new(cluster);
    world.mark("n1", Some(&"stop-4".into()));
    world.cluster.nodes.get_mut("n2").unwrap().spec.unschedulable = true;
    world.run(Span::from_mins(6));
    let held = world.cordoned();
    assert_eq!(held, [&Name::from("n2")]);
    assert_eq!(world.count("uncordon"), 1);
}

#[test]
fn a_ledger_that_cannot_be_read_is_refused() {
    for text in ["", "{", "[]", r#"{"version": -1}"#, r#"{"launches": {"n1": {}}}"#, r#"{"unknown": 1}"#] {
        assert!(Engine::new(Some(text)).is_err(), "{text}");
    }
}

#[test]
fn a_removal_in_the_ledger_is_resumed() {
    let mut world = World::new(one_unneeded());
    world.fault = Some((1, super::world::Fault::CrashBefore));
    world.tick();
    let body = world.stored.as_ref().unwrap().1.clone();
    let ledger = Ledger::parse(&body).unwrap();
    assert_eq!(ledger.removals.len(), 1);
    world.fault = None;
    world.run(Span::from_mins(3));
    assert_eq!(world.stops, 1);
    assert_eq!(world.engine.memory().ledger.removed.len(), 1, "one removal is counted once");
}

#[test]
fn a_removal_that_cannot_begin_in_time_is_decided_anew() {
    // Seeds 573, 909 and 991 of the storms: the ledger could not be written for minutes, then old decisions were carried out.
    let cluster = one_unneeded();
    let mut engine = Engine::new(None).unwrap();
    let first = engine.tick(cluster.now, cluster.observations());
    assert_eq!(engine.memory().ledger.removed.len(), 1);
    let late = cluster.now + Span::from_secs(10);
    let then = engine.settle(late, first.requests[0].0, Reply::Done);
    let outdated = Receipt::GaveUp { why: GaveUp::Outdated, cordon_left: false };
    let ended: Vec<(&str, Receipt)> =
        then.receipts.iter().map(|ended| (&*ended.node, ended.receipt)).collect();
    assert_eq!((then.requests, ended), (vec![], vec![("n2", outdated)]));
    let ledger = &engine.memory().ledger;
    assert!(ledger.removals.is_empty() && ledger.removed.is_empty(), "it is as if it had never been decided");
    assert!(engine.memory().history.idle_since.contains_key("n2"), "it is as unneeded as before");
}

#[test]
fn a_launch_that_came_to_nothing_is_owed_until_it_is_let_go() {
    let mut cluster = three_wait();
    cluster.pools.get_mut("cpu").unwrap().times.boot_deadline = Span::from_mins(3);
    cluster.pools.get_mut("cpu").unwrap().max = 2;
    cluster.instance("off", "cpu", InstanceState::Stopped);
    let mut world = World::new(cluster);
    world.never_joins = true;
    world.refuses_stops = Some(ErrorClass::Auth);
    world.run(Span::from_mins(40));
    let asked = world.count("stop");
    assert!((2..12).contains(&asked), "it is asked for now and then, {asked} times");
    assert!(world.engine.memory().ledger.removals.contains_key("off"));
    world.restart();
    world.refuses_stops = None;
    world.refuses = Some(ErrorClass::StockOut);
    world.run(Span::from_mins(7));
    assert_eq!(world.cluster.instances["sim:///off"].state, InstanceState::Stopped);
    assert!(world.engine.memory().ledger.removals.is_empty());
}

#[test]
fn a_pause_lets_what_is_owed_rest() {
    let mut cluster = three_wait();
    cluster.pools.get_mut("cpu").unwrap().times.boot_deadline = Span::from_mins(3);
    cluster.instance("off", "cpu", InstanceState::Stopped);
    let mut world = World::new(cluster);
    world.never_joins = true;
    world.refuses_stops = Some(ErrorClass::Auth);
    world.run(Span::from_mins(5));
    (world.cluster.policy.pause.up, world.cluster.policy.pause.down) = (true, true);
    world.refuses_stops = None;
    world.tick();
    let (asked, before) = (world.count("stop"), world.log.len());
    world.run(Span::from_mins(30));
    assert_eq!(world.count("stop"), asked);
    assert!(world.log.len() - before < 40, "{:?}", &world.log[before..]);
    // Seeds 46 and 247 of the storms: its node came, and woke it between two plans.
    let mut node = world.cluster.node("off", "cpu").clone();
    world.cluster.nodes.remove("off");
    node.status.conditions[0].status = "False".into();
    let observation = Observation {
        source: Source::kubernetes(ObjectKind::Node),
        taken_at: world.cluster.now,
        outcome: Ok(Body::Changed(vec![Change::Applied(Object::Node(node))])),
    };
    let woken = world.engine.tick(world.cluster.now, vec![observation]);
    assert_eq!(woken.requests, []);
    world.cluster.policy.pause.down = false;
    world.run(Span::from_mins(12));
    assert_eq!(world.cluster.instances["sim:///off"].state, InstanceState::Stopped);
}

#[test]
fn a_cordon_left_on_a_node_that_is_not_ready_comes_off_while_its_machine_runs() {
    // Seed 813 of the storms: a release was given up, and its mark kept the node from ever being weighed again.
    for (state, expected) in [(InstanceState::Running, 1), (InstanceState::Stopped, 0)] {
        let mut cluster = Cluster::new();
        four_cores(&mut cluster);
        let node = cluster.node("n1", "cpu");
        node.spec.unschedulable = true;
        node.metadata.annotations = labels(&[(CORDON_MARK, "stop-4")]);
        node.status.conditions[0].status = "Unknown".into();
        cluster.instance("n1", "cpu", state);
        let mut engine = Engine::new(None).unwrap();
        let mut looks = 0;
        for _ in 0..4 {
            let outcome = engine.tick(cluster.now, cluster.observations());
            looks += outcome
                .requests
                .iter()
                .filter(|(_, request)| matches!(request, Request::ReadNode { .. }))
                .count();
            cluster.now += Span::from_mins(1);
        }
        assert_eq!(looks, expected, "{state:?}");
    }
}

#[test]
fn a_removal_is_taken_back_when_the_cloud_takes_the_others() {
    // Seed 742 of the storms.
    let mut cluster = one_unneeded();
    cluster.pools.get_mut("cpu").unwrap().min = 1;
    let mut world = World::new(cluster);
    world.fault = Some((2, super::world::Fault::RequestLost));
    world.tick();
    assert_eq!(world.cordoned().len(), 1);
    world.cluster.instances.get_mut("sim:///n1").unwrap().state = InstanceState::Stopped;
    world.cluster.pods.clear();
    world.refuses = Some(ErrorClass::StockOut);
    // The loss is seen before the drain goes on.
    for millis in [300, 700] {
        world.cluster.now += Span::from_millis(millis);
        world.tick();
    }
    world.run(Span::from_mins(1));
    assert_eq!((world.stops, world.cordoned().len()), (0, 0));
}

#[test]
fn a_restart_forgets_neither_back_offs_nor_idle_times_nor_what_is_under_way() {
    let mut cluster = one_unneeded();
    let pool = cluster.pools.get_mut("cpu").unwrap();
    (pool.scale_down.idle_after, pool.min) = (Span::from_mins(10), 4);
    let mut world = World::new(cluster);
    world.refuses = Some(ErrorClass::StockOut);
    world.run(Span::from_secs(30));
    world.cluster.pools.get_mut("cpu").unwrap().min = 1;
    world.run(Span::from_mins(8));
    let before = world.engine.memory().clone();
    world.restart();
    world.tick();
    let after = world.engine.memory();
    assert_eq!((before.ledger.back_off.len(), after.ledger.back_off.len()), (1, 1));
    let idle = |memory: &crate::memory::Memory| world.cluster.now.since(memory.history.idle_since["n2"]);
    assert!(idle(&before) > Span::from_mins(6));
    assert!(idle(&before).as_millis() - idle(after).as_millis() <= 65_000, "at most a minute is lost");
    world.run(Span::from_mins(4));
    assert_eq!(world.stops, 1, "it goes after ten minutes, not after eighteen");
}

#[test]
fn what_is_remembered_of_other_scalers_is_handed_on() {
    let mut world = World::new(one_unneeded());
    let now = world.cluster.now;
    let job = JobHistory { grew_at: Some(now - Span::from_mins(5)), ..JobHistory::default() };
    let history = History { jobs: [("Job/ml/bert".into(), job)].into(), ..History::default() };
    let deadline = now + Span::from_mins(9);
    let resize = Resize { uid: "u".into(), from: 2, to: 3, since: now - Span::from_mins(1), deadline };
    let resizes = BTreeMap::from([("Job/ml/bert".into(), resize)]);
    let ledger = Ledger { version: 3, written_at: now, resizes, ..Ledger::default() };
    world.stored = Some((3, serde_json::to_string(&ledger).unwrap()));
    world.stored_history = Some(StoredHistory::write(&history, now, 60 * 1024));
    world.restart();
    world.tick();
    world.run(Span::from_mins(12));
    assert_eq!(world.stops, 1);
    let memory = world.engine.memory();
    assert_eq!((&memory.history.jobs, &memory.ledger.resizes), (&history.jobs, &ledger.resizes));
    let (version, stored) = world.stored.unwrap();
    assert!(version > 3);
    assert_eq!(Ledger::parse(&stored).unwrap().resizes, ledger.resizes);
    let stored = StoredHistory::parse(&world.stored_history.unwrap()).unwrap();
    assert!(stored.written_at > now);
    assert_eq!(stored.history.jobs, history.jobs);
}

#[test]
fn a_pool_is_left_alone_after_as_many_strikes_as_the_policy_says() {
    for (strikes, places) in [(1, 2), (5, 1)] {
        let mut cluster = three_wait();
        cluster.policy.health.strikes = strikes;
        let pool = cluster.pools.get_mut("cpu").unwrap();
        pool.times.boot_deadline = Span::from_mins(3);
        pool.template.zones = vec!["a".into()];
        let mut world = World::new(cluster);
        world.never_joins = true;
        world.run(Span::from_mins(5));
        assert_eq!(world.engine.memory().ledger.strikes["cpu"], 1);
        assert_eq!(world.engine.memory().ledger.back_off.len(), places, "{strikes} strikes");
    }
}

#[test]
fn the_ledger_stays_small_however_much_is_asked_for() {
    let mut cluster = Cluster::new();
    four_cores(&mut cluster);
    cluster.pools.get_mut("cpu").unwrap().max = 5000;
    for at in 0..3000 {
        cluster.pending(&format!("job-{at}"), &[("cpu", "3")]);
    }
    let mut world = World::new(cluster);
    world.never_joins = true;
    // The world itself refuses a ledger above 64 KiB.
    world.run(Span::from_secs(20));
    assert!(world.made > 50, "{} made", world.made);
}

#[test]
fn the_view_shows_what_waits_and_what_is_under_way() {
    let mut world = World::new(super::acting::three_wait());
    world.tick();
    let view = world.engine.view(world.now());
    assert_eq!((view.pools[0].ready, view.pools[0].starting), (1, 3));
    assert_eq!(view.nodes.len(), 4);
    assert_eq!((view.pending[0].count, view.pending[0].requests.as_str()), (3, "3 CPU each"));
    assert!(!view.pending[0].waiting.is_empty());
    assert_eq!(view.in_flight.len(), 3);
    assert_eq!(&*view.in_flight[0].kind, "CreateInstance");
    assert!(view.sources.iter().all(|source| source.trouble.is_none()));
    world.run(Span::from_mins(4));
    let view = world.engine.view(world.now());
    assert_eq!((view.pools[0].ready, view.pending.len(), view.in_flight.len()), (4, 0, 0));
    assert_eq!(view.cost_per_hour, crate::units::Money::from_f64(4.0).unwrap());
    assert!(view.nodes.iter().all(|node| node.kept_because.is_some()));
    assert!(view.next_look.is_some());
}

#[test]
fn a_removal_that_has_not_begun_does_not_begin_once_it_is_blind() {
    // Seed 1465 of the storms: it waited for its ledger, and the view was lost meanwhile.
    for (kind, begins) in [(None, true), (Some(ObjectKind::Pod), false), (Some(ObjectKind::VmPool), false)] {
        let cluster = one_unneeded();
        let mut engine = Engine::new(None).unwrap();
        let first = engine.tick(cluster.now, cluster.observations());
        assert_eq!(engine.memory().ledger.removals.len(), 1);
        let soon = cluster.now + Span::from_secs(1);
        let lost = kind.map(|kind| Observation {
            source: Source::kubernetes(kind),
            taken_at: soon,
            outcome: Err(SourceError { class: ErrorClass::Transient, message: "said the test".into() }),
        });
        let _ = engine.tick(soon, lost.into_iter().collect());
        let then = engine.settle(soon, first.requests[0].0, Reply::Done);
        let cordons = then.requests.iter().any(|(_, request)| matches!(request, Request::Cordon { .. }));
        assert_eq!(cordons, begins, "{kind:?}: {:?}", then.requests);
    }
}
