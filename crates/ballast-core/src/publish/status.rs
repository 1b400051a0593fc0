//! The status of a document as it stands in the API, and what it becomes by what is said now.

use serde::{Deserialize, Serialize};

use super::{ConditionReason, ConditionStatus, ConditionType, PublishedPlan, Said, Urgency};
use crate::kube::Name;
use crate::memory::Approval;
use crate::plan::{ActionKind, DecisionId};
use crate::policy::Mode;
use crate::units::Time;

/// What Ballast says of a document; written by Ballast alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DocumentStatus {
    /// The generation of the document that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How far Ballast goes with it: the lower of the policy's mode and its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Machines that are up, or on their way up or down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<u32>,
    /// Machines once everything planned and under way is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<u32>,
    /// The limit that binds now; absent where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<Name>,
    /// Pods that wait for it; of the ClusterPolicy: all that wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<u32>,
    /// What it costs an hour, in the policy's currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_per_hour: Option<Name>,
    /// What was last begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_action: Option<LastAction>,
    /// One of each type.
    pub conditions: Vec<Condition>,
    /// The plan; of the ClusterPolicy alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PublishedPlan>,
    /// What has become of the plans that a person approved: all that are under way, and the last few that are over; of the
    /// ClusterPolicy alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// What namespaces keep from being removed by annotations of their pods: those that keep most; of the ClusterPolicy alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<TenantStatus>,
}

/// What a namespace keeps from being removed by annotations of its pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TenantStatus {
    /// The namespace.
    pub namespace: Name,
    /// Nodes with pods that are annotated so.
    pub protected_nodes: u32,
    /// On how many nodes that is heeded at most; absent: on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<u32>,
}

/// Something that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastAction {
    /// The decision, as it is named in logs, events and records.
    pub decision: DecisionId,
    /// What is done.
    pub kind: ActionKind,
    /// To whom, by name.
    pub target: Name,
    /// When it was begun.
    pub at: Time,
}

/// A condition as everywhere in Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Condition {
    /// What it is about: `Ready`, `Active`, `Limited`, `Paused`, `Degraded` or `Conflicted`.
    #[serde(rename = "type")]
    pub kind: Name,
    /// Whether it is so.
    pub status: ConditionStatus,
    /// Why, by a code.
    pub reason: Name,
    /// Why, in words.
    pub message: String,
    /// The generation of the document that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Since when its status is this one.
    pub last_transition_time: Time,
}

/// What is wrong with a document as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What, with the path of the field.
    pub problem: String,
    /// Whether its last good form holds meanwhile.
    pub holds: bool,
}

impl Said {
    /// What is said of a document of which nothing is known but what is wrong with it.
    pub fn passed_over(fault: &Fault) -> Self {
        Self::idle(ConditionReason::Invalid { problem: fault.problem.clone(), holds: fault.holds })
    }

    /// What is said of a document of a kind that this release does not act on.
    pub fn not_in_this_release() -> Self {
        Self::idle(ConditionReason::NotInThisRelease)
    }

    /// What is said of a document by which nothing is done, and why it is not ready.
    fn idle(why: ConditionReason) -> Self {
        let conditions = vec![
            why,
            ConditionReason::AtRest,
            ConditionReason::WithinLimits,
            ConditionReason::NotPaused,
            ConditionReason::AllWell,
            ConditionReason::Alone,
        ];
        Self {
            mode: Mode::Observe,
            current: None,
            desired: None,
            limited_by: None,
            pending: None,
            cost_per_hour: None,
            last_action: None,
            conditions,
            plan: None,
            approvals: Vec::new(),
            tenants: Vec::new(),
        }
    }

    /// The same of a document whose present form cannot be used.
    #[must_use]
    pub fn with_fault(mut self, fault: &Fault) -> Self {
        let invalid = ConditionReason::Invalid { problem: fault.problem.clone(), holds: fault.holds };
        for condition in self.conditions.iter_mut().filter(|own| own.kind() == ConditionType::Ready) {
            *condition = invalid.clone();
        }
        self
    }
}

impl DocumentStatus {
    /// The status that stands in the API, as far as it can be read: what another release wrote is no reason to say nothing.
    pub fn read(value: serde_json::Value) -> Self {
        let mut status: Self = serde_json::from_value(value).unwrap_or_default();
        let place = |kind: &str| ConditionType::ALL.iter().position(|own| own.name() == kind);
        status.conditions.retain(|condition| place(&condition.kind).is_some());
        status.conditions.sort_by_key(|condition| place(&condition.kind));
        status
    }

    /// What it becomes by what is said now of a generation of its document, on which a person may have `approved` a plan. A
    /// condition keeps its time while its status is the same, and the time is taken from here: whoever led before may have
    /// written it.
    #[must_use]
    pub fn merge(&self, said: &Said, generation: i64, approved: Option<&str>, now: Time) -> Self {
        let now = whole_second(now);
        let condition = |reason: &ConditionReason| {
            let (kind, status) = (reason.kind().name(), reason.status());
            let before = self.conditions.iter().find(|before| &*before.kind == kind);
            let since = before.filter(|before| before.status == status);
            Condition {
                kind: kind.into(),
                status,
                reason: reason.code(),
                message: reason.to_string(),
                observed_generation: Some(generation),
                last_transition_time: since.map_or(now, |since| since.last_transition_time),
            }
        };
        Self {
            observed_generation: Some(generation),
            mode: Some(said.mode),
            current: said.current,
            desired: said.desired,
            limited_by: said.limited_by.clone(),
            pending: said.pending,
            cost_per_hour: said.cost_per_hour.clone(),
            last_action: said.last_action.clone().or_else(|| self.last_action.clone()),
            conditions: said.conditions.iter().map(condition).collect(),
            plan: said
                .plan
                .as_ref()
                .map(|plan| plan.merge(self.plan.as_ref(), approved, &said.approvals, now)),
            approvals: said.approvals.clone(),
            tenants: said.tenants.clone(),
        }
    }

    /// How urgent it is that this one takes the place of another; `None` where both say the same.
    pub fn urgency(&self, after: &Self) -> Option<Urgency> {
        // In `Enforce` nobody waits to read the plan.
        let proposal = |status: &Self| match (&status.plan, status.mode) {
            (Some(plan), Some(Mode::Recommend)) => Some((plan.id, plan.state, plan.valid_until)),
            _ => None,
        };
        let meaning = |status: &Self| {
            let conditions = ConditionType::ALL.map(|kind| status.condition(kind));
            (conditions, status.mode, status.observed_generation, proposal(status), status.approvals.clone())
        };
        match self == after {
            true => None,
            false if meaning(self) == meaning(after) => Some(Urgency::Numbers),
            false => Some(Urgency::Meaning),
        }
    }

    /// The status of a condition.
    pub fn condition(&self, kind: ConditionType) -> Option<ConditionStatus> {
        self.conditions.iter().find(|own| &*own.kind == kind.name()).map(|own| own.status)
    }
}

/// Times that people read have no fraction.
pub(super) fn whole_second(time: Time) -> Time {
    Time::from_secs(time.as_millis().div_euclid(1000))
}
