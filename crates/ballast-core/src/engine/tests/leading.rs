//! One process leads, others follow: who leads is an input like any other.

use crate::engine::{Engine, RequestId};
use crate::procedure::{Reply, Request};
use crate::record::{Entry, replay};
use crate::units::Span;

use super::acting::{one_unneeded, three_wait};
use super::world::World;

/// A world whose engine follows.
fn following(cluster: crate::fixtures::Cluster) -> World {
    let mut world = World::new(cluster);
    world.engine = Engine::following();
    world.engine.record(usize::MAX);
    world
}

fn lead(world: &mut World) {
    let stored = world.stored.as_ref().map(|(_, body)| body.clone());
    let history = world.stored_history.clone();
    world.engine.lead(world.cluster.now, stored.as_deref(), history.as_deref()).expect("we wrote it");
}

#[test]
fn who_follows_plans_and_asks_for_nothing() {
    let mut world = following(three_wait());
    world.run(Span::from_mins(2));
    assert!(world.plans > 0 && !world.engine.acts());
    assert_eq!(world.log, [""; 0]);
    lead(&mut world);
    world.run(Span::from_mins(2));
    assert!(world.engine.acts());
    assert_eq!(world.made, 3);
}

#[test]
fn a_record_of_leading_and_following_replays_to_the_same_bytes() {
    for cluster in [three_wait(), one_unneeded()] {
        let mut world = following(cluster);
        world.run(Span::from_mins(1));
        for _ in 0..2 {
            lead(&mut world);
            world.run(Span::from_mins(1));
            world.engine.follow(world.cluster.now);
            world.run(Span::from_mins(1));
        }
        let entries = world.engine.recorder().expect("it records").take();
        let text: String = entries.iter().map(|entry| Entry::to_line(entry) + "\n").collect();
        assert_eq!(text.matches("\"entry\":\"Led\"").count(), 2);
        assert!(text.contains("\"entry\":\"Requested\""), "something was asked for");
        let replay = replay(text.as_bytes()).expect("a whole record");
        assert_eq!(replay.differences, []);
        assert_eq!(replay.entries, entries.len() as u64);
    }
}

#[test]
fn an_answer_from_an_earlier_term_is_passed_over() {
    let cluster = three_wait();
    let mut engine = Engine::following();
    engine.lead(cluster.now, None, None).expect("nothing is stored");
    let first = engine.tick(cluster.now, cluster.observations()).requests;
    let [(old, Request::WriteLedger { .. })] = first.as_slice() else { panic!("it asked for {first:?}") };
    engine.follow(cluster.now);
    engine.lead(cluster.now, None, None).expect("nothing is stored");
    let second = engine.tick(cluster.now + Span::from_secs(1), cluster.observations()).requests;
    let [(new, Request::WriteLedger { .. })] = second.as_slice() else { panic!("it asked for {second:?}") };
    assert!(old < new, "no request is named as an earlier one: {old:?}, {new:?}");
    let late = engine.settle(cluster.now + Span::from_secs(2), RequestId(old.0), Reply::Done);
    assert!(late.requests.is_empty(), "the ledger is not durable yet: {:?}", late.requests);
}
