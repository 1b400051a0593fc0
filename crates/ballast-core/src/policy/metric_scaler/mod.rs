//! `MetricScaler`: the HPA v2 spec field for field, plus our own.

mod behavior;
mod beyond;
mod metric;

pub use behavior::{Behavior, ScalingPolicy, ScalingPolicyKind, ScalingRules, SelectPolicy};
pub use beyond::{
    Band, Cache, Controller, Demand, DemandKind, Fallback, FallbackKind, FastScaleIn, HpaVersion,
    MetricRules, Paths, Step, StepKind, Victims,
};
pub use metric::{
    ContainerResourceMetric, ExternalMetric, MetricIdentifier, MetricKind, MetricSpec, MetricTarget,
    MetricTargetKind, ObjectMetric, ObjectReference, Parameter, ParameterKind, PodsMetric, PrometheusMetric,
    ResourceMetric,
};

use serde::{Deserialize, Serialize};

use super::{Mode, Pause, ScheduleWindow};
use crate::units::Span;

/// Replicas by metrics. `scaleTargetRef`, `minReplicas`, `maxReplicas`, `metrics` and `behavior` are those of
/// `autoscaling/v2`, so that an HPA's spec can be pasted here as it is; the rest goes beyond it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricScalerSpec {
    /// Whose replicas: anything with a scale subresource, or with `paths`.
    pub scale_target_ref: ObjectReference,
    /// Fewest replicas; 0 needs an Object, External or Prometheus metric, a demand or a schedule. Default 1.
    #[serde(default = "one")]
    pub min_replicas: i32,
    /// Most replicas.
    pub max_replicas: i32,
    /// Metrics; the one that asks for most replicas wins. None, and no demand and no band: CPU at 80 %.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSpec>,
    /// How fast it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behavior: Option<Behavior>,

    /// Lowers the cluster's mode for this target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What is held still.
    #[serde(default)]
    pub pause: Pause,
    /// Whether HPA is followed to the letter, or where it is safe. Default `Safe`.
    #[serde(default)]
    pub rules: MetricRules,
    /// The Kubernetes version whose HPA is followed, where they differ. Default `1.37`.
    #[serde(default)]
    pub hpa_version: HpaVersion,
    /// The settings of the HPA controller.
    #[serde(default)]
    pub controller: Controller,
    /// Higher goes first. Default 0.
    #[serde(default)]
    pub priority: i32,
    /// Different speeds at different levels of a metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// The right size computed at once from what there is to serve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demand: Vec<Demand>,
    /// What holds while a source fails.
    #[serde(default)]
    pub fallback: Fallback,
    /// Other sizes at other times; the last that holds wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<ScheduleWindow>,
    /// Evidence on which it shrinks without waiting for the window.
    #[serde(default)]
    pub fast_scale_in: FastScaleIn,
    /// Where replicas stand in targets without a usable scale subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Paths>,
    /// What goes lost with a replica, for caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// What was written but is not followed by then holds further moves. Default 10 minutes.
    #[serde(default = "ten_minutes")]
    pub follow_deadline: Span,
}

fn one() -> i32 {
    1
}

fn ten_minutes() -> Span {
    Span::from_mins(10)
}
