//! Actions: planned changes, each to one identity, each with its precondition and its reason.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Reason;
use crate::kube::Name;
use crate::policy::ObjectReference;

/// One planned change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Action {
    /// Its name within the plan.
    pub id: ActionId,
    /// What is done.
    pub kind: ActionKind,
    /// To whom.
    pub target: Target,
    /// The state it is thought to be in.
    pub from: Name,
    /// The state it shall be in.
    pub to: Name,
    /// What must still hold when it is done.
    pub precondition: Precondition,
    /// Actions of the same plan that must be done before.
    #[serde(default)]
    pub after: Vec<ActionId>,
    /// The gang it is for, as `namespace/name`: all actions for a gang are begun or none. Empty for no gang.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub gang: Name,
    /// Why.
    pub reason: Reason,
}

/// The name of an action within its plan: `a1`, `a2`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionId(pub u32);

/// What an action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ActionKind {
    /// A stopped instance is started.
    StartInstance,
    /// An instance is made.
    CreateInstance,
    /// A node is cordoned and drained, its instance stopped or deleted.
    StopInstance,
    /// An instance that never became a node is let go.
    ReleaseInstance,
    /// A node takes no new pods, so that it runs empty.
    CordonNode,
    /// A node that we cordoned takes pods again.
    UncordonNode,
    /// An elastic job gets another number of workers.
    ResizeJob,
    /// A scale subresource gets another number of replicas.
    SetReplicas,
    /// A Ray worker group gets another number of workers.
    ResizeRayGroup,
    /// A Ray worker is drained and leaves, by name.
    RemoveRayWorker,
    /// A Spark worker is made.
    CreateSparkWorker,
    /// A Spark worker is fenced and removed.
    RemoveSparkWorker,
}

/// Whom an action is done to: an identity, never a number to be picked from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// What kind of thing it is.
    pub kind: TargetKind,
    /// Namespace; empty where it has none.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub namespace: Name,
    /// Name; that of its pod for a worker. For an instance or a worker to be made: the name it will have.
    pub name: Name,
    /// The object that holds its size: the job, what is scaled, the RayCluster, the SparkPool. Nodes and instances have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Arc<ObjectReference>>,
    /// Identity in Kubernetes: of the node, of a worker's pod, else of the object.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub uid: Name,
    /// Identity at the provider.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub provider_id: Name,
    /// Identity of a worker by the word of its system: the node id at the Ray GCS, the worker id at the Spark master.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub worker_id: Name,
    /// The pool it belongs to; for a Ray worker its group.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub pool: Name,
    /// Zone, for an instance to be made.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub zone: Name,
}

/// What kind of thing an action is done to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TargetKind {
    /// A virtual machine.
    #[default]
    Instance,
    /// A node.
    Node,
    /// A job.
    Job,
    /// Anything with a scale subresource.
    Scale,
    /// A worker group of a RayCluster.
    RayGroup,
    /// A worker of a RayCluster.
    RayWorker,
    /// A Spark worker.
    SparkWorker,
}

/// What must still hold when an action is done; checked by a live read. The version of a node is no part of it, since it changes
/// with every heartbeat. Nor is the state of an instance: to start what runs and to stop what is off is done already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Precondition {
    /// The object is still this one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub uid: Name,
    /// The object is still of this version: whoever wrote it meanwhile may have had a reason.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub resource_version: Name,
    /// The size is still this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// The GCS or master is still the one that was asked: Ray's session, the incarnation of a Spark master.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub session: Name,
    /// The worker's containers have been started anew so often and no more: one that was restarted is another worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u32>,
    /// Only these pods (by identity) may be displaced; any other found there, unless it is waited for, stops the removal. Where a
    /// foreign controller picks who goes: all that it could pick.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub displaces: Vec<Name>,
    /// These pods (by identity) run to their end before the node goes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<Name>,
    /// The idempotency token of a launch.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub token: Name,
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{}", self.0)
    }
}

impl Serialize for ActionId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ActionId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.strip_prefix('a').and_then(|n| n.parse().ok());
        number
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not an action id such as `a1`")))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ActionId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ActionId".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": "^a[0-9]+$"})
    }
    fn inline_schema() -> bool {
        true
    }
}
