//! Memory: what must be known from one plan to the next, as a value in two parts.
//!
//! The *ledger* is written before the action that depends on it. The *history* may be lost: that only delays a removal.

mod approval;
mod history;
mod ledger;
mod workers;
mod workloads;

pub use approval::{Approval, ApprovalState};
pub use history::{Boots, GangHold, History, StoredHistory};
pub(crate) use ledger::AHEAD_LONGEST;
pub use ledger::{Addition, BackOff, BackOffKey, Launch, LaunchKind, Ledger, LedgerError, Removal};
pub use workers::{Resize, WorkerLaunch, WorkerRemoval};
pub use workloads::{
    BandHistory, JobHistory, MetricHistory, RayHistory, Recommendation, ScaleEvent, SparkHistory,
};

use serde::{Deserialize, Serialize};

/// What must be known from one plan to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Version of this form.
    pub version: u32,
    /// What must not be lost.
    pub ledger: Ledger,
    /// What may be lost.
    pub history: History,
}

impl Memory {
    /// The version of this form.
    pub const VERSION: u32 = 1;
}
