//! A fault at every request: whatever befalls one request of a run, the run ends as it would have ended without it. No machine
//! is orphaned, no cordon forgotten, nothing done twice, no promise broken.
//!
//! The worlds are small and make the engine start, create, drain, wait, stop and delete. Sizes `ci` and `full` are the same:
//! every request, every kind of fault.

use ballast_sim::scenario::Scenario;
use ballast_sim::simulation::{Ending, Injection, InjectionKind, Simulation};
use serde_json::{Value, json};

/// A pool of alike machines, of which two run with something small on each; a burst comes after twenty minutes and needs more.
fn world(pool: Value, scale_down: Value, resident: Value) -> Scenario {
    let mut spec = json!({
        "provider": {"kind": "Simulated"}, "max": 6, "price": {"perHour": 1}, "times": {"boot": "2m"},
        "scaleDown": scale_down, "template": {"allocatable": {"cpu": "8", "memory": "32Gi"}},
    });
    for (key, value) in pool["spec"].as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let document = json!({
        "apiVersion": "ballast.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "crash"}, "spec": {
            "until": "5h",
            "policy": {"mode": "Enforce", "limits": {"nodes": 10, "costPerHour": 100}},
            "pools": [{"name": "p", "spec": spec, "running": 2, "stopped": pool["stopped"], "cloud": {"boot": "2m"}}],
            "workloads": [
                resident,
                {"name": "burst", "arrivals": {"at": ["20m"], "count": 3}, "requests": {"cpu": "7", "memory": "4Gi"},
                    "duration": "25m"},
            ],
        },
    });
    Scenario::from_value(document).expect("a good scenario")
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
    let expected = plain.ending();
    assert!(expected.is_at_rest(), "{name}: {expected:?}");
    assert!(expected.adds > 0 && expected.removals > 0, "{name}: nothing happens: {expected:?}");
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

/// A service that is drawn together onto one node.
fn service() -> Value {
    json!({"name": "web", "owner": "ReplicaSet", "members": 2, "requests": {"cpu": "2", "memory": "4Gi"}})
}

#[test]
fn starting_draining_and_deallocating() {
    enumerate("deallocate", &world(json!({"stopped": 3, "spec": {"create": false}}), json!({}), service()));
}

#[test]
fn creating_draining_and_deleting() {
    enumerate("delete", &world(json!({"stopped": 0, "spec": {"stop": "Delete"}}), json!({}), service()));
}

#[test]
fn waiting_for_completion() {
    let waits = json!({"waitForCompletion": true});
    let batch =
        json!({"name": "batch", "members": 2, "requests": {"cpu": "2", "memory": "4Gi"}, "duration": "50m"});
    enumerate("wait", &world(json!({"stopped": 3, "spec": {"create": false}}), waits, batch));
}
