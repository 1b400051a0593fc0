//! Grants: who gets what, and where.
//!
//! All wishes of all scalers are compared in one currency: pods of a shape on nodes. Floors (gangs whole) go first by
//! priority, then pending pods, then wants, then headroom, then the surplus of elastic workloads. Each is placed on what is free, on what is
//! starting, on what is stopped, on what can be made: in this order. What an elastic workload holds above its floor counts as
//! free until its turn comes, so that it gives back exactly what a higher wish needs.

mod bins;
mod domains;
pub(crate) mod elastic;
mod grow;
mod need;
mod new_bin;
mod parts;
mod relations;
mod room;
mod term_index;

pub(crate) use bins::{Bins, Mark, Scratch, Trial};
pub(crate) use grow::{Grown, Refusals, Weighed, grow, pool_misfit};
pub(crate) use need::{Need, Placement, Tier};
pub(crate) use new_bin::NewBin;
pub(crate) use relations::Terms;
pub(crate) use room::{Room, Rooms};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::policy::ObjectReference;
use crate::wish::Scaler;

/// What a workload gets of its wish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grant {
    /// Which scaler wished.
    pub scaler: Scaler,
    /// Namespace of the workload.
    pub namespace: Name,
    /// Name of the workload; for a group of Ray workers `cluster/group`.
    pub workload: Name,
    /// The object that it is, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Arc<ObjectReference>>,
    /// Units it may have in all.
    pub units: u32,
    /// Where the units that are not there yet will be.
    pub places: Vec<Place>,
}

/// Units of a grant in one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// The kind of capacity.
    pub capacity: Capacity,
    /// The pool, where it is one of ours.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub pool: Name,
    /// How many units.
    pub units: u32,
}

/// The kinds of capacity, in the order in which they are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Capacity {
    /// Free on nodes that are ready.
    Free,
    /// On nodes that are starting.
    Starting,
    /// On instances that are stopped.
    Stopped,
    /// On instances that can be made.
    Creatable,
}
