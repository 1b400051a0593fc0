//! The plan: an immutable value that leaves no choice for later, and a report of what was not done and why.

mod action;
mod id;
mod reason;
mod refusal;
mod report;
mod shared;
mod trace;
mod trace_words;
mod words;

pub use action::{Action, ActionId, ActionKind, Precondition, Target, TargetKind};
pub use id::{DecisionId, PlanId, PlanIdError};
pub use reason::{ActionCode, HoldReason, Input, Limit, Reason, SourceTrouble, Subject, WaitingOn};
pub use refusal::{Misfit, Offer, PodBlock, SkipReason, UnsafeToRemove};
pub use report::{
    Hold, Infeasible, NodeVerdict, PoolVerdict, PromiseNote, Report, Severity, Skip, Step, Unmodelled,
    Waiting,
};
pub use shared::Shared;
pub use trace::{
    Candidate, Direction, DryRunRule, DryRunStep, FillGroup, FillIn, InquiryStep, JobCandidateStep, JobKey,
    JobOrderStep, JobTargetStep, JobVerdict, MetricStep, MetricTrouble, MetricTroubleCode, PodGroups,
    PolicyStep, RayPackingStep, RayPlace, RayStage, RayWorkerStep, ReplicasStep, ReplicasVerdict,
    SparkCountStep, SparkWorkerStep, WindowStep, WorkerStays,
};
pub use words::Words;
pub(crate) use words::plural;

use serde::{Deserialize, Serialize};

use crate::grant::Grant;
use crate::units::Time;
use crate::wish::Wish;

/// What shall be done, decided at one instant from one snapshot. Applying it makes no further choice.
///
/// Long lists are shared by plans that have them in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// Version of this form.
    pub schema_version: u32,
    /// Names what is decided: the same actions have the same id, whenever the plan is made.
    pub id: PlanId,
    /// The instant it was made for.
    pub now: Time,
    /// What is done, in an order that may be kept from first to last.
    pub actions: Shared<Action>,
    /// What each workload asked for.
    pub wishes: Shared<Wish>,
    /// What each workload gets, and where.
    pub grants: Shared<Grant>,
    /// What is not done, and why.
    pub report: Report,
}

impl Plan {
    /// The version of this form.
    pub const VERSION: u32 = 1;
}
