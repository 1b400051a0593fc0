//! A record of a busy morning: it replays byte for byte, its own policy would decide the same at every plan, and another one is
//! told where it would not.
#![expect(clippy::disallowed_methods, reason = "reads a scenario from a file")]

use ballast_core::record::{OtherPolicy, otherwise, replay};
use ballast_core::units::Span;
use ballast_sim::scenario::Scenario;
use ballast_sim::simulation::Simulation;

fn demo() -> Scenario {
    let text = std::fs::read_to_string("../../scenarios/demo.yaml").unwrap();
    Scenario::from_value(serde_saphyr::from_str(&text).unwrap()).unwrap()
}

/// Three hours: growth, a stock-out, a gang, removals, a spot reclaim.
fn record(scenario: &Scenario) -> String {
    let mut simulation = Simulation::new(scenario, scenario.spec.seed).with_record();
    simulation.step_until(scenario.spec.start + Span::from_mins(180));
    simulation.take_record().iter().map(|entry| entry.to_line() + "\n").collect()
}

fn own(scenario: &Scenario) -> OtherPolicy {
    let pools = scenario.spec.pools.iter().map(|pool| (pool.name.clone(), pool.spec.clone()));
    OtherPolicy { cluster: Some(scenario.spec.policy.clone()), pools: pools.collect() }
}

#[test]
fn the_same_policy_decides_the_same_at_every_plan() {
    let scenario = demo();
    let record = record(&scenario);
    let replayed = replay(record.as_bytes()).unwrap();
    assert_eq!(replayed.differences, []);
    for policy in [OtherPolicy::default(), own(&scenario)] {
        let told = otherwise(record.as_bytes(), &policy).unwrap();
        assert_eq!((told.different, &told.differing[..]), (0, &[][..]));
        assert_eq!((told.plans, told.entries), (replayed.plans, replayed.entries));
    }
}

#[test]
fn another_policy_is_told_where_it_would_decide_otherwise() {
    let scenario = demo();
    let record = record(&scenario);
    let mut policy = own(&scenario);
    policy.pools.get_mut("plain").unwrap().max = 6;
    let told = otherwise(record.as_bytes(), &policy).unwrap();
    assert!(told.different > 0 && told.different < told.plans, "{} of {}", told.different, told.plans);
    let first = &told.differing[0];
    assert!(first.recorded.iter().all(|action| &*action.target.pool == "plain"), "{first:?}");
    assert!(first.other.len() < first.recorded.len(), "a lower max lets less start: {first:?}");
    // Until the first difference nothing could tell the two apart.
    let before: String =
        record.lines().take(first.seq as usize - 1).map(|line| format!("{line}\n")).collect();
    assert_eq!(otherwise(before.as_bytes(), &policy).unwrap().different, 0);
}
