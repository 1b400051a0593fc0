//! How long pods waited.

use serde::Serialize;

/// How long some pods waited, in seconds. Those that still wait at the end count with what they have waited so far, so that no
/// policy looks good by leaving them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waits {
    /// Pods that were counted.
    pub count: u64,
    /// Pods that still wait at the end.
    pub unserved: u64,
    /// The mean.
    pub mean: f64,
    /// Half waited less.
    pub p50: f64,
    /// Nine of ten waited less.
    pub p90: f64,
    /// Nineteen of twenty waited less.
    pub p95: f64,
    /// Ninety-nine of a hundred waited less.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Waits {
    /// Sums up waits in milliseconds.
    pub(crate) fn of(mut waits: Vec<i64>, unserved: u64) -> Self {
        if waits.is_empty() {
            return Self::default();
        }
        waits.sort_unstable();
        // The nearest rank: the smallest value that at least so many are not above.
        let rank = |percent: usize| {
            let at = (waits.len() * percent).div_ceil(100).max(1) - 1;
            waits[at] as f64 / 1000.0
        };
        let sum: i64 = waits.iter().sum();
        Self {
            count: waits.len() as u64,
            unserved,
            mean: sum as f64 / 1000.0 / waits.len() as f64,
            p50: rank(50),
            p90: rank(90),
            p95: rank(95),
            p99: rank(99),
            max: rank(100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let waits = Waits::of((1..=100).map(|second| second * 1000).rev().collect(), 2);
        assert_eq!((waits.p50, waits.p90, waits.p95, waits.p99, waits.max), (50.0, 90.0, 95.0, 99.0, 100.0));
        assert_eq!((waits.count, waits.unserved, waits.mean), (100, 2, 50.5));
        assert_eq!(Waits::of(Vec::new(), 0), Waits::default());
        assert_eq!(Waits::of(vec![7000], 0).p99, 7.0);
    }
}
