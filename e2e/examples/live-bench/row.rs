//! One figure, in the form that `cargo xtask bench` reads.

use std::time::Duration;

use serde::Serialize;

/// A figure with its bar.
#[derive(Serialize)]
pub(crate) struct Row {
    case: &'static str,
    metric: String,
    seen: f64,
    unit: &'static str,
    bar: Option<f64>,
    relation: Option<&'static str>,
    holds: Option<bool>,
    n: usize,
    spread: f64,
}

impl Row {
    /// The row of a figure that was seen once, held against the most that it may be where there is such a bar.
    pub(crate) fn one(
        case: &'static str,
        metric: String,
        seen: f64,
        unit: &'static str,
        bar: Option<f64>,
    ) -> Self {
        let (relation, holds) = (bar.map(|_| "<="), bar.map(|bar| seen <= bar));
        Self { case, metric, seen, unit, bar, relation, holds, n: 1, spread: 0.0 }
    }
}

/// What was seen of one thing, in order.
pub(crate) struct Figures(Vec<f64>);

impl Figures {
    /// Times in milliseconds; one may be below zero where what was measured came before what it is measured from.
    pub(crate) fn new(mut millis: Vec<f64>) -> Self {
        millis.sort_by(f64::total_cmp);
        Self(millis)
    }

    /// The row of a percentile, held against a bar where there is one.
    pub(crate) fn row(&self, case: &'static str, what: &str, percent: usize, bar: Option<Duration>) -> Row {
        let n = self.0.len();
        // The smallest figure that so many percent do not exceed.
        let seen = self.0[(n * percent).div_ceil(100).clamp(1, n) - 1];
        let bar = bar.map(|bar| bar.as_secs_f64() * 1000.0);
        Row {
            case,
            metric: format!("{what}, p{percent}"),
            seen,
            unit: "ms",
            bar,
            relation: bar.map(|_| "<="),
            holds: bar.map(|bar| seen <= bar),
            n,
            spread: self.0[n - 1] - self.0[0],
        }
    }
}
