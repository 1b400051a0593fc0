//! What an engine says of the documents that it knows.

use crate::plan::{HoldReason, Plan};
use crate::publish::{Parts, Published, publish};
use crate::units::Time;

use super::Engine;

impl Engine {
    /// What is so now of each document. Nothing in it changes by the mere passing of time.
    pub fn published(&mut self, now: Time) -> Published {
        let view = self.view(now);
        let is_refused =
            |plan: &Plan| plan.report.holds.iter().any(|hold| hold.reason == HoldReason::PlanRefused);
        let is_refused = self.last.as_deref().is_some_and(is_refused);
        publish(&Parts {
            now,
            view: &view,
            snapshot: &self.store.snapshot(),
            ledger: &self.executor.memory.ledger,
            plan: self.last.as_deref(),
            asked: self.scratch.asked(),
            acts: self.acts() && !is_refused,
            policy: self.store.policy_name(),
            begun: &self.executor.begun,
            unstored: self.executor.unstored(),
        })
    }
}
