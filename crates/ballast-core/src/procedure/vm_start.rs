//! `vm_start`: from a launch in the ledger to a node that takes pods.

use crate::kube::Name;
use crate::memory::{Launch, LaunchKind};
use crate::observation::{ErrorClass, Instance, InstanceState, SourceError};
use crate::units::Time;

use super::pace::Pace;
use super::{LiveNode, Next, Receipt, Reply, Request};

/// How often a start or create is asked for before the launch counts as failed. Asking is idempotent; what refuses six times
/// over a minute is better tried elsewhere.
const ASKS_MAX: u32 = 6;
/// How often in a row an instance may be missing from the provider's answers: lists lag.
const MISSES_MAX: u32 = 3;
/// After so many looks at a node that does not come, the instance is looked at again: it may have died while booting.
const JOIN_LOOKS: u32 = 4;

/// A launch under way. The ledger holds its mark before the first step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VmStart {
    name: Name,
    kind: LaunchKind,
    pool: Name,
    zone: Name,
    id: Name,
    token: Name,
    deadline: Time,
    phase: Phase,
    /// A request is out.
    asked: bool,
    asks: u32,
    misses: u32,
    looks: u32,
    pace: Pace,
    /// Something may be running or being made.
    unsure: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Asks for the start or the making.
    Ask,
    /// Looks at the instance until it runs.
    Look,
    /// Looks at the node until it is ready.
    Join,
    /// Takes our own cordon off.
    Uncordon { node: Name, uid: Name, mark: Name },
}

impl VmStart {
    /// A launch whose mark has just become durable.
    pub fn begin(name: &Name, launch: &Launch) -> Self {
        Self {
            name: name.clone(),
            kind: launch.kind,
            pool: launch.pool.clone(),
            zone: launch.zone.clone(),
            id: launch.provider_id.clone(),
            token: launch.token.clone(),
            deadline: launch.deadline,
            phase: Phase::Ask,
            asked: false,
            asks: 0,
            misses: 0,
            looks: 0,
            pace: Pace::default(),
            unsure: false,
        }
    }

    /// A launch found in the ledger by a new process: anything may have been asked for, so it looks first.
    pub fn resume(name: &Name, launch: &Launch) -> Self {
        Self { phase: Phase::Look, unsure: true, ..Self::begin(name, launch) }
    }

    /// The provider's identity, once known.
    pub fn provider_id(&self) -> &Name {
        &self.id
    }

    /// Nothing has been asked for yet: the launch can be taken back without a trace.
    pub fn is_untouched(&self) -> bool {
        self.phase == Phase::Ask && self.asks == 0
    }

