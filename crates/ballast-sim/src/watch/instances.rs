//! The instances of a pool, as its cloud lists them when it is asked.

use std::collections::VecDeque;
use std::sync::Arc;

use ballast_core::kube::Name;
use ballast_core::observation::{Body, ErrorClass, Instance, Observation, Source, SourceError};
use ballast_core::units::{Span, Time};

use super::less_than_half;
use crate::scenario::{FaultKind, ScenarioSpec, View};
use crate::world::World;

/// How soon after a change a pool is asked again, where its usual interval is longer.
const SOON: Span = Span::from_secs(30);

/// The instances of a pool.
#[derive(Debug)]
pub(super) struct PoolFeed {
    source: Source,
    interval: Span,
    asked_at: Option<Time>,
    /// What it would list, for as long as its machines are the same.
    current: Option<Arc<[Instance]>>,
    /// When it last told the truth, and when before that.
    told_at: [Option<Time>; 2],
    /// What was listed before, where a fault may want to tell it again: the oldest first.
    past: VecDeque<(Time, Arc<[Instance]>)>,
    keeps_past: bool,
    /// What keeps it from showing the truth, and since when.
    pub(super) trouble: Option<(FaultKind, Time)>,
}

impl PoolFeed {
    pub(super) fn new(pool: &Name, spec: &ScenarioSpec) -> Self {
        Self {
            source: Source::instances(pool),
            interval: spec.pace.instances,
            asked_at: None,
            current: None,
            told_at: [None; 2],
            past: VecDeque::new(),
            keeps_past: spec.faults.iter().any(|fault| fault.kind == FaultKind::StateLag),
            trouble: None,
        }
    }

    pub(super) fn restart(&mut self) {
        self.asked_at = None;
    }

    /// What the cloud says, if it is asked now.
    pub(super) fn observe(&mut self, world: &mut World, pool: usize) -> Option<Observation> {
        let now = world.now;
        let soon = world.pools[pool].dirty;
        let due = self
            .asked_at
            .is_none_or(|at| now >= at + if soon { SOON.min(self.interval) } else { self.interval });
        if !due {
            return None;
        }
        self.asked_at = Some(now);
        if std::mem::take(&mut world.pools[pool].dirty) {
            self.current = None;
        }
        let name = world.pools[pool].name.clone();
        let fault = world.faults.of_view(View::Instances, &name);
        let lag = world.faults.lag(&name);
        let kind = fault.map(|fault| fault.kind).or(lag.map(|_| FaultKind::StateLag));
        if kind.is_none() || self.trouble.map(|(kind, _)| kind) != kind {
            self.trouble = kind.map(|kind| (kind, now));
        }
        let outcome = match kind {
            Some(FaultKind::StaleView) => return None,
            Some(FaultKind::FailedView) => {
                let class = fault.and_then(|fault| fault.class).unwrap_or(ErrorClass::Transient);
                Err(SourceError { class, message: "the instances cannot be listed".into() })
            }
            Some(FaultKind::EmptyView) => Ok(Body::Instances(Arc::default())),
            Some(FaultKind::TruncatedView) => {
                let instances = self.truth(world, pool);
                Ok(Body::Instances(instances[..less_than_half(instances.len())].into()))
            }
            _ => Ok(Body::Instances(self.list(world, pool, lag))),
        };
        if kind.is_none() {
            self.told_at = [Some(now), self.told_at[0]];
        }
        Some(Observation { source: self.source.clone(), taken_at: now, outcome })
    }

    /// When it last told the truth, up to an instant.
    pub(super) fn told_at(&self, until: Time) -> Option<Time> {
        self.told_at.into_iter().flatten().find(|&at| at <= until)
    }

    fn truth(&mut self, world: &World, pool: usize) -> Arc<[Instance]> {
        self.current.get_or_insert_with(|| world.instances(pool)).clone()
    }

    fn list(&mut self, world: &World, pool: usize, lag: Option<Span>) -> Arc<[Instance]> {
        let instances = self.truth(world, pool);
        if !self.keeps_past {
            return instances;
        }
        self.past.push_back((world.now, instances));
        let then = world.now - lag.unwrap_or(Span::ZERO);
        let shown = self.past.iter().rposition(|(at, _)| *at <= then).unwrap_or(0);
        let instances = self.past[shown].1.clone();
        // The longest lag that a fault may ask for is kept; an hour is plenty.
        while self.past.front().is_some_and(|(at, _)| *at + Span::from_hours(1) < world.now) {
            self.past.pop_front();
        }
        instances
    }
}
