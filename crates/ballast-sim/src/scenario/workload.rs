//! What arrives, by rule.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Arrivals, Distribution, gpu_share};
use ballast_core::kube::{LabelSelector, Labels, Name, PodSpec};
use ballast_core::units::{Quantity, Share, Span};

/// Jobs of one kind: when they come, what their pods ask for, how long they work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workload {
    /// Its name; figures are told by it.
    pub name: Name,
    /// Namespace of its pods. Default `default`.
    #[serde(default = "default_namespace")]
    pub namespace: Name,
    /// Who makes its pods, and makes them anew. Default `Job`.
    #[serde(default)]
    pub owner: Owner,
    /// When its jobs come. Default once, at the start.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// What a pod asks for, by resource name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<Name, Quantity>,
    /// A share of one GPU in thousandths, instead of whole GPUs.
    #[serde(default, deserialize_with = "gpu_share::read", skip_serializing_if = "Option::is_none")]
    pub gpu_milli: Option<u16>,
    /// GPU models that do. Default any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpu_models: Vec<Name>,
    /// Pods of a job. Default 1.
    #[serde(default = "one")]
    pub members: u32,
    /// Nodes on which pods of its first job run from the start, and how many on each: a node by its name, a machine of a pool
    /// by the pool's name and its number, as in `plain-0`. The others wait for the scheduler. Default none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runs_on: BTreeMap<Name, u32>,
    /// Whether the work of a job begins only when all its pods run, and stops while one is missing. Default false.
    #[serde(default)]
    pub gang: bool,
    /// Jobs of different sizes: each draws one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<Size>,
    /// How long a pod (of a gang: the gang) works. Absent: until the scenario ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Distribution>,
    /// Work that is interrupted is lost back to the last whole multiple of this. Default: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Span>,
    /// From being bound to running. Default 5 seconds.
    #[serde(default = "five_seconds")]
    pub start_up: Distribution,
    /// Priority of its pods. Default 0.
    #[serde(default)]
    pub priority: i32,
    /// Labels of its pods.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Annotations of its pods.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub annotations: Labels,
    /// Everything else that the `spec` of a Kubernetes Pod can say, written as there. Read are `nodeSelector`, `affinity`,
    /// `tolerations`, `topologySpreadConstraints`, `volumes` (none that is claimed), `hostNetwork` and the `ports` of containers,
    /// `containers`, `initContainers`, `resources` and `overhead` for what they request, `restartPolicy`, `priorityClassName`, `schedulingGates`,
    /// `schedulerName`, `resourceClaims` and `terminationGracePeriodSeconds`.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub pod_spec: PodSpec,
}

/// Who makes pods, and makes them anew when they are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Owner {
    /// A batch Job: a lost pod is made anew once it is gone.
    #[default]
    Job,
    /// A Deployment's ReplicaSet: a pod that is told to leave is replaced at once.
    ReplicaSet,
    /// A StatefulSet: a pod that left comes again under the same name.
    StatefulSet,
    /// Nobody: a bare pod that is lost stays lost.
    None,
}

/// One size of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Size {
    /// How often it is drawn, in proportion to the others. Default 1.
    #[serde(default = "one")]
    pub weight: u32,
    /// Pods of a job; by default those of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<u32>,
    /// Requests that take the place of the workload's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<Name, Quantity>,
    /// A share of one GPU in thousandths.
    #[serde(default, deserialize_with = "gpu_share::read", skip_serializing_if = "Option::is_none")]
    pub gpu_milli: Option<u16>,
}

/// A daemon set: one pod on every node that it bears.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Daemon {
    /// Its name.
    pub name: Name,
    /// Its namespace. Default `kube-system`.
    #[serde(default = "system_namespace")]
    pub namespace: Name,
    /// What a pod asks for.
    pub requests: BTreeMap<Name, Quantity>,
    /// Labels its nodes must have.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub node_selector: Labels,
}

/// A disruption budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budget {
    /// Its name.
    pub name: Name,
    /// Its namespace. Default `default`.
    #[serde(default = "default_namespace")]
    pub namespace: Name,
    /// The pods it protects.
    pub selector: LabelSelector,
    /// How many must stay up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_available: Option<u32>,
    /// How many may be down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<u32>,
    /// What share may be down, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable_share: Option<Share>,
}

fn default_namespace() -> Name {
    "default".into()
}

fn system_namespace() -> Name {
    "kube-system".into()
}

fn one() -> u32 {
    1
}

fn five_seconds() -> Distribution {
    Distribution::Fixed(Span::from_secs(5))
}

fn is_default(spec: &PodSpec) -> bool {
    *spec == PodSpec::default()
}
