//! The published plan: what would be done, small enough for one object, so that a person can approve exactly it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::plan::{Action, ActionCode, ActionId, ActionKind, Input, PlanId, Precondition, Reason, Target};
use crate::units::{Span, Time};

/// Actions that are published at most: more than that nobody reads before saying yes.
const ACTIONS_MAX: usize = 50;
/// Bytes of them as JSON: half of what an object of ours may be.
const BYTES_MAX: usize = 32 * 1024;
/// Pods that an action may displace and be published: who approves must be able to look at them.
const DISPLACED_MAX: usize = 100;
/// How long a plan can be approved after it was last seen to stand. While it does, that is renewed at half of it: two writes in
/// ten minutes, and no approval of what nobody looked at for longer.
const VALID: Span = Span::from_mins(10);
const HALF: Span = Span::from_mins(5);
/// How long it is told at least that a plan is done or was refused: whoever approved it looks at it once a second or so.
const TOLD: Span = Span::from_secs(30);

/// The plan as it stands in the status of the ClusterPolicy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedPlan {
    /// Names what is decided.
    pub id: PlanId,
    /// Since when it stands.
    pub made_at: Time,
    /// Until when it can be approved; of one that is done or was refused, until when that is told at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Time>,
    /// What becomes of it.
    pub state: PlanState,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// In a clause.
    pub summary: String,
    /// What is done, in this order; only this is carried out by an approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<PublishedAction>,
    /// How many more the plan has that are not told here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

/// What becomes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PlanState {
    /// There is nothing to do.
    Empty,
    /// It waits for an approval.
    Proposed,
    /// It is being carried out.
    UnderWay,
    /// Nothing of it is under way any more.
    Done,
    /// It was approved, or made, and is not carried out.
    Refused,
}

/// An action, without what its reason was reckoned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedAction {
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
    #[serde(default)]
    pub precondition: Precondition,
    /// The gang it is for; empty for none.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub gang: Name,
    /// The rule.
    pub code: ActionCode,
    /// The rule in words, with its numbers.
    pub message: String,
}

/// A plan as it stands now, without any time.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanSaid {
    /// Names what is published of it.
    pub id: PlanId,
    /// `Empty`, `Proposed`, `UnderWay` or `Refused`.
    pub state: PlanState,
    /// Why it was refused.
    pub message: String,
    /// In a clause.
    pub summary: String,
    /// What is published of it.
    pub actions: Vec<PublishedAction>,
    /// How many more it has.
    pub more: u32,
    /// Plans of which something is under way.
    pub under_way: BTreeSet<PlanId>,
    /// The plan that was last approved and begun, and since when it stood.
    pub approved: Option<(PlanId, Time)>,
    /// The approved plan that was last refused.
    pub refused: Option<RefusedPlan>,
}

/// An approved plan that is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedPlan {
    /// Its name.
    pub id: PlanId,
    /// Since when it stood.
    pub made_at: Time,
    /// Why.
    pub why: String,
}

impl PlanSaid {
    /// What is published of these actions: a beginning of them, cut between gangs.
    pub(crate) fn of(actions: &[Action], state: PlanState, summary: String) -> Self {
        let mut published: Vec<PublishedAction> = Vec::new();
        let mut bytes = 0;
        for together in actions.chunk_by(|one, next| !one.gang.is_empty() && one.gang == next.gang) {
            let told: Vec<PublishedAction> = together.iter().map(PublishedAction::of).collect();
            bytes += told.iter().map(PublishedAction::bytes).sum::<usize>();
            let displaces_many = told.iter().any(|own| own.precondition.displaces.len() > DISPLACED_MAX);
            let follows = together.iter().any(|action| !action.after.is_empty());
            if displaces_many || follows || bytes > BYTES_MAX || published.len() + told.len() > ACTIONS_MAX {
                break;
            }
            published.extend(told);
        }
        let more = (actions.len() - published.len()) as u32;
        Self {
            id: PlanId::of(&actions[..published.len()]),
            state,
            message: String::new(),
            summary,
            actions: published,
            more,
            under_way: BTreeSet::new(),
            approved: None,
            refused: None,
        }
    }

    /// What stands in the status from now on.
    pub(super) fn merge(&self, before: Option<&PublishedPlan>, now: Time) -> PublishedPlan {
        before.and_then(|before| self.goes_on(before, now)).unwrap_or_else(|| self.begins(now))
    }

    fn begins(&self, now: Time) -> PublishedPlan {
        PublishedPlan {
            id: self.id,
            made_at: now,
            valid_until: (self.state == PlanState::Proposed).then(|| now + VALID),
            state: self.state,
            message: self.message.clone(),
            summary: self.summary.clone(),
            actions: self.actions.clone(),
            more: self.more,
        }
    }

    /// What becomes of the plan that stands, unless another takes its place.
    fn goes_on(&self, before: &PublishedPlan, now: Time) -> Option<PublishedPlan> {
        let becomes = |state: PlanState, message: &str| {
            let message = message.to_owned();
            let valid_until = (state != PlanState::UnderWay).then(|| now + TOLD);
            Some(PublishedPlan { state, message, valid_until, ..before.clone() })
        };
        if self.under_way.contains(&before.id) {
            return becomes(PlanState::UnderWay, "");
        }
        let is_same = self.id == before.id && self.state == before.state;
        let is_valid = before.valid_until.is_some_and(|until| now < until);
        let refused =
            self.refused.as_ref().filter(|own| (own.id, own.made_at) == (before.id, before.made_at));
        match before.state {
            PlanState::UnderWay | PlanState::Empty if is_same => Some(before.clone()),
            PlanState::UnderWay => becomes(PlanState::Done, ""),
            // It was over before anybody could say that it was under way.
            PlanState::Proposed if self.approved == Some((before.id, before.made_at)) => {
                becomes(PlanState::Done, "")
            }
            PlanState::Proposed if refused.is_some() => {
                becomes(PlanState::Refused, refused.map_or("", |refused| &refused.why))
            }
            PlanState::Proposed if is_same && is_valid => {
                let until = before.valid_until.filter(|until| now + HALF < *until);
                let valid_until = until.or(Some(now + VALID));
                Some(PublishedPlan { valid_until, summary: self.summary.clone(), ..before.clone() })
            }
            PlanState::Done | PlanState::Refused if is_same || is_valid || self.state == PlanState::Empty => {
                Some(before.clone())
            }
            _ => None,
        }
    }
}

impl PublishedAction {
    fn of(action: &Action) -> Self {
        let Action { id, kind, target, from, to, precondition, gang, reason, .. } = action.clone();
        Self { id, kind, target, from, to, precondition, gang, code: reason.code, message: reason.message }
    }

    fn bytes(&self) -> usize {
        serde_json::to_vec(self).map_or(0, |json| json.len())
    }

    /// The action, decided from a publication of so long ago.
    pub(crate) fn action(&self, published: &PublishedPlan, now: Time) -> Action {
        let Self { id, kind, target, from, to, precondition, gang, code, message } = self.clone();
        let age_seconds = now.since(published.made_at).as_secs_f64();
        let approved = Input { name: "approved".into(), value: published.id.to_string().into(), age_seconds };
        let reason = Reason { code, message, inputs: vec![approved], limit: None };
        Action { id, kind, target, from, to, precondition, after: Vec::new(), gang, reason }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
