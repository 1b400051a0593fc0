//! Kubernetes objects as the engine takes them in.

use crate::kube::{
    CapacityBuffer, DaemonSet, Meta, Name, Node, PersistentVolume, PersistentVolumeClaim, Pod,
    PodDisruptionBudget, PodTemplate, PriorityClass, ProvisioningRequest, StorageClass,
};
use crate::policy::{ClusterPolicy, VmPool};

/// A Kubernetes object of a kind that Ballast reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A node.
    Node(Node),
    /// A pod.
    Pod(Pod),
    /// A disruption budget.
    PodDisruptionBudget(PodDisruptionBudget),
    /// A volume.
    PersistentVolume(PersistentVolume),
    /// A claim.
    PersistentVolumeClaim(PersistentVolumeClaim),
    /// A daemon set.
    DaemonSet(DaemonSet),
    /// A priority class.
    PriorityClass(PriorityClass),
    /// A storage class.
    StorageClass(StorageClass),
    /// A template of pods.
    PodTemplate(PodTemplate),
    /// Room that is kept free.
    CapacityBuffer(CapacityBuffer),
    /// Room for sets of pods.
    ProvisioningRequest(ProvisioningRequest),
    /// The cluster's policy.
    ClusterPolicy(ClusterPolicy),
    /// A pool.
    VmPool(VmPool),
}

/// The kinds of [`Object`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// Nodes.
    Node,
    /// Pods.
    Pod,
    /// Disruption budgets.
    PodDisruptionBudget,
    /// Volumes.
    PersistentVolume,
    /// Claims.
    PersistentVolumeClaim,
    /// Daemon sets.
    DaemonSet,
    /// Priority classes.
    PriorityClass,
    /// Storage classes.
    StorageClass,
    /// Templates of pods.
    PodTemplate,
    /// Room that is kept free.
    CapacityBuffer,
    /// Room for sets of pods.
    ProvisioningRequest,
    /// The cluster's policy.
    ClusterPolicy,
    /// Pools.
    VmPool,
}

/// One change of a Kubernetes object, as a watch tells it.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all changes are applied objects; a box for each would cost more"
)]
pub enum Change {
    /// It was made or changed; this is its whole new state.
    Applied(Object),
    /// It is gone.
    Deleted(ObjectKey),
}

/// Names an object of a known kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Name,
    /// Name.
    pub name: Name,
    /// Identity; empty where the teller did not know it.
    pub uid: Name,
}

impl ObjectKind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::Node,
        Self::Pod,
        Self::PodDisruptionBudget,
        Self::PersistentVolume,
        Self::PersistentVolumeClaim,
        Self::DaemonSet,
        Self::PriorityClass,
        Self::StorageClass,
        Self::PodTemplate,
        Self::CapacityBuffer,
        Self::ProvisioningRequest,
        Self::ClusterPolicy,
        Self::VmPool,
    ];

    /// Whether objects of this kind live in a namespace.
    pub fn is_namespaced(self) -> bool {
        match self {
            Self::Pod
            | Self::PodDisruptionBudget
            | Self::PersistentVolumeClaim
            | Self::DaemonSet
            | Self::PodTemplate
            | Self::CapacityBuffer
            | Self::ProvisioningRequest => true,
            Self::Node
            | Self::PersistentVolume
            | Self::PriorityClass
            | Self::StorageClass
            | Self::ClusterPolicy
            | Self::VmPool => false,
        }
    }

    /// Kinds of which room may be asked for ahead of pods.
    pub const ASKS: [Self; 3] = [Self::PodTemplate, Self::CapacityBuffer, Self::ProvisioningRequest];

    /// Whether a cluster need not know this kind: then there is nothing of it.
    pub fn is_optional(self) -> bool {
        matches!(self, Self::CapacityBuffer | Self::ProvisioningRequest)
    }

    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "Node",
            Self::Pod => "Pod",
            Self::PodDisruptionBudget => "PodDisruptionBudget",
            Self::PersistentVolume => "PersistentVolume",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::DaemonSet => "DaemonSet",
            Self::PriorityClass => "PriorityClass",
            Self::StorageClass => "StorageClass",
            Self::PodTemplate => "PodTemplate",
            Self::CapacityBuffer => "CapacityBuffer",
            Self::ProvisioningRequest => "ProvisioningRequest",
            Self::ClusterPolicy => "ClusterPolicy",
            Self::VmPool => "VmPool",
        }
    }
}

