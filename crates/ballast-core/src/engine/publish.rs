//! What an engine says of the documents that it knows.

use crate::observation::Source;
use crate::publish::{NEEDED, Parts, Published, PublishedPlan, publish};
use crate::units::Time;

use super::Engine;

impl Engine {
    /// Whether everything is known that a published plan is held against. Who does not see does not refuse.
    pub fn sees(&mut self, now: Time, plan: &PublishedPlan) -> bool {
        if self.executor.writer.is_fenced() {
            return false;
        }
        let snapshot = self.store.snapshot();
        let instances = plan.actions.iter().map(|action| Source::instances(&action.target.pool));
        let mut sources = NEEDED.map(Source::kubernetes).into_iter().chain(instances);
        sources.all(|source| snapshot.trouble(&source, now).is_none())
    }

    /// What is so now of each document. Nothing in it changes by the mere passing of time.
    pub fn published(&mut self, now: Time) -> Published {
        let view = self.view(now);
        publish(&Parts {
            now,
            view: &view,
            snapshot: &self.store.snapshot(),
            ledger: &self.executor.memory.ledger,
            plan: self.last.as_deref(),
            policy: self.store.policy_name(),
            begun: &self.executor.begun,
            unstored: self.executor.unstored(),
        })
    }
}
