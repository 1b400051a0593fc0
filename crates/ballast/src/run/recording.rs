//! The record that `ballast run --record` keeps. Where it cannot be written, that is told, and all else goes on: nothing is decided
//! by a record. As soon as one can be written again, the next segment begins.

use std::thread::JoinHandle;
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
    record: Record,
    state: State,
    /// When the next segment may begin.
    next_at: Instant,
    /// Whoever runs begins anew, and the next segment with it.
    over: CancellationToken,
}

enum State {
    Keeps(Box<Keeper>),
    /// The segment is full.
    Full,
    /// Something could not be written, and what has a gap cannot be replayed. Nobody begins anew for a segment that would not be
    /// written either: so much room has to be there first.
    Failed(u64),
    /// Whether there is room is being tried; a disk may take long to answer.
    Tries(u64, JoinHandle<Result<()>>),
}

impl Recording {
    pub(super) fn begin(record: &Record, over: CancellationToken) -> Result<Self> {
        let state = State::Keeps(Box::new(record.folder.begin()?));
        Ok(Self { state, next_at: Instant::now() + record.least, record: record.clone(), over })
    }

    /// The next segment; where it cannot be begun, none is kept until one can be.
    pub(super) fn again(record: &Record, over: CancellationToken) -> Self {
        Self::begin(record, over.clone()).unwrap_or_else(|failure| {
            tracing::error!(error = failure.chain(), "no segment of the record can be begun");
            let next_at = Instant::now() + record.least;
            Self { state: State::Failed(0), next_at, record: record.clone(), over }
        })
    }

    pub(super) fn keep(&mut self, engine: &Engine, outcome: &Outcome, entries: &[Entry]) {
        self.write(entries, outcome.plan.is_some());
        let ledger = &engine.memory().ledger;
        self.go_on(ledger.launches.is_empty() && ledger.removals.is_empty(), Instant::now());
    }

    fn write(&mut self, entries: &[Entry], has_planned: bool) {
        let State::Keeps(keeper) = &mut self.state else { return };
        match keeper.keep(entries, has_planned) {
            Ok(false) => {}
            Ok(true) => {
                tracing::info!("a segment of the record is full");
                self.state = State::Full;
            }
            Err(failure) => {
                tracing::error!(error = failure.chain(), "the record cannot be written: it has a gap");
                // As much as was written to it before, and as much again.
                self.state = State::Failed(2 * keeper.written());
            }
        }
    }

    /// Begins anew where it is time to, and worth it.
    fn go_on(&mut self, is_at_rest: bool, now: Instant) {
        // What is under way would go on from what is stored; it is only not disturbed without need.
        let latest = if is_at_rest { self.next_at } else { self.next_at + self.record.least };
        if now < latest {
            return;
        }
        self.state = match std::mem::replace(&mut self.state, State::Full) {
            State::Full => {
                self.over.cancel();
                State::Full
            }
            State::Failed(room) => {
                let folder = self.record.folder.clone();
                State::Tries(room, std::thread::spawn(move || folder.has_room(room)))
            }
            State::Tries(room, tries) if tries.is_finished() => match tries.join() {
                Ok(Ok(())) => {
                    self.over.cancel();
                    State::Full
                }
                // It was told when it began.
                _ => {
                    self.next_at = now + self.record.least;
                    State::Failed(room)
                }
            },
            state => state,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes on at an instant until what is tried is known.
    fn go_on(recording: &mut Recording, now: Instant) {
        recording.go_on(true, now);
        while matches!(recording.state, State::Tries(..)) {
            std::thread::yield_now();
            recording.go_on(true, now);
        }
    }

    #[test]
    fn nobody_begins_anew_for_a_record_that_cannot_be_written() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("records");
        std::fs::write(&path, "no folder").expect("it can be written");
        let least = Duration::from_secs(600);
        let record = Record { folder: Folder { path: path.clone(), size: 1, keep: 2 }, least };
        let over = CancellationToken::new();
        assert!(Recording::begin(&record, over.clone()).is_err(), "what never worked is an error");
        let mut recording = Recording::again(&record, over.clone());
        let start = Instant::now();
        for turn in 1..4 {
            go_on(&mut recording, start + turn * 2 * least);
            assert!(!over.is_cancelled(), "the lease is given back for nothing, turn {turn}");
        }
        std::fs::remove_file(&path).expect("it can be mended");
        go_on(&mut recording, start + 6 * least + least / 2);
        assert!(!over.is_cancelled(), "it was tried a moment ago");
        go_on(&mut recording, start + 8 * least);
        assert!(over.is_cancelled(), "there is room again");
    }

    #[test]
    fn a_full_segment_waits_for_its_time_and_for_what_is_under_way() {
        let place = tempfile::tempdir().expect("a folder");
        let least = Duration::from_secs(600);
        let record = Record { folder: Folder { path: place.path().to_owned(), size: 1, keep: 2 }, least };
        let over = CancellationToken::new();
        let mut recording = Recording::begin(&record, over.clone()).expect("it can be begun");
        let start = recording.next_at;
        go_on(&mut recording, start + 9 * least);
        assert!(!over.is_cancelled(), "it is not full");
        recording.state = State::Full;
        recording.go_on(true, start - least / 2);
        recording.go_on(false, start);
        assert!(!over.is_cancelled());
        recording.go_on(true, start);
        assert!(over.is_cancelled());
    }
}
