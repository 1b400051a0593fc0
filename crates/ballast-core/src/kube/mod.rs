//! Slim Kubernetes types: only the fields that Ballast reads, in the spelling of the Kubernetes API.
//!
//! They read what `kubectl get -o json|yaml` prints and what a watch sends. Unknown fields are ignored: a newer server
//! may send more than we know.

mod annotation;
mod ask;
mod node;
mod pdb;
mod pod;
mod pod_group;
mod selector;
mod sharing;
mod volume;

pub(crate) use annotation::{ANNOTATIONS_BYTES_MAX, is_read};
pub use ask::{
    AskCondition, CONSUMES, CapacityBuffer, CapacityBufferSpec, CapacityBufferStatus, LocalReference, PodSet,
    PodTemplate, ProvisioningRequest, ProvisioningRequestSpec, ProvisioningRequestStatus, ScalableReference,
};
pub use node::{Node, NodeCondition, NodeSpec, NodeStatus, Taint, TaintEffect};
pub use pdb::{PdbSpec, PdbStatus, PodDisruptionBudget};
pub use pod::{
    Affinity, ClaimRef, ClaimTemplate, Container, ContainerPort, ContainerResources, Disk, DoNotSchedule,
    EmptyDir, EphemeralVolume, HostPath, MIRROR_ANNOTATION, NodeAffinity, Phase, Pod, PodAffinityTerm,
    PodAffinityTerms, PodCondition, PodSpec, PodStatus, PodVolume, Requests, ResourceClaimRef, RestartPolicy,
    SchedulingGate, Toleration, TolerationOperator, TopologySpread,
};
pub use pod_group::{PodGroup, PodGroupSpec};
pub use selector::{
    LabelSelector, NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm,
};
pub use sharing::Sharing;
pub use volume::{
    ClaimSpec, DaemonSet, DaemonSetSpec, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec,
    PodTemplateSpec, PriorityClass, StorageClass, TopologyExpression, TopologyTerm, VolumeNodeAffinity,
};

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::units::Time;

/// A name, shared rather than copied.
pub type Name = Arc<str>;

/// Labels or annotations, in order of their keys.
pub type Labels = BTreeMap<Name, Name>;

/// The metadata that Ballast reads of every Kubernetes object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// Name within the namespace.
    pub name: Name,
    /// Namespace; empty for cluster-scoped objects.
    #[serde(skip_serializing_if = "str_is_empty")]
    pub namespace: Name,
    /// Identity: a new object of the same name has another one.
    #[serde(skip_serializing_if = "str_is_empty")]
    pub uid: Name,
    /// Version of the object, opaque; the precondition of every write.
    #[serde(skip_serializing_if = "str_is_empty")]
    pub resource_version: Name,
    /// Counts changes of the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Labels, shared between pods of one template.
    #[serde(skip_serializing_if = "labels_are_empty")]
    pub labels: Arc<Labels>,
    /// Annotations.
    #[serde(skip_serializing_if = "labels_are_empty")]
    pub annotations: Arc<Labels>,
    /// Owners; at most one is the controller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// When the object was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    /// When deletion was asked for (for a pod: when its grace period ends).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    /// How long a pod that shall go has for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
}

/// An owner of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// Kind of the owner, such as `ReplicaSet`.
    pub kind: Name,
    /// Its name.
    pub name: Name,
    /// Its identity.
    pub uid: Name,
    /// Whether it is the managing controller.
    pub controller: bool,
}

impl Meta {
    /// The controller that would make the object anew.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller)
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(|value| &**value)
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(|value| &**value)
    }
}

fn str_is_empty(text: &Name) -> bool {
    text.is_empty()
}

fn labels_are_empty(labels: &Arc<Labels>) -> bool {
    labels.is_empty()
}
