//! The engine: observations and replies go in, requests come out. No clock, no I/O: the live runner awaits and calls it, the
//! simulator calls the very same functions from its event queue.
//!
//! ```text
//! tick(now, observations) ──▶ store ──▶ plan when due ──▶ check ──▶ ledger first ──▶ procedures ──▶ requests
//! settle(now, id, reply)  ──▶ the procedure that asked ──▶ its next request, or its receipt into the ledger
//! ```
//!
//! Nothing is requested for an action before the ledger that names it is durable. Whatever ends the process, a new one
//! resumes every procedure from the ledger, by looking first. The history is written now and then, and nothing waits for it.

mod apply;
mod approvals;
mod approve;
mod events;
mod executor;
mod history;
mod publish;
mod receipts;
mod sweep;
mod view;
mod waking;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::check::check;
use crate::kube::{Name, Node};
use crate::memory::{Approval, Ledger, LedgerError, Memory, StoredHistory};
use crate::observation::Observation;
use crate::plan::{Action, DecisionId, Hold, HoldReason, Plan, Severity, Subject};
use crate::planner::{self, Scratch};
use crate::policy::{ClusterPolicySpec, Mode, VmPool};
use crate::procedure::{Receipt, Reply, Request};
use crate::record::{Body, Recorder};
use crate::snapshot::{Snapshot, Store};
use crate::units::{Span, Time};

use apply::Warrant;
use approvals::Publication;
pub use approve::{Judgement, Refusal};
pub use events::Eviction;
use executor::{Executor, Permissions};
use sweep::Sweep;
use waking::Waking;

/// The shortest and the longest distance of two looks at what only matters for removals.
const PERIOD_SHORTEST: Span = Span::from_secs(10);
const PERIOD_LONGEST: Span = Span::from_secs(60);

/// Names a request to whoever sends it; never used twice by one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestId(pub u64);

/// What an engine wants after a tick or a reply.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "requests that are not sent stay open"]
pub struct Outcome {
    /// Requests to be sent, in this order; each gets one reply through [`Engine::settle`].
    pub requests: Vec<(RequestId, Request)>,
    /// The plan, if one was made.
    pub plan: Option<Arc<Plan>>,
    /// Actions that were begun, in a ledger that is stored.
    pub begun: Vec<Begun>,
    /// Approvals that were answered: what is begun is stored, or nothing of it is done.
    pub approvals: Vec<Approval>,
    /// Procedures that ended.
    pub receipts: Vec<Ended>,
    /// When to tick again at the latest.
    pub wake_at: Time,
}

/// An action that was begun: it is in the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Begun {
    /// Its name in logs, events, records and statuses.
    pub decision: DecisionId,
    /// The action.
    pub action: Action,
}

/// A procedure that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The node, by its name.
    pub node: Name,
    /// Its pool; empty where only a cordon was taken off.
    pub pool: Name,
    /// What came of it.
    pub receipt: Receipt,
    /// The decision that it carried out.
    pub decision: Option<DecisionId>,
}

/// Decides and acts, sans I/O.
#[derive(Debug)]
pub struct Engine {
    store: Store,
    executor: Executor,
    waking: Waking,
    sweep: Sweep,
    scratch: Scratch,
    last: Option<Arc<Plan>>,
    plans: u64,
    recorder: Option<Recorder>,
    /// This process is the one that writes.
    leads: bool,
    /// The approval that was last looked at, and since when.
    looked_at: Option<(Publication, Time)>,
}

impl Engine {
    /// An engine that knows nothing but the stored ledger, if there is one. A ledger that cannot be read is an error: Ballast
    /// then refuses to act rather than forget what it has begun.
    pub fn new(ledger: Option<&str>) -> Result<Self, LedgerError> {
        let ledger = ledger.map(Ledger::parse).transpose()?;
        Ok(Self {
            store: Store::new(),
            executor: Executor::new(ledger),
            waking: Waking::default(),
            sweep: Sweep::default(),
            scratch: Scratch::default(),
            last: None,
            plans: 0,
            recorder: None,
            leads: true,
            looked_at: None,
        })
    }

    /// An engine that sees and plans, and asks for nothing until it leads.
    pub fn following() -> Self {
        Self { leads: false, ..Self::new(None).expect("there is no ledger to be unreadable") }
    }

