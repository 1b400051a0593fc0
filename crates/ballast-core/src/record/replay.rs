//! Replay: what went into an engine goes into a fresh one, and what comes out is compared, byte for byte.

use std::io::BufRead;

use crate::engine::Engine;
use crate::memory::LedgerError;
use crate::units::Time;

use super::{Body, Entry, RECORD_VERSION};

/// Bytes of one line: a list of 100,000 pods has about 100 MB.
const LINE_BYTES_MAX: u64 = 1 << 30;
/// Differences that are told; after the first the rest mostly follow from it.
const DIFFERENCES_MAX: usize = 100;

/// What a replay came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a replay is made for its differences"]
pub struct Replay {
    /// Entries that were read.
    pub entries: u64,
    /// Plans that were made again.
    pub plans: u64,
    /// What came out otherwise, the first hundred.
    pub differences: Vec<Difference>,
    /// Whether the last line was cut off while it was written, and was left out.
    pub is_cut: bool,
}

/// Something that came out otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the entry in the record.
    pub seq: u64,
    /// When.
    pub at: Time,
    /// What the record says, as one line of JSON; empty where it says nothing.
    pub recorded: String,
    /// What came out now; empty where nothing did.
    pub replayed: String,
}

/// Why a record cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The record cannot be read.
    #[error("the record cannot be read")]
    Read(#[source] std::io::Error),
    /// A line is not an entry.
    #[error("line {line} is not an entry of a record")]
    Entry {
        /// Which.
        line: u64,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
    /// There is nothing in it.
    #[error("there is no entry in it")]
    Empty,
    /// It begins in the middle.
    #[error("the record does not begin with the start of an engine: only a whole record can be replayed")]
    NoStart,
    /// Lines are missing.
    #[error("line {line} is entry {found} where {expected} follows: only a whole record can be replayed")]
    Gap {
        /// Where.
        line: u64,
        /// The number of the entry.
        found: u64,
        /// The number that should stand there.
        expected: u64,
    },
    /// Entries were dropped by whoever recorded them.
    #[error("{entries} entries before line {line} were lost: only a whole record can be replayed")]
    Lost {
        /// Where.
        line: u64,
        /// How many.
        entries: u64,
    },
    /// It was written by another version.
    #[error("the record has version {found}, this program reads version {RECORD_VERSION}")]
    Version {
        /// Its version.
        found: u32,
    },
    /// The ledger in it cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Replays a record.
pub fn replay(reader: impl BufRead) -> Result<Replay, ReplayError> {
    let mut replay = Replay::default();
    let mut engine: Option<Engine> = None;
    // What came out since the last input and has not been compared yet, the newest first.
    let mut expected: Vec<Entry> = Vec::new();
    let mut lines = Lines::new(reader);
    while let Some((text, entry)) = lines.next_entry()? {
        replay.entries += 1;
        if let Some(mut fresh) = started(&entry, lines.line())? {
            replay.rest(&mut expected);
            fresh.record(usize::MAX);
            expected = take(&mut fresh);
            engine = Some(fresh);
        }
        let engine = engine.as_mut().ok_or(ReplayError::NoStart)?;
        if is_input(&entry) {
            replay.rest(&mut expected);
            replay.plans += u64::from(feed(engine, &entry)?);
            expected = take(engine);
        }
        replay.compare(&mut expected, &text, &entry);
    }
    replay.is_cut = lines.is_cut;
    // Of a record that was cut off nobody knows what else would stand in it.
    if !replay.is_cut {
        replay.rest(&mut expected);
    }
    Ok(replay)
}

/// The engine that an entry starts, if it starts one; an error where the record is not whole or not ours to read.
pub(super) fn started(entry: &Entry, line: u64) -> Result<Option<Engine>, ReplayError> {
    match &entry.body {
        Body::Lost { entries } => Err(ReplayError::Lost { line, entries: *entries }),
        Body::Started { version, .. } if *version != RECORD_VERSION => {
            Err(ReplayError::Version { found: *version })
        }
        Body::Started { ledger, history, follows, .. } => {
            let engine = if *follows { Engine::following() } else { Engine::new(ledger.as_deref())? };
            Ok(Some(engine.with_history(history.as_deref())))
        }
        _ => Ok(None),
    }
}

/// Whether an entry is what an engine was given; all others are what came out.
fn is_input(entry: &Entry) -> bool {
    use Body::{Approved, Followed, Led, Lost, Noted, Observed, Planned, Requested, Settled, Started};
    match &entry.body {
        Led { .. } | Followed | Approved { .. } | Observed { .. } | Settled { .. } => true,
        Started { .. } | Planned { .. } | Requested { .. } | Noted { .. } | Lost { .. } => false,
    }
}

/// Gives an engine the input of an entry; says whether it planned.
pub(super) fn feed(engine: &mut Engine, entry: &Entry) -> Result<bool, LedgerError> {
    let outcome = match &entry.body {
        Body::Led { ledger, history } => {
            engine.lead(entry.at, ledger.as_deref(), history.as_deref())?;
            return Ok(false);
        }
        Body::Followed => {
            engine.follow(entry.at);
            return Ok(false);
        }
        Body::Approved { plan, lacks } => {
            // What came of it is told by what follows.
            let _ = engine.approve(entry.at, plan, lacks);
            return Ok(false);
        }
        Body::Observed { observations } => engine.tick(entry.at, observations.clone()),
        Body::Settled { id, reply } => engine.settle(entry.at, *id, reply.clone()),
        _ => return Ok(false),
    };
    Ok(outcome.plan.is_some())
}

fn take(engine: &mut Engine) -> Vec<Entry> {
    let mut entries = engine.recorder().map(super::Recorder::take).unwrap_or_default();
    entries.reverse();
    entries
}

impl Replay {
    fn compare(&mut self, expected: &mut Vec<Entry>, text: &str, entry: &Entry) {
        let replayed = expected.pop().map(|entry| entry.to_line()).unwrap_or_default();
        if replayed != text && self.differences.len() < DIFFERENCES_MAX {
            let (seq, at, recorded) = (entry.seq, entry.at, text.to_owned());
            self.differences.push(Difference { seq, at, recorded, replayed });
        }
    }

    /// What came out now and does not stand in the record.
    fn rest(&mut self, expected: &mut Vec<Entry>) {
        while let Some(entry) = expected.pop() {
            if self.differences.len() < DIFFERENCES_MAX {
                let (seq, at, replayed) = (entry.seq, entry.at, entry.to_line());
                self.differences.push(Difference { seq, at, recorded: String::new(), replayed });
            }
        }
    }
}

/// The entries of a record, line by line.
pub(super) struct Lines<R> {
    reader: R,
    line: u64,
    /// The number of the last entry.
    seq: u64,
    /// Whether the last line has no end.
    pub(super) is_cut: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, line: 0, seq: 0, is_cut: false }
    }

    /// The line of the last entry.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The next entry with its own text. A last line without an end was cut off while it was written, and is passed over.
    pub(super) fn next_entry(&mut self) -> Result<Option<(String, Entry)>, ReplayError> {
        loop {
            self.line += 1;
            let mut text = String::new();
            let mut limited = std::io::Read::take(&mut self.reader, LINE_BYTES_MAX);
            let read = limited.read_line(&mut text).map_err(ReplayError::Read)?;
            self.is_cut = read > 0 && !text.ends_with('\n');
            if read == 0 || self.is_cut {
                return if self.seq == 0 { Err(ReplayError::Empty) } else { Ok(None) };
            }
            let text = text.trim_end();
            if !text.is_empty() {
                let entry = self.entry(text)?;
                return Ok(Some((text.to_owned(), entry)));
            }
        }
    }

    fn entry(&mut self, text: &str) -> Result<Entry, ReplayError> {
        let line = self.line;
        let entry: Entry =
            serde_json::from_str(text).map_err(|source| ReplayError::Entry { line, source })?;
        let expected = self.seq + 1;
        // Whatever begins an engine, or tells what was lost, counts anew or is refused for itself.
        let is_next = entry.seq == expected || matches!(entry.body, Body::Started { .. } | Body::Lost { .. });
        if !is_next && self.seq > 0 {
            return Err(ReplayError::Gap { line, found: entry.seq, expected });
        }
        self.seq = entry.seq.max(1);
        Ok(entry)
    }
}
