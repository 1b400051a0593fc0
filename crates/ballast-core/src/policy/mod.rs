//! What people write: the documents of `ballast.dev/v1alpha1`.

mod cluster_policy;
mod elastic_job_policy;
pub mod hosts;
mod metric_scaler;
mod ray_scaler;
mod schedule;
mod spark_pool;
mod tenant;
mod vm_pool;

pub use cluster_policy::{
    ClusterPolicySpec, Direction, Growth, Health, Limits, Mode, Pause, PriorityRule, Removal, RemovalBudget,
    Sources, Yield,
};
pub use elastic_job_policy::{
    ElasticJobPolicySpec, Goodput, JobCoolDown, JobKind, JobRules, SizeRule, Sizes, SpeedUp, YieldTo,
};
pub use metric_scaler::{
    Band, Behavior, Cache, ContainerResourceMetric, Controller, Demand, DemandKind, ExternalMetric, Fallback,
    FallbackKind, FastScaleIn, HpaVersion, MetricIdentifier, MetricKind, MetricRules, MetricScalerSpec,
    MetricSpec, MetricTarget, MetricTargetKind, ObjectMetric, ObjectReference, Parameter, ParameterKind,
    Paths, PodsMetric, PrometheusMetric, ResourceMetric, ScalingPolicy, ScalingPolicyKind, ScalingRules,
    SelectPolicy, Step, StepKind, Victims,
};
pub use ray_scaler::{
    Gcs, RayDefaults, RayDrain, RayGroup, RayLaunch, RayRules, RayScalerSpec, UpscalingMode,
};
pub use spark_pool::{
    Fence, MasterKind, PodPlacement, PodResources, Shuffle, SparkAccess, SparkMaster, SparkPoolSpec,
    SparkWindow, SparkWorkers,
};
pub use tenant::{PodSecurity, Tenant};
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

/// One entry of a Secret in the namespace of the document; of one that has none, in the namespace that Ballast runs in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretKey {
    /// Name of the Secret.
    pub name: Name,
    /// Key in it.
    pub key: Name,
}

/// `ClusterPolicy`.
pub type ClusterPolicy = Named<ClusterPolicySpec>;
/// `VmPool`.
pub type VmPool = Named<VmPoolSpec>;
/// `ElasticJobPolicy`.
pub type ElasticJobPolicy = Named<ElasticJobPolicySpec>;
/// `MetricScaler`.
pub type MetricScaler = Named<MetricScalerSpec>;
/// `RayScaler`.
pub type RayScaler = Named<RayScalerSpec>;
/// `SparkPool`.
pub type SparkPool = Named<SparkPoolSpec>;
