//! The steps of the rules of each scaler, so that a decision can be followed by hand: what was reckoned, with which numbers,
//! and what bound it. The form is the same for every rule of a scaler; each fills what it has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Limit, UnsafeToRemove};
use crate::kube::Name;
use crate::observation::bodies::ClusterInquiry;
use crate::units::{Quantity, Share, Time};

/// A node that was weighed for removal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// The node.
    pub node: Name,
    /// Why it stays; absent where it goes.
    pub unsafe_to_remove: Option<UnsafeToRemove>,
}

/// One metric of a MetricScaler was reckoned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricStep {
    /// Namespace of the MetricScaler.
    pub namespace: Name,
    /// Its name.
    pub scaler: Name,
    /// Number of the metric in `metrics`, from 0.
    pub metric: u32,
    /// The metric in HPA's words, such as `cpu resource utilization (percentage of request)`.
    pub name: String,
    /// Its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Quantity>,
    /// Its target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Quantity>,
    /// Value divided by target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The ratio after pods without a value were filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_filled: Option<f64>,
    /// How far below 1 the ratio may be without a move.
    pub tolerance_down: f64,
    /// How far above 1 the ratio may be without a move.
    pub tolerance_up: f64,
    /// Whether it is near enough to its target that nothing moves.
    pub is_within_tolerance: bool,
    /// How the pods were counted.
    pub pods: PodGroups,
    /// Values that were put in for pods that had none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fill_ins: Vec<FillIn>,
    /// Replicas that this metric asks for; absent where it could not be reckoned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<i32>,
    /// Why it could not be reckoned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<MetricTrouble>,
}

/// How the pods of a target were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PodGroups {
    /// Ready, with a value.
    pub ready: u32,
    /// Not ready yet: their values are left out.
    pub unready: u32,
    /// Without a value.
    pub missing: u32,
    /// Deleted or failed.
    pub ignored: u32,
}

/// A value that was put in for pods that had none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FillIn {
    /// For which of them.
    pub group: FillGroup,
    /// How many pods.
    pub pods: u32,
    /// The value of each.
    pub value: Quantity,
}

/// Pods for which a value was put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FillGroup {
    /// Those that are not ready.
    Unready,
    /// Those without a value.
    Missing,
}

/// Why a metric could not be reckoned. The codes are those of HPA's conditions, where it has one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricTrouble {
    /// The code.
    pub code: MetricTroubleCode,
    /// The cause in words, HPA's own where it has some.
    pub message: String,
}

/// Why a metric could not be reckoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MetricTroubleCode {
    /// The CPU or memory of pods is not known.
    FailedGetResourceMetric,
    /// The CPU or memory of a container is not known.
    FailedGetContainerResourceMetric,
    /// A custom metric of pods is not known.
    FailedGetPodsMetric,
    /// A custom metric of an object is not known.
    FailedGetObjectMetric,
    /// An external metric is not known.
    FailedGetExternalMetric,
    /// Prometheus gave no answer, or more than one value; not in HPA.
    FailedGetPrometheusMetric,
    /// The value is not a number that can be reckoned with: NaN, infinite, negative; not in HPA.
    InvalidValue,
    /// The value is older than it may be; not in HPA.
    Stale,
    /// The kind of metric is not known.
    InvalidMetricSourceType,
}

/// The size of a target was settled from what its metrics, bands and demands asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplicasStep {
    /// Namespace of the MetricScaler.
    pub namespace: Name,
    /// Its name.
    pub scaler: Name,
    /// Replicas that the target has.
    pub current: i32,
    /// Replicas that were asked for most.
    pub proposal: i32,
    /// Who asked for them.
    pub asked_by: String,
    /// What past recommendations made of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowStep>,
    /// The policy of `behavior`, or the step of a band, that bound it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyStep>,
    /// Why it is not what was asked for, in HPA's code.
    pub verdict: ReplicasVerdict,
    /// Replicas that the target shall have: the wish.
    pub desired: i32,
}

/// What past recommendations made of a proposal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowStep {
    /// Length of the window in seconds.
    pub seconds: i64,
    /// What it made of the proposal.
    pub stabilized: i32,
    /// When the recommendation was made that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommended_at: Option<Time>,
}

