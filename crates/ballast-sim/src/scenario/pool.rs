//! Pools and nodes as a scenario writes them.

use serde::{Deserialize, Serialize};

use super::Distribution;
use ballast_core::kube::Name;
use ballast_core::policy::{NodeTemplate, VmPoolSpec};
use ballast_core::units::{Money, Span};

/// A pool: its document, what exists at the start, and how its cloud behaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioPool {
    /// Its name.
    pub name: Name,
    /// The `spec` of its VmPool document.
    pub spec: VmPoolSpec,
    /// Machines that run at the start. Default none.
    #[serde(default)]
    pub running: u32,
    /// Machines that exist but are off at the start. Default none.
    #[serde(default)]
    pub stopped: u32,
    /// How its cloud behaves.
    #[serde(default)]
    pub cloud: Cloud,
}

/// How the cloud of a pool behaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cloud {
    /// From the start request to a node that is ready. Default: around the pool's own `times.boot`, a fifth more or less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<Distribution>,
    /// From a ready node to devices that can be used, and to the end of its startup taints. Default at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<Distribution>,
    /// From the stop request to a machine that is off. Default the pool's own `times.stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Distribution>,
    /// How long a request takes. Default 1 second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Span>,
    /// How long a machine of a spot pool lives until the cloud takes it back. Default forever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reclaim: Option<Distribution>,
}

/// Nodes that belong to no pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeGroup {
    /// The name of the node, or what the names begin with where there are several.
    pub name: Name,
    /// How many. Default 1.
    #[serde(default = "one")]
    pub count: u32,
    /// What they look like; with several zones they take turns.
    pub template: NodeTemplate,
    /// What one costs in an hour. Default nothing.
    #[serde(default)]
    pub per_hour: Money,
}

fn one() -> u32 {
    1
}
