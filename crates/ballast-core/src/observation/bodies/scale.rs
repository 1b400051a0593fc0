//! A scale subresource.

use serde::{Deserialize, Serialize};

use crate::kube::Name;

/// A scale subresource, `autoscaling/v1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scale {
    /// The object that is scaled.
    pub metadata: ScaleMeta,
    /// What is wished.
    #[serde(default)]
    pub spec: ScaleSpec,
    /// What there is.
    #[serde(default)]
    pub status: ScaleStatus,
}

/// The object that is scaled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleMeta {
    /// Name.
    pub name: Name,
    /// Namespace.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub namespace: Name,
    /// Identity.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub uid: Name,
    /// Version; the precondition of a write.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub resource_version: Name,
}

/// What is wished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleSpec {
    /// Replicas; absent is 0.
    pub replicas: i32,
}

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleStatus {
    /// Replicas.
    pub replicas: i32,
    /// Selector of the pods as a text; empty where the target tells none.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub selector: Name,
}
