//! An honest world with one fault: at each request in turn the answer is lost, the request is lost, or the process dies. The
//! end must be the one that no fault would have given.

use crate::kube::Name;
use crate::memory::{LaunchKind, Removal};
use crate::observation::{ErrorClass, InstanceState};
use crate::procedure::{GaveUp, LiveNode, LivePod, Next, Receipt, Reply, Request, VmStart, VmStop};
use crate::units::{Span, Time};

use super::{FOREVER, START, a_launch, a_node, a_pod, a_removal, an_instance, failed};

const DEADLINE: Span = Span::from_mins(15);

/// A machine, its node and its pods.
#[derive(Clone)]
struct World {
    instance: Option<InstanceState>,
    node: Option<LiveNode>,
    stops: u32,
    evictions: u32,
}

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Nothing,
    AnswerLost,
    RequestLost,
    CrashBefore,
    CrashAfter,
    Throttled,
    Unavailable,
}

const FAULTS: [Fault; 6] = [
    Fault::AnswerLost,
    Fault::RequestLost,
    Fault::CrashBefore,
    Fault::CrashAfter,
    Fault::Throttled,
    Fault::Unavailable,
];

impl World {
    fn take(&mut self, request: &Request) -> Reply {
        match request {
            Request::StartInstance { .. } | Request::CreateInstance { .. } => {
                if !matches!(self.instance, Some(InstanceState::Running)) {
                    self.instance = Some(InstanceState::Starting);
                }
                Reply::Done
            }
            Request::StopInstance { .. } => {
                let pods = self.node.as_ref().map_or(0, |node| node.pods.len());
                assert_eq!(pods, 0, "stopped while in use");
                self.stops += 1;
                self.instance = Some(InstanceState::Stopping);
                Reply::Done
            }
            Request::ReadInstance { .. } => match self.instance {
                None => failed(ErrorClass::NotFound),
                Some(state) => Reply::Instance(an_instance("i1", state)),
            },
            Request::ReadNode { .. } => self.node.clone().map_or(failed(ErrorClass::NotFound), Reply::Node),
            Request::Cordon { mark, .. } => self.cordon(mark),
            Request::Uncordon { mark, .. } => {
                let Some(node) = self.node.as_mut().filter(|node| node.mark == *mark) else {
                    return failed(ErrorClass::Conflict);
                };
                (node.unschedulable, node.mark) = (false, Name::default());
                Reply::Done
            }
            Request::Evict { uid, .. } => {
                self.evictions += 1;
                for pod in self.node.iter_mut().flat_map(|node| &mut node.pods) {
                    if pod.uid == *uid {
                        pod.leaving = Some(FOREVER);
                    }
                }
                Reply::Done
            }
            Request::WriteLedger { .. } | Request::ReadLedger | Request::WriteHistory { .. } => {
                unreachable!("procedures do not write the ledger")
            }
        }
    }

    fn cordon(&mut self, mark: &Name) -> Reply {
        match &mut self.node {
            Some(node) if node.unschedulable && node.mark != *mark => failed(ErrorClass::Conflict),
            Some(node) => {
                (node.unschedulable, node.mark) = (true, mark.clone());
                Reply::Done
            }
            None => failed(ErrorClass::NotFound),
        }
    }

    /// Time passes: pods that were told to leave do, machines come up and go down.
    fn passes(&mut self) {
        if let Some(node) = &mut self.node {
            node.pods.retain(|pod| pod.leaving.is_none());
        }
        match self.instance {
            Some(InstanceState::Starting) => self.instance = Some(InstanceState::Running),
            Some(InstanceState::Stopping) => self.instance = Some(InstanceState::Stopped),
            _ => {}
        }
        let up = self.instance == Some(InstanceState::Running);
        match &mut self.node {
            Some(node) => node.ready = up,
            None if up => {
                let node = LiveNode { mark: "".into(), unschedulable: false, ..a_node() };
                self.node = Some(node);
            }
            None => {}
        }
    }
}

/// Runs a machine through the world with a fault at one request; returns the end and how many requests there were.
fn run<M: Clone>(
    world: &mut World,
    begin: impl Fn(bool, bool) -> M,
    step: impl Fn(M, Time, Option<&Reply>) -> (M, Next),
    fault_at: usize,
    fault: Fault,
) -> (Receipt, usize) {
    let (mut now, mut reply, mut requests, mut durable) = (START, None, 0, false);
    let mut machine = begin(false, false);
    for _ in 0..1000 {
        let next;
        (machine, next) = step(machine, now, reply.as_ref());
        reply = None;
        match next {
            Next::Done(receipt) => return (receipt, requests),
            Next::WaitUntil(at) => {
                now = at;
                world.passes();
            }
            Next::Persist => {
                durable = true;
                reply = Some(Reply::Done);
            }
            Next::Request(request) => {
                let fault = if requests == fault_at { fault } else { Fault::Nothing };
                requests += 1;
                reply = match fault {
                    Fault::Nothing => Some(world.take(&request)),
                    Fault::AnswerLost => {
                        world.take(&request);
                        Some(Reply::TimedOut)
                    }
                    Fault::RequestLost => Some(Reply::TimedOut),
                    Fault::Throttled => Some(failed(ErrorClass::Throttled)),
                    Fault::Unavailable => Some(failed(ErrorClass::Transient)),
                    Fault::CrashBefore | Fault::CrashAfter => {
                        if fault == Fault::CrashAfter {
                            world.take(&request);
                        }
                        machine = begin(true, durable);
                        None
                    }
                };
            }
        }
    }
    panic!("it does not end");
}

