//! What an engine says of the documents that it knows.

use crate::publish::{Parts, Published, publish};
use crate::units::Time;

use super::Engine;

impl Engine {
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
