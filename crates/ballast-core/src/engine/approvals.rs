//! Approvals that were judged: one that is begun is sure once the ledger that names it is stored, and only then is anybody told.

use crate::memory::{Approval, ApprovalState, Ledger};
use crate::observation::{ErrorClass, SourceError};
use crate::plan::PlanId;
use crate::procedure::Reply;
use crate::units::{Span, Time};

use super::Begun;
use super::approve::Refusal;
use super::executor::Executor;
use super::writer::Writer;

/// How long it is tried to store that an approved plan is begun: whoever approved it waits, and must not find it begun long
/// after they were told that nobody heeded it.
const STORED_WITHIN: Span = Span::from_secs(30);

/// A publication of a plan.
pub(super) type Publication = (PlanId, Time);

/// A plan that was approved and begun in a ledger that is not stored yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unstored {
    publication: Publication,
    /// The version of the ledger that has to be stored.
    version: u64,
    since: Time,
}

impl Executor {
    /// Begins to carry an approved plan out.
    pub(super) fn note_approval(&mut self, now: Time, approval: Approval) {
        let publication = (approval.plan, approval.made_at);
        let version = self.memory.ledger.version + 1;
        self.unstored = Some(Unstored { publication, version, since: now });
        self.memory.ledger.note_approval(approval);
        self.writer.want();
    }

    /// An approved plan is not carried out.
    pub(super) fn refuse(&mut self, now: Time, refused: Approval) {
        self.settled.push(refused.clone());
        self.memory.ledger.note_approval(refused);
        self.writer.changed(now);
    }

    /// The plan that was approved and begun in a ledger that is not stored yet.
    pub(super) fn unstored(&self) -> Option<Publication> {
        self.unstored.map(|unstored| unstored.publication)
    }

    /// The ledger is stored up to a version: what it names is sure.
    pub(super) fn note_stored(&mut self, version: u64) {
        if let Some(stored) = self.unstored.take_if(|unstored| unstored.version <= version) {
            let (plan, made_at) = stored.publication;
            self.settled.extend(self.memory.ledger.approval(plan, made_at).cloned());
        }
    }

    /// Why an approved plan that is not stored is given up, by the answer to a write.
    pub(super) fn cannot_store(&self, now: Time, reply: &Reply) -> Option<Refusal> {
        let is_late = now >= self.unstored?.since + STORED_WITHIN;
        match reply {
            Reply::Failed(SourceError { class: ErrorClass::Auth, message }) => {
                Some(Refusal::LedgerDenied(message.clone()))
            }
            Reply::Failed(error) if is_late => Some(Refusal::LedgerUnwritten(error.message.clone())),
            Reply::TimedOut if is_late => Some(Refusal::LedgerUnwritten("no answer in time".to_owned())),
            _ => None,
        }
    }

    /// Takes an approved plan back of which nothing was asked for yet. Whether an earlier try was stored all the same, the next
    /// look at the ledger tells; until then nobody is told anything.
    pub(super) fn give_up_storing(&mut self, why: &Refusal) {
        let Some((plan, made_at)) = self.unstored() else { return };
        let ledger = &mut self.memory.ledger;
        let actions = ledger.approval(plan, made_at).map_or(0, |own| own.actions);
        ledger.note_approval(why.of((plan, made_at), actions));
        ledger.launches.retain(|_, launch| launch.decision.is_none_or(|own| own.plan != plan));
        ledger.removals.retain(|_, removal| removal.decision.is_none_or(|own| own.plan != plan));
    }

    /// Takes up a ledger that somebody stored. What was refused meanwhile stays so, unless that one has begun it.
    pub(super) fn take_up(&mut self, now: Time, ledger: Ledger) {
        self.writer = Writer::new(ledger.version);
        let before = std::mem::replace(&mut self.memory.ledger, ledger);
        let unstored = self.unstored.take().map(|unstored| unstored.publication);
        for own in before.approvals.into_iter().filter(|own| own.state == ApprovalState::Refused) {
            if self.memory.ledger.approval(own.plan, own.made_at).is_none() {
                self.memory.ledger.note_approval(own);
                self.writer.changed(now);
            }
        }
        let judged = unstored.and_then(|(plan, made_at)| self.memory.ledger.approval(plan, made_at));
        self.settled.extend(judged.cloned());
        self.begun.clear();
        let ledger = &self.memory.ledger;
        self.started.retain_mut(|(version, Begun { decision, action })| {
            *version = ledger.version;
            ledger.decision_of(&action.target.name) == Some(*decision)
        });
    }

    /// The ledger was taken away, and all that is known is written anew.
    pub(super) fn begin_anew(&mut self) {
        self.writer = Writer::new(0);
        self.memory.ledger.version = 0;
        self.writer.want();
        let first = 1;
        self.unstored.iter_mut().for_each(|unstored| unstored.version = first);
        self.started.iter_mut().for_each(|(version, _)| *version = first);
    }

    /// What was begun for good since this was last asked.
    pub(super) fn take_started(&mut self) -> Vec<Begun> {
        let durable = self.writer.durable();
        let is_sure = |(version, _): &mut (u64, Begun)| *version <= durable;
        self.started.extract_if(.., is_sure).map(|(_, begun)| begun).collect()
    }
}
