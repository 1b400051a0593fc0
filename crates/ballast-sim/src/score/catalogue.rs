//! The catalogue of figures: what each is called, in what it is counted, what it tells, and how it is taken from a score.

use super::{Score, Unit, Waits};
use ballast_core::procedure::Request;

/// A figure of a run.
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// In what it is counted.
    pub unit: Unit,
    /// What it tells.
    pub about: &'static str,
    /// What it is also told of one by one, as `NAME.ONE`.
    pub each: Option<Each>,
    value: fn(&Score) -> Option<f64>,
}

/// What a figure is also told of one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// Each pool.
    Pool,
    /// Each workload.
    Workload,
    /// Each kind of request.
    Request,
}

impl Figure {
    /// Every figure, in the order in which they are told.
    pub const ALL: &[Self] = &FIGURES;

    /// The figure of a name, without what it is told of.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|figure| figure.name == name)
    }

    /// Its value; `None` where there was nothing of which it could be one.
    pub(super) fn value(&self, score: &Score) -> Option<f64> {
        (self.value)(score)
    }

    /// Its value for one pool, workload or kind of request.
    pub(super) fn of(&self, score: &Score, one: &str) -> Option<f64> {
        match self.each? {
            Each::Pool => score.cost_by_pool.get(one).copied(),
            Each::Workload => {
                // The figures of one workload are those of a score that has no other.
                let alone = Score { pending: *score.pending_by_workload.get(one)?, ..Score::default() };
                self.value(&alone)
            }
            Each::Request => {
                let is_known = Request::KINDS.contains(&one);
                is_known.then(|| score.requests.get(one).copied().unwrap_or(0) as f64)
            }
        }
    }

    const fn new(
        name: &'static str,
        unit: Unit,
        about: &'static str,
        value: fn(&Score) -> Option<f64>,
    ) -> Self {
        Self { name, unit, about, each: None, value }
    }

    const fn each(mut self, each: Each) -> Self {
        self.each = Some(each);
        self
    }
}

/// A figure of how long something waited; nothing that waited has none.
const fn waits(waits: &Waits, value: f64) -> Option<f64> {
    if waits.count == 0 { None } else { Some(value) }
}

const fn count(value: u64) -> Option<f64> {
    Some(value as f64)
}

