//! What shows what the runner does. It reads only the record and the view: nothing here changes what is decided.

use std::time::{Duration, Instant};

use ballast_core::engine::{Engine, Outcome};
use ballast_core::plan::Plan;
use ballast_core::record::Body;
use ballast_core::units::Time;
use ballast_live::runner::Listener;

use crate::console::Feed;

/// Entries of the record that are kept until they are taken, which is at once.
const ENTRIES: usize = 10_000;
/// The page shows at most two frames a second.
const FRAME_EVERY: Duration = Duration::from_millis(500);

/// The page and the log.
pub(super) struct Faces {
    feed: Feed,
    shown_at: Option<Instant>,
    recording: bool,
}

impl Faces {
    pub(super) fn new(feed: Feed) -> Self {
        Self { feed, shown_at: None, recording: false }
    }
}

impl Listener for Faces {
    fn heard(&mut self, now: Time, engine: &mut Engine, outcome: &Outcome) {
        if !std::mem::replace(&mut self.recording, true) {
            engine.record(ENTRIES);
        }
        if let Some(plan) = &outcome.plan {
            log(plan);
        }
        for (node, receipt) in &outcome.receipts {
            tracing::info!(%node, "{receipt}");
        }
        let entries = engine.recorder().map(|recorder| recorder.take()).unwrap_or_default();
        for entry in &entries {
            if let Body::Requested { request, .. } = &entry.body {
                tracing::debug!(?request, "asks");
            }
        }
        self.feed.record(&entries);
        if self.shown_at.is_none_or(|at| at.elapsed() >= FRAME_EVERY) || outcome.plan.is_some() {
            self.shown_at = Some(Instant::now());
            self.feed.publish(engine.view(now));
        }
    }

    fn leads(&mut self, _: bool) {}
}

fn log(plan: &Plan) {
    for action in plan.actions.iter() {
        let (kind, target) = (action.kind, &action.target.name);
        tracing::info!(action = %action.id, ?kind, %target, "{}", action.reason.message);
    }
}
