//! Approvals: a published plan that a person said yes to is carried out as it was published, all of it or nothing.
//!
//! Who published it does not matter. It is input like any other: its name is reckoned anew, every action is held against what is
//! seen now, by identity and precondition, and the check looks at it as at any plan. So it can ask for nothing that Ballast
//! could not have planned itself.

use crate::check::check;
use crate::kube::Name;
use crate::memory::{Approval, ApprovalState, Ledger};
use crate::observation::{InstanceState, Source};
use crate::plan::{Action, ActionKind, DecisionId, Plan, PlanId, Report, Severity, Shared, SourceTrouble};
use crate::policy::{ClusterPolicySpec, Direction, Mode};
use crate::publish::{NEEDED, PlanState, PublishedPlan};
use crate::record::Body;
use crate::snapshot::Snapshot;
use crate::units::{Span, Time};

use super::apply::Warrant;
use super::approvals::Publication;
use super::{Engine, is_limited};

/// A plan says when it looks again: at once, since an approval is followed by a plan.
const NEXT_LOOK: Span = Span::from_secs(1);
/// How long it is waited for what an approval is held against: whoever approved it waits for a minute. What is known again
/// later is no reason to do what nobody looks at any more.
const SEEN_WITHIN: Span = Span::from_secs(30);

/// Why an approved plan is not carried out; nothing of it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another process writes.
    #[error("this process does not lead")]
    NotLeading,
    /// Only in `Recommend` does a plan wait for an approval.
    #[error("the mode is {0:?}: only in Recommend is a plan carried out by an approval")]
    Mode(Mode),
    /// It does not wait for an approval, or not any more.
    #[error("it is not proposed any more")]
    NotProposed,
    /// Nothing is carried out without limits, whoever says yes.
    #[error("limits.nodes and limits.costPerHour of the ClusterPolicy are not set")]
    LimitsNotSet,
    /// What is under way is not known at this moment.
    #[error("the ledger is being stored or read; approve it again")]
    LedgerUnknown,
    /// The ledger may not be written, so nothing was asked for.
    #[error("the ledger may not be written: {0}")]
    LedgerDenied(String),
    /// The ledger could not be written for so long that nothing is asked for any more.
    #[error("the ledger cannot be written: {0}")]
    LedgerUnwritten(String),
    /// Something that it is held against is not known.
    #[error("{what} {}; approve it again when that is known", why.cause())]
    NotSeen {
        /// What.
        what: String,
        /// What is wrong with it.
        why: SourceTrouble,
    },
    /// It stood too long ago.
    #[error("it was valid until {0}")]
    Expired(Time),
    /// Its actions are not those that its name stands for.
    #[error("its actions are not those that its id stands for")]
    Altered,
    /// What it acts on is not as it was.
    #[error("{name} {how}")]
    Changed {
        /// Whom it is about.
        name: Name,
        /// What is otherwise.
        how: &'static str,
    },
    /// It takes rights that this process does not have.
    #[error("Ballast may not {0}: give it the roles that carry this plan out")]
    NotPermitted(String),
    /// It is held still by a person.
    #[error("{0} is paused")]
    Paused(Name),
    /// It would break a promise.
    #[error("it would break a promise: {0}")]
    Breaks(String),
    /// So much is under way that it cannot begin whole.
    #[error("so much is under way that not all of it can begin; approve it again later")]
    TooMuchUnderWay,
}

/// How far an approval has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is to be judged now: nobody has done so, or what came of that was lost.
    Open,
    /// It cannot be judged yet: something that it is held against is not known, or another approval is not stored yet.
    Waits,
    /// It is begun, in a ledger that is not stored yet: it may still be lost.
    Unstored,
    /// It is begun or was refused, for good.
    Settled,
}

impl Refusal {
    /// What is remembered of a plan that was refused so.
    pub(super) fn of(&self, (plan, made_at): Publication, actions: u32) -> Approval {
        Approval {
            plan,
            made_at,
            state: ApprovalState::Refused,
            actions,
            failed: Vec::new(),
            message: format!("{self}; nothing of it was done"),
        }
    }
}

