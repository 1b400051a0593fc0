//! What the system says of this process, read when it is asked for.

use super::Metrics;

/// Ticks of `/proc` in a second; Linux has had this number for every program since it has one.
const TICKS: f64 = 100.0;
/// Bytes of a page, of which `/proc` counts memory.
const PAGE: f64 = 4096.0;

/// Brings the metrics of the process up to date. Where the system does not say, they stay as they are.
pub(super) fn read(metrics: &Metrics) {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return };
    // The name of the program may hold anything but the last bracket.
    let Some((_, rest)) = stat.rsplit_once(')') else { return };
    let number = |at: usize| rest.split_whitespace().nth(at).and_then(|field| field.parse::<f64>().ok());
    // Counted from the third field on: utime and stime are the 14th and 15th, starttime the 22nd, rss the 24th.
    if let (Some(user), Some(system)) = (number(11), number(12)) {
        metrics.raise("process_cpu_seconds_total", &[], (user + system) / TICKS);
    }
    if let Some(pages) = number(21) {
        metrics.set("process_resident_memory_bytes", &[], pages * PAGE);
    }
    if let (Some(started), Some(booted)) = (number(19), booted()) {
        metrics.set("process_start_time_seconds", &[], booted + started / TICKS);
    }
}

/// When the machine began, in seconds since 1970.
fn booted() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}
