//! Between controller and world: looks, requests on their way, replies on theirs, and crashes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_core::kube::Name;
use ballast_core::observation::SourceError;
use ballast_core::plan::Plan;
use ballast_core::procedure::{Reply, Request};
use ballast_core::units::{Span, Time};

use super::Injection;
use super::injection::InjectionKind;
use super::run::Simulation;
use crate::controller::{Controller, Wants};
use crate::random::Stream;
use crate::scenario::{Fault, FaultKind, Pace, View};
use crate::world::Event;

/// How long a request to Kubernetes takes.
const API_LATENCY: Span = Span::from_millis(50);
/// After how long a request without an answer is given up.
const TIMEOUT: Span = Span::from_secs(30);
/// How long a controller that crashed at a request is down.
const CRASH_DOWN: Span = Span::from_secs(30);
/// How long views stand still after an injection.
const STALE_FOR: Span = Span::from_mins(5);

/// The controller of a run, and what it has under way.
#[derive(Debug)]
pub(super) struct Driver {
    /// `None` while it is down.
    pub(super) controller: Option<Controller>,
    /// Counts starts: replies to an earlier process are lost.
    incarnation: u32,
    pace: Pace,
    ticked_at: Option<Time>,
    /// When the next look is planned.
    tick_at: Option<Time>,
    tick_epoch: u32,
    flying: BTreeMap<u64, Flight>,
    sent: u64,
    /// The luck of requests: a stream for each pool, and one for Kubernetes.
    dice: BTreeMap<Name, Stream>,
    pub(super) injection: Option<Injection>,
    /// The last plan that was made.
    pub(super) last_plan: Option<Arc<Plan>>,
    pub(super) plans: u64,
    /// Plans in a row that had nothing to do.
    pub(super) quiet_plans: u64,
    pub(super) ticks: u64,
    pub(super) requests: BTreeMap<&'static str, u64>,
}

/// A request on its way.
#[derive(Debug)]
struct Flight {
    incarnation: u32,
    /// The controller's own number.
    number: u64,
    request: Request,
    /// How long it takes to get there, and its reply to get back.
    way: Span,
    /// The reply, once there is one.
    reply: Option<Reply>,
}

impl Driver {
    pub(super) fn new(controller: Controller, pace: Pace) -> Self {
        Self {
            controller: Some(controller),
            incarnation: 0,
            pace,
            ticked_at: None,
            tick_at: None,
            tick_epoch: 0,
            flying: BTreeMap::new(),
            sent: 0,
            dice: BTreeMap::new(),
            injection: None,
            last_plan: None,
            plans: 0,
            quiet_plans: 0,
            ticks: 0,
            requests: BTreeMap::new(),
        }
    }

    /// How many requests were sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }
}

impl Simulation {
    /// Something has changed: the controller looks soon.
    pub(super) fn wake(&mut self) {
        let now = self.world.now;
        let earliest = self.driver.ticked_at.map_or(now, |at| at + self.driver.pace.interval);
        self.plan_tick((now + self.driver.pace.debounce).max(earliest));
    }

    fn plan_tick(&mut self, at: Time) {
        let driver = &mut self.driver;
        if driver.controller.is_none() || driver.tick_at.is_some_and(|planned| planned <= at) {
            return;
        }
        driver.tick_at = Some(at);
        driver.tick_epoch += 1;
        let epoch = driver.tick_epoch;
        self.world.queue.plan(at, Event::Tick { epoch });
    }

    /// The controller looks.
    pub(super) fn tick(&mut self, epoch: u32) {
        if self.driver.tick_epoch != epoch {
            return;
        }
        self.driver.tick_at = None;
        let now = self.world.now;
        let Some(controller) = &mut self.driver.controller else { return };
        let observations = self.watch.observe(&mut self.world);
        self.driver.ticked_at = Some(now);
        self.driver.ticks += 1;
        let wants = controller.tick(now, observations);
        self.take(wants);
    }

    /// Takes what a controller wants.
    fn take(&mut self, wants: Wants) {
        if let Some(plan) = &wants.plan {
            self.driver.plans += 1;
            self.driver.quiet_plans = if plan.actions.is_empty() { self.driver.quiet_plans + 1 } else { 0 };
            self.oracle.plan(&self.world, &self.watch, plan);
        }
        self.driver.last_plan = wants.plan.or(self.driver.last_plan.take());
        for (number, request) in wants.requests {
            self.send(number, request);
        }
        if let Some(at) = wants.wake_at {
            // Never at the same instant again: what can be done now has been done.
            self.plan_tick(at.max(self.world.now + Span::from_millis(100)));
        }
    }

    fn send(&mut self, number: u64, request: Request) {
        let driver = &mut self.driver;
        let at = driver.sent;
        driver.sent += 1;
        *driver.requests.entry(request.kind()).or_default() += 1;
        let pool = request.pool().and_then(|name| self.world.pools.iter().find(|pool| pool.name == *name));
        let latency = pool.map_or(API_LATENCY, |pool| pool.latency);
        let way = Span::from_millis(latency.as_millis() / 2);
        let incarnation = driver.incarnation;
        driver.flying.insert(at, Flight { incarnation, number, request, way, reply: None });
        self.world.queue.plan(self.world.now + way, Event::RequestArrives { request: at });
    }

