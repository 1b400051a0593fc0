//! The figures of a run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Amount, Figure, Left, Waits};
use ballast_core::kube::Name;
use ballast_core::units::{Span, Time};

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Score {
    /// How long it lasted.
    pub lasted: Span,
    /// What everything cost.
    pub cost: f64,
    /// What nodes cost while they were ready and had no guest.
    pub idle_cost: f64,
    /// What each pool cost.
    pub cost_by_pool: BTreeMap<Name, f64>,
    /// Requested CPU as a share of what ready nodes had, over the whole run; `None` where they had none.
    pub cpu_utilisation: Option<f64>,
    /// Requested memory as a share of what ready nodes had; `None` where they had none.
    pub memory_utilisation: Option<f64>,
    /// Requested GPUs as a share of what ready nodes had; `None` where they had none.
    pub gpu_utilisation: Option<f64>,
    /// How long all pods waited for a node.
    pub pending: Waits,
    /// How long the pods of each workload waited for a node.
    pub pending_by_workload: BTreeMap<Name, Waits>,
    /// Why those that still wait do so, as the last plan said; empty where nobody plans.
    pub left: Vec<Left>,
    /// Pods that waited, on average.
    pub mean_pending: f64,
    /// How long gangs took from coming to all of them running; those that never did count with their time so far.
    pub assembly: Waits,
    /// Machines that were started or made.
    pub adds: u64,
    /// Machines that were stopped or deleted.
    pub removals: u64,
    /// Changes of direction of a pool within half an hour.
    pub reversals: u64,
    /// Machines that were launched and removed without ever having had a guest.
    pub unused_launches: u64,
    /// Pods that were evicted.
    pub evictions: u64,
    /// Machines that the cloud took back.
    pub reclaims: u64,
    /// Work that was interrupted and has to be done again, in hours of pods.
    pub lost_work_hours: f64,
    /// The same in hours of GPUs.
    pub lost_gpu_hours: f64,
    /// The share of idle GPUs that a typical pod with GPUs could not use; `None` where none was idle.
    pub fragmentation: Option<f64>,
    /// Jobs that were done.
    pub jobs_ended: u64,
    /// How long jobs took on average from coming to done, in seconds; those that are not done count with their time so far.
    /// `None` where there was no job.
    pub mean_completion: Option<f64>,
    /// Promises that were broken; always 0.
    pub broken_promises: u64,
    /// The first of them.
    pub breaches: Vec<Breach>,
    /// Plans that were made.
    pub plans: u64,
    /// Looks at the world, with a plan or without.
    pub ticks: u64,
    /// Requests that were sent, by kind.
    pub requests: BTreeMap<String, u64>,
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Breach {
    /// When.
    pub at: Time,
    /// Which: a number of the invariants, such as `I-6`.
    pub promise: &'static str,
    /// What happened.
    pub message: String,
}

/// A figure that did not land where it was expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Missed {
    /// Its name.
    pub figure: Name,
    /// What was seen; `None` where the figure has no value.
    pub seen: Option<f64>,
    /// The least and the greatest that was expected.
    pub expected: [f64; 2],
}

impl Score {
    /// A figure by its name, such as `cost`, `cost.POOL`, `pendingP95`, `pendingP95.WORKLOAD` or `requests.KIND`; `None` where
    /// there is no such figure, or nothing of which it could be one.
    pub fn get(&self, name: &str) -> Option<f64> {
        let (base, of) = match name.split_once('.') {
            Some((base, of)) => (base, Some(of)),
            None => (name, None),
        };
        let figure = Figure::find(base)?;
        match of {
            Some(of) => figure.of(self, of),
            None => figure.value(self),
        }
    }

    /// The figures that did not land where they were expected.
    pub fn missed(&self, expected: &BTreeMap<Name, [Amount; 2]>) -> Vec<Missed> {
        let landed = |seen: Option<f64>, [least, most]: [f64; 2]| {
            seen.is_some_and(|seen| (least..=most).contains(&seen))
        };
        let all =
            expected.iter().map(|(figure, range)| (figure, self.get(figure), range.map(|bound| bound.value)));
        all.filter(|(_, seen, range)| !landed(*seen, *range))
            .map(|(figure, seen, expected)| Missed { figure: figure.clone(), seen, expected })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_unknown_figures_can_be_missed() {
        let score = Score { adds: 3, ..Score::default() };
        let expected =
            [("adds".into(), [0.0, 2.0]), ("removals".into(), [0.0, 0.0]), ("ads".into(), [0.0, 9.0])];
        let expected = expected.map(|(name, range)| (name, range.map(Amount::plain)));
        let missed = score.missed(&expected.into_iter().collect());
        let told: Vec<(&str, Option<f64>)> =
            missed.iter().map(|missed| (&*missed.figure, missed.seen)).collect();
        assert_eq!(told, [("adds", Some(3.0)), ("ads", None)]);
    }
}
