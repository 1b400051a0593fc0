//! The run itself: events one after the other, and what it comes to.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ballast_core::procedure::{Reply, Request};
use ballast_core::record::Entry;
use ballast_core::units::{Span, Time};
use ballast_core::view::View;

use super::Injection;
use super::driver::Driver;
use super::truth::truth;
use crate::controller::Controller;
use crate::oracle::Oracle;
use crate::scenario::{FaultKind, Scenario, ScenarioSpec};
use crate::score::{Breach, Score, Series, Waits};
use crate::watch::Watch;
use crate::world::{Event, World};

/// Points of a series: as many as a wide chart has room for.
const SAMPLES: i64 = 400;
/// The shortest distance of two points.
const SAMPLE_LEAST: Span = Span::from_secs(10);

/// A run of a scenario with one seed.
#[derive(Debug)]
pub struct Simulation {
    pub(super) spec: ScenarioSpec,
    pub(crate) world: World,
    pub(crate) watch: Watch,
    pub(super) driver: Driver,
    pub(crate) oracle: Oracle,
    series: Series,
    sample_every: Span,
    until: Time,
    journal: Option<String>,
    /// The engine's record, where one is kept.
    pub(super) record: Option<Vec<Entry>>,
}

impl Simulation {
    /// A run at its first instant. The seed of the scenario is not used: the caller chooses.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let spec = scenario.spec.clone();
        let world = World::new(scenario, seed);
        let controller = Controller::start(&spec, None, None).unwrap_or(Controller::None);
        let driver = Driver::new(controller, spec.pace);
        let every = Span::from_millis(spec.until.as_millis() / SAMPLES).max(SAMPLE_LEAST);
        let series = Series {
            pools: world.pools.iter().map(|pool| pool.name.clone()).collect(),
            workloads: world.meter.workloads.clone(),
            samples: Vec::new(),
        };
        let mut simulation = Self {
            watch: Watch::new(&spec),
            oracle: Oracle::new(&spec),
            driver,
            series,
            sample_every: every,
            until: spec.start + spec.until,
            journal: None,
            record: None,
            spec,
            world,
        };
        simulation.world.queue.plan(simulation.world.now, Event::Sample);
        for (number, change) in (0..).zip(&simulation.spec.changes) {
            let at = simulation.world.start + change.at;
            simulation.world.queue.plan(at, Event::DocumentChanges { change: number });
        }
        simulation.wake();
        simulation
    }

    /// Keeps a line of every request and its reply, to compare runs with.
    #[must_use]
    pub fn with_journal(mut self) -> Self {
        self.journal = Some(String::new());
        self
    }

    /// Lets a fault befall one request.
    #[must_use]
    pub fn with_injection(mut self, injection: Injection) -> Self {
        self.driver.injection = Some(injection);
        self
    }

    /// The instant that the run has reached.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// The instant at which it ends.
    pub fn until(&self) -> Time {
        self.until
    }

    /// Whether it has reached its end.
    pub fn is_over(&self) -> bool {
        self.world.now >= self.until
    }

    /// Lets everything happen up to an instant, at most to the end of the scenario.
    pub fn step_until(&mut self, until: Time) {
        let until = until.min(self.until);
        while let Some((at, event)) = self.world.queue.take(until) {
            if at > self.world.now {
                self.world.advance(at);
            }
            if let Some(event) = self.world.happen(event) {
                self.happen(event);
            }
            if self.world.queue.next_at() != Some(at) {
                self.settle();
            }
        }
        if until > self.world.now {
            self.world.advance(until);
        }
    }

    /// What follows from all that happened at one instant.
    fn settle(&mut self) {
        self.world.schedule();
        if !self.world.changes.is_empty() {
            self.wake();
        }
        self.oracle.step(&self.world);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Tick { epoch } => self.tick(epoch),
            Event::RequestArrives { request } => self.request_arrives(request),
            Event::ReplyArrives { request } => self.reply_arrives(request),
            Event::Restart => self.restart(),
            Event::Sample => self.sample(),
            Event::DocumentChanges { change } => self.document_changes(change as usize),
            Event::FaultBegins { fault } => self.fault_begins(fault),
            Event::FaultEnds { fault } => {
                self.world.faults.set(fault, false);
                self.wake();
            }
            _ => {}
        }
    }

    /// People change a document; whoever watches is told of it.
    fn document_changes(&mut self, number: usize) {
        let change = self.spec.changes[number].clone();
        self.oracle.document_changed(&self.world, &change);
        if let Some(policy) = change.policy {
            self.spec.policy = policy;
        }
        let pool = self.spec.pools.iter_mut().find(|pool| Some(&pool.name) == change.pool.as_ref());
        if let (Some(pool), Some(spec)) = (pool, change.spec) {
            pool.spec = spec;
        }
        self.watch.documents_changed(&self.spec);
        self.wake();
    }

    pub(super) fn fault_begins(&mut self, fault: u32) {
        let (kind, lasts, span) = {
            let fault = self.world.faults.get(fault);
            (fault.kind, fault.lasts, fault.span)
        };
        match kind {
            FaultKind::SpotReclaim | FaultKind::NodeFlap | FaultKind::NodeHangs => self.world.strike(fault),
            FaultKind::ControllerCrash => self.crash(span.unwrap_or(Span::from_mins(1))),
            _ => {
                self.world.faults.set(fault, true);
                if let Some(lasts) = lasts {
                    self.world.queue.plan(self.world.now + lasts, Event::FaultEnds { fault });
                }
                self.wake();
            }
        }
    }

    fn sample(&mut self) {
        let now = self.world.now;
        self.series.samples.push(self.world.meter.sample(now));
        let (fragmented, idle) = self.fragmentation();
        self.world.meter.fragmentation.0 += fragmented;
        self.world.meter.fragmentation.1 += idle;
        self.world.queue.plan(now + self.sample_every, Event::Sample);
    }

    /// GPUs that are idle, and of those what a typical pod with GPUs could not use, in thousandths.
    fn fragmentation(&self) -> (f64, f64) {
        let typical = &self.world.gpu_shapes;
        let rooms =
            self.world.open_machines().into_values().filter(|machine| !machine.devices.left().is_empty());
        rooms.fold((0.0, 0.0), |(fragmented, idle), machine| {
            let room = machine.room(&self.world.kinds[machine.kind as usize]);
            (fragmented + typical.fragmentation(&room), idle + room.gpu_left() as f64)
        })
    }

    /// What went on so far, at even intervals.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// The lines of requests and replies, where they are kept.
    pub fn journal_text(&self) -> &str {
        self.journal.as_deref().unwrap_or_default()
    }

    pub(super) fn journal(&mut self, request: &Request, reply: &Reply, answer: Option<&Reply>) {
        let Some(journal) = &mut self.journal else { return };
        let request = serde_json::to_string(request).unwrap_or_default();
        let text = |reply: &Reply| serde_json::to_string(reply).unwrap_or_default();
        let answer = answer.map(|answer| format!(", answered {}", text(answer))).unwrap_or_default();
        let _ = writeln!(journal, "{} {request}: {}{answer}", self.world.now, text(reply));
    }

    /// Runs to the end and says what it came to.
    pub fn finish(mut self) -> Score {
        self.step_until(self.until);
        self.score()
    }

    /// What it has come to so far.
    pub fn score(&self) -> Score {
        let meter = &self.world.meter;
        let money = |amount: i128| amount as f64 / 1e6 / 3_600_000.0;
        let names = self.world.pools.iter().map(|pool| pool.name.clone());
        let cost_by_pool: BTreeMap<_, _> =
            names.zip(meter.pools.iter().map(|pool| money(pool.cost))).collect();
        let part = |part: f64, whole: f64| (whole != 0.0).then(|| part / whole);
        let share = |at: usize| part(meter.requested_sum[at], meter.offered_sum[at]);
        let (pending, pending_by_workload) = self.waits();
        let lasted = self.world.now.since(self.world.start);
        let counts = meter.counts;
        Score {
            lasted,
            cost: meter.pools.iter().map(|pool| money(pool.cost)).sum(),
            idle_cost: meter.pools.iter().map(|pool| money(pool.idle_cost)).sum(),
            cost_by_pool,
            cpu_utilisation: share(0),
            memory_utilisation: share(1),
            gpu_utilisation: share(2),
            pending,
            pending_by_workload,
            left: self.left(),
            mean_pending: meter.waiting_sum / (lasted.as_millis().max(1) as f64),
            assembly: self.assembly(),
            adds: counts.adds,
            removals: counts.removals,
            reversals: counts.reversals,
            unused_launches: counts.unused_launches,
            evictions: counts.evictions,
            reclaims: counts.reclaims,
            lost_work_hours: counts.lost_ms as f64 / 3_600_000.0,
            lost_gpu_hours: counts.lost_gpu_ms / 3_600_000.0,
            fragmentation: part(meter.fragmentation.0, meter.fragmentation.1),
            jobs_ended: counts.jobs_ended,
            mean_completion: self.mean_completion(),
            broken_promises: self.oracle.broken(),
            breaches: self.oracle.breaches().to_vec(),
            plans: self.driver.plans,
            ticks: self.driver.ticks,
            requests: self.driver.requests.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect(),
        }
    }

    fn waits(&self) -> (Waits, BTreeMap<ballast_core::kube::Name, Waits>) {
        let world = &self.world;
        let mut waits = world.meter.waits.clone();
        let mut unserved = vec![0; waits.len()];
        for (_, pod) in world.pods.iter().filter(|(_, pod)| !pod.is_bound()) {
            let workload = world.classes[pod.class as usize].workload as usize;
            let waited = world.now.since(pod.created).as_millis();
            waits[workload].push(waited);
            unserved[workload] += 1;
        }
        let all = Waits::of(waits.iter().flatten().copied().collect(), unserved.iter().sum());
        let each = world.meter.workloads.iter().zip(waits).zip(unserved);
        (all, each.map(|((name, waits), unserved)| (name.clone(), Waits::of(waits, unserved))).collect())
    }

    /// How long gangs took to come together; those that have not yet count with their time so far.
    fn assembly(&self) -> Waits {
        let gangs = self.world.jobs.iter().map(|(_, job)| job).filter(|job| job.gang && !job.was_assembled());
        let so_far: Vec<i64> = gangs.map(|job| self.world.now.since(job.created).as_millis()).collect();
        let unserved = so_far.len() as u64;
        Waits::of(self.world.meter.assemblies.iter().copied().chain(so_far).collect(), unserved)
    }

    /// How long jobs took, in seconds; those that are not done count with their time so far, so that no policy looks good by
    /// leaving the long ones undone.
    fn mean_completion(&self) -> Option<f64> {
        let counts = self.world.meter.counts;
        let (mut jobs, mut took) = (counts.jobs_ended, counts.completion_ms);
        for (_, job) in self.world.jobs.iter().filter(|(_, job)| job.ends) {
            jobs += 1;
            took = took.saturating_add(self.world.now.since(job.created).as_millis());
        }
        (jobs > 0).then(|| took as f64 / 1000.0 / jobs as f64)
    }

    /// What a person sees now: what the engine shows, or the truth where another rule decides, or while it is down.
    pub fn view(&mut self) -> View {
        let shown = self.driver.controller.as_mut().and_then(|controller| controller.view(self.world.now));
        shown.unwrap_or_else(|| truth(&self.world, &self.spec))
    }

    /// Keeps a record of all that goes into the engine and comes out of it.
    #[must_use]
    pub fn with_record(mut self) -> Self {
        self.record = Some(Vec::new());
        if let Some(controller) = &mut self.driver.controller {
            controller.record();
        }
        self
    }

    /// The entries of the record since the last call; none where no record is kept.
    pub fn take_record(&mut self) -> Vec<Entry> {
        self.keep_record();
        self.record.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes the record out of the engine, which may be about to end.
    pub(super) fn keep_record(&mut self) {
        if let (Some(record), Some(controller)) = (&mut self.record, &mut self.driver.controller) {
            record.extend(controller.take_record());
        }
    }

    /// Promises that were broken so far, the first hundred.
    pub fn breaches(&self) -> &[Breach] {
        self.oracle.breaches()
    }

    /// How often each promise was held against something so far.
    pub fn exercised(&self) -> &BTreeMap<&'static str, u64> {
        self.oracle.exercised()
    }

    /// How many requests were sent so far.
    pub fn requests_sent(&self) -> u64 {
        self.driver.sent()
    }
}
