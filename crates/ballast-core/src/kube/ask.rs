//! Room that is asked for ahead of pods, in the words of `autoscaling.x-k8s.io`: buffers, requests, and the templates that they
//! name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Meta, Name, PodTemplateSpec, Requests};
use crate::units::Time;

/// The annotations by which pods name the request whose room they take, the newer first.
pub const CONSUMES: [&str; 2] = [
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
];

/// A template of pods that others name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodTemplate {
    /// Name and namespace.
    pub metadata: Meta,
    /// The pods.
    pub template: PodTemplateSpec,
}

/// Names an object of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalReference {
    /// Its name.
    pub name: Name,
}

/// Names a workload of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScalableReference {
    /// Group of its API.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub api_group: Name,
    /// Kind, such as `Deployment`.
    pub kind: Name,
    /// Name.
    pub name: Name,
}

/// Room that is kept free for whoever comes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CapacityBuffer {
    /// The version of the API that it was told in.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub api_version: Name,
    /// Name and namespace.
    pub metadata: Meta,
    /// How much of what shape.
    pub spec: CapacityBufferSpec,
    /// What is said of it.
    pub status: CapacityBufferStatus,
}

/// How much room of what shape a buffer keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CapacityBufferSpec {
    /// Who keeps it, and how; empty means nodes that run.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub provisioning_strategy: Name,
    /// The shape, by a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_template_ref: Option<LocalReference>,
    /// The shape, by a workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalable_ref: Option<ScalableReference>,
    /// So many pods of the shape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// So much of the workload's pods, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<i32>,
    /// No more than this in all.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: Requests,
}

/// What is said of a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CapacityBufferStatus {
    /// The template that is held to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_template_ref: Option<LocalReference>,
    /// So many pods of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Which generation of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_template_generation: Option<i64>,
    /// Who keeps it, and how.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub provisioning_strategy: Name,
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<AskCondition>,
}

/// Room for sets of pods, all or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisioningRequest {
    /// The version of the API that it was told in.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub api_version: Name,
    /// Name and namespace.
    pub metadata: Meta,
    /// For which pods, and how.
    pub spec: ProvisioningRequestSpec,
    /// What is said of it.
    pub status: ProvisioningRequestStatus,
}

/// For which pods room is requested, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisioningRequestSpec {
    /// The pods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pod_sets: Vec<PodSet>,
    /// How it is to be provided.
    pub provisioning_class_name: Name,
    /// What the class is told besides.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<Name, Name>,
}

/// So many pods of one template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSet {
    /// The template.
    pub pod_template_ref: LocalReference,
    /// How many.
    pub count: i32,
}

/// What is said of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisioningRequestStatus {
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<AskCondition>,
}

/// A condition of a buffer or a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AskCondition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: Name,
    /// `True`, `False` or `Unknown`.
    pub status: Name,
    /// Why, by a code.
    pub reason: Name,
    /// Why, in words.
    pub message: String,
    /// The generation that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Since when its status is this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}
