//! `ElasticJobPolicy`: which training jobs are elastic, and by which rule capacity is shared among them.

use serde::{Deserialize, Serialize};

use super::{Mode, Pause};
use crate::kube::{LabelSelector, Name};
use crate::units::{Share, Span};

/// Which training jobs are elastic, and by which rule capacity is shared among them. How small and how large a job may be
/// stands in the job itself: a TrainingJob's `min-instance` and `max-instance`, a PyTorchJob's `elasticPolicy`, a Volcano Job's
/// `minAvailable` and `replicas`, a Job's annotations `ballast.dev/min` and `ballast.dev/max`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ElasticJobPolicySpec {
    /// Lowers the cluster's mode for these jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What is held still.
    #[serde(default)]
    pub pause: Pause,
    /// Namespaces of the jobs; empty means the document's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Name>,
    /// The jobs, by their labels; an empty selector means all jobs of these namespaces.
    pub selector: LabelSelector,
    /// Kinds of job; empty means all that are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<JobKind>,
    /// How capacity is shared. Default `Edl`.
    #[serde(default)]
    pub rules: JobRules,
    /// How often it is decided. Default 30 seconds.
    #[serde(default = "half_a_minute")]
    pub period: Span,
    /// The share of the cluster beyond which nothing grows, and jobs shrink while others wait. Default 97 %.
    #[serde(default = "nearly_full")]
    pub max_load_desired: Share,
    /// Sizes that a job may have between its least and its most.
    #[serde(default)]
    pub sizes: Sizes,
    /// How long a job is left alone after it was resized.
    #[serde(default)]
    pub cool_down: JobCoolDown,
    /// Higher goes first; jobs of a higher priority class go before that. Default 0.
    #[serde(default)]
    pub priority: i32,
    /// Whether a job's least size is all or nothing. Default true.
    #[serde(default = "yes")]
    pub gang_floor: bool,
    /// Workloads that these jobs make room for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yield_to: Vec<YieldTo>,
    /// Whether the worker of rank 0 goes last, where it can be chosen who goes. Default true.
    #[serde(default = "yes")]
    pub rank_zero_last: bool,
    /// What `Goodput` reckons with.
    #[serde(default)]
    pub goodput: Goodput,
    /// Whether Ballast runs the pods of TrainingJobs that no controller in the cluster runs. Default false.
    #[serde(default)]
    pub run_training_jobs: bool,
}

/// Kinds of elastic job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum JobKind {
    /// `paddlepaddle.org/v1`.
    TrainingJob,
    /// `batch/v1`, with annotations for its least and most workers.
    Job,
    /// `kubeflow.org/v1`, with an `elasticPolicy`.
    PyTorchJob,
    /// `batch.volcano.sh/v1alpha1`, from `minAvailable` to `replicas`.
    VolcanoJob,
}

/// How capacity is shared among jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum JobRules {
    /// The parent's rules to the letter, with a fixed order where it was random and a stop where it would loop for ever.
    EdlExact,
    /// The same meaning, with one threshold up and down, GPUs counted on their node, no more shrunk than is needed, and what is
    /// released given back to its node (default).
    #[default]
    Edl,
    /// The least fulfilled job grows first, by what is planned and not by what runs.
    Fair,
    /// The job that gains most from one more worker grows first, if the change pays for itself.
    Goodput,
}

/// Sizes that a job may have between its least and its most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sizes {
    /// Which sizes. Default `Any`.
    pub rule: SizeRule,
    /// The step of `Multiples`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiple_of: Option<u32>,
}

/// Which sizes a job may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SizeRule {
    /// Every size (default).
    #[default]
    Any,
    /// Multiples of `multipleOf`.
    Multiples,
    /// 1, 2, 4, 8 and so on.
    PowersOfTwo,
}

/// How long a job is left alone after it was resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobCoolDown {
    /// Before it grows again. Default 5 minutes.
    pub up: Span,
    /// Before it shrinks again, except to make room for others. Default none.
    pub down: Span,
}

/// Workloads that training makes room for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct YieldTo {
    /// Their namespaces; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Name>,
    /// Their labels.
    pub selector: LabelSelector,
    /// Share of what they request now that is kept free for them on top, so that they grow without waiting. Default none.
    #[serde(default)]
    pub reserve: Share,
}

/// What `Goodput` reckons with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Goodput {
    /// How much faster so many workers are than one; between the points it is a straight line. Empty: learned, else as `Fair`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<SpeedUp>,
    /// Whether what jobs report of their speed replaces the curve. Default true.
    pub learn: bool,
    /// Time without progress that a change of size costs. Default 30 seconds.
    pub rescale_cost: Span,
    /// A change must pay for itself within this time, or within what is left of the job. Default 10 minutes.
    pub horizon: Span,
}

/// A point of a speed-up curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpeedUp {
    /// So many workers …
    pub workers: u32,
    /// … are so many times as fast as one.
    pub speed_up: f64,
}

fn yes() -> bool {
    true
}

fn half_a_minute() -> Span {
    Span::from_secs(30)
}

fn nearly_full() -> Share {
    Share::percent(97)
}

impl Default for JobCoolDown {
    fn default() -> Self {
        Self { up: Span::from_mins(5), down: Span::ZERO }
    }
}

impl Default for Goodput {
    fn default() -> Self {
        Self {
            curve: Vec::new(),
            learn: true,
            rescale_cost: Span::from_secs(30),
            horizon: Span::from_mins(10),
        }
    }
}
