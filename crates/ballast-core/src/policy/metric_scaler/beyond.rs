//! What a MetricScaler has beyond an HPA.

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::units::{Quantity, Share, Span};

/// Whether HPA is followed to the letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MetricRules {
    /// To the letter, also where a bad metric lowers the target.
    Hpa,
    /// As HPA, but a missing, failing or absurd metric never lowers the target, and constant demand never reverses it (default).
    #[default]
    Safe,
}

/// The Kubernetes version whose HPA is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HpaVersion {
    /// 1.33: tolerance per direction is new and off.
    #[serde(rename = "1.33")]
    V1_33,
    /// 1.34.
    #[serde(rename = "1.34")]
    V1_34,
    /// 1.35: tolerance per direction is on.
    #[serde(rename = "1.35")]
    V1_35,
    /// 1.36.
    #[serde(rename = "1.36")]
    V1_36,
    /// 1.37: scale to zero is on (default).
    #[default]
    #[serde(rename = "1.37")]
    V1_37,
}

/// The settings of the HPA controller, with its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Controller {
    /// How often it is decided. Default 15 seconds.
    pub sync_period: Span,
    /// How far a metric may be from its target before anything moves. Default 0.1.
    pub tolerance: Quantity,
    /// How long a pod that was never ready is not counted. Default 30 seconds.
    pub initial_readiness_delay: Span,
    /// How long the CPU of a pod that started is only believed while it is ready. Default 5 minutes.
    pub cpu_initialization_period: Span,
    /// The window down where `behavior` names none. Default 5 minutes.
    pub downscale_stabilization: Span,
    /// Without `behavior`: no more than this many times the replicas at once. Default 2.
    pub scale_up_limit_factor: Quantity,
    /// Without `behavior`: but up to this many. Default 4.
    pub scale_up_limit_minimum: Quantity,
}

/// A level of a metric with a speed of its own. Bands that name `above` grow, bands that name `below` shrink; of those that
/// hold, the outermost wins, and where none holds nothing moves. One band of each at the same level with no step is what an HPA
/// does; one of each at different levels is a pair of watermarks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Band {
    /// The metric, by its number in `metrics`, from 0. Default 0.
    #[serde(default)]
    pub metric: u32,
    /// Holds above this value of the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Quantity>,
    /// Holds below this value of the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Quantity>,
    /// Once it holds, it holds until the metric has come back past this value. Default: the level itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Quantity>,
    /// How long the metric must have been there. Default none.
    #[serde(default)]
    pub window: Span,
    /// Largest change at once; absent means as far as the metric asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// Time between two changes of this band. Default 15 seconds.
    #[serde(default = "quarter_minute")]
    pub every: Span,
}

/// Largest change at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// What `value` counts.
    #[serde(rename = "type")]
    pub kind: StepKind,
    /// How much, from 1.
    pub value: u32,
}

/// What the value of a step counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StepKind {
    /// Replicas.
    Pods,
    /// Percent of the replicas, rounded up.
    Percent,
}

/// The right size computed at once: what there is to serve, divided by what a replica serves, rounded up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Demand {
    /// What there is to serve.
    pub kind: DemandKind,
    /// What one replica serves, in the same unit; for a cache its quota.
    pub per_replica: Quantity,
    /// The Dataset, for `DatasetSize`; default the one with the name of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<Name>,
    /// The metric that tells it, by its number in `metrics`, for `Metric` and `Misses`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<u32>,
    /// Room beyond the demand. Default none.
    #[serde(default)]
    pub headroom: Share,
}

/// What there is to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DemandKind {
    /// A Dataset's size in the store below the cache (`ufsTotal`).
    DatasetSize,
    /// What the cache misses and has to read from the store below it.
    Misses,
    /// The value of any metric.
    Metric,
}

/// What holds while a source fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fallback {
    /// What holds. Default `Hold`.
    pub kind: FallbackKind,
    /// How long the source must have failed before. Default 3 minutes.
    pub after: Span,
    /// The size of `Static` and `CurrentIfHigher`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// What holds while a source fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FallbackKind {
    /// The size there is (default).
    #[default]
    Hold,
    /// The size that is named.
    Static,
    /// The greater of the two.
    CurrentIfHigher,
}

/// Evidence on which it shrinks without waiting for the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FastScaleIn {
    /// The Dataset was deleted. Default false.
    pub dataset_deleted: bool,
    /// The Dataset became smaller. Default false.
    pub dataset_smaller: bool,
    /// Nothing was read for so long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_for: Option<Span>,
}

/// Where replicas stand in targets without a usable scale subresource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Paths {
    /// The wished number, such as `.spec.worker.replicas`.
    pub replicas: Name,
    /// The number there is, such as `.status.currentWorkerNumberScheduled`.
    pub current: Name,
    /// The selector of the pods, such as `.status.selector`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Name>,
}

/// What goes lost with a replica of a cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// Who can be chosen to go. Default `HighestOrdinal`.
    #[serde(default)]
    pub victims: Victims,
    /// The metric that tells the bytes of each replica, by its number in `metrics`; absent: cached bytes divided by replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_metric: Option<u32>,
    /// How fast lost data is read again, in bytes per second; a removal must save more than that costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill_rate: Option<Quantity>,
}

/// Who can be chosen to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Victims {
    /// Only the one with the highest number, as in a StatefulSet (default).
    #[default]
    HighestOrdinal,
    /// Any, by name.
    ByName,
}

fn quarter_minute() -> Span {
    Span::from_secs(15)
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            sync_period: Span::from_secs(15),
            tolerance: Quantity::from_milli(100),
            initial_readiness_delay: Span::from_secs(30),
            cpu_initialization_period: Span::from_mins(5),
            downscale_stabilization: Span::from_mins(5),
            scale_up_limit_factor: Quantity::from_units(2),
            scale_up_limit_minimum: Quantity::from_units(4),
        }
    }
}

impl Default for Fallback {
    fn default() -> Self {
        Self { kind: FallbackKind::Hold, after: Span::from_mins(3), replicas: None }
    }
}
