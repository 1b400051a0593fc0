//! The published plan: what would be done, small enough for one object, so that a person can approve exactly it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::memory::Approval;
use crate::plan::{
    Action, ActionCode, ActionId, ActionKind, Input, PlanId, Precondition, Reason, Target, plural,
};
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

/// The plan as it stands in the status of the ClusterPolicy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedPlan {
    /// Names what is decided.
    pub id: PlanId,
    /// Since when it stands.
    pub made_at: Time,
    /// Until when it can be approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Time>,
    /// What becomes of it.
    pub state: PlanState,
    /// Why it is refused, or what of it can never be published.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What is shown of it in a clause.
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
    /// It is being carried out by itself.
    UnderWay,
    /// Nothing of it is under way any more.
    Done,
    /// It was made, and is not carried out.
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
    /// Why it is refused, or what of it can never be published.
    pub message: String,
    /// What is published of it in a clause.
    pub summary: String,
    /// What is published of it.
    pub actions: Vec<PublishedAction>,
    /// How many more it has.
    pub more: u32,
    /// Plans of which something is under way, where they are carried out by themselves.
    pub under_way: BTreeSet<PlanId>,
}

/// What of a plan is published.
pub(crate) struct Shown {
    /// These actions, of which none has to wait for another.
    pub(crate) actions: Vec<Action>,
    /// How many more there are.
    pub(crate) more: u32,
    /// What can never be published, and why.
    pub(crate) too_large: Vec<String>,
}

impl Shown {
    /// A beginning of these actions, cut between gangs. What is too large for any publication is passed over.
    pub(crate) fn of(actions: &[Action]) -> Self {
        let (mut shown, mut too_large, mut bytes) = (Vec::new(), Vec::new(), 0);
        for together in actions.chunk_by(|one, next| !one.gang.is_empty() && one.gang == next.gang) {
            if together.iter().any(|action| !action.after.is_empty()) {
                continue;
            }
            let own: usize = together.iter().map(|action| PublishedAction::of(action).bytes()).sum();
            if let Some(why) = never_fits(together, own) {
                too_large.push(why);
                continue;
            }
            // A gang is not torn: one that is larger than what is shown of others stands alone.
            let is_full = !shown.is_empty() && shown.len() + together.len() > ACTIONS_MAX;
            if is_full || bytes + own > BYTES_MAX {
                break;
            }
            bytes += own;
            shown.extend_from_slice(together);
        }
        let more = (actions.len() - shown.len()) as u32;
        Self { actions: shown, more, too_large }
    }
}

/// Why actions that belong together can never be published, if they cannot.
fn never_fits(together: &[Action], bytes: usize) -> Option<String> {
    let first = together.first()?;
    let wide = together.iter().find(|action| action.precondition.displaces.len() > DISPLACED_MAX);
    if let Some(action) = wide {
        let (name, pods) = (&action.target.name, action.precondition.displaces.len());
        return Some(format!(
            "{name} is passed over: {pods} pods would have to move, and no more than {DISPLACED_MAX} are approved at once"
        ));
    }
    let name = if first.gang.is_empty() { &first.target.name } else { &first.gang };
    let count = plural(together.len() as u32, "action");
    (bytes > BYTES_MAX).then(|| {
        format!("{name} is passed over: its {count} are more than one object holds; `mode: Enforce` carries them out")
    })
}

/// The first few of many words.
pub(crate) fn few(words: &[String]) -> String {
    const FEW: usize = 5;
    let told = words.iter().take(FEW).cloned().collect::<Vec<_>>().join("; ");
    match words.len().saturating_sub(FEW) {
        0 => told,
        more => format!("{told}; and {more} more"),
    }
}

impl PlanSaid {
    /// What is said of a plan. One of which nothing can be published is not proposed: nobody could approve it.
    pub(crate) fn of(shown: Shown, state: PlanState, summary: String) -> Self {
        let Shown { actions, more, too_large } = shown;
        let state = match state {
            PlanState::Proposed if actions.is_empty() => PlanState::Refused,
            state => state,
        };
        Self {
            id: PlanId::of(&actions),
            state,
            message: few(&too_large),
            summary,
            actions: actions.iter().map(PublishedAction::of).collect(),
            more,
            under_way: BTreeSet::new(),
        }
    }

    /// What stands in the status from now on, by what stood there, what a person `approved` of it and what has become of
    /// approvals.
    pub(super) fn merge(
        &self,
        before: Option<&PublishedPlan>,
        approved: Option<&str>,
        approvals: &[Approval],
        now: Time,
    ) -> PublishedPlan {
        let is_answered = |before: &PublishedPlan| {
            approvals.iter().any(|own| (own.plan, own.made_at) == before.publication())
        };
        // An approval is of one publication: the same plan that is still wanted, or wanted again, asks anew.
        let stands = before.filter(|before| !is_answered(before));
        // Nothing takes the place of what a person said yes to before they have an answer. Nor is it renewed: what they looked at
        // is not begun when they look no more.
        let held = stands.filter(|before| before.is_approved_by(approved)).cloned();
        let goes_on = || stands.and_then(|before| self.goes_on(before, now));
        held.or_else(goes_on).unwrap_or_else(|| self.begins(now))
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
        let with = |state: PlanState, valid_until: Option<Time>| {
            let (message, summary) = (self.message.clone(), self.summary.clone());
            Some(PublishedPlan { state, valid_until, message, summary, more: self.more, ..before.clone() })
        };
        if self.under_way.contains(&before.id) {
            return Some(PublishedPlan { state: PlanState::UnderWay, ..before.clone() });
        }
        let is_same = self.id == before.id && self.state == before.state;
        let valid = before.valid_until.filter(|until| now < *until);
        match before.state {
            PlanState::Proposed if is_same && valid.is_some() => {
                with(PlanState::Proposed, valid.filter(|until| now + HALF < *until).or(Some(now + VALID)))
            }
            PlanState::Empty | PlanState::Refused if is_same => with(before.state, None),
            PlanState::UnderWay if is_same => Some(before.clone()),
            // It is over: that stands there until there is something else to do.
            PlanState::UnderWay | PlanState::Done if self.state == PlanState::Empty => {
                Some(PublishedPlan { state: PlanState::Done, ..before.clone() })
            }
            _ => None,
        }
    }
}

impl PublishedPlan {
    /// Names this publication of it.
    pub(crate) fn publication(&self) -> (PlanId, Time) {
        (self.id, self.made_at)
    }

    /// What a person writes to approve it: this publication, and no other that has the same actions.
    pub fn approval(&self) -> String {
        format!("{}@{}", self.id, self.made_at)
    }

    /// Whether it waits for an approval, and that is what a person wrote.
    pub fn is_approved_by(&self, written: Option<&str>) -> bool {
        self.state == PlanState::Proposed && written == Some(&*self.approval())
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
