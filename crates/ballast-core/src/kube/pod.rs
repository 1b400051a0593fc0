//! Pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ClaimSpec, LabelSelector, Labels, Meta, Name, NodeSelector};
use crate::units::{Quantity, Time};

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    /// Name, labels, owners.
    pub metadata: Meta,
    /// What it asks for; shared between pods of one template where the maker can.
    pub spec: Arc<PodSpec>,
    /// The node it is bound to. It stands in the spec on the wire; here apart, so that specs can be shared.
    #[serde(skip)]
    pub node_name: Name,
    /// What became of it.
    pub status: PodStatus,
}

/// The annotation that only mirror pods have.
pub const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

impl Pod {
    /// Whether its node must be rid of it before it can go: neither a daemon nor a mirror of the node's own, and not ended.
    pub fn is_guest(&self) -> bool {
        let owner = self.metadata.controller().map(|owner| &*owner.kind);
        let belongs_to_node = matches!(owner, Some("DaemonSet" | "Node"));
        let ended = matches!(self.status.phase, Phase::Succeeded | Phase::Failed);
        !belongs_to_node && !ended && self.metadata.annotation(MIRROR_ANNOTATION).is_none()
    }
}

/// What a pod asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<Container>,
    /// Init containers, among them the sidecars (`restartPolicy: Always`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub init_containers: Vec<Container>,
    /// What the pod asks for as a whole, in place of its containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ContainerResources>,
    /// What the runtime takes on top.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub overhead: Requests,
    /// The node it is bound to, as on the wire; moved to [`Pod::node_name`] when an object is taken in.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub node_name: Name,
    /// Labels its node must have.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub node_selector: Labels,
    /// Affinities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// Taints it bears.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// How it spreads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topology_spread_constraints: Vec<TopologySpread>,
    /// When its containers are restarted; always, where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<RestartPolicy>,
    /// Priority, as admission resolved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Name of its priority class.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub priority_class_name: Name,
    /// The scheduler that places it.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub scheduler_name: Name,
    /// Gates that keep it from being scheduled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scheduling_gates: Vec<SchedulingGate>,
    /// Volumes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<PodVolume>,
    /// Grace period in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
    /// Uses the node's network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub host_network: bool,
    /// Dynamic resource claims; not modelled, and named in the report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_claims: Vec<ResourceClaimRef>,
    /// Where something stands that this release could not read, for whoever reads objects to say; such a pod is named in the
    /// report, and neither placed nor moved. Empty for nearly every pod.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub unread: Name,
}

/// Requests by resource name.
pub type Requests = BTreeMap<Name, Quantity>;

/// A gate that keeps a pod from being scheduled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct SchedulingGate {
    /// Name of the gate.
    pub name: Name,
}

/// A pod's reference to a dynamic resource claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceClaimRef {
    /// Name within the pod.
    pub name: Name,
}

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// What it asks for and its caps.
    pub resources: ContainerResources,
    /// Ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ContainerPort>,
    /// `Always` makes an init container a sidecar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<RestartPolicy>,
}

impl Container {
    /// Whether, as an init container, it runs for the pod's whole life.
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy == Some(RestartPolicy::Always)
    }
}

/// When a pod's containers, or an init container, are restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RestartPolicy {
    /// Whenever it ends; an init container then runs beside the pod's containers for the pod's whole life.
    Always,
    /// It is restarted when it fails.
    OnFailure,
    /// It is not restarted.
    Never,
}

/// What a container asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerResources {
    /// Requests.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: Requests,
    /// Limits; an extended resource with only a limit requests as much.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: Requests,
}

/// A container's port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPort {
    /// Port on the node; 0 is none.
    #[serde(skip_serializing_if = "is_zero")]
    pub host_port: i32,
    /// Port in the container; on the host network also the node's.
    #[serde(skip_serializing_if = "is_zero")]
    pub container_port: i32,
    /// `TCP` where empty.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub protocol: Name,
    /// All addresses where empty.
    #[serde(rename = "hostIP", skip_serializing_if = "super::str_is_empty")]
    pub host_ip: Name,
}

fn is_zero(port: &i32) -> bool {
    *port == 0
}

/// Affinities of a pod. Only required ones are read: preferences refuse nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Affinity {
    /// To nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeAffinity>,
    /// To pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_affinity: Option<PodAffinityTerms>,
    /// Away from pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_anti_affinity: Option<PodAffinityTerms>,
}

/// Affinity to nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeAffinity {
    /// The required terms.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Option::is_none"
    )]
    pub required: Option<NodeSelector>,
}

/// Required terms of affinity to or away from pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodAffinityTerms {
    /// All must hold.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub required: Vec<PodAffinityTerm>,
}

