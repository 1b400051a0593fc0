//! The words of a trace: what was weighed, and what came of it.

use super::{RayPlace, Step, Words, WorkerStays, plural};
use crate::units::{Span, Time};

impl Step {
    /// What was weighed, and what came of it.
    pub fn told(&self, now: Time) -> (String, String) {
        match self {
            Self::Option { subject, pool, nodes, pods, price, waste_milli, chosen } => {
                let taken = if *chosen { "taken" } else { "not taken" };
                let waste = f64::from(*waste_milli) / 10.0;
                let (nodes, pods) = (plural(*nodes, "node"), plural(*pods, "pod"));
                let verdict = format!("{taken}: {nodes} for {pods}, {price} per hour, {waste}% unused");
                (format!("{subject} on {pool}"), verdict)
            }
            Self::Candidate(step) => {
                let verdict = step.unsafe_to_remove.as_ref().map(|why| why.words(now));
                (format!("node {}", step.node), stays(verdict))
            }
            Self::Metric(_) | Self::Replicas(_) => self.metrics_told(),
            Self::Inquiry(_)
            | Self::JobCandidate(_)
            | Self::JobOrder(_)
            | Self::DryRun(_)
            | Self::JobTarget(_) => self.jobs_told(),
            Self::RayPacking(_) | Self::RayWorker(_) | Self::SparkCount(_) | Self::SparkWorker(_) => {
                self.workers_told(now)
            }
        }
    }

    fn metrics_told(&self) -> (String, String) {
        match self {
            Self::Metric(step) => {
                let what = format!("{}/{} {}", step.namespace, step.scaler, step.name);
                let verdict = match (&step.trouble, step.proposal) {
                    (Some(trouble), _) => trouble.message.clone(),
                    (None, Some(proposal)) => {
                        let ratio = step.ratio_filled.or(step.ratio).unwrap_or_default();
                        let near = if step.is_within_tolerance { ", near enough" } else { "" };
                        format!("{ratio:.3} of its target{near}: {proposal} replicas")
                    }
                    (None, None) => "nothing".to_owned(),
                };
                (what, verdict)
            }
            Self::Replicas(step) => {
                let what = format!("{}/{}", step.namespace, step.scaler);
                let policy =
                    step.policy.as_ref().map(|policy| format!(" by {}", policy.field)).unwrap_or_default();
                let verdict = format!(
                    "{} of {} asked for by {}, from {}: {:?}{policy}",
                    step.desired, step.proposal, step.asked_by, step.current, step.verdict
                );
                (what, verdict)
            }
            _ => Default::default(),
        }
    }

    fn jobs_told(&self) -> (String, String) {
        match self {
            Self::Inquiry(step) => {
                let inquiry = &step.inquiry;
                let verdict = format!(
                    "{} nodes; of {} of each: CPU {}m of {}m, memory {}M of {}M, GPUs {} of {}",
                    inquiry.node_count,
                    step.max_load,
                    inquiry.cpu_request_milli,
                    inquiry.cpu_total_milli,
                    inquiry.memory_request_mega,
                    inquiry.memory_total_mega,
                    inquiry.gpu_limit,
                    inquiry.gpu_total
                );
                ("cluster".to_owned(), verdict)
            }
            Self::JobCandidate(step) => {
                (format!("job {}/{}", step.namespace, step.job), format!("{:?}", step.verdict))
            }
            Self::JobOrder(step) => {
                let jobs: Vec<String> = step
                    .order
                    .iter()
                    .map(|key| format!("{}/{} {:.3}", key.namespace, key.job, key.fulfillment))
                    .collect();
                ("order of jobs".to_owned(), jobs.join(", "))
            }
            Self::DryRun(step) => {
                let node = if step.node.is_empty() { String::new() } else { format!(" on {}", step.node) };
                let what =
                    format!("round {} job {}/{} {:?}", step.round, step.namespace, step.job, step.direction);
                (what, format!("{:+}{node}: {:?}", step.additional, step.rule))
            }
            Self::JobTarget(step) => {
                let limit =
                    step.limit.as_ref().map(|limit| format!(", kept from {} by {limit}", step.proposal));
                let verdict = format!("{} to {}{}", step.from, step.target, limit.unwrap_or_default());
                (format!("job {}/{}", step.namespace, step.job), verdict)
            }
            _ => Default::default(),
        }
    }