/// A policy that bound a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyStep {
    /// Where it stands, such as `behavior.scaleUp.policies[0]` or `bands[1].step`.
    pub field: String,
    /// Replicas at the beginning of its period.
    pub period_start: i32,
    /// What it allows.
    pub limit: i32,
}

/// Why a size is not what was asked for, in HPA's codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ReplicasVerdict {
    /// It is what was asked for.
    #[default]
    DesiredWithinRange,
    /// It may not grow so fast.
    ScaleUpLimit,
    /// It may not shrink so fast.
    ScaleDownLimit,
    /// It is at its most.
    TooManyReplicas,
    /// It is at its least.
    TooFewReplicas,
    /// Past recommendations were lower.
    ScaleUpStabilized,
    /// Past recommendations were higher.
    ScaleDownStabilized,
    /// It is at 0 and nothing wakes it.
    ScalingDisabled,
    /// Its metrics are not known, and it stays.
    Held,
    /// Its sources fail, and the fallback holds; not in HPA.
    Fallback,
    /// A schedule holds; not in HPA.
    Schedule,
}

/// The cluster as the rules of elastic jobs see it: every field of the parent's inquiry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InquiryStep {
    /// What there is, and what is requested.
    pub inquiry: ClusterInquiry,
    /// The share of it beyond which nothing grows.
    pub max_load: Share,
}

/// A job was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobCandidateStep {
    /// Namespace of the job.
    pub namespace: Name,
    /// Name of the job.
    pub job: Name,
    /// Whether its size may change, and why.
    pub verdict: JobVerdict,
}

/// Whether the size of a job may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum JobVerdict {
    /// It may: all its pods are up.
    Running,
    /// It may: another job's floor waits, so that every job is looked at.
    OthersWait,
    /// It waits itself, and its floor is what others make room for.
    FloorWaits,
    /// It may not: its least and its most are the same.
    NotElastic,
    /// It may not: its last change has not ended.
    Scaling,
    /// It may not: it was changed a short while ago.
    CoolDown,
    /// It may not: it has ended.
    Ended,
    /// It may not: its document is not valid.
    Invalid,
    /// It may not: its pods fail again and again, which is not demand.
    CrashLoop,
}

/// The order in which jobs grow; read backwards, in which they shrink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobOrderStep {
    /// The jobs with their keys, the most in need first.
    pub order: Vec<JobKey>,
}

/// A job with the keys by which it is sorted, in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobKey {
    /// Namespace of the job.
    pub namespace: Name,
    /// Name of the job.
    pub job: Name,
    /// How much it has of what it could have: 0 at its least, 1 at its most. Under `Goodput`: the gain of one more worker.
    pub fulfillment: f64,
    /// GPUs of one worker.
    pub gpu_limit: Quantity,
    /// CPU of one worker.
    pub cpu_request: Quantity,
    /// Memory of one worker.
    pub memory_request: Quantity,
}

/// A job was offered a worker more or less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DryRunStep {
    /// Number of the round, from 1.
    pub round: u32,
    /// Namespace of the job.
    pub namespace: Name,
    /// Name of the job.
    pub job: Name,
    /// Whether it was to grow or to shrink.
    pub direction: Direction,
    /// The node on which the worker was placed or from which it left.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub node: Name,
    /// Workers more or, below zero, less.
    pub additional: i32,
    /// The rule that decided.
    pub rule: DryRunRule,
}

/// Up or down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Direction {
    /// To grow.
    Up,
    /// To shrink.
    Down,
}

/// The rules of a dry run, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DryRunRule {
    /// Up: it is at its most, or above it and comes back.
    AtMost,
    /// Up: too little memory in all.
    MemoryShort,
    /// Up: no node has room for a worker.
    NoNode,
    /// Up: too little CPU in all.
    CpuShort,
    /// Up: too few GPUs in all.
    GpuShort,
    /// Up: it would not pay for its restart.
    DoesNotPay,
    /// Up: it grows.
    Grows,
    /// Down: it is above its most.
    AboveMost,
    /// Down: more is requested than may be, and it is above its least.
    OverLoad,
    /// Down: it makes room for somebody who comes first.
    Yields,
    /// Down: more is requested than may be, but it is at its least.
    AtLeast,
    /// Down: nothing is requested beyond what may be.
    NotOver,
}