impl Engine {
    /// Carries a published plan out, as it was published, unless this process `lacks` a right that it takes.
    ///
    /// # Errors
    ///
    /// Where it is not what it was when it was published, in any of its parts. Nothing of it is done then, and what is
    /// published says why.
    pub fn approve(&mut self, now: Time, published: &PublishedPlan, lacks: &[Name]) -> Result<(), Refusal> {
        if let Some(recorder) = &mut self.recorder {
            let plan = Box::new(published.clone());
            recorder.push(now, Body::Approved { plan, lacks: lacks.to_vec() });
        }
        let begun = match lacks {
            [] => self.begin_approved(now, published),
            lacks => Err(Refusal::NotPermitted(lacks.join(", "))),
        };
        if let Some(refusal) = begun.as_ref().err().filter(|_| self.leads) {
            let actions = published.actions.len() as u32;
            self.executor.refuse(now, refusal.of(published.publication(), actions));
        }
        // What is planned from now on counts on it.
        self.waking.wake();
        begun
    }

    fn begin_approved(&mut self, now: Time, published: &PublishedPlan) -> Result<(), Refusal> {
        let snapshot = self.store.snapshot();
        let ledger = &self.executor.memory.ledger;
        let actions: Vec<Action> = published.actions.iter().map(|own| own.action(published, now)).collect();
        self.may_be_approved(now, &snapshot.policy, published)?;
        if PlanId::of(&actions) != published.id || actions.is_empty() {
            return Err(Refusal::Altered);
        }
        if self.executor.writer.is_fenced() {
            return Err(Refusal::LedgerUnknown);
        }
        if ledger.approval(published.id, published.made_at).is_some() {
            // It was judged before, and whoever did so could not say it any more.
            return Ok(());
        }
        if self.executor.unstored().is_some() {
            return Err(Refusal::LedgerUnknown);
        }
        if let Some((what, why)) = unseen(&snapshot, published, now) {
            return Err(Refusal::NotSeen { what, why });
        }
        for action in &actions {
            stands(action, &snapshot, ledger, now)?;
            if self.executor.is_busy(&action.target.name) {
                return Err(changed(action, "is being changed already"));
            }
        }
        let plan = Plan {
            schema_version: Plan::VERSION,
            id: published.id,
            now,
            actions: actions.into(),
            wishes: Shared::default(),
            grants: Shared::default(),
            report: Report { next_look: Some(now + NEXT_LOOK), ..Report::default() },
        };
        let notes = check(&snapshot, &self.executor.memory, &plan);
        if let Some(broken) = notes.into_iter().find(|note| note.severity == Severity::Fatal) {
            return Err(Refusal::Breaks(broken.message));
        }
        if !self.executor.has_room_for(&plan.actions) {
            return Err(Refusal::TooMuchUnderWay);
        }
        let may = self.permissions(&snapshot.policy);
        self.executor.permit(now, may);
        let approval = Approval {
            plan: published.id,
            made_at: published.made_at,
            state: ApprovalState::UnderWay,
            actions: plan.actions.len() as u32,
            failed: Vec::new(),
            message: String::new(),
        };
        self.executor.note_approval(now, approval);
        self.executor.apply(now, &plan, &snapshot, Warrant::Approval);
        // Whatever was left out all the same is not counted as done.
        let ledger = &mut self.executor.memory.ledger;
        for action in plan.actions.iter().filter(|action| action.kind != ActionKind::UncordonNode) {
            let decision = DecisionId { plan: plan.id, action: action.id };
            if ledger.decision_of(&action.target.name) != Some(decision) {
                ledger.note_failed(decision);
            }
        }
        Ok(())
    }

    /// How far the approval of a plan has come. One that was begun in a ledger that another has overwritten is open again. What
    /// cannot be judged yet waits for a while from the first look on; then it is refused.
    pub fn judgement(&mut self, now: Time, published: &PublishedPlan) -> Judgement {
        let publication = published.publication();
        let unstored = self.executor.unstored();
        match self.executor.memory.ledger.approval(publication.0, publication.1) {
            Some(_) if unstored == Some(publication) => return Judgement::Unstored,
            Some(_) => return Judgement::Settled,
            None => {}
        }
        let first = match self.looked_at {
            Some((looked_at, first)) if looked_at == publication => first,
            _ => now,
        };
        self.looked_at = Some((publication, first));
        let is_valid = published.valid_until.is_some_and(|until| now < until);
        let is_seen = !self.executor.writer.is_fenced()
            && unstored.is_none()
            && unseen(&self.store.snapshot(), published, now).is_none();
        match is_valid && !is_seen && now < first + SEEN_WITHIN {
            true => Judgement::Waits,
            false => Judgement::Open,
        }
    }

