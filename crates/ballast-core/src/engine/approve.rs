//! Approvals: a published plan that a person said yes to is carried out as it was published, all of it or nothing.
//!
//! Who published it does not matter. It is input like any other: its name is reckoned anew, every action is held against what is
//! seen now, by identity and precondition, and the check looks at it as at any plan. So it can ask for nothing that Ballast
//! could not have planned itself.

use crate::check::check;
use crate::kube::Name;
use crate::memory::Ledger;
use crate::observation::InstanceState;
use crate::plan::{Action, ActionKind, Plan, PlanId, Report, Severity, Shared};
use crate::policy::{Direction, Mode};
use crate::publish::{PlanState, PublishedPlan, RefusedPlan};
use crate::record::Body;
use crate::snapshot::Snapshot;
use crate::units::{Span, Time};

use super::Engine;
use super::apply::Warrant;

/// A plan says when it looks again: at once, since an approval is followed by a plan.
const NEXT_LOOK: Span = Span::from_secs(1);

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
        self.refused = begun.as_ref().err().map(|refusal| {
            let (id, made_at) = (published.id, published.made_at);
            RefusedPlan { id, made_at, why: format!("{refusal}; nothing of it was done") }
        });
        if begun.is_ok() {
            self.approved = Some((published.id, published.made_at));
        }
        // What is planned from now on counts on it.
        self.waking.wake();
        begun
    }

    fn begin_approved(&mut self, now: Time, published: &PublishedPlan) -> Result<(), Refusal> {
        let snapshot = self.store.snapshot();
        let ledger = &self.executor.memory.ledger;
        let actions: Vec<Action> = published.actions.iter().map(|own| own.action(published, now)).collect();
        self.may_be_approved(now, snapshot.policy.mode, published)?;
        if PlanId::of(&actions) != published.id || actions.is_empty() {
            return Err(Refusal::Altered);
        }
        if ledger.approved.contains(&published.id) {
            // It was begun before, and whoever did so could not say it any more.
            return Ok(());
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
        self.executor.memory.ledger.approved.insert(published.id);
        let may = self.permissions(&snapshot.policy);
        self.executor.permit(now, may);
        self.executor.apply(now, &plan, &snapshot, Warrant::Approval);
        Ok(())
    }

    /// Whether a plan waits for an approval, and this process may heed it.
    fn may_be_approved(&self, now: Time, mode: Mode, published: &PublishedPlan) -> Result<(), Refusal> {
        let valid_until = published.valid_until.filter(|_| published.state == PlanState::Proposed);
        match (mode, valid_until) {
            _ if !self.leads => Err(Refusal::NotLeading),
            (Mode::Observe | Mode::Enforce, _) => Err(Refusal::Mode(mode)),
            (Mode::Recommend, None) => Err(Refusal::NotProposed),
            (Mode::Recommend, Some(until)) if until <= now => Err(Refusal::Expired(until)),
            (Mode::Recommend, Some(_)) => Ok(()),
        }
    }
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
