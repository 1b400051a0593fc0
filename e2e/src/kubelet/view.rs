//! What is known of a pod while it lives: written by its containers, told to the API as its status.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use jiff::Timestamp;

/// What is known of a pod.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// When its sandbox was begun.
    pub(super) since: Option<Timestamp>,
    /// Its address.
    pub(super) ip: Option<Ipv4Addr>,
    /// Why it failed as a whole: reason and message.
    pub(super) failure: Option<(&'static str, String)>,
    /// It is about to end: not ready from now on.
    pub(super) ending: bool,
    /// Nothing of it runs, and nothing will again.
    pub(super) is_over: bool,
    /// Its containers by name.
    pub(super) containers: BTreeMap<String, Seen>,
}

/// What is known of a container.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// How it is.
    pub(super) state: State,
    /// How it ended before.
    pub(super) last: Option<Ended>,
    /// How often it was started again.
    pub(super) restarts: i32,
    /// Its startup probe has succeeded since its last start, or it has none.
    pub(super) started: bool,
    /// It can serve.
    pub(super) ready: bool,
    /// It will not be started again.
    pub(super) is_over: bool,
}

/// How a container is.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// Not yet, or not again: reason and message.
    Waiting(&'static str, String),
    /// Since then.
    Running(Timestamp),
    /// It ended.
    Ended(Ended),
}

/// How a container ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// Its exit code, or 128 and the signal.
    pub(super) code: i32,
    /// When it was started.
    pub(super) since: Timestamp,
    /// When it ended.
    pub(super) until: Timestamp,
    /// What it left to be said.
    pub(super) message: String,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            state: State::Waiting("PodInitializing", String::new()),
            last: None,
            restarts: 0,
            started: false,
            ready: false,
            is_over: false,
        }
    }
}

impl Seen {
    /// It ended, and well.
    pub(super) fn succeeded(&self) -> bool {
        matches!(&self.state, State::Ended(ended) if ended.code == 0)
    }

    /// It ran once.
    pub(super) fn has_run(&self) -> bool {
        !matches!(self.state, State::Waiting(..)) || self.last.is_some()
    }
}