    /// Whether a plan waits for an approval, and this process may heed it.
    fn may_be_approved(
        &self,
        now: Time,
        policy: &ClusterPolicySpec,
        published: &PublishedPlan,
    ) -> Result<(), Refusal> {
        let mode = policy.mode;
        let valid_until = published.valid_until.filter(|_| published.state == PlanState::Proposed);
        match (mode, valid_until) {
            _ if !self.leads => Err(Refusal::NotLeading),
            (Mode::Observe | Mode::Enforce, _) => Err(Refusal::Mode(mode)),
            (Mode::Recommend, None) => Err(Refusal::NotProposed),
            (Mode::Recommend, Some(until)) if until <= now => Err(Refusal::Expired(until)),
            (Mode::Recommend, Some(_)) if !is_limited(policy) => Err(Refusal::LimitsNotSet),
            (Mode::Recommend, Some(_)) => Ok(()),
        }
    }
}

/// What is not known that a published plan is held against, and what is wrong with it.
fn unseen(snapshot: &Snapshot, plan: &PublishedPlan, now: Time) -> Option<(String, SourceTrouble)> {
    let instances = plan.actions.iter().map(|action| Source::instances(&action.target.pool));
    let mut sources = NEEDED.map(Source::kubernetes).into_iter().chain(instances);
    sources.find_map(|source| {
        let why = snapshot.trouble(&source, now)?;
        Some((format!("{:?}/{}", source.kind, source.name), why))
    })
}

/// Whether what an action is about is as it was when it was planned.
fn stands(action: &Action, snapshot: &Snapshot, ledger: &Ledger, now: Time) -> Result<(), Refusal> {
    let (target, name) = (&action.target, &action.target.name);
    let pool =
        snapshot.pool_named(&target.pool).ok_or_else(|| changed(action, "is of a pool that is gone"))?;
    let pauses = [&snapshot.policy.pause, &pool.spec.pause];
    let node = snapshot.node_named(name);
    match action.kind {
        ActionKind::StartInstance | ActionKind::CreateInstance => {
            if pauses.iter().any(|pause| pause.holds(Direction::Up, now)) {
                return Err(Refusal::Paused(pool.name.clone()));
            }
            let is_stopped = pool
                .instances
                .get(&target.provider_id)
                .is_some_and(|instance| instance.state == InstanceState::Stopped && instance.name == *name);
            let is_free = pool.instance_named(name).is_none() && node.is_none();
            match action.kind {
                ActionKind::StartInstance if !is_stopped => {
                    return Err(changed(action, "is not stopped any more"));
                }
                ActionKind::CreateInstance if !is_free => return Err(changed(action, "is there already")),
                _ if !ledger.is_fresh(&action.precondition.token) => {
                    return Err(changed(action, "was launched meanwhile"));
                }
                _ => {}
            }
        }
        ActionKind::StopInstance | ActionKind::CordonNode | ActionKind::UncordonNode => {
            let is_paused = pauses.iter().any(|pause| pause.holds(Direction::Down, now));
            if is_paused && action.kind != ActionKind::UncordonNode {
                return Err(Refusal::Paused(pool.name.clone()));
            }
            let node = node.ok_or_else(|| changed(action, "is not there any more"))?;
            if node.uid() != target.uid || target.uid != action.precondition.uid {
                return Err(changed(action, "is another node of the same name"));
            }
            if action.kind != ActionKind::UncordonNode && node.provider_id() != &*target.provider_id {
                return Err(changed(action, "is on another machine"));
            }
        }
        ActionKind::ReleaseInstance => {
            if pool.instances.get(&target.provider_id).is_none() {
                return Err(changed(action, "is not there any more"));
            }
        }
        ActionKind::ResizeJob
        | ActionKind::SetReplicas
        | ActionKind::ResizeRayGroup
        | ActionKind::RemoveRayWorker
        | ActionKind::CreateSparkWorker
        | ActionKind::RemoveSparkWorker => {
            return Err(changed(action, "is nothing that this release acts on"));
        }
    }
    Ok(())
}

fn changed(action: &Action, how: &'static str) -> Refusal {
    Refusal::Changed { name: action.target.name.clone(), how }
}
