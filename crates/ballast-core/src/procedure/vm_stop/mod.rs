//! `vm_stop`: from a removal in the ledger to an instance that is off, or a node that takes pods again.
//!
//! The order is cordon, drain by eviction, live re-check, stop. A stop is requested only in the step that follows a live read
//! which showed the very node of the plan, with our own mark, and empty; and only after the ledger says durably that it may
//! have been sent. Every way out before that takes our own cordon off, and never anybody else's.

mod drain;
mod stop;
mod undo;

use std::collections::BTreeMap;

use crate::kube::Name;
use crate::memory::Removal;
use crate::policy::StopMode;
use crate::units::{Span, Time};

use super::pace::Pace;
use super::{GaveUp, LiveNode, LivePod, Next, Receipt, Reply, Request};

/// How long after the deadline a stop that was sent is waited for, and how long an uncordon is tried.
const GRACE: Span = Span::from_mins(15);

/// How long after its decision a removal may still begin. It was decided on what was seen then, and budgets count it from
/// then: one that a slow ledger or a refused cordon holds up for longer is left to a plan that looks again. The ledger and the
/// cordon take a fraction of a second each; a longer limit lets removals of several plans bunch.
const BEGIN_WITHIN: Span = Span::from_secs(5);

/// A removal under way. The ledger holds its mark before the first step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VmStop {
    /// Name of the node; of the instance as long as it is not known to have one.
    name: Name,
    uid: Name,
    pool: Name,
    id: Name,
    token: Name,
    mark: Name,
    mode: StopMode,
    waits_for: Vec<Name>,
    release: bool,
    displaces: Vec<Name>,
    /// Until when it may begin.
    begin_by: Time,
    deadline: Time,
    phase: Phase,
    /// A request is out.
    asked: bool,
    pace: Pace,
    tries: u32,
    misses: u32,
    /// Our cordon may be on the node.
    touched: bool,
    /// Our cordon was seen on the node.
    cordoned: bool,
    /// A stop may have been sent.
    sent: bool,
    /// How often in a row the instance was seen running after the stop was sent.
    runs: u32,
    cancelled: bool,
    /// Why it is given up, once it is.
    why: Option<GaveUp>,
    /// Pods still to be evicted of those last seen.
    queue: Vec<LivePod>,
    /// Pods last seen, for people.
    pods: u32,
    /// Since when the pods last seen are known to leave, by identity.
    leaving_since: BTreeMap<Name, Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Looks for an instance of which only the launch token is known.
    Find,
    /// Cordons with our mark.
    Cordon,
    /// Reads the node: whose it is, what is on it.
    Check,
    /// Evicts the pods of the queue.
    Evict,
    /// Waits for the durable mark.
    Persist,
    /// Reads the node for the last time.
    Recheck,
    /// Stops the instance.
    Stop,
    /// Looks at the instance until it is off.
    Gone,
    /// Takes our cordon off.
    Undo,
    /// Reads the node to see whether our cordon is off.
    UndoCheck,
}

impl VmStop {
    /// A removal whose mark has just become durable.
    pub fn begin(name: &Name, removal: &Removal) -> Self {
        Self {
            name: name.clone(),
            uid: removal.uid.clone(),
            pool: removal.pool.clone(),
            id: removal.provider_id.clone(),
            token: removal.token.clone(),
            mark: removal.mark.clone(),
            mode: removal.mode,
            waits_for: removal.waits_for.clone(),
            release: removal.release,
            displaces: removal.displaces.clone(),
            begin_by: if removal.release { Time::FAR_FUTURE } else { removal.since + BEGIN_WITHIN },
            deadline: removal.deadline,
            phase: if removal.release { Phase::Find } else { Phase::Cordon },
            asked: false,
            pace: Pace::default(),
            tries: 0,
            misses: 0,
            touched: false,
            cordoned: false,
            sent: false,
            runs: 0,
            cancelled: false,
            why: None,
            queue: Vec::new(),
            pods: 0,
            leaving_since: BTreeMap::new(),
        }
    }

    /// A removal found in the ledger by a new process: anything up to the mark may have happened, so it looks first. It goes on
    /// where it had begun and never begins: what it was decided on was seen by another process.
    pub fn resume(name: &Name, removal: &Removal) -> Self {
        let phase = match (removal.release, removal.stopping) {
            (true, _) => Phase::Find,
            (false, true) => Phase::Gone,
            (false, false) => Phase::Check,
        };
        let begun = Self::begin(name, removal);
        let begin_by = if removal.release { begun.begin_by } else { Time::ZERO };
        Self { phase, begin_by, touched: true, sent: removal.stopping, ..begun }
    }

    /// Takes the removal back. It has an effect as long as no stop may have been sent.
    pub fn cancel(&mut self) {
        self.cancelled = true;
    }

    /// The node may carry our cordon, or did: the removal has begun.
    pub fn has_begun(&self) -> bool {
        self.touched
    }

    /// A stop may have been sent: there is no way back.
    pub fn is_beyond_recall(&self) -> bool {
        self.sent
    }

    fn waits(&self) -> bool {
        !self.waits_for.is_empty()
    }

    /// It waits for the work on the node to end: looking again before that shows nothing new.
    pub fn is_waiting_for_completion(&self) -> bool {
        self.waits() && self.phase == Phase::Check && self.cordoned && !self.cancelled
    }

    /// It is being taken back.
    pub fn is_giving_up(&self) -> bool {
        self.why.is_some() || self.cancelled
    }

