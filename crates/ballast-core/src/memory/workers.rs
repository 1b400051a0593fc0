//! What is under way with what scales within the cluster: sizes that were written, workers that are made, workers that leave.

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::units::Time;

/// A size that was written and is not followed yet: until it is, or its deadline has passed, nothing else is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resize {
    /// Identity of the object.
    pub uid: Name,
    /// The size before.
    pub from: u32,
    /// The size that was written.
    pub to: u32,
    /// When it was decided.
    pub since: Time,
    /// When it counts as not followed.
    pub deadline: Time,
}

/// A worker that is made and has not registered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerLaunch {
    /// The SparkPool, as `namespace/name`.
    pub pool: Name,
    /// The idempotency token.
    pub token: Name,
    /// When it was decided.
    pub since: Time,
    /// When it is given up.
    pub deadline: Time,
}

/// A worker that leaves: the mark that stands before it is drained or fenced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerRemoval {
    /// The SparkPool as `namespace/name`, the group of Ray workers as `namespace/cluster/group`.
    pub pool: Name,
    /// Identity of its pod.
    pub uid: Name,
    /// Identity by the word of the Ray GCS or the Spark master.
    pub worker_id: Name,
    /// The session of the GCS, the incarnation of the master.
    pub session: Name,
    /// How often its containers had been started anew.
    #[serde(default)]
    pub restarts: u32,
    /// The drain or the fence may have been sent: it may take no more work.
    #[serde(default)]
    pub fenced: bool,
    /// When it was decided.
    pub since: Time,
    /// When it is given up, unless it is fenced.
    pub deadline: Time,
}
