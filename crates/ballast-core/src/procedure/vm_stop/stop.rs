//! The way from an empty node to an instance that is off: durable mark, live re-check, stop.

use crate::observation::{ErrorClass, Instance, InstanceState, SourceError};
use crate::units::Time;

use super::super::{GaveUp, Next, Receipt, Reply};
use super::{Phase, Seen, VmStop};

/// How often in a row an instance must be seen running after a stop was sent before the stop is sent again.
const RUNS_BEFORE_RESEND: u32 = 3;
/// How often in a row an instance must be missing to be gone.
const MISSES_TO_BE_GONE: u32 = 2;

impl VmStop {
    pub(super) fn persisted(&mut self, now: Time, reply: &Reply) -> Next {
        match reply {
            Reply::Done => self.on(now, Phase::Recheck),
            _ => self.wait(now, Phase::Persist),
        }
    }

    pub(super) fn rechecked(&mut self, now: Time, reply: &Reply) -> Next {
        match reply {
            // A node has appeared for what had none: it is looked at as any other.
            Reply::Node(_) if self.release && !self.cordoned => self.wait(now, Phase::Check),
            Reply::Node(node) => match self.judge(node) {
                // It is a node after all, with a cordon on it that nobody but us wants.
                Seen::Ours if self.release && node.ready => self.back(now, GaveUp::JoinedLate),
                Seen::Ours if self.guests(now, node).is_empty() => self.on(now, Phase::Stop),
                Seen::Ours => self.back(now, GaveUp::UnexpectedPod),
                Seen::Uncordoned => self.back(now, GaveUp::UncordonedByOther),
                Seen::Replaced => self.end(GaveUp::Replaced),
                Seen::NotOurs => self.end(GaveUp::CordonedByOther),
                Seen::Open => self.end(GaveUp::UncordonedByOther),
            },
            Reply::Failed(SourceError { class: ErrorClass::NotFound, .. })
                if self.release && !self.cordoned =>
            {
                self.on(now, Phase::Stop)
            }
            Reply::Failed(SourceError { class: ErrorClass::NotFound, .. }) if self.sent => {
                self.wait(now, Phase::Gone)
            }
            Reply::Failed(SourceError { class: ErrorClass::NotFound, .. }) => self.end(GaveUp::NodeGone),
            _ => self.wait(now, Phase::Recheck),
        }
    }

    /// Gives up, unless a stop may have been sent: then the instance is asked first.
    fn back(&mut self, now: Time, why: GaveUp) -> Next {
        if !self.sent {
            return self.give_up(now, why);
        }
        self.why = Some(why);
        self.wait(now, Phase::Gone)
    }

    pub(super) fn stopped(&mut self, now: Time, reply: &Reply) -> Next {
        use ErrorClass::{Auth, Invalid, NotFound, Quota, StockOut, Throttled};
        match reply {
            // Clouds forget for a moment what they have: whether it is gone, looks at it tell.
            Reply::Failed(SourceError { class: NotFound, .. }) => self.missed(now),
            // Not taken: the next one needs a fresh look at the node again.
            Reply::Failed(SourceError { class: Throttled, .. }) => self.wait(now, Phase::Recheck),
            Reply::Failed(SourceError { class: class @ (Auth | Invalid | Quota | StockOut), .. }) => {
                self.back(now, GaveUp::Refused(*class))
            }
            Reply::Instance(instance) if self.is_ours(instance) => self.saw_instance(now, instance.state),
            _ => self.wait(now, Phase::Gone),
        }
    }

    pub(super) fn looked(&mut self, now: Time, reply: &Reply) -> Next {
        match reply {
            Reply::Instance(instance) if self.is_ours(instance) => self.saw_instance(now, instance.state),
            Reply::Failed(SourceError { class: ErrorClass::NotFound, .. }) => self.missed(now),
            _ => self.wait(now, Phase::Gone),
        }
    }

    /// The instance is not there. Once may be a slip of the cloud, twice in a row is the truth.
    fn missed(&mut self, now: Time) -> Next {
        self.misses += 1;
        if self.misses < MISSES_TO_BE_GONE {
            return self.wait(now, Phase::Gone);
        }
        Next::Done(Receipt::Stopped)
    }

    fn saw_instance(&mut self, now: Time, state: InstanceState) -> Next {
        self.misses = 0;
        match state {
            // An instance that shall be deleted and is only off still has to go.
            InstanceState::Stopped if self.mode == crate::policy::StopMode::Deallocate => {
                Next::Done(Receipt::Stopped)
            }
            InstanceState::Stopping | InstanceState::Unknown => {
                self.runs = 0;
                self.wait(now, Phase::Gone)
            }
            InstanceState::Running | InstanceState::Starting | InstanceState::Stopped => {
                self.still_there(now)
            }
        }
    }

    /// The stop was not taken, or not yet.
    fn still_there(&mut self, now: Time) -> Next {
        self.runs += 1;
        if self.runs < RUNS_BEFORE_RESEND {
            return self.wait(now, Phase::Gone);
        }
        self.runs = 0;
        match self.why {
            Some(why) => self.give_up(now, why),
            None if now >= self.deadline => self.give_up(now, GaveUp::StopStuck),
            None => self.on(now, Phase::Recheck),
        }
    }

    pub(super) fn is_ours(&self, instance: &Instance) -> bool {
        match (self.id.is_empty(), instance.token.is_empty()) {
            (false, _) => instance.id == self.id,
            (true, false) => instance.token == self.token,
            (true, true) => instance.name == self.name && !instance.id.is_empty(),
        }
    }
}
