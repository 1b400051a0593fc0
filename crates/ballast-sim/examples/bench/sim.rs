//! `sim-day` and `sim-year`: 1,000 nodes, 10,000 jobs a day, one core.

use ballast_sim::scenario::Scenario;
use ballast_sim::score::Score;
use ballast_sim::simulation::Simulation;
use serde_json::json;

use crate::row::{Row, timed};

/// A cluster of up to 1,000 nodes that breathes with the day: 8,000 jobs on CPU, 1,900 with GPUs and 100 gangs.
fn busy(until: &str) -> Scenario {
    let pool = |name: &str, running: u32, stopped: u32, price: f64, allocatable: serde_json::Value| {
        json!({"name": name, "running": running, "stopped": stopped, "spec": {
            "provider": {"kind": "Simulated"}, "max": running + stopped, "create": false,
            "price": {"perHour": price, "stoppedPerHour": 0.02},
            "scaleDown": {"waitForCompletion": true},
            "template": {"allocatable": allocatable}}})
    };
    let work = |name: &str, per_hour: f64, sizes: serde_json::Value, gang: bool| {
        json!({"name": name, "arrivals": {"perHour": per_hour, "wave": 0.6, "weekend": 0.5}, "sizes": sizes,
            "gang": gang, "duration": {"lognormal": {"median": "1h", "sigma": 0.8, "most": "12h"}}})
    };
    let cpu = |cores: u32, weight: u32| json!({"weight": weight, "requests": {"cpu": cores.to_string(), "memory": format!("{}Gi", cores * 4)}});
    let gpu = |gpus: u32, weight: u32| {
        json!({"weight": weight, "requests": {"cpu": (gpus * 8).to_string(), "memory": format!("{}Gi", gpus * 32),
            "nvidia.com/gpu": gpus.to_string()}})
    };
    let gangs = json!([{"members": 4, "requests": {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8"}}]);
    let spec = json!({
        "until": until,
        "pace": {"interval": "30s"},
        "policy": {"mode": "Enforce", "limits": {"nodes": 1000, "costPerHour": 20000},
            "growth": {"perMinuteMinimum": 50},
            "removal": {"perPool": {"share": "10%", "window": "10m"}, "perCluster": {"share": "10%", "window": "10m"}}},
        "pools": [
            pool("cpu", 300, 400, 1.5, json!({"cpu": "32", "memory": "128Gi"})),
            pool("gpu", 100, 200, 20.0, json!({"cpu": "96", "memory": "512Gi", "nvidia.com/gpu": "8"})),
        ],
        "workloads": [
            work("batch", 333.0, json!([cpu(4, 4), cpu(8, 3), cpu(16, 2), cpu(31, 1)]), false),
            work("train", 79.0, json!([gpu(1, 4), gpu(2, 3), gpu(4, 2), gpu(8, 1)]), false),
            work("gangs", 4.2, gangs, true),
        ],
    });
    let document = json!({"apiVersion": "ballast.dev/v1alpha1", "kind": "Scenario",
        "metadata": {"name": "busy"}, "spec": spec});
    Scenario::from_value(document).expect("a good scenario")
}

fn rows(case: &'static str, bar: f64, times: usize, until: &str) -> Vec<Row> {
    let scenario = busy(until);
    let runs: Vec<(Score, f64)> = (0..times)
        .map(|_| {
            let (score, took) = timed(|| Simulation::new(&scenario, 1).finish());
            (score, took.as_secs_f64())
        })
        .collect();
    let (score, _) = &runs[0];
    score
        .breaches
        .iter()
        .for_each(|breach| eprintln!("{case}: {} at {}: {}", breach.promise, breach.at, breach.message));
    let told = |metric: &'static str, unit: &'static str, figure: &str| {
        Row::measured(case, metric, unit, vec![score.get(figure).unwrap_or(f64::NAN)])
    };
    vec![
        Row::measured(case, "wall", "s", runs.iter().map(|(_, took)| *took).collect()).at_most(bar),
        told("plans", "plans", "plans"),
        told("ticks", "looks", "ticks"),
        told("jobs", "jobs", "jobsEnded"),
        told("pending p95", "s", "pendingP95"),
        told("adds", "nodes", "adds"),
        told("removals", "nodes", "removals"),
        told("broken promises", "promises", "brokenPromises").exactly(0.0),
    ]
}

/// One day.
pub(crate) fn day() -> Vec<Row> {
    rows("sim-day", 0.5, 5, "1d")
}

/// One year.
pub(crate) fn year() -> Vec<Row> {
    rows("sim-year", 180.0, 1, "365d")
}
