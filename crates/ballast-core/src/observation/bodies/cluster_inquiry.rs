//! A cluster given by its totals, as the EDL parent inquired it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kube::Name;

/// A cluster given by its totals alone. Each field may also be spelled as in the parent's `ClusterResource`. Where no node
/// tells its GPUs, a node counts as unconstrained in GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClusterInquiry {
    /// Number of nodes.
    #[serde(default, alias = "NodeCount")]
    pub node_count: u32,
    /// GPUs that pods request.
    #[serde(default, alias = "GPURequest")]
    pub gpu_request: i64,
    /// GPUs that pods may use at most.
    #[serde(default, alias = "GPULimit")]
    pub gpu_limit: i64,
    /// GPUs that there are.
    #[serde(alias = "GPUTotal")]
    pub gpu_total: i64,
    /// CPU that pods request, in thousandths of a core.
    #[serde(default, alias = "CPURequestMilli")]
    pub cpu_request_milli: i64,
    /// CPU that pods may use at most, in thousandths of a core.
    #[serde(default, alias = "CPULimitMilli")]
    pub cpu_limit_milli: i64,
    /// CPU that there is, in thousandths of a core.
    #[serde(alias = "CPUTotalMilli")]
    pub cpu_total_milli: i64,
    /// Memory that pods request, in millions of bytes.
    #[serde(default, alias = "MemoryRequestMega")]
    pub memory_request_mega: i64,
    /// Memory that pods may use at most, in millions of bytes.
    #[serde(default, alias = "MemoryLimitMega")]
    pub memory_limit_mega: i64,
    /// Memory that there is, in millions of bytes.
    #[serde(alias = "MemoryTotalMega")]
    pub memory_total_mega: i64,
    /// What is free on each node.
    #[serde(default, alias = "Nodes")]
    pub nodes: InquiryNodes,
}

/// What is free on each node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InquiryNodes {
    /// CPU by node, in thousandths of a core.
    #[serde(alias = "NodesCPUIdleMilli")]
    pub cpu_idle_milli: BTreeMap<Name, i64>,
    /// Memory by node, in millions of bytes.
    #[serde(alias = "NodesMemoryFreeMega")]
    pub memory_free_mega: BTreeMap<Name, i64>,
    /// GPUs by node; the parent did not tell them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub gpu_free: BTreeMap<Name, i64>,
}