    /// A request reaches the system it is for.
    pub(super) fn request_arrives(&mut self, at: u64) {
        let Some(flight) = self.driver.flying.get(&at) else { return };
        let (request, way) = (flight.request.clone(), flight.way);
        let injected =
            self.driver.injection.filter(|injection| injection.at == at).map(|injection| injection.kind);
        if injected == Some(InjectionKind::CrashBefore) {
            self.driver.flying.remove(&at);
            return self.crash(CRASH_DOWN);
        }
        let (applied, answer) = self.fate(&request, injected);
        let mut reply = Reply::TimedOut;
        if applied {
            self.oracle.before(&self.world, &self.watch, &request);
            reply = self.world.carry_out(&request);
            self.oracle.after(&self.world, &request, &reply);
        }
        self.journal(&request, &reply, answer.as_ref());
        match injected {
            Some(InjectionKind::CrashAfter) => {
                self.driver.flying.remove(&at);
                return self.crash(CRASH_DOWN);
            }
            Some(InjectionKind::StaleViews) => self.views_stand_still(),
            _ => {}
        }
        let (reply, after) = match answer {
            Some(Reply::TimedOut) => (Reply::TimedOut, TIMEOUT),
            Some(answer) => (answer, way),
            None => (reply, way),
        };
        if let Some(flight) = self.driver.flying.get_mut(&at) {
            flight.reply = Some(reply);
        }
        self.world.queue.plan(self.world.now + after, Event::ReplyArrives { request: at });
    }

    /// All views stand still for a while, from now on. The controller goes on with what it saw last.
    fn views_stand_still(&mut self) {
        for view in View::ALL {
            let fault = self.world.faults.add(Fault::of_view(FaultKind::StaleView, view, STALE_FOR));
            self.fault_begins(fault);
        }
    }

    /// Whether a request is carried out, and what is answered instead of what it came to.
    fn fate(&mut self, request: &Request, injected: Option<InjectionKind>) -> (bool, Option<Reply>) {
        let failed =
            |class| Reply::Failed(SourceError { class, message: "injected by the simulator".to_owned() });
        match injected {
            Some(InjectionKind::Error(class)) => return (false, Some(failed(class))),
            Some(InjectionKind::TimeoutApplied) => return (true, Some(Reply::TimedOut)),
            Some(InjectionKind::TimeoutNotApplied) => return (false, Some(Reply::TimedOut)),
            _ => {}
        }
        let (faults, streams) = (&self.world.faults, self.world.streams);
        let pool = request.pool();
        let entity = pool.cloned().unwrap_or_default();
        let dice = self.driver.dice.entry(entity);
        let dice = dice.or_insert_with_key(|entity| streams.stream("requests", entity));
        match pool {
            Some(pool) => {
                if let Some(class) = faults.cloud_error(pool, dice) {
                    return (false, Some(failed(class)));
                }
                let timed_out = faults.cloud_timeout(pool, dice);
                (true, timed_out.then_some(Reply::TimedOut))
            }
            None => match faults.api_error(dice) {
                Some(class) => (false, Some(failed(class))),
                None => (true, None),
            },
        }
    }

    /// A reply reaches the controller, if it is still the one that asked.
    pub(super) fn reply_arrives(&mut self, at: u64) {
        let Some(flight) = self.driver.flying.remove(&at) else { return };
        let (Some(reply), Some(controller)) = (flight.reply, &mut self.driver.controller) else { return };
        if flight.incarnation != self.driver.incarnation {
            return;
        }
        self.oracle.answered(&flight.request, &reply);
        let wants = controller.settle(self.world.now, flight.number, reply);
        self.take(wants);
    }

    /// The controller ends; it is started anew after a while.
    pub(super) fn crash(&mut self, down: Span) {
        self.keep_record();
        self.driver.controller = None;
        self.driver.incarnation += 1;
        self.driver.tick_at = None;
        self.driver.tick_epoch += 1;
        self.world.queue.plan(self.world.now + down, Event::Restart);
    }

    /// The controller is started anew, from the ledger that was stored last, and sees everything listed.
    pub(super) fn restart(&mut self) {
        if self.driver.controller.is_some() {
            return;
        }
        let (ledger, history) = (&self.world.ledger, &self.world.history);
        match Controller::start(&self.spec, ledger.body.as_deref(), history.as_deref()) {
            Ok(mut controller) => {
                if self.record.is_some() {
                    controller.record();
                }
                self.driver.controller = Some(controller);
            }
            // It stays down, as the real one would: it must not forget what it has begun.
            Err(error) => return self.oracle.ledger_read(&self.world, Some(&error)),
        }
        self.oracle.ledger_read(&self.world, None);
        self.driver.ticked_at = None;
        self.watch.restart(self.world.now);
        self.plan_tick(self.world.now);
    }
}
