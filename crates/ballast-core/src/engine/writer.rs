//! The writer of the ledger: one write at a time, nothing that depends on it sent before it is durable.

use std::sync::Arc;

use crate::memory::Ledger;
use crate::observation::{ErrorClass, SourceError};
use crate::procedure::{Reply, Request};
use crate::units::{Span, Time};

use super::executor::{Executor, REPLY_LOST_AFTER};

/// How long a change that nothing waits for may stay unwritten: it goes along with the next write that something waits for.
const LAZY: Span = Span::from_secs(60);
/// The first and the longest wait before a failed write is tried again.
const RETRY_FIRST: Span = Span::from_secs(1);
const RETRY_LONGEST: Span = Span::from_secs(30);

/// What is known of the stored ledger.
#[derive(Debug)]
pub(super) struct Writer {
    /// The version that is known to be stored.
    durable: u64,
    /// Something waits for the next write.
    wanted: bool,
    /// Since when there is a change that nothing waits for.
    changed: Option<Time>,
    state: State,
    failures: u32,
}

#[derive(Debug)]
enum State {
    Idle,
    /// A write is out, or is to be tried again: the very same, since it may have been applied. Also where no answer comes.
    Writing {
        version: u64,
        body: Arc<str>,
        retry_at: Time,
    },
    /// Somebody else wrote: what they wrote is being read.
    Reading {
        retry_at: Time,
    },
}

impl Writer {
    pub(super) fn new(version: u64) -> Self {
        Self { durable: version, wanted: false, changed: None, state: State::Idle, failures: 0 }
    }

    pub(super) fn durable(&self) -> u64 {
        self.durable
    }

    /// Everything in the ledger is stored.
    pub(super) fn is_clean(&self) -> bool {
        !self.wanted && self.changed.is_none() && matches!(self.state, State::Idle)
    }

    /// Something waits for the ledger to be stored.
    pub(super) fn want(&mut self) {
        self.wanted = true;
    }

    /// The ledger changed in a way that nothing waits for.
    pub(super) fn changed(&mut self, now: Time) {
        self.changed.get_or_insert(now);
    }

    /// Requests that were out are not waited for any more: a write is tried again.
    pub(super) fn interrupted(&mut self) {
        match &mut self.state {
            State::Idle => {}
            State::Writing { retry_at, .. } | State::Reading { retry_at } => *retry_at = Time::ZERO,
        }
    }

    /// Somebody else wrote the ledger: nothing may be sent.
    pub(super) fn is_fenced(&self) -> bool {
        matches!(self.state, State::Reading { .. })
    }

    pub(super) fn wake_at(&self) -> Time {
        let lazy = self.changed.map_or(Time::FAR_FUTURE, |at| at + LAZY);
        match &self.state {
            State::Idle => lazy,
            State::Writing { retry_at, .. } | State::Reading { retry_at } => *retry_at,
        }
    }

    fn retry(&mut self, now: Time) {
        let wait = Span::from_millis(RETRY_FIRST.as_millis() << self.failures.min(10)).min(RETRY_LONGEST);
        self.failures = self.failures.saturating_add(1);
        match &mut self.state {
            State::Idle => {}
            State::Writing { retry_at, .. } | State::Reading { retry_at } => *retry_at = now + wait,
        }
    }
}

impl Executor {
    /// Sends a write, or a read, where one is due.
    pub(super) fn flush(&mut self, now: Time) {
        let request = match &mut self.writer.state {
            State::Idle => {
                let lazy = self.writer.changed.is_some_and(|at| now >= at + LAZY);
                if !self.writer.wanted && !lazy {
                    return;
                }
                self.next_write(now)
            }
            State::Writing { version, body, retry_at } => {
                if now < *retry_at {
                    return;
                }
                *retry_at = now + REPLY_LOST_AFTER;
                Request::WriteLedger { version: *version, body: body.clone() }
            }
            State::Reading { retry_at } => {
                if now < *retry_at {
                    return;
                }
                *retry_at = now + REPLY_LOST_AFTER;
                Request::ReadLedger
            }
        };
        self.send_for_ledger(request);
    }

    fn next_write(&mut self, now: Time) -> Request {
        self.writer.wanted = false;
        self.writer.changed = None;
        self.memory.ledger.version += 1;
        self.memory.ledger.written_at = now;
        let version = self.memory.ledger.version;
        let body: Arc<str> = serde_json::to_string(&self.memory.ledger).unwrap_or_default().into();
        let retry_at = now + REPLY_LOST_AFTER;
        self.writer.state = State::Writing { version, body: body.clone(), retry_at };
        Request::WriteLedger { version, body }
    }

    /// Takes the reply to a write or a read of the ledger.
    pub(super) fn settle_ledger(&mut self, now: Time, reply: &Reply) {
        match (&self.writer.state, reply) {
            (State::Idle, _) => {}
            (State::Writing { version, .. }, Reply::Done) => {
                let version = *version;
                self.writer.durable = version;
                self.writer.state = State::Idle;
                self.writer.failures = 0;
                self.note_stored(version);
                self.pass_gates(now);
            }
            (State::Writing { .. }, Reply::Failed(SourceError { class: ErrorClass::Conflict, .. })) => {
                self.drop_all();
                self.writer.state = State::Reading { retry_at: now };
            }
            (State::Reading { .. }, Reply::Ledger(stored)) => self.reload(now, stored.as_deref()),
            (State::Writing { .. }, reply) => match self.cannot_store(now, reply) {
                None => self.writer.retry(now),
                // What was approved and cannot be noted is not done.
                Some(why) => {
                    self.give_up_storing(&why);
                    self.drop_all();
                    self.writer.state = State::Reading { retry_at: now + RETRY_FIRST };
                }
            },
            (State::Reading { .. }, _) => self.writer.retry(now),
        }
    }

    /// Takes up the ledger that somebody else wrote, and goes on with what it says.
    fn reload(&mut self, now: Time, stored: Option<&str>) {
        match stored.map(Ledger::parse) {
            Some(Err(_)) => return self.writer.retry(now),
            Some(Ok(ledger)) => {
                self.take_up(now, ledger);
                self.memory.ledger.rebase(now);
            }
            // Nothing was ever stored, so nothing was ever begun.
            None if self.writer.durable == 0 => self.take_up(now, Ledger::default()),
            // Somebody took it away: what we know is written anew.
            None => self.begin_anew(),
        }
        self.resume_all(now);
    }
}