/// A required relation to other pods within a topology domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodAffinityTerm {
    /// The other pods; absent selects none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Their namespaces; empty means the pod's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Name>,
    /// Namespaces by label; only the empty selector (all namespaces) is modelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// The node label whose equal values make a domain.
    pub topology_key: Name,
    /// Label keys whose values on the pod narrow the selector.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_label_keys: Vec<Name>,
    /// Label keys whose values on the pod are excluded; not modelled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mismatch_label_keys: Vec<Name>,
}

/// A taint that a pod bears.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Toleration {
    /// Key; empty with `Exists` bears every taint.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub key: Name,
    /// How the value is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<TolerationOperator>,
    /// Value.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub value: Name,
    /// Effect; absent bears all effects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<super::TaintEffect>,
}

/// How a toleration compares values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TolerationOperator {
    /// Values must be equal (the default).
    Equal,
    /// Any value.
    Exists,
}

/// How pods spread over domains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologySpread {
    /// Largest allowed difference between domains.
    pub max_skew: i32,
    /// The node label whose equal values make a domain.
    pub topology_key: Name,
    /// What happens where it cannot be met.
    pub when_unsatisfiable: DoNotSchedule,
    /// The pods that are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Fewer domains than this count as one more with no pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_domains: Option<i32>,
    /// Label keys whose values on the pod narrow the selector.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_label_keys: Vec<Name>,
    /// Whether only nodes count that the pod's selector and affinity match; only the default `Honor` is modelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_affinity_policy: Option<Name>,
    /// Whether only nodes count whose taints the pod bears; only the default `Ignore` is modelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_taints_policy: Option<Name>,
}

/// Whether a spread constraint refuses a place or only prefers another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DoNotSchedule {
    /// It refuses.
    #[default]
    DoNotSchedule,
    /// It prefers; refuses nothing.
    ScheduleAnyway,
}

/// A volume of a pod. The kinds that matter are those that tie the pod to a node, a zone or local data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodVolume {
    /// Name within the pod.
    pub name: Name,
    /// Local scratch space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDir>,
    /// A folder of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_path: Option<HostPath>,
    /// A claim to a persistent volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimRef>,
    /// A claim of the pod's own, made and deleted with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<EphemeralVolume>,
    /// A disk of Google's cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gce_persistent_disk: Option<Disk>,
    /// A disk of Amazon's cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws_elastic_block_store: Option<Disk>,
    /// A disk of Microsoft's cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure_disk: Option<Disk>,
    /// A disk over iSCSI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iscsi: Option<Disk>,
    /// A block device of Ceph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rbd: Option<Disk>,
}

impl PodVolume {
    /// Whether it is claimed, and so somewhere.
    pub fn claims(&self) -> bool {
        self.persistent_volume_claim.is_some() || self.ephemeral.is_some()
    }

    /// Whether it is a disk that the pod names itself, without a claim.
    pub fn is_disk(&self) -> bool {
        let Self { gce_persistent_disk, aws_elastic_block_store, azure_disk, iscsi, rbd, .. } = self;
        [gce_persistent_disk, aws_elastic_block_store, azure_disk, iscsi, rbd]
            .into_iter()
            .any(Option::is_some)
    }
}

/// A disk that a pod names itself; which one it is, nobody asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {}

/// A claim of the pod's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EphemeralVolume {
    /// What the claim is made from.
    pub volume_claim_template: ClaimTemplate,
}

/// What a pod's own claim is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ClaimTemplate {
    /// What it asks for.
    pub spec: ClaimSpec,
}

/// Local scratch space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct EmptyDir {
    /// `Memory` for a RAM disk.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub medium: Name,
}

/// A folder of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct HostPath {
    /// The folder.
    pub path: Name,
}

/// A reference to a claim in the pod's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimRef {
    /// Name of the claim.
    pub claim_name: Name,
}

/// What became of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// Where it is in its life.
    pub phase: Phase,
    /// Conditions, among them `PodScheduled`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<PodCondition>,
    /// When the kubelet took it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// The node that preemption chose for it.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub nominated_node_name: Name,
}

/// A pod's condition has the shape of a node's.
pub type PodCondition = super::NodeCondition;

/// Where a pod is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Not all containers have started.
    #[default]
    Pending,
    /// It runs.
    Running,
    /// All containers ended well.
    Succeeded,
    /// One ended badly.
    Failed,
    /// Its node cannot be reached.
    Unknown,
}

impl Phase {
    /// Whether it has ended and takes nothing any more.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

impl Toleration {
    /// Whether it bears a taint.
    pub fn bears(&self, taint: &super::Taint) -> bool {
        self.effect.is_none_or(|effect| effect == taint.effect)
            && match self.operator.unwrap_or(TolerationOperator::Equal) {
                TolerationOperator::Exists => self.key.is_empty() || self.key == taint.key,
                TolerationOperator::Equal => self.key == taint.key && self.value == taint.value,
            }
    }
}
