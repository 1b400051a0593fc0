//! Approvals in the ledger: which published plans a person said yes to, and what has become of them. What the ledger names was
//! heeded, whoever led then; what it does not name is still to be judged.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Ledger;
use crate::plan::{ActionId, DecisionId, PlanId};
use crate::units::Time;

/// Approvals that are kept when nothing of them is under way any more: whoever waits for theirs, ten minutes at most, finds it though
/// others approve meanwhile, and all of them are a small part of the ledger and of the status.
const KEPT: usize = 20;

/// A plan that a person approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Approval {
    /// The plan.
    pub plan: PlanId,
    /// Since when it stood. The same plan may be approved again when it comes again.
    pub made_at: Time,
    /// What has become of it.
    pub state: ApprovalState,
    /// How many actions it has.
    pub actions: u32,
    /// Those of them that came to nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<ActionId>,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What has become of an approved plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ApprovalState {
    /// It is being carried out.
    UnderWay,
    /// Nothing of it is under way any more.
    Done,
    /// Nothing of it was done.
    Refused,
}

impl Ledger {
    /// What has become of the approval of a plan that stood since then.
    pub fn approval(&self, plan: PlanId, made_at: Time) -> Option<&Approval> {
        self.approvals.iter().find(|own| (own.plan, own.made_at) == (plan, made_at))
    }

    /// Notes an approval that was judged.
    pub fn note_approval(&mut self, approval: Approval) {
        self.approvals.retain(|own| (own.plan, own.made_at) != (approval.plan, approval.made_at));
        self.approvals.push(approval);
        self.keep_few();
    }

    /// Whether what is under way with a node was approved by a person.
    pub fn is_approved(&self, name: &str) -> bool {
        let under_way = |decision: DecisionId| {
            self.approvals.iter().any(|own| own.plan == decision.plan && own.state == ApprovalState::UnderWay)
        };
        self.decision_of(name).is_some_and(under_way)
    }

    /// An action came to nothing: whoever approved it is told.
    pub fn note_failed(&mut self, decision: DecisionId) {
        let of_it = |own: &&mut Approval| own.plan == decision.plan && own.state == ApprovalState::UnderWay;
        for approval in self.approvals.iter_mut().filter(of_it) {
            if !approval.failed.contains(&decision.action) {
                approval.failed.push(decision.action);
            }
        }
    }

    /// Approvals of which nothing is under way any more are done. Whether there were any.
    pub fn end_approvals(&mut self) -> bool {
        let launches = self.launches.values().filter_map(|launch| launch.decision);
        let removals = self.removals.values().filter_map(|removal| removal.decision);
        let alive: BTreeSet<PlanId> = launches.chain(removals).map(|decision| decision.plan).collect();
        let is_over =
            |own: &&mut Approval| own.state == ApprovalState::UnderWay && !alive.contains(&own.plan);
        let mut ended = false;
        for approval in self.approvals.iter_mut().filter(is_over) {
            approval.state = ApprovalState::Done;
            ended = true;
        }
        self.keep_few();
        ended
    }

    /// Lets the oldest go of those that are over.
    fn keep_few(&mut self) {
        let is_over = |own: &Approval| own.state != ApprovalState::UnderWay;
        let mut beyond = self.approvals.iter().filter(|own| is_over(own)).count().saturating_sub(KEPT);
        self.approvals.retain(|own| {
            let goes = is_over(own) && beyond > 0;
            beyond -= usize::from(goes);
            !goes
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_few_that_are_over_are_kept_and_all_that_are_under_way() {
        let mut ledger = Ledger::default();
        let approval = |at: i64, state| Approval {
            plan: PlanId::default(),
            made_at: Time::from_secs(at),
            state,
            actions: 1,
            failed: Vec::new(),
            message: String::new(),
        };
        ledger.note_approval(approval(0, ApprovalState::UnderWay));
        let many = KEPT as i64;
        for at in 1..=many + 3 {
            ledger.note_approval(approval(at, ApprovalState::Refused));
        }
        let kept = |ledger: &Ledger| {
            ledger.approvals.iter().map(|own| own.made_at.as_millis() / 1000).collect::<Vec<_>>()
        };
        let last: Vec<i64> = (4..=many + 3).collect();
        assert_eq!(kept(&ledger), [&[0], &last[..]].concat());
        // Nothing in the ledger is of it: it is over, and the oldest.
        assert!(ledger.end_approvals() && !ledger.end_approvals());
        assert_eq!(kept(&ledger), last);
    }
}
