//! What shows what the runner does. It reads only the record and the view: nothing here changes what is decided.

use std::time::{Duration, Instant};

use ballast_core::engine::{Ended, Engine, Outcome};
use ballast_core::plan::{Action, ActionKind, DecisionId, Plan, Target};
use ballast_core::record::Body;
use ballast_core::units::Time;
use ballast_live::runner::Listener;

use crate::console::Feed;

use super::meter::Meter;
use super::recording::Recording;

/// The page shows at most two frames a second.
const FRAME_EVERY: Duration = Duration::from_millis(500);

/// The page and the log.
pub(super) struct Faces {
    feed: Feed,
    shown_at: Option<Instant>,
    /// What the last plan decided.
    decided: Vec<Decision>,
    meter: Meter,
    recording: Option<Recording>,
}

/// What is done to what; plans repeat it until it is done.
type Decision = (ActionKind, Target);

impl Faces {
    pub(super) fn new(feed: Feed, meter: Meter, recording: Option<Recording>) -> Self {
        Self { feed, shown_at: None, decided: Vec::new(), meter, recording }
    }
}

impl Listener for Faces {
    fn heard(&mut self, now: Time, engine: &mut Engine, outcome: &Outcome) {
        if let Some(plan) = &outcome.plan {
            self.log(plan, engine.acts());
        }
        for Ended { node, receipt, decision, .. } in &outcome.receipts {
            tracing::info!(%node, decision = decision.map(tracing::field::display), "{receipt}");
        }
        let entries = engine.recorder().map(|recorder| recorder.take()).unwrap_or_default();
        for entry in &entries {
            if let Body::Requested { request, decision, .. } = &entry.body {
                tracing::debug!(?request, decision = decision.map(tracing::field::display), "asks");
            }
        }
        if let Some(recording) = &mut self.recording {
            recording.keep(engine, outcome, &entries);
        }
        self.meter.count(outcome, &entries);
        self.feed.record(&entries);
        if self.shown_at.is_none_or(|at| at.elapsed() >= FRAME_EVERY) || outcome.plan.is_some() {
            self.shown_at = Some(Instant::now());
            let view = engine.view(now);
            self.meter.show(now, engine, &view);
            self.feed.publish(view);
        }
    }

    fn planned_in(&mut self, took: Duration) {
        self.meter.planned_in(took);
    }

    fn kept_from_leading(&mut self, why: Option<&str>) {
        self.meter.kept_from_leading(why);
    }

    fn turned(&mut self) {
        self.meter.turned();
    }
}

impl Faces {
    /// Each decision once. Where nothing is carried out, because another process leads or the mode is not `Enforce`, it only
    /// would be.
    fn log(&mut self, plan: &Plan, acts: bool) {
        let what = |action: &Action| (action.kind, action.target.clone());
        for action in plan.actions.iter().filter(|action| !self.decided.contains(&what(action))) {
            let decision = DecisionId { plan: plan.id, action: action.id };
            let (kind, target, why) = (action.kind, &action.target.name, &action.reason.message);
            match acts {
                true => tracing::info!(%decision, ?kind, %target, "{why}"),
                false => tracing::info!(%decision, would = ?kind, %target, "{why}"),
            }
        }
        self.decided = plan.actions.iter().map(what).collect();
    }
}
