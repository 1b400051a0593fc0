//! The writer of the history: now and then, and nothing waits for it.

use crate::memory::{History, StoredHistory};
use crate::procedure::Reply;
use crate::units::{Span, Time};

/// The shortest time between two writes: what is lost by a crash delays removals by no more than this.
const APART: Span = Span::from_mins(1);
/// Bytes of a stored history: it is one object, and no object of ours is above 64 KiB.
const BYTES_MAX: usize = 60 * 1024;

/// What is known of the stored history.
#[derive(Debug)]
pub(super) struct HistoryWriter {
    /// What another process stored, still on its time line.
    foreign: Option<StoredHistory>,
    /// What is stored, as far as is known and nothing in it ages.
    written: Option<History>,
    /// When it may be written next.
    next_at: Time,
}

impl Default for HistoryWriter {
    fn default() -> Self {
        Self { foreign: None, written: Some(History::default()), next_at: Time::ZERO }
    }
}

impl HistoryWriter {
    /// Takes a stored history; it counts from the first instant that this process knows.
    pub(super) fn restore(&mut self, stored: StoredHistory) {
        self.foreign = Some(stored);
        self.written = None;
    }

    /// The history as it was given, if it was.
    pub(super) fn stored(&self) -> Option<String> {
        self.foreign.as_ref().map(|stored| serde_json::to_string(stored).unwrap_or_default())
    }

    /// An instant has come; the first puts a stored history onto this process' time line.
    pub(super) fn arrive(&mut self, now: Time) -> Option<History> {
        if self.next_at == Time::ZERO {
            self.next_at = now + APART;
        }
        self.foreign.take().map(|stored| stored.rebase(now))
    }

    /// What is to be written now, if anything is.
    pub(super) fn write(&mut self, now: Time, history: &History) -> Option<String> {
        // What another process makes of it depends on how long things had lasted when it was written.
        let ages = history.ages();
        if now < self.next_at || (!ages && self.written.as_ref() == Some(history)) {
            return None;
        }
        self.next_at = now + APART;
        self.written = (!ages).then(|| history.clone());
        Some(StoredHistory::write(history, now, BYTES_MAX))
    }

    /// Takes the reply to a write.
    pub(super) fn settle(&mut self, reply: &Reply) {
        if *reply != Reply::Done {
            self.written = None;
        }
    }
}