    /// This process leads from now on: it goes on with what the one before it has stored. Where that ledger cannot be read it
    /// follows on, rather than forget what was begun.
    pub fn lead(
        &mut self,
        now: Time,
        ledger: Option<&str>,
        history: Option<&str>,
    ) -> Result<(), LedgerError> {
        let stored = ledger.map(Ledger::parse).transpose()?;
        if let Some(recorder) = &mut self.recorder {
            let (ledger, history) = (ledger.map(str::to_owned), history.map(str::to_owned));
            recorder.push(now, Body::Led { ledger, history });
        }
        self.executor = self.executor.successor(stored);
        if let Some(stored) = history.and_then(StoredHistory::parse) {
            self.executor.history.restore(stored);
        }
        self.leads = true;
        self.waking.wake();
        Ok(())
    }

    /// This process leads no longer: nothing more is asked for, and no reply is waited for.
    pub fn follow(&mut self, now: Time) {
        if let Some(recorder) = &mut self.recorder {
            recorder.push(now, Body::Followed);
        }
        self.leads = false;
        self.executor.permit(now, Permissions::default());
    }

    /// Whether this process is the one that writes.
    pub fn leads(&self) -> bool {
        self.leads
    }

    /// Whether what it plans is carried out: it leads, and the policy says so.
    pub fn acts(&self) -> bool {
        self.executor.may.begin
    }

    /// The cluster's policy as it is known.
    pub fn policy(&self) -> &Arc<ClusterPolicySpec> {
        self.store.policy()
    }

    /// The name of the ClusterPolicy, where there is one.
    pub fn policy_name(&self) -> Option<&Name> {
        self.store.policy_name()
    }

    /// The pools as they are known.
    pub fn pools(&self) -> Vec<VmPool> {
        self.store.pools()
    }

    /// Whether a node is ready, with all that its pool promises.
    pub fn is_usable(&self, node: &Node) -> bool {
        self.store.is_usable(node)
    }

    /// Takes up a history that was stored, before the first tick. One that cannot be read is passed over: its loss only delays
    /// removals.
    #[must_use]
    pub fn with_history(mut self, history: Option<&str>) -> Self {
        if let Some(stored) = history.and_then(StoredHistory::parse) {
            self.executor.history.restore(stored);
        }
        self
    }

    /// Keeps a record from now on, at most `entries` of them until they are taken; older ones are dropped, and counted.
    pub fn record(&mut self, entries: usize) {
        let mut recorder = Recorder::new(entries);
        recorder.started(self.executor.stored(), self.executor.history.stored(), !self.leads);
        self.recorder = Some(recorder);
    }

    /// The recorder, if a record is kept.
    pub fn recorder(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_mut()
    }

    /// What is remembered.
    pub fn memory(&self) -> &Memory {
        &self.executor.memory
    }

