//! Series for charts: a few hundred points, however long the run.

use serde::Serialize;

use ballast_core::kube::Name;
use ballast_core::units::Time;

/// What went on, at even intervals.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// Names of the pools, in the order of [`Sample::pools`].
    pub pools: Vec<Name>,
    /// Names of the workloads, in the order of [`Sample::pending`].
    pub workloads: Vec<Name>,
    /// The points, the oldest first.
    pub samples: Vec<Sample>,
}

/// What went on at one instant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// The instant.
    pub at: Time,
    /// Machines of each pool by state.
    pub pools: Vec<PoolSizes>,
    /// Nodes of no pool that are ready.
    pub unmanaged: u32,
    /// Pods that wait, by workload.
    pub pending: Vec<u32>,
    /// What everything costs in an hour.
    pub cost_per_hour: f64,
    /// Requested CPU as a share of what ready nodes have.
    pub cpu: f64,
    /// Requested memory as a share of what ready nodes have.
    pub memory: f64,
    /// Requested GPUs as a share of what ready nodes have.
    pub gpu: f64,
}

/// Machines of a pool by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolSizes {
    /// On their way up, or up and not ready.
    pub starting: u32,
    /// Ready.
    pub ready: u32,
    /// On their way down.
    pub leaving: u32,
    /// Off.
    pub stopped: u32,
}
