//! Stamps: whether something is still what it was.

use std::sync::Arc;

/// Stands for the content of something at one time: equal to its copies and to nothing else. Who keeps a copy can tell later,
/// whatever snapshot or store it is shown, whether that content is still the same.
#[derive(Clone, Debug, Default)]
pub struct Stamp(Arc<()>);

impl Stamp {
    /// The content changes: copies of the old stamp are no longer equal.
    pub(super) fn renew(&mut self) {
        if self.is_kept() {
            self.0 = Arc::new(());
        }
    }

    /// Whether anyone keeps a copy, so that a change has to be told.
    pub(super) fn is_kept(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