    /// What is remembered, to be changed by a test.
    #[cfg(test)]
    pub(crate) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.executor.memory
    }

    /// The last plan.
    pub fn last_plan(&self) -> Option<&Arc<Plan>> {
        self.last.as_ref()
    }

    /// Takes observations in, plans if it is time, and goes on with whatever is due.
    pub fn tick(&mut self, now: Time, observations: Vec<Observation>) -> Outcome {
        if observations.is_empty() && !self.waking.is_due(now) && self.executor.wake_at() > now {
            let wake_at = self.wake_at();
            return Outcome { wake_at, ..Outcome::default() };
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.push(now, Body::Observed { observations: observations.clone() });
        }
        self.executor.arrive(now);
        let loses_sight = observations.iter().any(|observation| observation.outcome.is_err());
        for observation in observations {
            self.waking.note(now, &observation);
            self.executor.note(now, &observation);
            self.store.observe(observation);
        }
        let plan = self.waking.is_due(now).then(|| self.plan(now));
        if loses_sight && plan.is_none() {
            self.executor.heed(now, &self.store.snapshot());
        }
        self.executor.wake(now);
        self.outcome(now, plan)
    }

    /// Takes the reply to a request. One that belongs to nothing any more is passed over.
    pub fn settle(&mut self, now: Time, id: RequestId, reply: Reply) -> Outcome {
        if let Some(recorder) = &mut self.recorder {
            recorder.push(now, Body::Settled { id, reply: reply.clone() });
        }
        self.executor.settle(now, id, &reply);
        self.outcome(now, None)
    }

    fn plan(&mut self, now: Time) -> Arc<Plan> {
        let snapshot = self.store.snapshot();
        if self.executor.memory.ledger.end_approvals() {
            self.executor.writer.changed(now);
        }
        let may = self.permissions(&snapshot.policy);
        self.executor.permit(now, may);
        self.executor.strikes_max = snapshot.policy.health.strikes.max(1);
        let (mut plan, history) = planner::plan(&snapshot, &self.executor.memory, now, &mut self.scratch);
        self.executor.memory.history = history;
        self.executor.heed(now, &snapshot);
        self.executor.note_empty(now, &snapshot);
        self.carry_out(now, &snapshot, &mut plan);
        self.sweep.run(now, &snapshot, &mut self.executor);
        self.plans += 1;
        self.waking.planned(now, plan.report.next_look, removal_period(&snapshot));
        let plan = Arc::new(plan);
        self.last = Some(plan.clone());
        if let Some(recorder) = &mut self.recorder {
            recorder.push(now, Body::Planned { plan: plan.clone() });
        }
        plan
    }

    /// What may be done under a policy. In `Recommend` memory is kept, and only what was approved goes on.
    fn permissions(&self, policy: &ClusterPolicySpec) -> Permissions {
        let begin = self.leads && may_act(policy);
        Permissions { begin, send: begin || (self.leads && policy.mode == Mode::Recommend) }
    }

    /// Begins what a plan asks for, unless the check finds that it would break a promise. The report says which.
    fn carry_out(&mut self, now: Time, snapshot: &Snapshot, plan: &mut Plan) {
        if plan.actions.is_empty() {
            return;
        }
        plan.report.promises = check(snapshot, &self.executor.memory, plan);
        let is_refused = plan.report.promises.iter().any(|note| note.severity == Severity::Fatal);
        if !is_refused && !self.executor.may_begin() {
            self.executor.take_back_approved(now, plan);
        }
        let waiting = if is_refused { 0 } else { self.executor.apply(now, plan, snapshot, Warrant::Policy) };
        let mut hold =
            |reason| plan.report.holds.push(Hold { subject: Subject::Cluster, reason, until: None });
        if is_refused {
            hold(HoldReason::PlanRefused);
        }
        if waiting > 0 {
            hold(HoldReason::TooMuchUnderWay { waiting });
        }
    }

    fn outcome(&mut self, now: Time, plan: Option<Arc<Plan>>) -> Outcome {
        let (requests, receipts) = self.executor.take(now);
        let begun = self.executor.take_started();
        let approvals = std::mem::take(&mut self.executor.settled);
        for Ended { node, receipt, .. } in &receipts {
            self.waking.ended(now, *receipt);
            self.sweep.ended(node);
        }
        if let Some(recorder) = &mut self.recorder {
            for Ended { node, receipt, decision, .. } in receipts.iter().cloned() {
                recorder.push(now, Body::Noted { node, receipt, decision });
            }
            for (id, request) in requests.iter().cloned() {
                let decision = self.executor.decision_of(id);
                recorder.push(now, Body::Requested { id, request, decision });
            }
        }
        Outcome { requests, plan, begun, approvals, receipts, wake_at: self.wake_at() }
    }

    fn wake_at(&self) -> Time {
        self.waking.due().min(self.executor.wake_at())
    }
}

/// `Enforce` acts, and only where a node limit and a cost limit are set.
fn may_act(policy: &ClusterPolicySpec) -> bool {
    policy.mode == Mode::Enforce && is_limited(policy)
}

/// Without both limits nothing is ever done.
fn is_limited(policy: &ClusterPolicySpec) -> bool {
    policy.limits.nodes.is_some() && policy.limits.cost_per_hour.is_some()
}

/// How often changes that only matter for removals are looked at: often enough that a removal comes late by a twentieth of the
/// time that its node must be unneeded.
fn removal_period(snapshot: &Snapshot) -> Span {
    let idle = snapshot.pools.iter().map(|pool| pool.spec.scale_down.idle_after).min();
    let twentieth = Span::from_millis(idle.unwrap_or(Span::ZERO).as_millis() / 20);
    twentieth.clamp(PERIOD_SHORTEST, PERIOD_LONGEST)
}