    /// The step it is in, in words.
    pub fn step_in_words(&self) -> &'static str {
        match (&self.phase, self.kind) {
            (Phase::Ask, LaunchKind::Start) => "asking for the start",
            (Phase::Ask, LaunchKind::Create) => "asking for the instance",
            (Phase::Look, _) => "waiting for the instance to run",
            (Phase::Join, _) => "waiting for the node to be ready",
            (Phase::Uncordon { .. }, _) => "taking the cordon off",
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

    /// Sends the request of the phase, unless the time is up.
    fn go(&mut self, now: Time) -> Next {
        if now >= self.deadline {
            return Next::Done(match self.phase {
                // Whatever cordon is left on a ready node is taken off by the sweep for forgotten cordons.
                Phase::Uncordon { .. } => Receipt::Joined,
                Phase::Ask if !self.unsure => self.failed(ErrorClass::Transient),
                _ => Receipt::NeverJoined,
            });
        }
        self.asked = true;
        Next::Request(match &self.phase {
            Phase::Ask => {
                self.asks += 1;
                self.ask()
            }
            Phase::Look => Request::ReadInstance {
                pool: self.pool.clone(),
                id: self.id.clone(),
                token: self.token.clone(),
            },
            Phase::Join => Request::ReadNode { name: self.name.clone(), provider_id: self.id.clone() },
            Phase::Uncordon { node, uid, mark } => {
                Request::Uncordon { name: node.clone(), uid: uid.clone(), mark: mark.clone() }
            }
        })
    }

    fn ask(&self) -> Request {
        match self.kind {
            LaunchKind::Start => Request::StartInstance { pool: self.pool.clone(), id: self.id.clone() },
            LaunchKind::Create => Request::CreateInstance {
                pool: self.pool.clone(),
                zone: self.zone.clone(),
                name: self.name.clone(),
                token: self.token.clone(),
            },
        }
    }

    fn answered(&mut self, now: Time, reply: &Reply) -> Next {
        match self.phase {
            Phase::Ask => self.asked_for(now, reply),
            Phase::Look => self.looked(now, reply),
            Phase::Join => self.looked_at_node(now, reply),
            Phase::Uncordon { .. } => match reply {
                Reply::Done => Next::Done(Receipt::Joined),
                // Whatever happened, the node itself tells what is left to do.
                _ => self.wait(now, Phase::Join),
            },
        }
    }

    fn asked_for(&mut self, now: Time, reply: &Reply) -> Next {
        use ErrorClass::{Auth, Conflict, Invalid, NotFound, Quota, StockOut, Throttled, Transient};
        match reply {
            Reply::Failed(SourceError { class: Throttled, .. }) if self.asks < ASKS_MAX => {
                self.wait(now, Phase::Ask)
            }
            Reply::Failed(SourceError {
                class: class @ (StockOut | Quota | Auth | Invalid | NotFound | Throttled),
                ..
            }) => Next::Done(self.failed(*class)),
            Reply::Instance(instance) if self.is_ours(instance) => {
                self.unsure = true;
                self.saw(now, instance)
            }
            Reply::Failed(SourceError { class: Conflict | Transient, .. })
            | Reply::Done
            | Reply::TimedOut
            | Reply::Instance(_)
            | Reply::Node(_)
            | Reply::Ledger(_) => {
                self.unsure = true;
                self.wait(now, Phase::Look)
            }
        }
    }

    fn looked(&mut self, now: Time, reply: &Reply) -> Next {
        match reply {
            Reply::Instance(instance) if self.is_ours(instance) => self.saw(now, instance),
            Reply::Failed(SourceError { class: ErrorClass::NotFound, .. }) => self.missed(now),
            // A start that was accepted may still find no machine, and say so only here.
            Reply::Failed(SourceError {
                class: class @ (ErrorClass::StockOut | ErrorClass::Quota), ..
            }) => Next::Done(self.failed(*class)),
            _ => self.wait(now, Phase::Look),
        }
    }

    fn saw(&mut self, now: Time, instance: &Instance) -> Next {
        self.misses = 0;
        self.id = instance.id.clone();
        match (instance.state, self.kind) {
            (InstanceState::Running, _) => {
                if self.looks == 0 {
                    self.pace.reset();
                }
                self.phase = Phase::Join;
                self.go(now)
            }
            (InstanceState::Stopped, LaunchKind::Start) => self.ask_again(now),
            // What was made and is off again found no machine in the end; it is let go rather than started.
            (InstanceState::Stopped, LaunchKind::Create) => Next::Done(self.failed(ErrorClass::Transient)),
            (InstanceState::Starting | InstanceState::Stopping | InstanceState::Unknown, _) => {
                self.wait(now, Phase::Look)
            }
        }
    }

    /// The provider does not know the instance.
    fn missed(&mut self, now: Time) -> Next {
        self.misses += 1;
        match self.kind {
            LaunchKind::Create => self.ask_again(now),
            LaunchKind::Start if self.misses < MISSES_MAX => self.wait(now, Phase::Look),
            LaunchKind::Start => Next::Done(self.failed(ErrorClass::NotFound)),
        }
    }

    /// The same request again, known by its identity or token as the same.
    fn ask_again(&mut self, now: Time) -> Next {
        if self.asks >= ASKS_MAX {
            return Next::Done(self.failed(ErrorClass::Transient));
        }
        self.phase = Phase::Ask;
        self.go(now)
    }

    fn looked_at_node(&mut self, now: Time, reply: &Reply) -> Next {
        match reply {
            Reply::Node(LiveNode { ready: true, mark, .. }) if mark.is_empty() => Next::Done(Receipt::Joined),
            Reply::Node(LiveNode { ready: true, name, mark, uid, .. }) => {
                self.phase = Phase::Uncordon { node: name.clone(), uid: uid.clone(), mark: mark.clone() };
                self.go(now)
            }
            _ => {
                self.looks += 1;
                let again = if self.looks.is_multiple_of(JOIN_LOOKS) { Phase::Look } else { Phase::Join };
                self.wait(now, again)
            }
        }
    }

    fn is_ours(&self, instance: &Instance) -> bool {
        match (self.id.is_empty(), instance.token.is_empty()) {
            (false, _) => instance.id == self.id,
            (true, false) => instance.token == self.token,
            (true, true) => instance.name == self.name && !instance.id.is_empty(),
        }
    }

    fn failed(&self, class: ErrorClass) -> Receipt {
        Receipt::LaunchFailed { class, release: self.unsure }
    }

    fn wait(&mut self, now: Time, phase: Phase) -> Next {
        self.phase = phase;
        Next::WaitUntil(self.pace.wait(now, self.deadline))
    }
}