/// The size that a job gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobTargetStep {
    /// Namespace of the job.
    pub namespace: Name,
    /// Name of the job.
    pub job: Name,
    /// Workers it has.
    pub from: u32,
    /// Workers that the rule proposes.
    pub proposal: u32,
    /// Workers that it gets.
    pub target: u32,
    /// What kept it from the proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// Demand of a Ray cluster was packed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayPackingStep {
    /// Namespace of the RayCluster.
    pub namespace: Name,
    /// Its name.
    pub cluster: Name,
    /// Which demand it was.
    pub stage: RayStage,
    /// What one of them asks for.
    pub shape: BTreeMap<Name, f64>,
    /// The placement group, where it is a bundle of one.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub gang: Name,
    /// How many were placed, or not placed, so.
    pub count: u32,
    /// Where.
    pub place: RayPlace,
    /// The score by which the place won; larger wins, the first number first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub score: Vec<f64>,
}

/// Which demand of a Ray cluster was packed, in the order in which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RayStage {
    /// The least workers of each group.
    MinWorkers,
    /// What `request_resources` asked for.
    Constraint,
    /// Placement groups.
    Gang,
    /// Tasks and actors.
    Demand,
}

/// Where demand of a Ray cluster was packed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RayPlace {
    /// On a worker that is there.
    Worker {
        /// Its pod.
        pod: Name,
    },
    /// On a worker that is asked for already.
    Pending {
        /// Its group.
        group: Name,
    },
    /// On a new worker.
    Launch {
        /// Its group.
        group: Name,
    },
    /// Nowhere: the groups that could are at a limit for now.
    Limited {
        /// Which limit.
        limit: Limit,
    },
    /// Nowhere, ever: no group has enough.
    Infeasible,
}

/// A Ray worker was weighed for removal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayWorkerStep {
    /// Namespace of the RayCluster.
    pub namespace: Name,
    /// Its name.
    pub cluster: Name,
    /// The worker's pod.
    pub pod: Name,
    /// How long it has been idle by Ray's word, in seconds.
    pub idle_seconds: f64,
    /// Why it stays; absent where it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<WorkerStays>,
}

/// The workers of a Spark pool were counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkCountStep {
    /// Namespace of the SparkPool.
    pub namespace: Name,
    /// Its name.
    pub pool: Name,
    /// Workers in use.
    pub in_use: u32,
    /// Workers that are idle.
    pub idle: u32,
    /// Workers that have not registered yet.
    pub starting: u32,
    /// Workers that take no more work: they count neither as used nor as idle.
    pub fenced: u32,
    /// Workers that waiting applications need.
    pub waiting: u32,
    /// Workers that shall stand ready.
    pub wished_idle: u32,
    /// Workers that there shall be.
    pub target: u32,
    /// What kept it from being more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// A Spark worker was weighed for removal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkWorkerStep {
    /// Namespace of the SparkPool.
    pub namespace: Name,
    /// Its name.
    pub pool: Name,
    /// The worker, by the master's word.
    pub worker: Name,
    /// Its pod; empty where it is not certain which.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub pod: Name,
    /// Why it stays; absent where it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<WorkerStays>,
}

/// Why a Ray or Spark worker is not removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WorkerStays {
    /// It works: tasks, actors, primary copies of objects, executors or drivers.
    InUse,
    /// It has not been idle for long enough.
    TooSoon {
        /// When it will have been.
        at: Time,
    },
    /// What waits will be placed on it.
    Needed,
    /// Its group or pool is at its least.
    AtMinimum,
    /// It keeps shuffle data of an application that runs.
    KeepsShuffleData,
    /// It is not certain which pod it is, or two claim to be it.
    Ambiguous,
    /// Its master or GCS has not been heard for long enough since it began.
    Settling {
        /// Until when.
        until: Time,
    },
    /// Its master or GCS is not known.
    SourceUnknown,
    /// It was asked to leave and refused.
    Refused,
    /// It is on its way already.
    BeingRemoved,
    /// It is a head, a master or a driver.
    NeverTouched,
    /// A budget is spent.
    Budget {
        /// Which.
        limit: Limit,
    },
}
