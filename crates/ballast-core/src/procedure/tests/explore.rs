//! Walks the whole graph of a machine's states under every reply.

use std::fmt::Debug;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::procedure::{Next, Receipt, Reply, Request};
use crate::units::{Span, Time};

use super::START;

/// A machine with whoever watches it.
pub(super) trait Watched: Clone + Eq + Hash + Debug {
    /// One step of the machine.
    fn step(&mut self, now: Time, reply: Option<&Reply>) -> Next;
    /// Notes that a request was sent; panics where it must not be.
    fn sent(&mut self, request: &Request);
    /// Notes the reply to the last request.
    fn heard(&mut self, reply: &Reply);
    /// Notes that the mark became durable.
    fn persisted(&mut self);
    /// Judges the end; panics where it is wrong.
    fn ended(&self, receipt: Receipt);
    /// What a new process would go on with; `None` where no more crashes are tried.
    fn crashed(&self) -> Option<Self>;
}

/// What happens next to a watched machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Moment {
    /// It is stepped without a reply.
    Wake,
    /// It is stepped with a reply to its request.
    Reply,
    /// It is told that its mark is durable.
    Persist,
}

/// Walks every state; returns how many there are. Panics on a circle: then some row of replies would never end.
pub(super) fn explore<W: Watched>(start: W, deadline: Span, replies: &[Reply]) -> usize {
    let now = START;
    let mut walk = Walk { seen: FxHashMap::default(), replies, soon: now + deadline };
    walk.visit(start, now, Moment::Wake);
    walk.seen.len()
}

struct Walk<'a, W> {
    /// Whether a state's ends are all known; `false` while it is on the path that is being walked.
    seen: FxHashMap<(W, Time, Moment), bool>,
    replies: &'a [Reply],
    /// Until then wakes come on time.
    soon: Time,
}

/// Wakes after the deadline come late, so that the long row of tries after it has few members.
const LATE: Span = Span::from_secs(200);

impl<W: Watched> Walk<'_, W> {
    fn visit(&mut self, machine: W, now: Time, moment: Moment) {
        let key = (machine.clone(), now, moment.clone());
        match self.seen.get(&key) {
            Some(true) => return,
            Some(false) => panic!("a circle without an end at {machine:?}"),
            None => {}
        }
        self.seen.insert(key.clone(), false);
        match moment {
            Moment::Wake => self.take(machine.clone(), now, None),
            Moment::Reply => {
                for reply in self.replies {
                    let mut machine = machine.clone();
                    machine.heard(reply);
                    self.take(machine, now, Some(reply));
                }
            }
            Moment::Persist => {
                let mut machine = machine.clone();
                machine.persisted();
                self.take(machine, now, Some(&Reply::Done));
            }
        }
        if let Some(resumed) = machine.crashed() {
            self.visit(resumed, now, Moment::Wake);
        }
        self.seen.insert(key, true);
    }

    fn take(&mut self, mut machine: W, now: Time, reply: Option<&Reply>) {
        match machine.step(now, reply) {
            Next::Request(request) => {
                machine.sent(&request);
                self.visit(machine, now, Moment::Reply);
            }
            Next::Persist => self.visit(machine, now, Moment::Persist),
            Next::WaitUntil(at) => {
                let late = if at > self.soon { LATE } else { Span::ZERO };
                self.visit(machine, at.max(now) + late, Moment::Wake);
            }
            Next::Done(receipt) => machine.ended(receipt),
        }
    }
}