fn every_fault(mut one: impl FnMut(usize, Fault) -> usize) {
    let requests = one(usize::MAX, Fault::Nothing);
    assert!(requests > 2);
    for fault in FAULTS {
        for at in 0..requests {
            one(at, fault);
        }
    }
}

#[test]
fn a_drain_converges_whatever_one_fault_hits() {
    every_fault(|at, fault| {
        let node = LiveNode {
            pods: vec![a_pod("p1"), a_pod("p2")],
            mark: "".into(),
            unschedulable: false,
            ..a_node()
        };
        let mut world =
            World { instance: Some(InstanceState::Running), node: Some(node), stops: 0, evictions: 0 };
        let begin = |resumed: bool, stopping: bool| {
            let removal = Removal { stopping, ..a_removal(DEADLINE) };
            if resumed {
                VmStop::resume(&"n1".into(), &removal)
            } else {
                VmStop::begin(&"n1".into(), &removal)
            }
        };
        let (receipt, requests) = run(&mut world, begin, VmStop::step, at, fault);
        // What had not begun when the process ended is left to a plan that looks again.
        let expected = match (fault, at) {
            (Fault::CrashBefore, 0) => InstanceState::Running,
            _ => InstanceState::Stopped,
        };
        let outdated = Receipt::GaveUp { why: GaveUp::Outdated, cordon_left: false };
        let ending = if expected == InstanceState::Running { outdated } else { Receipt::Stopped };
        assert_eq!((receipt, world.instance), (ending, Some(expected)), "{fault:?} at {at}");
        assert!(world.stops <= 2, "{fault:?} at {at}");
        requests
    });
}

#[test]
fn a_drain_that_must_be_given_up_leaves_no_cordon() {
    every_fault(|at, fault| {
        let pods = vec![a_pod("p1"), LivePod { namespace: "other".into(), ..a_pod("stranger") }];
        let node = LiveNode { pods, mark: "".into(), unschedulable: false, ..a_node() };
        let mut world =
            World { instance: Some(InstanceState::Running), node: Some(node), stops: 0, evictions: 0 };
        let begin = |resumed: bool, stopping: bool| {
            let removal = Removal { stopping, ..a_removal(DEADLINE) };
            if resumed {
                VmStop::resume(&"n1".into(), &removal)
            } else {
                VmStop::begin(&"n1".into(), &removal)
            }
        };
        let (receipt, requests) = run(&mut world, begin, VmStop::step, at, fault);
        assert!(
            matches!(receipt, Receipt::GaveUp { cordon_left: false, .. }),
            "{fault:?} at {at}: {receipt:?}"
        );
        let node = world.node.expect("nobody took it");
        assert!(!node.unschedulable && node.mark.is_empty(), "{fault:?} at {at}");
        assert_eq!((world.stops, world.evictions), (0, 0), "{fault:?} at {at}");
        requests
    });
}

#[test]
fn a_launch_converges_whatever_one_fault_hits() {
    for (kind, instance) in [(LaunchKind::Start, Some(InstanceState::Stopped)), (LaunchKind::Create, None)] {
        every_fault(|at, fault| {
            let node = (kind == LaunchKind::Start).then(|| LiveNode { ready: false, ..a_node() });
            let mut world = World { instance, node, stops: 0, evictions: 0 };
            let begin = |resumed: bool, _| {
                let launch = a_launch(kind, DEADLINE);
                if resumed {
                    VmStart::resume(&"n1".into(), &launch)
                } else {
                    VmStart::begin(&"n1".into(), &launch)
                }
            };
            let (receipt, requests) = run(&mut world, begin, VmStart::step, at, fault);
            assert_eq!(receipt, Receipt::Joined, "{kind:?}, {fault:?} at {at}");
            assert_eq!(world.instance, Some(InstanceState::Running));
            let node = world.node.expect("it joined");
            assert!(node.ready && !node.unschedulable && node.mark.is_empty(), "{kind:?}, {fault:?} at {at}");
            requests
        });
    }
}
