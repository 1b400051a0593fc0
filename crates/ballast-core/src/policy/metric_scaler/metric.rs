//! Metrics and their targets, in the words of `autoscaling/v2`, and Prometheus queries beside them.

use serde::{Deserialize, Serialize};

use crate::kube::{LabelSelector, Name};
use crate::units::Quantity;

/// An object by name, in the namespace of who names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObjectReference {
    /// API version, such as `apps/v1`.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub api_version: Name,
    /// Kind.
    pub kind: Name,
    /// Name.
    pub name: Name,
}

/// A metric with its target. `type` says which of the other fields is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricSpec {
    /// Which kind of metric.
    #[serde(rename = "type")]
    pub kind: MetricKind,
    /// For `Resource`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceMetric>,
    /// For `ContainerResource`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_resource: Option<ContainerResourceMetric>,
    /// For `Pods`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodsMetric>,
    /// For `Object`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectMetric>,
    /// For `External`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalMetric>,
    /// For `Prometheus`, which an HPA does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<PrometheusMetric>,
}

/// Which kind of metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MetricKind {
    /// CPU or memory of the pods.
    Resource,
    /// CPU or memory of one container of each pod.
    ContainerResource,
    /// A custom metric of each pod.
    Pods,
    /// A custom metric of one object.
    Object,
    /// A metric of something outside the cluster.
    External,
    /// The answer of Prometheus to a query; not in HPA.
    Prometheus,
}

/// CPU or memory of the pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResourceMetric {
    /// Name of the resource, such as `cpu`.
    pub name: Name,
    /// What it shall be.
    pub target: MetricTarget,
}

/// CPU or memory of one container of each pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContainerResourceMetric {
    /// Name of the resource.
    pub name: Name,
    /// Name of the container.
    pub container: Name,
    /// What it shall be.
    pub target: MetricTarget,
}

/// A custom metric of each pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PodsMetric {
    /// The metric.
    pub metric: MetricIdentifier,
    /// What it shall be on average.
    pub target: MetricTarget,
}

/// A custom metric of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObjectMetric {
    /// The object.
    pub described_object: ObjectReference,
    /// The metric.
    pub metric: MetricIdentifier,
    /// What it shall be.
    pub target: MetricTarget,
}

/// A metric of something outside the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalMetric {
    /// The metric.
    pub metric: MetricIdentifier,
    /// What it shall be.
    pub target: MetricTarget,
}

/// A metric by name, and the series of it that count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricIdentifier {
    /// Name.
    pub name: Name,
    /// The series; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// What a metric shall be. `type` says which of the other fields is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricTarget {
    /// How the target is meant.
    #[serde(rename = "type")]
    pub kind: MetricTargetKind,
    /// The value itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Quantity>,
    /// The value divided by the number of pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_value: Option<Quantity>,
    /// Percent of what the pods request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_utilization: Option<i32>,
}

/// How a target is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MetricTargetKind {
    /// Percent of what the pods request.
    Utilization,
    /// The value itself.
    Value,
    /// The value divided by the number of pods.
    AverageValue,
}

/// The answer of Prometheus to a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrometheusMetric {
    /// Address of the server; its host must be among the ClusterPolicy's `allowedHosts`.
    pub server: Name,
    /// The query. `$name` stands for a parameter. It must give one value, or one for each pod where the target is an average.
    pub query: Name,
    /// Parameters of the query; each is escaped as its type demands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// What it shall be.
    pub target: MetricTarget,
}

/// A parameter of a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameter {
    /// Its name in the query, without the `$`.
    pub name: Name,
    /// What it stands for.
    #[serde(rename = "type")]
    pub kind: ParameterKind,
    /// Its value; absent where the type says it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Name>,
}

/// What a parameter stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ParameterKind {
    /// A text inside double quotes.
    Text,
    /// A text inside double quotes, escaped as a regular expression.
    Literal,
    /// A number.
    Number,
    /// A duration such as `5m`.
    Duration,
    /// The namespace of the document.
    Namespace,
    /// The name of the target.
    Target,
}
