//! What ties a pod to a place or a rank besides its own spec: volumes, daemon sets, priority classes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Meta, Name, NodeSelector, PodSpec};

/// A volume of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolume {
    /// Name.
    pub metadata: Meta,
    /// Where it can be mounted.
    pub spec: PersistentVolumeSpec,
}

/// Where a volume can be mounted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolumeSpec {
    /// Nodes that reach it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<VolumeNodeAffinity>,
}

/// Nodes that reach a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeNodeAffinity {
    /// Required terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<NodeSelector>,
}

/// A pod's claim to a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolumeClaim {
    /// Name and namespace.
    pub metadata: Meta,
    /// The volume it is bound to.
    pub spec: ClaimSpec,
}

/// What a claim is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimSpec {
    /// Name of the bound volume; empty while unbound.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub volume_name: Name,
    /// Name of its storage class; empty where only a volume that is there will do.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub storage_class_name: Name,
    /// Who may mount it, such as `ReadWriteOncePod`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access_modes: Vec<Name>,
}

/// How volumes of a claim come to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageClass {
    /// Name.
    pub metadata: Meta,
    /// Who makes the volumes.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub provisioner: Name,
    /// `WaitForFirstConsumer`, or `Immediate` where nothing is said.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub volume_binding_mode: Name,
    /// Where volumes can be made; anywhere where nothing is said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_topologies: Vec<TopologyTerm>,
}

impl StorageClass {
    /// Whether claims that name no class are given this one; of several, the API takes the newest.
    pub fn is_default(&self) -> bool {
        let is_marked = |key: &str| self.metadata.annotation(key) == Some("true");
        is_marked("storageclass.kubernetes.io/is-default-class")
            || is_marked("storageclass.beta.kubernetes.io/is-default-class")
    }
}

/// Nodes on which a volume can be made: all of its expressions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologyTerm {
    /// Labels with the values that will do.
    pub match_label_expressions: Vec<TopologyExpression>,
}

/// A label of nodes with the values that will do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TopologyExpression {
    /// The label.
    pub key: Name,
    /// Its values.
    pub values: Vec<Name>,
}

/// A daemon set: its pods take their part of every new node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonSet {
    /// Name and namespace.
    pub metadata: Meta,
    /// Its pod template.
    pub spec: DaemonSetSpec,
}

/// The part of a daemon set that Ballast reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonSetSpec {
    /// Template of its pods.
    pub template: PodTemplateSpec,
}

/// A pod template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodTemplateSpec {
    /// Labels of the pods.
    pub metadata: Meta,
    /// Their spec.
    pub spec: Arc<PodSpec>,
}

/// A named priority.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PriorityClass {
    /// Name.
    pub metadata: Meta,
    /// The priority.
    pub value: i32,
    /// Whether it holds for pods that name none.
    pub global_default: bool,
}