    /// The step it is in, in words.
    pub fn step_in_words(&self) -> String {
        match (self.phase, self.waits()) {
            (Phase::Find, _) => "looking for the instance".into(),
            (Phase::Cordon, _) => "cordoning".into(),
            (Phase::Check | Phase::Evict, true) => format!("waiting for {} pods to end", self.pods),
            (Phase::Check | Phase::Evict, false) => format!("draining, {} pods left", self.pods),
            (Phase::Persist | Phase::Recheck, _) => "checking once more that it is empty".into(),
            (Phase::Stop | Phase::Gone, _) => "waiting for the instance to stop".into(),
            (Phase::Undo | Phase::UndoCheck, _) => "giving up: taking the cordon off".into(),
        }
    }

    /// One step: a reply to what was asked for, or none when a wait is over.
    pub fn step(mut self, now: Time, reply: Option<&Reply>) -> (Self, Next) {
        let next = match reply {
            Some(reply) if self.asked => {
                self.asked = false;
                self.answered(now, reply)
            }
            None if self.asked => Next::WaitUntil(self.last()),
            _ => self.go(now),
        };
        (self, next)
    }

    /// Sends the request of the phase, unless the time is up or the removal was taken back.
    fn go(&mut self, now: Time) -> Next {
        let undoing = matches!(self.phase, Phase::Undo | Phase::UndoCheck);
        if self.cancelled && !self.sent && !undoing {
            return self.give_up(now, GaveUp::Cancelled);
        }
        if self.phase == Phase::Cordon && now > self.begin_by {
            return self.give_up(now, GaveUp::Outdated);
        }
        if now >= self.deadline && !undoing {
            if !self.sent {
                return self.give_up(now, GaveUp::Deadline);
            }
            // Only the instance itself can tell whether the stop was taken.
            self.phase = Phase::Gone;
        }
        if now >= self.last() && (undoing || self.sent) {
            let why = self.why.unwrap_or(GaveUp::StopStuck);
            return Next::Done(Receipt::GaveUp { why, cordon_left: true });
        }
        if self.phase == Phase::Evict && self.queue.is_empty() {
            self.phase = Phase::Check;
        }
        self.asked = true;
        self.request()
    }

    fn request(&mut self) -> Next {
        let (name, uid) = (self.name.clone(), self.uid.clone());
        Next::Request(match self.phase {
            Phase::Find | Phase::Gone => Request::ReadInstance {
                pool: self.pool.clone(),
                id: self.id.clone(),
                token: self.token.clone(),
            },
            Phase::Cordon => {
                self.touched = true;
                Request::Cordon { name, uid, mark: self.mark.clone() }
            }
            Phase::Check | Phase::Recheck | Phase::UndoCheck => {
                Request::ReadNode { name, provider_id: self.id.clone() }
            }
            Phase::Evict => {
                let pod = self.queue.pop().unwrap_or_default();
                Request::Evict { namespace: pod.namespace, name: pod.name, uid: pod.uid }
            }
            Phase::Persist => return Next::Persist,
            Phase::Stop => {
                self.sent = true;
                Request::StopInstance { pool: self.pool.clone(), id: self.id.clone(), mode: self.mode }
            }
            Phase::Undo => Request::Uncordon { name, uid, mark: self.mark.clone() },
        })
    }

    fn answered(&mut self, now: Time, reply: &Reply) -> Next {
        match self.phase {
            Phase::Find => self.found(now, reply),
            Phase::Cordon => self.cordoned(now, reply),
            Phase::Check => self.checked(now, reply),
            Phase::Evict => self.evicted(now, reply),
            Phase::Persist => self.persisted(now, reply),
            Phase::Recheck => self.rechecked(now, reply),
            Phase::Stop => self.stopped(now, reply),
            Phase::Gone => self.looked(now, reply),
            Phase::Undo => self.undone(now, reply),
            Phase::UndoCheck => self.undo_checked(now, reply),
        }
    }

    /// Goes to a phase at once.
    fn on(&mut self, now: Time, phase: Phase) -> Next {
        self.phase = phase;
        self.go(now)
    }

    /// Goes to a phase after a wait.
    fn wait(&mut self, now: Time, phase: Phase) -> Next {
        self.phase = phase;
        let last = self.last();
        Next::WaitUntil(if self.waits() && self.phase == Phase::Check {
            self.pace.wait_for_completion(now, last)
        } else {
            self.pace.wait(now, last)
        })
    }

    /// When the present phase ends at the latest.
    fn last(&self) -> Time {
        let beyond = self.sent || matches!(self.phase, Phase::Undo | Phase::UndoCheck);
        if beyond { self.deadline + GRACE } else { self.deadline }
    }
}

/// What a live read of the node shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Seen {
    /// Another node of the same name.
    Replaced,
    /// Cordoned, but not by this removal.
    NotOurs,
    /// Our mark without the cordon: somebody uncordoned it.
    Uncordoned,
    /// No cordon and no mark.
    Open,
    /// Cordoned by us.
    Ours,
}

impl VmStop {
    fn judge(&self, node: &LiveNode) -> Seen {
        if node.uid != self.uid {
            Seen::Replaced
        } else if node.mark == self.mark {
            if node.unschedulable { Seen::Ours } else { Seen::Uncordoned }
        } else if node.mark.is_empty() && !node.unschedulable {
            Seen::Open
        } else {
            Seen::NotOurs
        }
    }
}
