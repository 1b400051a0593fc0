//! What arrives, one by one: recorded jobs, and the files they come from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::gpu_share;
use ballast_core::kube::Name;
use ballast_core::units::{Quantity, Span};

/// One job of a recorded workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracedJob {
    /// Its name.
    pub name: Name,
    /// The workload that its figures are told under. Default `jobs`.
    #[serde(default = "jobs")]
    pub workload: Name,
    /// When it comes, after the start.
    pub at: Span,
    /// How long a pod of it works. Absent: until the scenario ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// What a pod of it asks for.
    pub requests: BTreeMap<Name, Quantity>,
    /// A share of one GPU in thousandths.
    #[serde(default, deserialize_with = "gpu_share::read", skip_serializing_if = "Option::is_none")]
    pub gpu_milli: Option<u16>,
    /// GPU models that do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpu_models: Vec<Name>,
    /// How many pods. Default 1.
    #[serde(default = "one")]
    pub members: u32,
    /// Whether its work begins only when all its pods run. Default false.
    #[serde(default)]
    pub gang: bool,
}

/// Files of the openb trace. A simulation reads no files: whoever runs it reads them and hands them over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenbTrace {
    /// The list of nodes, in the folder that `BALLAST_TRACES` names.
    pub nodes: Name,
    /// The list of pods.
    pub pods: Name,
    /// Begins this long after the start of the trace: pods that are there by then come at once. Default at its start.
    #[serde(default)]
    pub from: Span,
    /// Whether nodes with GPUs are pools of stopped machines, one a shape, instead of nodes that always run. Default false.
    #[serde(default)]
    pub as_pools: bool,
}

fn jobs() -> Name {
    "jobs".into()
}

fn one() -> u32 {
    1
}
