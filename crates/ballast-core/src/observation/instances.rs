//! Instances: virtual machines in a cloud, as a provider lists them.

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::units::Time;

/// A virtual machine in a cloud.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Instance {
    /// The provider's identity of it; equals the node's `providerID` once it has joined.
    pub id: Name,
    /// Its name; the node has the same.
    pub name: Name,
    /// The pool it belongs to.
    pub pool: Name,
    /// Zone.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub zone: Name,
    /// Instance type.
    #[serde(rename = "type", default, skip_serializing_if = "str::is_empty")]
    pub instance_type: Name,
    /// Its power state.
    pub state: InstanceState,
    /// Since when it has been in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// The token of the launch that made it, by which a repeated request is known as the same.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub token: Name,
}

/// The power state of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum InstanceState {
    /// It runs and costs.
    Running,
    /// It is on its way up and costs.
    Starting,
    /// It is on its way down.
    Stopping,
    /// It is off; only its disk costs.
    Stopped,
    /// The cloud does not say.
    Unknown,
}