const FIGURES: [Figure; 31] = [
    Figure::new("cost", Unit::Money, "What all machines cost.", |score| Some(score.cost)).each(Each::Pool),
    Figure::new("costPerHour", Unit::Money, "What they cost in an hour, on average.", |score| {
        Some(score.cost / score.lasted.as_hours_f64().max(f64::MIN_POSITIVE))
    }),
    Figure::new(
        "idleCost",
        Unit::Money,
        "What nodes cost while they were ready and had no guest.",
        |score| Some(score.idle_cost),
    ),
    Figure::new(
        "cpuUtilisation",
        Unit::Share,
        "Requested CPU as a share of what ready nodes had, over the whole run.",
        |score| score.cpu_utilisation,
    ),
    Figure::new("memoryUtilisation", Unit::Share, "The same of memory.", |score| score.memory_utilisation),
    Figure::new("gpuUtilisation", Unit::Share, "The same of GPUs.", |score| score.gpu_utilisation),
    Figure::new(
        "pendingMean",
        Unit::Seconds,
        "How long pods waited for a node, on average; those that still wait count with their time so far.",
        |score| waits(&score.pending, score.pending.mean),
    )
    .each(Each::Workload),
    Figure::new("pendingP50", Unit::Seconds, "Half of the pods waited no longer.", |score| {
        waits(&score.pending, score.pending.p50)
    })
    .each(Each::Workload),
    Figure::new("pendingP90", Unit::Seconds, "Nine of ten waited no longer.", |score| {
        waits(&score.pending, score.pending.p90)
    })
    .each(Each::Workload),
    Figure::new("pendingP95", Unit::Seconds, "Nineteen of twenty waited no longer.", |score| {
        waits(&score.pending, score.pending.p95)
    })
    .each(Each::Workload),
    Figure::new("pendingP99", Unit::Seconds, "Ninety-nine of a hundred waited no longer.", |score| {
        waits(&score.pending, score.pending.p99)
    })
    .each(Each::Workload),
    Figure::new("pendingMax", Unit::Seconds, "The longest wait of a pod.", |score| {
        waits(&score.pending, score.pending.max)
    })
    .each(Each::Workload),
    Figure::new("meanPending", Unit::Count, "Pods that waited, on average over time.", |score| {
        Some(score.mean_pending)
    }),
    Figure::new("unserved", Unit::Count, "Pods that still wait at the end.", |score| {
        count(score.pending.unserved)
    })
    .each(Each::Workload),
    Figure::new(
        "assemblyP50",
        Unit::Seconds,
        "Half of the gangs had all their pods running after no longer.",
        |score| waits(&score.assembly, score.assembly.p50),
    ),
    Figure::new("assemblyP95", Unit::Seconds, "Nineteen of twenty gangs did.", |score| {
        waits(&score.assembly, score.assembly.p95)
    }),
    Figure::new("adds", Unit::Count, "Machines that were started or made.", |score| count(score.adds)),
    Figure::new("removals", Unit::Count, "Machines that were stopped or deleted.", |score| {
        count(score.removals)
    }),
    Figure::new("reversals", Unit::Count, "Changes of direction of a pool within half an hour.", |score| {
        count(score.reversals)
    }),
    Figure::new(
        "unusedLaunches",
        Unit::Count,
        "Machines that were launched and removed without ever having had a guest.",
        |score| count(score.unused_launches),
    ),
    Figure::new("evictions", Unit::Count, "Pods that were evicted.", |score| count(score.evictions)),
    Figure::new("reclaims", Unit::Count, "Machines that the cloud took back.", |score| count(score.reclaims)),
    Figure::new(
        "lostWorkHours",
        Unit::Hours,
        "Work that was interrupted and has to be done again, in hours of pods.",
        |score| Some(score.lost_work_hours),
    ),
    Figure::new("lostGpuHours", Unit::Hours, "The same in hours of GPUs.", |score| {
        Some(score.lost_gpu_hours)
    }),
    Figure::new(
        "fragmentation",
        Unit::Share,
        "The share of idle GPUs that a typical pod with GPUs could not use.",
        |score| score.fragmentation,
    ),
    Figure::new("jobsEnded", Unit::Count, "Jobs that were done.", |score| count(score.jobs_ended)),
    Figure::new(
        "meanCompletion",
        Unit::Seconds,
        "How long jobs took from coming to done, on average; those that are not done count with their time so far.",
        |score| score.mean_completion,
    ),
    Figure::new("brokenPromises", Unit::Count, "Promises that were broken; 0, or it is a bug.", |score| {
        count(score.broken_promises)
    }),
    Figure::new("plans", Unit::Count, "Plans that were made.", |score| count(score.plans)),
    Figure::new("ticks", Unit::Count, "Looks at the world, with a plan or without.", |score| {
        count(score.ticks)
    }),
    Figure::new("requests", Unit::Count, "Requests that were sent.", |score| {
        count(score.requests.values().sum())
    })
    .each(Each::Request),
];

#[cfg(test)]
mod tests {
    use super::*;
    use ballast_core::units::Span;

    #[test]
    fn what_was_not_there_has_no_value() {
        let empty = Score { lasted: Span::from_hours(1), ..Score::default() };
        for name in ["pendingP95", "assemblyP95", "gpuUtilisation", "fragmentation", "meanCompletion"] {
            assert_eq!(empty.get(name), None, "{name}");
        }
        assert_eq!((empty.get("cost"), empty.get("unserved")), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn figures_are_told_by_their_names() {
        let waits = Waits { count: 1, p95: 7.0, ..Waits::default() };
        let score = Score {
            pending: Waits { count: 2, p95: 9.0, ..Waits::default() },
            pending_by_workload: [("etl".into(), waits)].into(),
            requests: [("Evict".to_owned(), 3)].into(),
            ..Score::default()
        };
        for (name, seen) in [
            ("pendingP95", Some(9.0)),
            ("pendingP95.etl", Some(7.0)),
            ("unserved.etl", Some(0.0)),
            ("requests.Evict", Some(3.0)),
            ("requests.Cordon", Some(0.0)),
            ("requests.Evitc", None),
            ("pendingP95.nobody", None),
            ("pendingP42", None),
            ("cost.nobody", None),
            ("adds.etl", None),
            ("", None),
        ] {
            assert_eq!(score.get(name), seen, "{name}");
        }
    }
}
