//! The figures of a run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Waits;
use ballast_core::kube::Name;
use ballast_core::units::{Span, Time};

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// How long it lasted.
    pub lasted: Span,
    /// What everything cost.
    pub cost: f64,
    /// What nodes cost while they were ready and had no guest.
    pub idle_cost: f64,
    /// What each pool cost.
    pub cost_by_pool: BTreeMap<Name, f64>,
    /// Requested CPU as a share of what ready nodes had, over the whole run.
    pub cpu_utilisation: f64,
    /// Requested memory as a share of what ready nodes had.
    pub memory_utilisation: f64,
    /// Requested GPUs as a share of what ready nodes had.
    pub gpu_utilisation: f64,
    /// How long all pods waited for a node.
    pub pending: Waits,
    /// How long the pods of each workload waited for a node.
    pub pending_by_workload: BTreeMap<Name, Waits>,
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
    /// The share of idle GPUs that a typical pod with GPUs could not use.
    pub fragmentation: f64,
    /// Jobs that were done.
    pub jobs_ended: u64,
    /// How long jobs took on average from coming to done, in seconds; those that are not done count with their time so far.
    pub mean_completion: f64,
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
pub struct Missed {
    /// Its name.
    pub figure: Name,
    /// What was seen; `None` where there is no such figure.
    pub seen: Option<f64>,
    /// The least and the greatest that was expected.
    pub expected: [f64; 2],
}

/// The figures that every run has, in the order in which they are told.
const NAMES: [&str; 31] = [
    "cost",
    "costPerHour",
    "idleCost",
    "cpuUtilisation",
    "memoryUtilisation",
    "gpuUtilisation",
    "pendingMean",
    "pendingP50",
    "pendingP90",
    "pendingP95",
    "pendingP99",
    "pendingMax",
    "meanPending",
    "unserved",
    "assemblyP50",
    "assemblyP95",
    "adds",
    "removals",
    "reversals",
    "unusedLaunches",
    "evictions",
    "reclaims",
    "lostWorkHours",
    "lostGpuHours",
    "fragmentation",
    "jobsEnded",
    "meanCompletion",
    "brokenPromises",
    "plans",
    "ticks",
    "requests",
];

impl Score {
    /// A figure by its name, such as `cost`, `cost.POOL`, `pendingP95`, `pendingP95.WORKLOAD` or `requests.KIND`.
    pub fn get(&self, name: &str) -> Option<f64> {
        if let Some((figure, of)) = name.split_once('.') {
            return match figure {
                "cost" => self.cost_by_pool.get(of).copied(),
                "requests" => Some(self.requests.get(of).copied().unwrap_or(0) as f64),
                "unserved" => self.pending_by_workload.get(of).map(|waits| waits.unserved as f64),
                _ => self.pending_by_workload.get(of)?.get(figure.strip_prefix("pending")?),
            };
        }
        if let Some(waits) = name.strip_prefix("pending") {
            return self.pending.get(waits);
        }
        if let Some(waits) = name.strip_prefix("assembly") {
            return self.assembly.get(waits);
        }
        Some(match name {
            "cost" => self.cost,
            "costPerHour" => self.cost / self.lasted.as_hours_f64().max(f64::MIN_POSITIVE),
            "idleCost" => self.idle_cost,
            "cpuUtilisation" => self.cpu_utilisation,
            "memoryUtilisation" => self.memory_utilisation,
            "gpuUtilisation" => self.gpu_utilisation,
            "meanPending" => self.mean_pending,
            "unserved" => self.pending.unserved as f64,
            "adds" => self.adds as f64,
            "removals" => self.removals as f64,
            "reversals" => self.reversals as f64,
            "unusedLaunches" => self.unused_launches as f64,
            "evictions" => self.evictions as f64,
            "reclaims" => self.reclaims as f64,
            "lostWorkHours" => self.lost_work_hours,
            "lostGpuHours" => self.lost_gpu_hours,
            "fragmentation" => self.fragmentation,
            "jobsEnded" => self.jobs_ended as f64,
            "meanCompletion" => self.mean_completion,
            "brokenPromises" => self.broken_promises as f64,
            "plans" => self.plans as f64,
            "ticks" => self.ticks as f64,
            "requests" => self.requests.values().sum::<u64>() as f64,
            _ => return None,
        })
    }

    /// The names of the figures that every run has.
    pub fn names() -> &'static [&'static str] {
        &NAMES
    }

    /// The figures that did not land where they were expected.
    pub fn missed(&self, expected: &BTreeMap<Name, [f64; 2]>) -> Vec<Missed> {
        let landed = |seen: Option<f64>, [least, most]: [f64; 2]| {
            seen.is_some_and(|seen| (least..=most).contains(&seen))
        };
        let all = expected.iter().map(|(figure, range)| (figure, self.get(figure), *range));
        all.filter(|(_, seen, range)| !landed(*seen, *range))
            .map(|(figure, seen, expected)| Missed { figure: figure.clone(), seen, expected })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_figure() {
        let score = Score { lasted: Span::from_hours(1), ..Score::default() };
        for name in Score::names() {
            assert!(score.get(name).is_some_and(f64::is_finite), "{name}");
        }
        for name in ["", "costs", "pendingP42", "pendingP95.nobody", "cost.nobody"] {
            assert_eq!(score.get(name), None, "{name}");
        }
    }

    #[test]
    fn ranges_and_unknown_figures_can_be_missed() {
        let score = Score { adds: 3, ..Score::default() };
        let expected =
            [("adds".into(), [0.0, 2.0]), ("removals".into(), [0.0, 0.0]), ("ads".into(), [0.0, 9.0])];
        let missed = score.missed(&expected.into_iter().collect());
        let told: Vec<(&str, Option<f64>)> =
            missed.iter().map(|missed| (&*missed.figure, missed.seen)).collect();
        assert_eq!(told, [("adds", Some(3.0)), ("ads", None)]);
    }
}