    fn workers_told(&self, now: Time) -> (String, String) {
        match self {
            Self::RayPacking(step) => {
                let shape: Vec<String> =
                    step.shape.iter().map(|(name, amount)| format!("{name}: {amount}")).collect();
                let what =
                    format!("{}/{} {} × {{{}}}", step.namespace, step.cluster, step.count, shape.join(", "));
                (what, step.place.told())
            }
            Self::RayWorker(step) => {
                let idle = Span::from_millis((step.idle_seconds * 1000.0) as i64).rounded();
                let verdict =
                    format!("idle for {idle}; {}", stays(step.stays.as_ref().map(|why| why.words(now))));
                (format!("{}/{} worker {}", step.namespace, step.cluster, step.pod), verdict)
            }
            Self::SparkCount(step) => {
                let verdict = format!(
                    "{} in use, {} idle, {} starting, {} fenced, {} for those that wait; {} shall stand ready: {}",
                    step.in_use,
                    step.idle,
                    step.starting,
                    step.fenced,
                    step.waiting,
                    step.wished_idle,
                    step.target
                );
                (format!("{}/{}", step.namespace, step.pool), verdict)
            }
            Self::SparkWorker(step) => {
                let verdict = stays(step.stays.as_ref().map(|why| why.words(now)));
                (format!("{}/{} worker {}", step.namespace, step.pool, step.worker), verdict)
            }
            _ => Default::default(),
        }
    }
}

fn stays(why: Option<String>) -> String {
    why.map_or_else(|| "may go".to_owned(), |why| format!("stays: {why}"))
}

impl RayPlace {
    fn told(&self) -> String {
        match self {
            Self::Worker { pod } => format!("on worker {pod}"),
            Self::Pending { group } => format!("on a worker of {group} that is asked for already"),
            Self::Launch { group } => format!("on a new worker of {group}"),
            Self::Limited { limit } => format!("nowhere for now: {limit} is reached"),
            Self::Infeasible => "nowhere, ever: no group has enough".to_owned(),
        }
    }
}

impl Words for WorkerStays {
    fn words(&self, now: Time) -> String {
        let ahead = |at: &Time| at.since(now).rounded();
        match self {
            Self::InUse => "it works".to_owned(),
            Self::TooSoon { at } => format!("idle, but not for long enough; may go in {}", ahead(at)),
            Self::Needed => "what waits will be placed on it".to_owned(),
            Self::AtMinimum => "its group is at its least".to_owned(),
            Self::KeepsShuffleData => "it keeps shuffle data of an application that runs".to_owned(),
            Self::Ambiguous => "it is not certain which pod it is, so it is left alone".to_owned(),
            Self::Settling { until } => {
                format!("its master began a short while ago; may go in {}", ahead(until))
            }
            Self::SourceUnknown => "its master is not known, and what is unknown removes nothing".to_owned(),
            Self::Refused => "it was asked to leave and refused".to_owned(),
            Self::BeingRemoved => "on its way out already".to_owned(),
            Self::NeverTouched => "a head, a master or a driver is never touched".to_owned(),
            Self::Budget { limit } => format!("{limit} is spent; it may go as the window slides"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Direction, DryRunRule, DryRunStep, MetricStep, RayWorkerStep};

    #[test]
    fn steps_are_told_in_a_line() {
        let now = Time::from_secs(1000);
        let metric = MetricStep {
            namespace: "a".into(),
            scaler: "web".into(),
            name: "cpu resource".into(),
            ratio: Some(1.4567),
            proposal: Some(3),
            ..MetricStep::default()
        };
        let dry_run = DryRunStep {
            round: 1,
            namespace: "a".into(),
            job: "bert".into(),
            direction: Direction::Up,
            node: "n1".into(),
            additional: 1,
            rule: DryRunRule::Grows,
        };
        let worker = RayWorkerStep {
            namespace: "a".into(),
            cluster: "ray".into(),
            pod: "w1".into(),
            idle_seconds: 12.0,
            stays: Some(WorkerStays::TooSoon { at: now + Span::from_secs(48) }),
        };
        let told: Vec<(String, String)> =
            [Step::Metric(Box::new(metric)), Step::DryRun(dry_run), Step::RayWorker(worker)]
                .iter()
                .map(|step| step.told(now))
                .collect();
        let told: Vec<String> =
            told.into_iter().map(|(what, verdict)| format!("{what} | {verdict}")).collect();
        assert_eq!(
            told,
            [
                "a/web cpu resource | 1.457 of its target: 3 replicas",
                "round 1 job a/bert Up | +1 on n1: Grows",
                "a/ray worker w1 | idle for 12s; stays: idle, but not for long enough; may go in 48s",
            ]
        );
    }
}
