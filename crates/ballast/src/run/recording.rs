//! The record that `ballast run --record` keeps. Where it cannot be written, that is told, and all else goes on: nothing is decided
//! by a record.

use std::time::{Duration, Instant};

use ballast_core::engine::{Engine, Outcome};
use ballast_core::record::Entry;
use tokio_util::sync::CancellationToken;

use crate::cli::Result;
use crate::segments::{Folder, Keeper};

/// What is to be recorded.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where.
    pub folder: Folder,
    /// The shortest time from one segment to the next. To begin one is to begin anew as after a restart; what would not fit until
    /// then is not kept.
    pub least: Duration,
}

/// Keeps one segment.
pub(super) struct Recording {
    /// None since the segment is full, or something could not be written: what has a gap cannot be replayed.
    keeper: Option<Keeper>,
    /// When the next segment may begin.
    next_at: Instant,
    least: Duration,
    /// Whoever runs begins anew, and the next segment with it.
    over: CancellationToken,
}

impl Recording {
    pub(super) fn begin(record: &Record, over: CancellationToken) -> Result<Self> {
        let Record { folder, least } = record;
        let next_at = Instant::now() + *least;
        Ok(Self { keeper: Some(folder.begin()?), next_at, least: *least, over })
    }

    /// The next segment; where it cannot be begun, none is kept until the one after it.
    pub(super) fn again(record: &Record, over: CancellationToken) -> Self {
        Self::begin(record, over.clone()).unwrap_or_else(|failure| {
            tracing::error!(error = failure.chain(), "no segment of the record can be begun");
            Self { keeper: None, next_at: Instant::now() + record.least, least: record.least, over }
        })
    }

    pub(super) fn keep(&mut self, engine: &Engine, outcome: &Outcome, entries: &[Entry]) {
        let kept = self.keeper.as_mut().map(|keeper| keeper.keep(entries, outcome.plan.is_some()));
        match kept {
            Some(Ok(false)) => return,
            Some(Ok(true)) => {
                tracing::info!("a segment of the record is full");
                self.keeper = None;
            }
            Some(Err(failure)) => {
                tracing::error!(error = failure.chain(), "the record cannot be written: it has a gap");
                self.keeper = None;
            }
            None => {}
        }
        let ledger = &engine.memory().ledger;
        let is_at_rest = ledger.launches.is_empty() && ledger.removals.is_empty();
        // What is under way would go on from what is stored; it is only not disturbed without need.
        let latest = if is_at_rest { self.next_at } else { self.next_at + self.least };
        if latest <= Instant::now() {
            self.over.cancel();
        }
    }
}
