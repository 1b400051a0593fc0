//! Controllers: observations in, requests out. Ballast's own engine, and the rules it is compared with.

mod openpai;

use std::sync::Arc;

use ballast_core::engine::{Engine, Outcome, RequestId};
use ballast_core::memory::LedgerError;
use ballast_core::observation::Observation;
use ballast_core::plan::Plan;
use ballast_core::procedure::{Reply, Request};
use ballast_core::record::{Entry, Recorder};
use ballast_core::units::Time;
use ballast_core::view::View;

use self::openpai::OpenPai;
use crate::scenario::{Controller as Kind, ScenarioSpec};

/// Who decides in a run.
#[derive(Debug)]
pub(crate) enum Controller {
    /// Ballast's own engine.
    Ballast(Box<Engine>),
    /// The rule of the OpenPAI autoscaler.
    OpenPai(OpenPai),
    /// Nobody.
    None,
}

/// What a controller wants after a look or a reply.
#[derive(Debug, Default)]
pub(crate) struct Wants {
    /// Requests with their numbers.
    pub(crate) requests: Vec<(u64, Request)>,
    /// The plan that was made, if one was.
    pub(crate) plan: Option<Arc<Plan>>,
    /// When it wants to look again, whatever happens.
    pub(crate) wake_at: Option<Time>,
}

impl Controller {
    /// Starts the controller of a scenario, from the ledger and the history that were stored last.
    pub(crate) fn start(
        spec: &ScenarioSpec,
        ledger: Option<&str>,
        history: Option<&str>,
    ) -> Result<Self, LedgerError> {
        Ok(match spec.controller {
            Kind::Ballast => Self::Ballast(Box::new(Engine::new(ledger)?.with_history(history))),
            Kind::OpenPai => Self::OpenPai(OpenPai::default()),
            Kind::None => Self::None,
        })
    }

    /// Looks at what is observed.
    pub(crate) fn tick(&mut self, now: Time, observations: Vec<Observation>) -> Wants {
        match self {
            Self::Ballast(engine) => engine.tick(now, observations).into(),
            Self::OpenPai(openpai) => openpai.tick(now, observations),
            Self::None => Wants::default(),
        }
    }

    /// Takes a reply.
    pub(crate) fn settle(&mut self, now: Time, request: u64, reply: Reply) -> Wants {
        match self {
            Self::Ballast(engine) => engine.settle(now, RequestId(request), reply).into(),
            // It is fire and forget: the parent never looks at what a command came to.
            Self::OpenPai(_) | Self::None => Wants::default(),
        }
    }

    /// What the controller shows, where it shows something.
    pub(crate) fn view(&mut self, now: Time) -> Option<View> {
        match self {
            Self::Ballast(engine) => Some(engine.view(now)),
            Self::OpenPai(_) | Self::None => None,
        }
    }

    /// Keeps a record from now on; the caller takes it before it grows large.
    pub(crate) fn record(&mut self) {
        if let Self::Ballast(engine) = self {
            engine.record(usize::MAX);
        }
    }

    /// The entries of the record since the last call.
    pub(crate) fn take_record(&mut self) -> Vec<Entry> {
        let Self::Ballast(engine) = self else { return Vec::new() };
        engine.recorder().map(Recorder::take).unwrap_or_default()
    }
}

impl From<Outcome> for Wants {
    fn from(outcome: Outcome) -> Self {
        let requests = outcome.requests.into_iter().map(|(id, request)| (id.0, request)).collect();
        Self { requests, plan: outcome.plan, wake_at: Some(outcome.wake_at) }
    }
}
