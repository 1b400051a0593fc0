//! Which document it is: `apiVersion` and `kind`.

use crate::observation::ObjectKind;
use crate::policy::API_VERSION;

/// The kinds of document of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentKind {
    /// The rules for all scalers together.
    ClusterPolicy,
    /// Alike nodes on virtual machines.
    VmPool,
    /// Which training jobs are elastic.
    ElasticJobPolicy,
    /// Replicas by metrics.
    MetricScaler,
    /// Which Ray clusters are served.
    RayScaler,
    /// A Spark master and its workers.
    SparkPool,
    /// What a source outside Kubernetes said; in files only.
    Observation,
    /// A simulated world; in files only.
    Scenario,
}

/// What is done with a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// One of ours.
    Ours(DocumentKind),
    /// A Kubernetes object that is read.
    Kubernetes(ObjectKind),
    /// The description of a gang.
    PodGroup,
    /// A Kubernetes object of another kind.
    Ignored,
}

/// The group of all documents of ours.
const GROUP: &str = "ballast.dev";

/// The API groups whose PodGroups are read: of the coscheduling plugin and of Volcano.
const POD_GROUPS: [&str; 2] = ["scheduling.x-k8s.io", "scheduling.volcano.sh"];

impl DocumentKind {
    /// Every kind, in the order in which people meet them.
    pub const ALL: [Self; 8] = [
        Self::ClusterPolicy,
        Self::VmPool,
        Self::ElasticJobPolicy,
        Self::MetricScaler,
        Self::RayScaler,
        Self::SparkPool,
        Self::Observation,
        Self::Scenario,
    ];

    /// Kinds that this release reads and does not act on.
    pub const UNSERVED: [Self; 4] =
        [Self::ElasticJobPolicy, Self::MetricScaler, Self::RayScaler, Self::SparkPool];

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClusterPolicy => "ClusterPolicy",
            Self::VmPool => "VmPool",
            Self::ElasticJobPolicy => "ElasticJobPolicy",
            Self::MetricScaler => "MetricScaler",
            Self::RayScaler => "RayScaler",
            Self::SparkPool => "SparkPool",
            Self::Observation => "Observation",
            Self::Scenario => "Scenario",
        }
    }

    /// Whether documents of this kind live in a namespace.
    pub fn is_namespaced(self) -> bool {
        match self {
            Self::ClusterPolicy | Self::VmPool | Self::Observation | Self::Scenario => false,
            Self::ElasticJobPolicy | Self::MetricScaler | Self::RayScaler | Self::SparkPool => true,
        }
    }
}

/// Why a kind is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownKind {
    /// The field that is wrong.
    pub(crate) field: &'static str,
    pub(crate) message: String,
    pub(crate) allowed: String,
    pub(crate) suggestion: Option<String>,
}

/// What an `apiVersion` and a `kind` mean.
pub(crate) fn role(api_version: &str, kind: &str) -> Result<Role, UnknownKind> {
    let (group, _) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    if let Some(kind) = kubernetes(group, kind) {
        return Ok(Role::Kubernetes(kind));
    }
    if kind == "PodGroup" && POD_GROUPS.contains(&group) {
        return Ok(Role::PodGroup);
    }
    if api_version == API_VERSION {
        return ours(kind).map(Role::Ours).ok_or_else(|| unknown_kind(kind));
    }
    let is_slip = super::suggest::nearest(group, [GROUP]).is_some();
    if group == GROUP || is_slip && ours(kind).is_some() {
        return Err(UnknownKind {
            field: "apiVersion",
            message: format!("there is no API version `{}`", super::printable(api_version, 60)),
            allowed: format!("`{API_VERSION}`"),
            suggestion: Some(format!("did you mean `{API_VERSION}`?")),
        });
    }
    Ok(Role::Ignored)
}

fn ours(kind: &str) -> Option<DocumentKind> {
    DocumentKind::ALL.into_iter().find(|known| known.name() == kind)
}

fn unknown_kind(kind: &str) -> UnknownKind {
    let names = DocumentKind::ALL.map(DocumentKind::name);
    UnknownKind {
        field: "kind",
        message: format!("there is no kind `{}` in {API_VERSION}", super::printable(kind, 60)),
        allowed: super::read::words_in_words(&names),
        suggestion: super::suggest::nearest(kind, names).map(|name| format!("did you mean `{name}`?")),
    }
}

/// The Kubernetes kinds that are read, by group: `v1` and its kin differ in nothing that we look at.
fn kubernetes(group: &str, kind: &str) -> Option<ObjectKind> {
    match (group, kind) {
        ("", "Node") => Some(ObjectKind::Node),
        ("", "Pod") => Some(ObjectKind::Pod),
        ("", "PersistentVolume") => Some(ObjectKind::PersistentVolume),
        ("", "PersistentVolumeClaim") => Some(ObjectKind::PersistentVolumeClaim),
        ("policy", "PodDisruptionBudget") => Some(ObjectKind::PodDisruptionBudget),
        ("apps", "DaemonSet") => Some(ObjectKind::DaemonSet),
        ("scheduling.k8s.io", "PriorityClass") => Some(ObjectKind::PriorityClass),
        ("storage.k8s.io", "StorageClass") => Some(ObjectKind::StorageClass),
        ("", "PodTemplate") => Some(ObjectKind::PodTemplate),
        ("autoscaling.x-k8s.io", "CapacityBuffer") => Some(ObjectKind::CapacityBuffer),
        ("autoscaling.x-k8s.io", "ProvisioningRequest") => Some(ObjectKind::ProvisioningRequest),
        _ => None,
    }
}
