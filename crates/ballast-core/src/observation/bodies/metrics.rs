//! The lists of the three metrics APIs of Kubernetes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kube::{LabelSelector, Name};
use crate::units::{Quantity, Span, Time};

/// A list of `metrics.k8s.io`: pods with their containers, or nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResourceMetrics {
    /// The pods or nodes.
    pub items: Vec<ObjectUsage>,
}

/// What a pod or a node uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObjectUsage {
    /// Its name and namespace.
    pub metadata: MetricsMeta,
    /// End of the interval that was measured.
    pub timestamp: Time,
    /// Length of the interval.
    pub window: Span,
    /// Containers of a pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<ContainerMetrics>,
    /// Usage of a node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usage: BTreeMap<Name, Quantity>,
}

/// Name and namespace of what was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricsMeta {
    /// Name.
    pub name: Name,
    /// Namespace.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub namespace: Name,
}

/// What a container uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContainerMetrics {
    /// Name of the container.
    pub name: Name,
    /// Amounts by resource name.
    pub usage: BTreeMap<Name, Quantity>,
}

/// A list of `custom.metrics.k8s.io`, of either version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CustomMetrics {
    /// The values.
    pub items: Vec<CustomMetric>,
}

/// The value of a custom metric for one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CustomMetric {
    /// The object.
    pub described_object: DescribedObject,
    /// The metric, as `v1beta2` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<CustomMetricIdentifier>,
    /// The metric's name, as `v1beta1` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_name: Option<Name>,
    /// When it was measured.
    pub timestamp: Time,
    /// Length of the interval in seconds, as `v1beta2` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_seconds: Option<i64>,
    /// Length of the interval in seconds, as `v1beta1` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<i64>,
    /// The value.
    pub value: Quantity,
}

/// The object that a custom metric speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DescribedObject {
    /// Kind.
    pub kind: Name,
    /// Namespace.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub namespace: Name,
    /// Name.
    pub name: Name,
    /// API version.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub api_version: Name,
}

/// A custom metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CustomMetricIdentifier {
    /// Name.
    pub name: Name,
    /// The series that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// A list of `external.metrics.k8s.io`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalMetrics {
    /// The values, one for each series.
    pub items: Vec<ExternalMetricValue>,
}

/// The value of an external metric for one series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalMetricValue {
    /// Name of the metric.
    pub metric_name: Name,
    /// Labels of the series.
    #[serde(default)]
    pub metric_labels: BTreeMap<Name, Name>,
    /// When it was measured.
    pub timestamp: Time,
    /// Length of the interval in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<i64>,
    /// The value.
    pub value: Quantity,
}
