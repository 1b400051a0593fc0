//! One figure of a case, in the form that `cargo xtask bench` reads.

use std::time::{Duration, Instant};

use serde::Serialize;

/// A figure with its bar.
#[derive(Serialize)]
pub(crate) struct Row {
    case: &'static str,
    metric: &'static str,
    seen: f64,
    unit: &'static str,
    bar: Option<f64>,
    relation: Option<&'static str>,
    holds: Option<bool>,
    n: u64,
    spread: f64,
}

impl Row {
    /// A figure that was measured several times: the median is told, with the distance from the least to the greatest.
    pub(crate) fn measured(
        case: &'static str,
        metric: &'static str,
        unit: &'static str,
        mut seen: Vec<f64>,
    ) -> Self {
        seen.sort_by(f64::total_cmp);
        let median = seen[seen.len() / 2];
        let spread = seen[seen.len() - 1] - seen[0];
        Self {
            case,
            metric,
            seen: median,
            unit,
            bar: None,
            relation: None,
            holds: None,
            n: seen.len() as u64,
            spread,
        }
    }

    /// The bar that the figure may not pass.
    pub(crate) fn at_most(mut self, bar: f64) -> Self {
        self.bar = Some(bar);
        self.relation = Some("<=");
        self.holds = Some(self.seen <= bar);
        self
    }

    /// The value that the figure must have.
    pub(crate) fn exactly(mut self, bar: f64) -> Self {
        self.bar = Some(bar);
        self.relation = Some("==");
        self.holds = Some(self.seen == bar);
        self
    }
}

/// Does something and tells how long it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let result = work();
    (result, started.elapsed())
}
