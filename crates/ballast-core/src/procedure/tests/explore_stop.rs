//! Every row of replies and crashes for `vm_stop`: it ends, it stops only what it saw empty, it leaves no cordon behind.

use crate::kube::Name;
use crate::memory::Removal;
use crate::observation::{ErrorClass, InstanceState, SourceError};
use crate::policy::StopMode;
use crate::procedure::{GaveUp, LiveNode, Next, Receipt, Reply, Request, VmStop};
use crate::units::{Span, Time};

use super::explore::{Watched, explore};
use super::{MARK, a_release, a_removal, is_empty, replies};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watch {
    machine: VmStop,
    kind: Kind,
    /// The ledger says that a stop may have been sent.
    durable: bool,
    /// The reply just heard was a live read that allows a stop.
    empty: bool,
    /// The node that our cordon may be on, and its mark.
    cordon: Option<(Name, Name)>,
    /// An uncordon was asked for.
    undone: bool,
    /// A stop was asked for.
    stop: bool,
    /// The instance was seen off.
    off: bool,
    /// Pods that the last look at the node showed.
    pods: Vec<Name>,
    asked: Option<Asked>,
    crashes: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Drain,
    Waits,
    Release,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Asked {
    Node,
    Instance,
    Stop,
    Uncordon,
    Cordon,
    Evict,
}

/// Short, so that all rows of replies up to it can be walked.
const DEADLINE: Span = Span::from_secs(8);

impl Watch {
    fn new(kind: Kind, crashes: u8) -> Self {
        Self {
            machine: VmStop::begin(&"n1".into(), &removal(kind, false)),
            kind,
            durable: false,
            empty: false,
            cordon: None,
            undone: false,
            stop: false,
            off: false,
            pods: Vec::new(),
            asked: None,
            crashes,
        }
    }

    fn node_shown(&mut self, node: &LiveNode) {
        let ours = (self.kind == Kind::Release || &*node.uid == "u1")
            && (&*node.mark == MARK || self.kind == Kind::Release && !node.mark.is_empty());
        let joined = self.kind == Kind::Release && node.ready;
        self.empty = ours && node.unschedulable && is_empty(node) && !joined;
        self.pods.clear();
        if !self.undone {
            let staying = node.pods.iter().filter(|pod| pod.leaving.is_none());
            self.pods.extend(staying.map(|pod| pod.uid.clone()));
        }
        if self.cordon.as_ref().is_some_and(|(uid, mark)| *uid != node.uid || *mark != node.mark) {
            self.cordon = None;
        }
    }
}

fn removal(kind: Kind, stopping: bool) -> Removal {
    let removal = match kind {
        Kind::Drain => a_removal(DEADLINE),
        Kind::Waits => Removal {
            waits_for: vec!["p2".into(), "stranger".into()],
            displaces: vec!["p1".into()],
            ..a_removal(DEADLINE)
        },
        Kind::Release => a_release(DEADLINE),
    };
    Removal { stopping, ..removal }
}

impl Watched for Watch {
    fn step(&mut self, now: Time, reply: Option<&Reply>) -> Next {
        let (machine, next) = self.machine.clone().step(now, reply);
        self.machine = machine;
        next
    }

    fn sent(&mut self, request: &Request) {
        self.asked = Some(match request {
            Request::ReadNode { .. } => Asked::Node,
            Request::ReadInstance { .. } => Asked::Instance,
            Request::Cordon { uid, mark, .. } => {
                assert!(self.kind == Kind::Release || &**uid == "u1");
                self.cordon = Some((uid.clone(), mark.clone()));
                Asked::Cordon
            }
            Request::Uncordon { uid, mark, .. } => {
                assert!(self.kind == Kind::Release || &**uid == "u1");
                assert!(self.kind == Kind::Release || &**mark == MARK, "a cordon that is not ours: {mark}");
                self.undone = true;
                self.pods.clear();
                Asked::Uncordon
            }
            Request::Evict { uid, .. } => {
                let named = removal(self.kind, false).displaces;
                assert!(named.contains(uid), "a pod that the plan did not name");
                assert!(self.pods.contains(uid));
                Asked::Evict
            }
            Request::StopInstance { mode, .. } => {
                assert!(self.empty, "a stop without a live read just before: {self:?}");
                assert!(self.durable, "a stop without a durable mark");
                assert_eq!(*mode == StopMode::Delete, self.kind == Kind::Release);
                self.stop = true;
                Asked::Stop
            }
            other => panic!("not a request of this procedure: {other:?}"),
        });
        self.empty = false;
    }

    fn heard(&mut self, reply: &Reply) {
        self.empty = false;
        let gone = matches!(reply, Reply::Failed(SourceError { class: ErrorClass::NotFound, .. }));
        match (self.asked, reply) {
            (Some(Asked::Node), Reply::Node(node)) => self.node_shown(node),
            (Some(Asked::Node), _) if gone => {
                self.empty = self.kind == Kind::Release;
                self.cordon = None;
            }
            (Some(Asked::Uncordon), Reply::Done) => self.cordon = None,
            (Some(Asked::Uncordon), _) if gone => self.cordon = None,
            (Some(Asked::Instance | Asked::Stop), Reply::Instance(instance)) if &*instance.id == "i1" => {
                self.off = instance.state == InstanceState::Stopped;
            }
            (Some(Asked::Instance | Asked::Stop), _) if gone => self.off = true,
            (Some(Asked::Instance | Asked::Stop), _) => self.off = false,
            _ => {}
        }
        self.asked = None;
    }

    fn persisted(&mut self) {
        self.durable = true;
    }

    fn ended(&self, receipt: Receipt) {
        match receipt {
            Receipt::Stopped => assert!(self.off, "not seen off"),
            Receipt::GaveUp { cordon_left: false, .. } => {
                assert!(self.cordon.is_none(), "a forgotten cordon: {self:?}");
            }
            Receipt::GaveUp { cordon_left: true, why } => {
                assert!(self.undone || why == GaveUp::StopStuck || self.stop || self.crashes == 0);
            }
            other => panic!("not a receipt of this procedure: {other:?}"),
        }
    }

    fn crashed(&self) -> Option<Self> {
        (self.crashes > 0 && self.asked.is_some()).then(|| Self {
            machine: VmStop::resume(&"n1".into(), &removal(self.kind, self.durable)),
            asked: None,
            empty: false,
            off: false,
            undone: false,
            pods: Vec::new(),
            crashes: self.crashes - 1,
            ..self.clone()
        })
    }
}

#[test]
fn a_drain_ends_safely_under_every_row_of_replies() {
    let states = explore(Watch::new(Kind::Drain, 0), DEADLINE, &replies());
    assert!(states > 1000, "only {states} states");
}

#[test]
fn a_drain_ends_safely_with_a_crash_anywhere() {
    explore(Watch::new(Kind::Drain, 1), DEADLINE, &replies());
}

#[test]
fn waiting_for_completion_ends_safely_and_evicts_nothing() {
    explore(Watch::new(Kind::Waits, 1), DEADLINE, &replies());
}

#[test]
fn a_release_ends_safely_under_every_row_of_replies() {
    explore(Watch::new(Kind::Release, 1), DEADLINE, &replies());
}