impl Object {
    /// Its kind.
    pub fn kind(&self) -> ObjectKind {
        match self {
            Self::Node(_) => ObjectKind::Node,
            Self::Pod(_) => ObjectKind::Pod,
            Self::PodDisruptionBudget(_) => ObjectKind::PodDisruptionBudget,
            Self::PersistentVolume(_) => ObjectKind::PersistentVolume,
            Self::PersistentVolumeClaim(_) => ObjectKind::PersistentVolumeClaim,
            Self::DaemonSet(_) => ObjectKind::DaemonSet,
            Self::PriorityClass(_) => ObjectKind::PriorityClass,
            Self::StorageClass(_) => ObjectKind::StorageClass,
            Self::PodTemplate(_) => ObjectKind::PodTemplate,
            Self::CapacityBuffer(_) => ObjectKind::CapacityBuffer,
            Self::ProvisioningRequest(_) => ObjectKind::ProvisioningRequest,
            Self::ClusterPolicy(_) => ObjectKind::ClusterPolicy,
            Self::VmPool(_) => ObjectKind::VmPool,
        }
    }

    /// Its metadata; documents of ours have only a name.
    pub fn meta(&self) -> Option<&Meta> {
        match self {
            Self::Node(object) => Some(&object.metadata),
            Self::Pod(object) => Some(&object.metadata),
            Self::PodDisruptionBudget(object) => Some(&object.metadata),
            Self::PersistentVolume(object) => Some(&object.metadata),
            Self::PersistentVolumeClaim(object) => Some(&object.metadata),
            Self::DaemonSet(object) => Some(&object.metadata),
            Self::PriorityClass(object) => Some(&object.metadata),
            Self::StorageClass(object) => Some(&object.metadata),
            Self::PodTemplate(object) => Some(&object.metadata),
            Self::CapacityBuffer(object) => Some(&object.metadata),
            Self::ProvisioningRequest(object) => Some(&object.metadata),
            Self::ClusterPolicy(_) | Self::VmPool(_) => None,
        }
    }

    /// Its metadata, to be changed.
    pub fn meta_mut(&mut self) -> Option<&mut Meta> {
        match self {
            Self::Node(object) => Some(&mut object.metadata),
            Self::Pod(object) => Some(&mut object.metadata),
            Self::PodDisruptionBudget(object) => Some(&mut object.metadata),
            Self::PersistentVolume(object) => Some(&mut object.metadata),
            Self::PersistentVolumeClaim(object) => Some(&mut object.metadata),
            Self::DaemonSet(object) => Some(&mut object.metadata),
            Self::PriorityClass(object) => Some(&mut object.metadata),
            Self::StorageClass(object) => Some(&mut object.metadata),
            Self::PodTemplate(object) => Some(&mut object.metadata),
            Self::CapacityBuffer(object) => Some(&mut object.metadata),
            Self::ProvisioningRequest(object) => Some(&mut object.metadata),
            Self::ClusterPolicy(_) | Self::VmPool(_) => None,
        }
    }

    /// Its name and namespace.
    pub fn name(&self) -> (Name, Name) {
        match (self, self.meta()) {
            (Self::ClusterPolicy(policy), _) => (policy.name.clone(), policy.namespace.clone()),
            (Self::VmPool(pool), _) => (pool.name.clone(), pool.namespace.clone()),
            (_, meta) => meta.map(|meta| (meta.name.clone(), meta.namespace.clone())).unwrap_or_default(),
        }
    }
}
