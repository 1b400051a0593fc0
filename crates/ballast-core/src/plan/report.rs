//! The report beside each plan: what was not done, what is waited for, what was tried.

use serde::{Deserialize, Serialize};

use super::Shared;
use super::{
    Candidate, DryRunStep, HoldReason, InquiryStep, JobCandidateStep, JobOrderStep, JobTargetStep,
    MetricStep, Misfit, RayPackingStep, RayWorkerStep, ReplicasStep, SkipReason, SparkCountStep,
    SparkWorkerStep, Subject, WaitingOn,
};
use crate::kube::Name;
use crate::units::{Money, Time};

/// What was *not* done and why; not a summary of the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[must_use = "an unread report helps nobody"]
pub struct Report {
    /// Subjects about which nothing is done, deliberately.
    pub holds: Vec<Hold>,
    /// Options that were passed over.
    pub skipped: Shared<Skip>,
    /// What is waited for.
    pub waiting: Shared<Waiting>,
    /// What no option can serve.
    pub infeasible: Shared<Infeasible>,
    /// What the model does not know and therefore did not judge.
    pub unmodelled: Vec<Unmodelled>,
    /// Broken promises that the check found; the plan is not applied if one is fatal.
    pub promises: Vec<PromiseNote>,
    /// When it looks again, at the latest.
    pub next_look: Option<Time>,
    /// The rules step by step.
    pub trace: Shared<Step>,
}

/// A subject about which nothing is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hold {
    /// Whom it concerns.
    pub subject: Subject,
    /// Why.
    pub reason: HoldReason,
    /// When it may end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// An option that was passed over for a subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skip {
    /// Who would have been served.
    pub subject: Subject,
    /// The pool that was passed over.
    pub pool: Name,
    /// Why.
    pub reason: SkipReason,
}

/// What a subject waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waiting {
    /// Who waits.
    pub subject: Subject,
    /// For what.
    pub on: WaitingOn,
}

impl Waiting {
    /// How many pods wait for it: none where a node does.
    pub fn pods(&self) -> u32 {
        match self.on {
            WaitingOn::Scheduler { count }
            | WaitingOn::Starting { count, .. }
            | WaitingOn::Planned { count, .. }
            | WaitingOn::Growth { count, .. }
            | WaitingOn::Quota { count, .. }
            | WaitingOn::Preemption { count, .. } => count,
            WaitingOn::Drain { .. } | WaitingOn::Completion { .. } => 0,
            WaitingOn::Gang { .. } | WaitingOn::SchedulingGate | WaitingOn::VolumeBinding { .. } => {
                self.subject.pods()
            }
        }
    }
}

/// What no option can serve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Infeasible {
    /// Who cannot be served.
    pub subject: Subject,
    /// What binds, pool by pool.
    pub pools: Vec<PoolVerdict>,
    /// What binds on the nodes that are there: the reason and how many nodes it refuses.
    pub nodes: Vec<NodeVerdict>,
}

/// Why a pool cannot serve a subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PoolVerdict {
    /// The pool.
    pub pool: Name,
    /// Why not.
    pub reason: SkipReason,
}

/// Why nodes that are there cannot serve a subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeVerdict {
    /// Why not.
    pub misfit: Misfit,
    /// How many nodes.
    pub nodes: u32,
}

/// Something in the input that the model does not know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unmodelled {
    /// What it is.
    pub feature: Name,
    /// On how many objects.
    pub count: u32,
    /// The first of them.
    pub example: Name,
}

/// A promise that a plan would break.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromiseNote {
    /// Number of the promise.
    pub promise: u8,
    /// Whether the plan is stopped.
    pub severity: Severity,
    /// What would break, in words.
    pub message: String,
    /// Whom it concerns.
    pub subject: Subject,
}

/// How grave a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Severity {
    /// Worth a look.
    Warning,
    /// The plan is not applied.
    Fatal,
}

/// A step of a rule; `step` says which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Step {
    /// Nodes: a pool was weighed for pods that wait and fit nowhere.
    Option {
        /// For whom: those that the first new node carries first, others alike in priority with them.
        subject: Subject,
        /// The pool.
        pool: Name,
        /// Nodes that it starts; where it was not taken, one.
        nodes: u32,
        /// Pods that they carry.
        pods: u32,
        /// Their price per hour.
        price: Money,
        /// Unused share of the new nodes, in thousandths.
        waste_milli: u32,
        /// Whether it was taken.
        chosen: bool,
    },
    /// Nodes: a node was weighed for removal.
    Candidate(Candidate),
    /// Metrics: one metric was reckoned.
    Metric(Box<MetricStep>),
    /// Metrics: the size of a target was settled.
    Replicas(Box<ReplicasStep>),
    /// Jobs: the cluster as the rules see it.
    Inquiry(Box<InquiryStep>),
    /// Jobs: a job was looked at.
    JobCandidate(JobCandidateStep),
    /// Jobs: the order in which they grow.
    JobOrder(JobOrderStep),
    /// Jobs: a job was offered a worker more or less.
    DryRun(DryRunStep),
    /// Jobs: the size that a job gets.
    JobTarget(JobTargetStep),
    /// Ray: demand was packed.
    RayPacking(Box<RayPackingStep>),
    /// Ray: a worker was weighed for removal.
    RayWorker(RayWorkerStep),
    /// Spark: workers were counted.
    SparkCount(SparkCountStep),
    /// Spark: a worker was weighed for removal.
    SparkWorker(SparkWorkerStep),
}
