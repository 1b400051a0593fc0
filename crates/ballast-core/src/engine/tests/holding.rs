//! What is left alone, and what is set right.

use crate::engine::Engine;
use crate::fixtures::Cluster;
use crate::kube::Name;
use crate::memory::Ledger;
use crate::units::Span;

use super::acting::one_unneeded;
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
