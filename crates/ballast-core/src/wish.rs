//! Wishes: what each workload asks for. A wish is a value; only the grant decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::policy::ObjectReference;
use crate::units::Quantity;

/// What a workload asks for: so many units of a shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wish {
    /// Which scaler wishes.
    pub scaler: Scaler,
    /// Namespace of the workload.
    pub namespace: Name,
    /// Name of the workload; for a group of Ray workers `cluster/group`.
    pub workload: Name,
    /// The object that it is, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Arc<ObjectReference>>,
    /// What one unit asks for.
    pub requests: Arc<BTreeMap<Name, Quantity>>,
    /// Units it has now (running or bound).
    pub have: u32,
    /// Units it needs at the least; a gang gets all of them or none.
    pub floor: u32,
    /// Units it wants.
    pub want: u32,
    /// Units it can use when there is surplus.
    pub at_most: u32,
    /// Higher goes first.
    pub priority: i32,
    /// Whether the floor is all or nothing.
    pub gang: bool,
    /// Whether units above the floor may be taken back for a higher wish.
    pub yields: bool,
    /// Pending pods that *are* units of this wish, so that they are not counted a second time.
    pub pending: u32,
}

/// The scalers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Scaler {
    /// Virtual machines, for pending pods, minimum sizes and headroom.
    Nodes,
    /// Elastic training jobs.
    Jobs,
    /// Replicas by metrics.
    Metrics,
    /// Ray clusters.
    Ray,
    /// Spark worker pools.
    Spark,
}

/// The wish of an elastic workload: it needs its floor, can use more, and gives back what others need more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElasticWish {
    /// Which scaler wishes.
    pub scaler: Scaler,
    /// Namespace of the workload.
    pub namespace: Name,
    /// Name of the workload.
    pub workload: Name,
    /// Number of the class of its pods in the snapshot.
    pub class: u32,
    /// Units it keeps whatever others need.
    pub floor: u32,
    /// Units it can use when there is surplus.
    pub at_most: u32,
    /// Higher is served first with what is left.
    pub priority: i32,
}
