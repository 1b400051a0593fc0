//! Approvals: the plan that a person said yes to is judged, once for each approval.

use std::collections::BTreeMap;

use ballast_core::engine::Judgement;
use ballast_core::memory::{Approval, ApprovalState};
use ballast_core::publish::{DocumentRef, PublishedPlan};

use super::{Listener, Runner};
use crate::kubernetes::SeenDocument;

impl<L: Listener> Runner<L> {
    /// Judges the plan that a person approved, and looks again soon where that has to wait: not everything is seen that the plan
    /// depends on, or it is not stored yet that it was begun.
    pub(super) async fn heed_approval(&mut self) {
        let Some(plan) = approved(&self.documents.borrow_and_update()) else { return };
        if !self.speaks() {
            return;
        }
        match self.engine.judgement(self.clock.now(), &plan) {
            Judgement::Settled => return,
            Judgement::Waits | Judgement::Unstored => {}
            Judgement::Open => {
                let lacks = self.kubernetes.lacks(&plan).await;
                // What came of it is told when it is sure.
                let _ = self.engine.approve(self.clock.now(), &plan, &lacks);
                self.observe_nothing();
            }
        }
        self.unsaid = true;
    }
}

/// The plan that stands and that a person approved. An approval of one that stood at another time is none.
fn approved(documents: &BTreeMap<DocumentRef, SeenDocument>) -> Option<PublishedPlan> {
    documents.values().find_map(|document| {
        let plan = document.status.plan.as_ref()?;
        plan.is_approved_by(document.approved.as_deref()).then(|| plan.clone())
    })
}

/// Tells in the log what became of an approval.
pub(super) fn log(approval: &Approval) {
    let Approval { plan, actions, message, state, .. } = approval;
    match state {
        ApprovalState::Refused => tracing::warn!(%plan, why = message, "approved, and refused"),
        ApprovalState::UnderWay | ApprovalState::Done => {
            tracing::info!(%plan, actions, "approved: it is carried out")
        }
    }
}
