//! How fast replicas may change, in the words of `autoscaling/v2`.

use serde::{Deserialize, Serialize};

use crate::units::Quantity;

/// How fast it moves, up and down apart. Once one direction is given, both have the defaults of HPA.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Behavior {
    /// Up. Default: no window, the greater of 4 pods and 100 % in 15 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_up: Option<ScalingRules>,
    /// Down. Default: a window of 5 minutes, 100 % in 15 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<ScalingRules>,
}

/// How fast it moves in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScalingRules {
    /// The window over which past recommendations damp the move, in seconds, from 0 to 3600.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stabilization_window_seconds: Option<i32>,
    /// Which policy wins. Default `Max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select_policy: Option<SelectPolicy>,
    /// Policies; a list that is given replaces the default list whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<ScalingPolicy>,
    /// How far a metric may be from its target before it moves, such as `0.05`. Default: the controller's tolerance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Quantity>,
}

/// Which policy wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SelectPolicy {
    /// The one that allows the largest change (default).
    #[default]
    Max,
    /// The one that allows the smallest change.
    Min,
    /// No change in this direction.
    Disabled,
}

/// How much may change in how much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScalingPolicy {
    /// What `value` counts.
    #[serde(rename = "type")]
    pub kind: ScalingPolicyKind,
    /// How much, from 1.
    pub value: i32,
    /// In how many seconds, from 1 to 1800.
    pub period_seconds: i32,
}

/// What the value of a policy counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ScalingPolicyKind {
    /// Replicas.
    Pods,
    /// Percent of the replicas at the beginning of the period.
    Percent,
}
