//! OpenPAI's virtual clusters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kube::Name;

/// The answer of `GET /api/v2/virtual-clusters`: virtual clusters by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VirtualClusters(pub BTreeMap<Name, VirtualCluster>);

/// A virtual cluster: a part of the cluster with a quota.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VirtualCluster {
    /// Percent of the cluster's GPUs that are its own.
    #[serde(default)]
    pub capacity: f64,
    /// Percent of the cluster's GPUs that it may use at most.
    #[serde(default)]
    pub max_capacity: f64,
    /// Percent of the cluster's GPUs that it uses.
    #[serde(default)]
    pub used_capacity: f64,
    /// What its jobs use.
    pub resources_used: VirtualResources,
    /// What is there for it now.
    pub resources_guaranteed: VirtualResources,
    /// What is its own, also on nodes that are off or unwell.
    pub resources_total: VirtualResources,
}

/// An amount in a virtual cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VirtualResources {
    /// CPU cores.
    pub cpu: f64,
    /// Memory in MB.
    pub memory: f64,
    /// GPUs.
    pub gpu: f64,
}
