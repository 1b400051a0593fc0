//! `uncordon`: takes a forgotten cordon of ours off a node that has no removal under way.

use crate::kube::Name;
use crate::observation::{ErrorClass, SourceError};
use crate::units::{Span, Time};

use super::pace::Pace;
use super::{GaveUp, LiveNode, Next, Receipt, Reply, Request};

/// How long it is tried; the next sweep finds it again.
const TRIED_FOR: Span = Span::from_mins(5);

/// An uncordon under way. It needs no mark in the ledger: done twice, it is done once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Uncordon {
    name: Name,
    deadline: Time,
    asked: bool,
    pace: Pace,
    /// Identity and mark as the node last showed them.
    seen: Option<(Name, Name)>,
}

impl Uncordon {
    /// An uncordon of a node.
    pub fn begin(name: &Name, now: Time) -> Self {
        Self {
            name: name.clone(),
            deadline: now + TRIED_FOR,
            asked: false,
            pace: Pace::default(),
            seen: None,
        }
    }

    /// One step: a reply to the request that is out, or none when a wait is over.
    pub fn step(mut self, now: Time, reply: Option<&Reply>) -> (Self, Next) {
        let next = match reply {
            Some(reply) if self.asked => {
                self.asked = false;
                self.answered(now, reply)
            }
            None if self.asked => Next::WaitUntil(self.deadline),
            _ => self.go(now),
        };
        (self, next)
    }

    fn go(&mut self, now: Time) -> Next {
        if now >= self.deadline {
            return Next::Done(Receipt::GaveUp { why: GaveUp::Deadline, cordon_left: true });
        }
        self.asked = true;
        let name = self.name.clone();
        Next::Request(match &self.seen {
            None => Request::ReadNode { name, provider_id: Name::default() },
            Some((uid, mark)) => Request::Uncordon { name, uid: uid.clone(), mark: mark.clone() },
        })
    }

    fn answered(&mut self, now: Time, reply: &Reply) -> Next {
        let undoing = self.seen.take().is_some();
        match reply {
            Reply::Done if undoing => Next::Done(Receipt::Uncordoned),
            Reply::Failed(SourceError { class: ErrorClass::NotFound, .. }) => {
                Next::Done(Receipt::GaveUp { why: GaveUp::NodeGone, cordon_left: false })
            }
            Reply::Node(LiveNode { mark, .. }) if !undoing && mark.is_empty() => {
                Next::Done(Receipt::Uncordoned)
            }
            Reply::Node(LiveNode { uid, mark, .. }) if !undoing => {
                self.seen = Some((uid.clone(), mark.clone()));
                self.go(now)
            }
            _ => Next::WaitUntil(self.pace.wait(now, self.deadline)),
        }
    }
}
