//! `RayScaler`: which RayClusters Ballast serves, and what holds where they say nothing.

use serde::{Deserialize, Serialize};

use super::{Mode, Pause, SecretKey};
use crate::kube::{LabelSelector, Name};
use crate::units::Span;

/// Which RayClusters Ballast serves, and what holds where they say nothing. The RayCluster's own fields come first: least and
/// most replicas, idle timeout and priority of a group, upscaling mode, hosts per replica, suspension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayScalerSpec {
    /// Lowers the cluster's mode for these RayClusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What is held still.
    #[serde(default)]
    pub pause: Pause,
    /// Namespaces of the RayClusters; empty means the document's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Name>,
    /// The RayClusters, by their labels; an empty selector means all of these namespaces.
    pub selector: LabelSelector,
    /// How demand is packed onto workers. Default `Packed`.
    #[serde(default)]
    pub rules: RayRules,
    /// How often it is decided. Default 5 seconds.
    #[serde(default = "five_seconds")]
    pub period: Span,
    /// Higher goes first. Default 0.
    #[serde(default)]
    pub priority: i32,
    /// What holds where a RayCluster says nothing.
    #[serde(default)]
    pub defaults: RayDefaults,
    /// How worker groups are seen by Ballast, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<RayGroup>,
    /// How the GCS is reached.
    #[serde(default)]
    pub gcs: Gcs,
    /// How workers are added.
    #[serde(default)]
    pub launch: RayLaunch,
    /// How workers leave.
    #[serde(default)]
    pub drain: RayDrain,
    /// Whether pending, failed and infeasible requests are reported to the GCS, so that `ray status` and the dashboard stay
    /// true. Default true.
    #[serde(default = "yes")]
    pub report: bool,
}

/// How demand is packed onto workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RayRules {
    /// Ray's second scheduler, launches, ties and rate to the letter.
    RayV2,
    /// Ray's first scheduler to the letter.
    RayV1,
    /// Our own packing; `RayV2`'s answer is computed too and the cheaper one taken (default).
    #[default]
    Packed,
}

/// How fast a RayCluster grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum UpscalingMode {
    /// As fast as launches are allowed (default).
    #[default]
    Default,
    /// No more workers pending than run.
    Conservative,
    /// The same as `Default`.
    Aggressive,
}

/// What holds where a RayCluster says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayDefaults {
    /// How long a worker must have been idle by Ray's word. Default 60 seconds.
    pub idle_timeout: Span,
    /// How fast it grows. Default `Default`.
    pub upscaling_mode: UpscalingMode,
    /// Most workers of a RayCluster, whatever its groups add up to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_workers: Option<u32>,
}

/// A worker group as Ballast sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayGroup {
    /// Name of the group.
    pub name: Name,
    /// Higher is preferred among groups that serve equally well. Default 0.
    #[serde(default)]
    pub priority: i32,
    /// How long a worker of the group must have been idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Span>,
}

/// How the GCS is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gcs {
    /// Port of the head's service. Default 6379.
    pub port: u16,
    /// How long an answer may take. Default 5 seconds.
    pub timeout: Span,
    /// The token, where the cluster asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<SecretKey>,
}

/// How workers are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayLaunch {
    /// Workers of one RayCluster that may be asked for at once under `RayV2`. Default 10, as in Ray.
    pub concurrent: u32,
    /// What has not joined by then makes room for another group. Default 10 minutes.
    pub deadline: Span,
    /// Whether groups with GPUs are kept for demands that name GPUs. Default true.
    pub conserve_gpus: bool,
}

/// How workers leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayDrain {
    /// Whether workers leave at all. Default true.
    pub enabled: bool,
    /// How long pods that never joined and are not needed any more are kept. Default 1 minute.
    pub pending_after: Span,
    /// How long after a GCS was first seen, or came back, none is drained. Default 60 seconds.
    pub settle: Span,
}

fn yes() -> bool {
    true
}

fn five_seconds() -> Span {
    Span::from_secs(5)
}

impl Default for RayDefaults {
    fn default() -> Self {
        Self {
            idle_timeout: Span::from_secs(60),
            upscaling_mode: UpscalingMode::default(),
            max_workers: None,
        }
    }
}

impl Default for Gcs {
    fn default() -> Self {
        Self { port: 6379, timeout: Span::from_secs(5), token: None }
    }
}

impl Default for RayLaunch {
    fn default() -> Self {
        Self { concurrent: 10, deadline: Span::from_mins(10), conserve_gpus: true }
    }
}

impl Default for RayDrain {
    fn default() -> Self {
        Self { enabled: true, pending_after: Span::from_mins(1), settle: Span::from_secs(60) }
    }
}
