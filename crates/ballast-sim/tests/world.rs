//! The world by itself, with nobody or with the OpenPAI rule deciding: what it does can be foretold.

use ballast_sim::scenario::Scenario;
use ballast_sim::score::Score;
use ballast_sim::simulation::Simulation;
use serde_json::{Value, json};

fn scenario(spec: Value) -> Scenario {
    let document = json!({
        "apiVersion": "ballast.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "test"}, "spec": spec,
    });
    Scenario::from_value(document).expect("a good scenario")
}

fn pool(running: u32, stopped: u32) -> Value {
    json!({"name": "gpu", "running": running, "stopped": stopped, "cloud": {"boot": "3m"}, "spec": {
        "provider": {"kind": "Simulated"}, "max": 20, "price": {"perHour": 2, "stoppedPerHour": 0.1},
        "template": {"allocatable": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "4"}}}})
}

fn run(spec: Value) -> Score {
    Simulation::new(&scenario(spec), 1).finish()
}

#[test]
fn a_job_waits_runs_and_is_paid_for() {
    let score = run(json!({
        "until": "2h", "controller": "None", "pools": [pool(1, 1)],
        "workloads": [{"name": "w", "requests": {"cpu": "8", "memory": "8Gi"}, "duration": "30m",
            "arrivals": {"at": ["0s", "0s", "10m"]}}],
    }));
    assert_eq!(score.jobs_ended, 3);
    // Two fit at once; the third waits from 10:00 to 30:05, when the first two end.
    assert_eq!((score.pending.p50, score.pending.max), (0.0, 1205.0));
    assert!((score.cost - 2.0 * 2.1).abs() < 1e-9, "one runs, one is off: {}", score.cost);
    // Busy from 0 to 30:05 and again to 60:10.
    assert!((score.idle_cost - 2.0 * (7200.0 - 3610.0) / 3600.0).abs() < 1e-9, "{}", score.idle_cost);
    let hours = 8.0 * (3.0 * 1805.0) / 3600.0;
    assert!((score.cpu_utilisation - hours / 32.0).abs() < 1e-9);
}

#[test]
fn shares_of_a_gpu_lie_on_one_device_and_gangs_come_together_or_not_at_all() {
    let shares = run(json!({
        "until": "1h", "controller": "None", "pools": [pool(1, 0)],
        "workloads": [{"name": "s", "requests": {"cpu": "1"}, "gpuMilli": 600, "duration": "10m",
            "arrivals": {"at": ["0s"], "count": 5}}],
    }));
    assert_eq!((shares.pending.p50, shares.pending.max), (0.0, 605.0), "four devices, 600 of each");
    let gangs = run(json!({
        "until": "1h", "controller": "None", "pools": [pool(2, 0)],
        "workloads": [
            {"name": "a", "requests": {"nvidia.com/gpu": "4"}, "members": 2, "gang": true, "duration": "10m"},
            {"name": "b", "requests": {"nvidia.com/gpu": "4"}, "members": 2, "gang": true, "duration": "10m"},
            {"name": "c", "requests": {"nvidia.com/gpu": "4"}, "members": 3, "gang": true, "duration": "10m"}],
    }));
    assert_eq!(gangs.jobs_ended, 2);
    assert_eq!(gangs.get("unserved.c"), Some(3.0), "three do not fit, so none is placed");
    assert_eq!(gangs.get("pendingMax.b"), Some(605.0));
}

#[test]
fn what_the_cloud_takes_back_is_made_anew_and_loses_its_work() {
    let score = run(json!({
        "until": "3h", "controller": "None", "pools": [pool(2, 0)],
        "workloads": [{"name": "w", "requests": {"cpu": "16"}, "duration": "1h", "checkpoint": "10m"}],
        "faults": [{"kind": "SpotReclaim", "at": "33m", "span": "2m", "pool": "gpu"}],
    }));
    assert_eq!((score.reclaims, score.jobs_ended), (2, 0), "both machines are gone, and nobody starts them");
    assert_eq!(score.get("unserved.w"), Some(1.0));
    // It ran from 0:05 to 35:00; thirty minutes are kept.
    assert!((score.lost_work_hours - (35.0 * 60.0 - 5.0 - 1800.0) / 3600.0).abs() < 1e-9);
}

#[test]
fn budgets_and_relations_bind_the_scheduler() {
    let apart = json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}]}}});
    let score = run(json!({
        "until": "1h", "controller": "None", "pools": [pool(2, 0)],
        "workloads": [
            {"name": "x", "requests": {"cpu": "1"}, "labels": {"app": "x"}, "members": 3, "podSpec": apart},
            {"name": "y", "requests": {"cpu": "1"}, "podSpec": {"nodeSelector": {"zone": "nowhere"}}}],
    }));
    assert_eq!(score.get("unserved.x"), Some(1.0), "two nodes, one each");
    assert_eq!(score.get("unserved.y"), Some(1.0));
}

fn openpai() -> Value {
    json!({
        "until": "6h", "controller": "OpenPai", "pools": [pool(8, 0)],
        "workloads": [{"name": "t", "requests": {"cpu": "4", "nvidia.com/gpu": "4"}, "duration": "20m",
            "arrivals": {"perHour": 3.0}}],
    })
}

#[test]
fn the_openpai_rule_fights_itself() {
    let score = run(openpai());
    // Each stop makes a worker Unknown, total and guaranteed differ, and all are started again.
    assert!(score.reversals > 10, "{}", score.reversals);
    assert!(score.adds > 20 && score.removals > 20, "{} {}", score.adds, score.removals);
    assert!(score.broken_promises > 0, "it reads nothing before it stops");
}

#[test]
fn one_seed_gives_one_run_byte_for_byte() {
    let journal = |seed| {
        let mut simulation = Simulation::new(&scenario(openpai()), seed).with_journal();
        simulation.step_until(simulation.until());
        (simulation.journal_text().to_owned(), serde_json::to_string(&simulation.score()).expect("JSON"))
    };
    let (first, second) = (journal(7), journal(7));
    assert!(!first.0.is_empty());
    assert_eq!(first, second);
    assert_ne!(first.0, journal(8).0);
}
