//! Changes: on which nodes room, devices or ports have changed of late.

use crate::resources::Resources;

/// More changes than this are not kept: who asks after so many does better to begin anew.
const KEPT: usize = 256;

/// A node on which something changed that placing pods depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeChange {
    /// Its place in the order of names.
    pub rank: usize,
    /// What it had room for before.
    pub before: Resources,
    /// Its devices, the ports taken on it or its state changed too, or may have.
    pub stirred: bool,
}

/// The latest changes, in the order in which they were seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// How many came before the first that is kept.
    dropped: u64,
    kept: Vec<NodeChange>,
}

impl Changes {
    pub(super) fn push(&mut self, change: NodeChange) {
        if self.kept.len() == KEPT {
            self.dropped += KEPT as u64;
            self.kept.clear();
        }
        self.kept.push(change);
    }

    /// How many there were in all.
    pub(crate) fn count(&self) -> u64 {
        self.dropped + self.kept.len() as u64
    }

    /// All that came after the first `count`; `None` where that is not known.
    pub(crate) fn since(&self, count: u64) -> Option<&[NodeChange]> {
        let from = usize::try_from(count.checked_sub(self.dropped)?).ok()?;
        self.kept.get(from..)
    }
}
