//! Every row of replies and crashes for `vm_start` and `uncordon`.

use crate::kube::Name;
use crate::memory::LaunchKind;
use crate::observation::{ErrorClass, SourceError};
use crate::procedure::{Next, Receipt, Reply, Request, Uncordon, VmStart};
use crate::units::{Span, Time};

use super::explore::{Watched, explore};
use super::{START, a_launch, replies};

/// Short, so that all rows of replies up to it can be walked.
const DEADLINE: Span = Span::from_secs(15);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watch {
    machine: VmStart,
    kind: LaunchKind,
    asks: u32,
    /// Something may be running.
    unsure: bool,
    /// The mark that the last look at a ready node showed.
    ready: Option<Name>,
    asked_for_launch: bool,
    crashes: u8,
}

impl Watched for Watch {
    fn step(&mut self, now: Time, reply: Option<&Reply>) -> Next {
        let (machine, next) = self.machine.clone().step(now, reply);
        self.machine = machine;
        next
    }

    fn sent(&mut self, request: &Request) {
        self.asked_for_launch = false;
        match request {
            Request::StartInstance { id, .. } => {
                assert_eq!((self.kind, &**id), (LaunchKind::Start, "i1"));
                self.asked_for_launch = true;
            }
            Request::CreateInstance { token, .. } => {
                assert_eq!((self.kind, &**token), (LaunchKind::Create, "t1"));
                self.asked_for_launch = true;
            }
            Request::ReadInstance { .. } | Request::ReadNode { .. } => {}
            Request::Uncordon { mark, .. } => assert_eq!(Some(mark), self.ready.as_ref()),
            other => panic!("not a request of this procedure: {other:?}"),
        }
        self.asks += u32::from(self.asked_for_launch);
        assert!(self.asks <= 12, "asked too often");
    }

    fn heard(&mut self, reply: &Reply) {
        use ErrorClass::{Conflict, Transient};
        if let Reply::Node(node) = reply {
            self.ready = node.ready.then(|| node.mark.clone());
        }
        let refused = matches!(reply, Reply::Failed(SourceError { class, .. }) if !matches!(class, Conflict | Transient));
        self.unsure |= self.asked_for_launch && !refused;
    }

    fn persisted(&mut self) {
        panic!("a launch is durable before it begins");
    }

    fn ended(&self, receipt: Receipt) {
        match receipt {
            Receipt::Joined => assert!(self.ready.is_some(), "never seen ready"),
            Receipt::LaunchFailed { release, .. } => assert!(release || !self.unsure, "{self:?}"),
            Receipt::NeverJoined => {}
            other => panic!("not a receipt of this procedure: {other:?}"),
        }
    }

    fn crashed(&self) -> Option<Self> {
        (self.crashes > 0).then(|| Self {
            machine: VmStart::resume(&"n1".into(), &a_launch(self.kind, DEADLINE)),
            asked_for_launch: false,
            ready: None,
            crashes: self.crashes - 1,
            ..self.clone()
        })
    }
}

fn watch(kind: LaunchKind) -> Watch {
    Watch {
        machine: VmStart::begin(&"n1".into(), &a_launch(kind, DEADLINE)),
        kind,
        asks: 0,
        unsure: false,
        ready: None,
        asked_for_launch: false,
        crashes: 1,
    }
}

#[test]
fn a_start_ends_under_every_row_of_replies_and_crashes() {
    let states = explore(watch(LaunchKind::Start), DEADLINE, &replies());
    assert!(states > 1000, "only {states} states");
}

#[test]
fn a_creation_ends_under_every_row_of_replies_and_crashes() {
    explore(watch(LaunchKind::Create), DEADLINE, &replies());
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct WatchUncordon {
    machine: Uncordon,
    mark: Option<Name>,
}

impl Watched for WatchUncordon {
    fn step(&mut self, now: Time, reply: Option<&Reply>) -> Next {
        let (machine, next) = self.machine.clone().step(now, reply);
        self.machine = machine;
        next
    }

    fn sent(&mut self, request: &Request) {
        match request {
            Request::ReadNode { .. } => {}
            Request::Uncordon { mark, .. } => assert!(self.mark.as_ref() == Some(mark) && !mark.is_empty()),
            other => panic!("not a request of this procedure: {other:?}"),
        }
    }

    fn heard(&mut self, reply: &Reply) {
        self.mark = if let Reply::Node(node) = reply { Some(node.mark.clone()) } else { None };
    }

    fn persisted(&mut self) {
        panic!("nothing to make durable");
    }

    fn ended(&self, receipt: Receipt) {
        assert!(matches!(receipt, Receipt::Uncordoned | Receipt::GaveUp { .. }));
    }

    fn crashed(&self) -> Option<Self> {
        None
    }
}

#[test]
fn an_uncordon_ends_under_every_row_of_replies() {
    let machine = Uncordon::begin(&"n1".into(), START);
    explore(WatchUncordon { machine, mark: None }, DEADLINE, &replies());
}
