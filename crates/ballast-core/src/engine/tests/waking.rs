//! When plans are made: soon for what waits, seldom for what only ends, never for nothing.

use crate::engine::Engine;
use crate::fixtures::{Cluster, a_pod, changed};
use crate::observation::{Body, ObjectKind, Observation, Source};
use crate::policy::Mode;
use crate::units::{Span, Time};

use super::world::four_cores;

fn quiet() -> (Engine, Cluster) {
    let mut cluster = Cluster::new();
    cluster.policy.mode = Mode::Observe;
    four_cores(&mut cluster);
    cluster.node("n1", "cpu");
    let mut engine = Engine::new(None).unwrap();
    let outcome = engine.tick(cluster.now, cluster.observations());
    assert!(outcome.plan.is_some(), "the first look makes a plan");
    (engine, cluster)
}

fn planned(engine: &mut Engine, now: Time, observations: Vec<Observation>) -> bool {
    engine.tick(now, observations).plan.is_some()
}

#[test]
fn nothing_makes_no_plan_until_the_next_look() {
    let (mut engine, cluster) = quiet();
    let mut plans = 0;
    for second in 1..=600 {
        let now = cluster.now + Span::from_secs(second);
        let bookmark = Observation {
            source: Source::kubernetes(ObjectKind::Node),
            taken_at: now,
            outcome: Ok(Body::Changed(Vec::new())),
        };
        plans += u32::from(planned(&mut engine, now, vec![bookmark]));
    }
    assert!((9..=11).contains(&plans), "one a minute: {plans}");
}

#[test]
fn a_pod_that_waits_is_planned_for_as_soon_as_no_more_of_its_kind_come() {
    let (mut engine, cluster) = quiet();
    let at = |millis: i64| cluster.now + Span::from_millis(30_000 + millis);
    let outcome = engine.tick(at(0), vec![changed(a_pod("job-1", &[("cpu", "3")]), at(0))]);
    assert!(outcome.plan.is_none(), "it waits for more of its kind");
    assert_eq!(outcome.wake_at, at(30));
    let outcome = engine.tick(at(20), vec![changed(a_pod("job-2", &[("cpu", "3")]), at(20))]);
    assert_eq!((outcome.plan.is_none(), outcome.wake_at), (true, at(50)), "here is one");
    assert!(planned(&mut engine, outcome.wake_at, Vec::new()));
}

#[test]
fn pods_that_come_one_by_one_have_a_plan_each() {
    let (mut engine, cluster) = quiet();
    for number in 0..200 {
        let at = cluster.now + Span::from_millis(2_000 + number * 60);
        let pod = a_pod(&format!("job-{number}"), &[("cpu", "3")]);
        let due = engine.tick(at, vec![changed(pod, at)]).wake_at;
        assert!(due <= at + Span::from_millis(40), "pod {number} waits for {:?}", due.since(at));
        assert!(planned(&mut engine, due, Vec::new()));
    }
}

#[test]
fn a_pod_that_the_scheduler_places_at_once_needs_no_plan() {
    let (mut engine, cluster) = quiet();
    let at = cluster.now + Span::from_secs(2);
    let mut pod = a_pod("job-1", &[("cpu", "1")]);
    let _ = engine.tick(at, vec![changed(pod.clone(), at)]);
    pod.node_name = "n1".into();
    let outcome = engine.tick(at + Span::from_millis(20), vec![changed(pod, at)]);
    assert!(outcome.plan.is_none());
    assert!(!planned(&mut engine, at + Span::from_secs(1), Vec::new()));
    assert_eq!(outcome.wake_at, cluster.now + Span::from_secs(30), "a twentieth of ten minutes");
}

#[test]
fn a_storm_of_changes_waits_for_half_a_second_at_most() {
    let (mut engine, cluster) = quiet();
    let mut plans = 0;
    for at in 0..1000 {
        let now = cluster.now + Span::from_millis(1000 + at * 10);
        let pod = a_pod(&format!("job-{at}"), &[("cpu", "1")]);
        plans += u32::from(planned(&mut engine, now, vec![changed(pod, now)]));
    }
    assert!((18..=21).contains(&plans), "two a second for ten seconds: {plans}");
}

#[test]
fn an_engine_that_has_seen_nothing_does_nothing() {
    let mut engine = Engine::new(None).unwrap();
    let outcome = engine.tick(Time::from_secs(5), Vec::new());
    assert!(outcome.plan.is_none() && outcome.requests.is_empty());
}
