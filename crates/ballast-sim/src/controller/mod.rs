//! Controllers: observations in, requests out. Ballast's own engine, and the rules it is compared with.

mod openpai;

use std::sync::Arc;

use ballast_core::observation::Observation;
use ballast_core::plan::Plan;
use ballast_core::procedure::{Reply, Request};
use ballast_core::units::Time;

use self::openpai::OpenPai;
use crate::scenario::{Controller as Kind, ScenarioSpec};

/// Who decides in a run.
#[derive(Debug)]
pub(crate) enum Controller {
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
    /// Starts the controller of a scenario, from the ledger that was stored last.
    pub(crate) fn start(spec: &ScenarioSpec, _ledger: Option<&str>) -> Self {
        match spec.controller {
            Kind::OpenPai => Self::OpenPai(OpenPai::default()),
            Kind::Ballast | Kind::None => Self::None,
        }
    }

    /// Looks at what is observed.
    pub(crate) fn tick(&mut self, now: Time, observations: Vec<Observation>) -> Wants {
        match self {
            Self::OpenPai(openpai) => openpai.tick(now, observations),
            Self::None => Wants::default(),
        }
    }

    /// Takes a reply.
    pub(crate) fn settle(&mut self, _now: Time, _request: u64, _reply: Reply) -> Wants {
        Wants::default()
    }
}
