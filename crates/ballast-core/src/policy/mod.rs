//! What people write: the documents of `ballast.dev/v1alpha1`.

mod cluster_policy;
mod vm_pool;

pub use cluster_policy::{
    ClusterPolicySpec, Growth, Health, Limits, Mode, Pause, PriorityRule, Removal, RemovalBudget, Sources,
    Yield,
};
pub use vm_pool::{
    BarePods, Headroom, LocalStorage, Members, NodeTemplate, Price, Provider, ScaleDown, ScheduleWindow,
    StopMode, Strategy, Times, VmPoolSpec,
};

use serde::{Deserialize, Serialize};

use crate::kube::Name;

/// The API version of every document of ours.
pub const API_VERSION: &str = "ballast.dev/v1alpha1";

/// A document of ours with its name and, where it has one, its namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named<T> {
    /// Its name.
    pub name: Name,
    /// Its namespace; empty for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub namespace: Name,
    /// What it says.
    pub spec: T,
}

/// `ClusterPolicy`.
pub type ClusterPolicy = Named<ClusterPolicySpec>;
/// `VmPool`.
pub type VmPool = Named<VmPoolSpec>;
