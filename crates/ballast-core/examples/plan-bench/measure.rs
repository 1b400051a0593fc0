//! Rows, medians, and the resident size.

use std::time::Instant;

use serde_json::{Value, json};

/// Runs `work` `n` times after one warm-up and returns the milliseconds of each.
pub(crate) fn times(n: usize, mut work: impl FnMut()) -> Vec<f64> {
    work();
    let timed = |()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..n).map(|_| ()).map(timed).collect()
}

/// A row with the median of what was seen.
pub(crate) fn row(case: &str, metric: &str, seen: &[f64], unit: &str, bar: f64, relation: &str) -> Value {
    let mut sorted = seen.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    let spread = sorted[sorted.len() - 1] - sorted[0];
    let holds = match relation {
        "<=" => median <= bar,
        ">=" => median >= bar,
        _ => (median - bar).abs() < 1e-9,
    };
    json!({
        "case": case, "metric": metric, "seen": median, "unit": unit, "bar": bar, "relation": relation, "holds": holds,
        "n": sorted.len(), "spread": spread,
    })
}

/// A row that is only told: nothing was promised of it.
pub(crate) fn figure(case: &str, metric: &str, seen: f64, unit: &str) -> Value {
    json!({
        "case": case, "metric": metric, "seen": seen, "unit": unit, "bar": null, "relation": null, "holds": null,
        "n": 1, "spread": 0.0,
    })
}

/// The greatest resident size of this process so far, in MiB.
pub(crate) fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("VmHWM: 0 kB");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
