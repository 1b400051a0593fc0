//! A fault at every request: whatever befalls one request of a run, the run ends as it would have ended without it. No machine
//! is orphaned, no cordon forgotten, nothing done twice, no promise broken.
//!
//! The worlds are small and make the engine start, create, drain, wait, stop and delete. Sizes `ci` and `full` are the same:
//! every request, every kind of fault.

use ballast_sim::scenario::Scenario;
use ballast_sim::simulation::{Ending, Injection, InjectionKind, Simulation};
use serde_json::{Value, json};

/// A pool of alike machines, of which two run with something small on each; a burst comes after twenty minutes and needs more.
/// What is given takes the place of what is there.
fn world(given: Value) -> Scenario {
    let mut spec = json!({
        "until": "5h",
        "policy": {"mode": "Enforce", "limits": {"nodes": 10, "costPerHour": 100}},
        "pools": [{"name": "p", "running": 2, "stopped": 3, "cloud": {"boot": "2m"}, "spec": {
            "provider": {"kind": "Simulated"}, "max": 6, "create": false, "price": {"perHour": 1},
            "times": {"boot": "2m"}, "template": {"allocatable": {"cpu": "8", "memory": "32Gi"}}}}],
        "workloads": [
            {"name": "burst", "arrivals": {"at": ["20m"], "count": 3}, "requests": {"cpu": "7", "memory": "4Gi"},
                "duration": "25m"},
            // A service that is drawn together onto one node.
            {"name": "web", "owner": "ReplicaSet", "members": 2, "requests": {"cpu": "2", "memory": "4Gi"}},
        ],
    });
    merge(&mut spec, given);
    let document = json!({"apiVersion": "ballast.dev/v1alpha1", "kind": "Scenario",
        "metadata": {"name": "crash"}, "spec": spec});
    Scenario::from_value(document).expect("a good scenario")
}

/// Puts the fields of one value into another; lists are merged place by place.
fn merge(into: &mut Value, given: Value) {
    match (into, given) {
        (Value::Object(into), Value::Object(given)) => {
            given.into_iter().for_each(|(key, value)| merge(into.entry(key).or_insert(Value::Null), value));
        }
        (Value::Array(into), Value::Array(given)) => {
            into.resize(into.len().max(given.len()), Value::Null);
            into.iter_mut().zip(given).for_each(|(entry, value)| merge(entry, value));
        }
        (into, given) => *into = given,
    }
}

fn run(scenario: &Scenario, injection: Option<Injection>) -> Simulation {
    let mut simulation = Simulation::new(scenario, 1).with_journal();
    if let Some(injection) = injection {
        simulation = simulation.with_injection(injection);
    }
    simulation.step_until(simulation.until());
    simulation
}

/// Whether a fault may cost an action more or less than without it: a machine that the cloud refuses for good is another one's.
fn may_change_counts(kind: InjectionKind) -> bool {
    matches!(kind, InjectionKind::Error(_) | InjectionKind::StaleViews)
}

fn enumerate(name: &str, scenario: &Scenario) {
    let plain = run(scenario, None);
    assert!(plain.ending().removals > 0, "{name}: nothing happens: {:?}", plain.ending());
    enumerate_from(name, scenario, &plain);
}

/// Tries every fault at every request of a run that went without.
fn enumerate_from(name: &str, scenario: &Scenario, plain: &Simulation) {
    let expected = plain.ending();
    assert!(expected.is_at_rest(), "{name}: {expected:?}");
    let mut complaints = Vec::new();
    for at in 0..plain.requests_sent() {
        for kind in InjectionKind::all() {
            let seen = run(scenario, Some(Injection { at, kind }));
            complaints.extend(
                complain(&expected, kind, &seen).map(|what| format!("request {at}, {kind:?}: {what}")),
            );
        }
    }
    let total = complaints.len();
    complaints.truncate(12);
    let runs = plain.requests_sent() as usize * InjectionKind::all().len();
    assert!(total == 0, "{name}: {total} of {runs} runs\n{}", complaints.join("\n"));
}

fn complain(expected: &Ending, kind: InjectionKind, seen: &Simulation) -> Option<String> {
    if let Some(breach) = seen.breaches().first() {
        return Some(format!("{} {} {}", breach.at, breach.promise, breach.message));
    }
    let ending = seen.ending();
    if !ending.is_at_rest() {
        return Some(format!("not at rest: {ending:?}"));
    }
    let counts = |ending: &Ending| Ending { adds: 0, removals: 0, ..*ending };
    let alike =
        if may_change_counts(kind) { counts(&ending) == counts(expected) } else { ending == *expected };
    (!alike).then(|| format!("{ending:?} instead of {expected:?}"))
}

#[test]
fn starting_draining_and_deallocating() {
    enumerate("deallocate", &world(json!({})));
}

#[test]
fn creating_draining_and_deleting() {
    let pool = json!({"stopped": 0, "spec": {"create": true, "stop": "Delete"}});
    enumerate("delete", &world(json!({"pools": [pool]})));
}

/// Work that is waited for, on both nodes.
fn batch() -> Value {
    json!({"name": "batch", "owner": "Job", "members": 2, "requests": {"cpu": "2", "memory": "4Gi"}, "duration": "50m"})
}

#[test]
fn waiting_for_completion() {
    let pool = json!({"spec": {"scaleDown": {"waitForCompletion": true}}});
    enumerate("wait", &world(json!({"pools": [pool], "workloads": [{}, batch()]})));
}

#[test]
fn taking_back_what_waits() {
    // The burst comes while a node is cordoned and waits, and there is no other machine: the node is taken back.
    let pool = json!({"stopped": 0, "spec": {"scaleDown": {"waitForCompletion": true, "payback": false}}});
    let burst = json!({"arrivals": {"at": ["25m"], "count": 1}, "requests": {"cpu": "5"}, "duration": "40m"});
    let scenario = world(json!({"pools": [pool], "workloads": [burst, batch()]}));
    let plain = run(&scenario, None);
    assert!(plain.journal_text().contains("uncordon"), "nothing is taken back:\n{}", plain.journal_text());
    enumerate_from("take-back", &scenario, &plain);
}

#[test]
fn releasing_what_never_joins_of_a_gang() {
    // The first launch of the gang never joins, is let go, and is made again.
    let pool = json!({"stopped": 0, "spec": {"min": 2, "create": true, "times": {"bootDeadline": "6m"}}});
    let gang = json!({"gang": true, "members": 3, "arrivals": {"at": ["5m"], "count": 1}});
    let faults = json!([{"kind": "NeverJoins", "at": "0s", "for": "9m"}]);
    enumerate("release", &world(json!({"pools": [pool], "workloads": [gang], "faults": faults})));
}

#[test]
fn waiting_for_late_devices() {
    let pool =
        json!({"cloud": {"devices": "1m"}, "spec": {"template": {"allocatable": {"nvidia.com/gpu": "1"}}}});
    let burst = json!({"requests": {"nvidia.com/gpu": "1"}});
    enumerate("devices", &world(json!({"pools": [pool], "workloads": [burst]})));
}

#[test]
fn removing_what_is_not_ready() {
    let pool = json!({"stopped": 0, "running": 3, "spec": {"min": 1, "scaleDown": {"idleAfter": "20m", "unreadyAfter": "10m"}}});
    let burst = json!({"requests": {"cpu": "1"}, "arrivals": {"count": 1}});
    let faults = json!([{"kind": "NodeFlap", "at": "5m", "share": "34%", "span": "3h"}]);
    enumerate("unready", &world(json!({"pools": [pool], "workloads": [burst], "faults": faults})));
}
