//! The record: all that went into an engine and all that came out, as append-only entries.
//!
//! One JSON object a line. Logs, events, the console, `why` and replay read only this. The entries that go in (`Started`,
//! `Led`, `Followed`, `Approved`, `Observed`, `Settled`) suffice to make all others again, byte for byte: [`replay`] does that
//! and compares.
//!
//! No secret is recorded: of annotations only those that decisions read, of a provider's settings only the names, of an
//! error's words only a short beginning without what follows a token. A record that is lost changes no decision: nothing in
//! the engine reads it.

mod ending;
mod otherwise;
mod redact;
mod replay;
mod wire;

#[cfg(test)]
mod tests;

pub use ending::{Ending, ending};
pub use otherwise::{Differing, OtherPolicy, Otherwise, otherwise};
pub use replay::{Difference, Replay, ReplayError, replay};

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::RequestId;
use crate::kube::Name;
use crate::observation::Observation;
use crate::plan::{DecisionId, Plan};
use crate::procedure::{Receipt, Reply, Request};
use crate::publish::PublishedPlan;
use crate::units::Time;

/// Version of the form of entries; a reader refuses others.
pub const RECORD_VERSION: u32 = 2;

/// One entry of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// Counts entries, from 1.
    pub seq: u64,
    /// When, on the engine's time line.
    pub at: Time,
    /// What.
    #[serde(flatten)]
    pub body: Body,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Body {
    /// An engine began.
    Started {
        /// Version of the form of entries.
        version: u32,
        /// The ledger that was stored, as JSON.
        ledger: Option<String>,
        /// The history that was stored, as JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        history: Option<String>,
        /// It only follows: another process writes.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        follows: bool,
    },
    /// From now on this process is the one that writes.
    Led {
        /// The ledger that was stored, as JSON.
        ledger: Option<String>,
        /// The history that was stored, as JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        history: Option<String>,
    },
    /// From now on another process is the one that writes.
    Followed,
    /// A person approved a published plan.
    Approved {
        /// The plan.
        plan: Box<PublishedPlan>,
        /// What it takes and the process that carries it out may not do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lacks: Vec<Name>,
    },
    /// The engine was called with these observations.
    Observed {
        /// What sources said.
        #[serde(with = "wire::observations")]
        #[cfg_attr(feature = "schema", schemars(with = "Vec<wire::Line>"))]
        observations: Vec<Observation>,
    },
    /// A plan was made.
    Planned {
        /// The plan.
        plan: Arc<Plan>,
    },
    /// Something was asked for.
    Requested {
        /// Its number.
        id: RequestId,
        /// What.
        request: Request,
        /// The decision that it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<DecisionId>,
    },
    /// A reply came.
    Settled {
        /// To which request.
        id: RequestId,
        /// What it says.
        #[serde(with = "wire::reply")]
        #[cfg_attr(feature = "schema", schemars(with = "Reply"))]
        reply: Reply,
    },
    /// A procedure ended.
    Noted {
        /// The node.
        node: Name,
        /// What came of it.
        receipt: Receipt,
        /// The decision that it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<DecisionId>,
    },
    /// Entries were dropped because nobody took them in time.
    Lost {
        /// How many.
        entries: u64,
    },
}

/// Keeps entries until they are taken.
#[derive(Debug)]
pub struct Recorder {
    entries: VecDeque<Entry>,
    capacity: usize,
    made: u64,
    lost: u64,
}

impl Recorder {
    /// A recorder that keeps at most so many entries.
    pub fn new(capacity: usize) -> Self {
        Self { entries: VecDeque::new(), capacity: capacity.max(1), made: 0, lost: 0 }
    }

    /// An engine began, with the ledger and the history that were stored.
    pub fn started(&mut self, ledger: Option<String>, history: Option<String>, follows: bool) {
        self.push(Time::ZERO, Body::Started { version: RECORD_VERSION, ledger, history, follows });
    }

    /// Appends an entry; the oldest goes where there is no room.
    pub fn push(&mut self, at: Time, body: Body) {
        if self.entries.len() >= self.capacity {
            self.entries.pop_front();
            self.lost += 1;
        }
        self.made += 1;
        self.entries.push_back(Entry { seq: self.made, at, body });
    }

    /// The entries so far, the oldest first; a first one says how many were dropped, if any were.
    pub fn take(&mut self) -> Vec<Entry> {
        let lost = std::mem::take(&mut self.lost);
        let mut taken = Vec::with_capacity(self.entries.len() + 1);
        if let (1.., Some(first)) = (lost, self.entries.front()) {
            let (seq, at) = (first.seq - 1, first.at);
            taken.push(Entry { seq, at, body: Body::Lost { entries: lost } });
        }
        taken.extend(self.entries.drain(..));
        taken
    }
}

impl Entry {
    /// The entry as one line of JSON, without the line's end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
