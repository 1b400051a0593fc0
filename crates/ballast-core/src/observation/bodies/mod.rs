//! The answers of outside systems, typed: what Ballast reads of each, in that system's own spelling.
//!
//! Unknown fields are passed over, since a newer system may say more; unknown words become `Unknown` where the system may add
//! some. What is read must be there: an answer without it is not an answer.

mod cluster_inquiry;
mod instances;
mod metrics;
mod prometheus;
mod ray;
mod scale;
mod spark;
mod virtual_clusters;

pub use cluster_inquiry::{ClusterInquiry, InquiryNodes};
pub use instances::InstanceList;
pub use metrics::{
    ContainerMetrics, CustomMetric, CustomMetricIdentifier, CustomMetrics, DescribedObject,
    ExternalMetricValue, ExternalMetrics, MetricsMeta, ObjectUsage, ResourceMetrics,
};
pub use prometheus::{
    PrometheusData, PrometheusQuery, PrometheusResponse, PrometheusStatus, Sample, Series, Vector,
};
pub use ray::{
    BundleSelector, GangResourceRequest, Int64, LabelConstraint, LabelOperator, PlacementConstraint,
    RayAffinity, RayClusterState, RayConstraint, RayGcs, RayLabelSelector, RayNode, RayNodeStatus,
    ResourceRequest, ResourceRequestByCount,
};
pub use scale::{Scale, ScaleMeta, ScaleSpec, ScaleStatus};
pub use spark::{
    AppDescription, ApplicationState, MasterStatus, SparkApplication, SparkDriver, SparkExecutor,
    SparkMaster, SparkWorker, SparkWorkerEntry, WorkerState,
};
pub use virtual_clusters::{VirtualCluster, VirtualClusters, VirtualResources};
