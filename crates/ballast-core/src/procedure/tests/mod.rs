//! Every reply at every step, every crash: what the procedures do then.
//!
//! `explore_*` walk the whole graph of states under every reply of an alphabet, crashes among them; `world` plays an honest
//! world with one fault at each request and compares the ends; `edges` are tables for people to read.

mod edges;
mod explore;
mod explore_start;
mod explore_stop;
mod random;
mod world;

use crate::kube::Name;
use crate::memory::{Launch, LaunchKind, Removal};
use crate::observation::{ErrorClass, Instance, InstanceState, SourceError};
use crate::policy::StopMode;
use crate::units::{Span, Time};

use super::{LiveNode, LivePod, Reply};

/// When every test begins.
pub(super) const START: Time = Time::from_secs(1_000_000);
/// Our mark in every test.
pub(super) const MARK: &str = "stop-7";

pub(super) const CLASSES: [ErrorClass; 8] = [
    ErrorClass::StockOut,
    ErrorClass::Quota,
    ErrorClass::Throttled,
    ErrorClass::Conflict,
    ErrorClass::NotFound,
    ErrorClass::Auth,
    ErrorClass::Invalid,
    ErrorClass::Transient,
];

pub(super) fn failed(class: ErrorClass) -> Reply {
    Reply::Failed(SourceError { class, message: "said the test".into() })
}

pub(super) fn instance(id: &str, state: InstanceState) -> Reply {
    Reply::Instance(an_instance(id, state))
}

pub(super) fn an_instance(id: &str, state: InstanceState) -> Instance {
    Instance {
        id: id.into(),
        name: "n1".into(),
        pool: "gpu".into(),
        zone: "z1".into(),
        instance_type: "".into(),
        state,
        since: None,
        token: "t1".into(),
    }
}

/// A node with our cordon on it.
pub(super) fn a_node() -> LiveNode {
    LiveNode {
        name: "n1".into(),
        uid: "u1".into(),
        unschedulable: true,
        mark: MARK.into(),
        ready: true,
        pods: Vec::new(),
    }
}

pub(super) fn a_pod(uid: &str) -> LivePod {
    LivePod { namespace: "ns".into(), name: format!("pod-{uid}").into(), uid: uid.into(), leaving: None }
}

/// A grace that is never over.
pub(super) const FOREVER: Span = Span::from_hours(100_000);

/// Whether nothing is on a node but what has no time left to go.
pub(super) fn is_empty(node: &LiveNode) -> bool {
    node.pods.iter().all(|pod| pod.leaving == Some(Span::ZERO))
}

pub(super) fn a_launch(kind: LaunchKind, deadline: Span) -> Launch {
    Launch {
        kind,
        pool: "gpu".into(),
        zone: "z1".into(),
        instance_type: Name::default(),
        provider_id: if kind == LaunchKind::Start { "i1".into() } else { Name::default() },
        token: "t1".into(),
        since: START,
        deadline: START + deadline,
        decision: None,
    }
}

/// A removal that may displace the pods `p1` and `p2`.
pub(super) fn a_removal(deadline: Span) -> Removal {
    Removal {
        pool: "gpu".into(),
        uid: "u1".into(),
        provider_id: "i1".into(),
        token: Name::default(),
        mark: MARK.into(),
        mode: StopMode::Deallocate,
        release: false,
        since: START,
        deadline: START + deadline,
        waits_for: Vec::new(),
        stopping: false,
        displaces: vec!["p1".into(), "p2".into()],
        decision: None,
    }
}

/// The release of a made instance that has neither a node nor a known identity.
pub(super) fn a_release(deadline: Span) -> Removal {
    Removal {
        uid: Name::default(),
        provider_id: Name::default(),
        token: "t1".into(),
        mode: StopMode::Delete,
        release: true,
        displaces: Vec::new(),
        ..a_removal(deadline)
    }
}

/// Every kind of reply, with the variants of nodes and instances that matter.
pub(super) fn replies() -> Vec<Reply> {
    let mut replies = vec![Reply::Done, Reply::TimedOut, Reply::Ledger(None)];
    replies.extend(CLASSES.map(failed));
    let states = [
        InstanceState::Running,
        InstanceState::Starting,
        InstanceState::Stopping,
        InstanceState::Stopped,
        InstanceState::Unknown,
    ];
    replies.extend(states.map(|state| instance("i1", state)));
    replies.push(Reply::Instance(Instance {
        token: "other".into(),
        ..an_instance("other", InstanceState::Stopped)
    }));
    let leaving = LivePod { leaving: Some(FOREVER), ..a_pod("p9") };
    let stranded = LivePod { leaving: Some(Span::ZERO), ..a_pod("p9") };
    let nodes = [
        a_node(),
        LiveNode { ready: false, ..a_node() },
        LiveNode { pods: vec![a_pod("p1"), a_pod("p2")], ..a_node() },
        LiveNode { pods: vec![leaving], ready: false, ..a_node() },
        LiveNode { pods: vec![stranded], ready: false, ..a_node() },
        LiveNode { pods: vec![a_pod("p1"), a_pod("stranger")], ..a_node() },
        LiveNode { unschedulable: false, ..a_node() },
        LiveNode { mark: "".into(), ..a_node() },
        LiveNode { mark: "".into(), unschedulable: false, ready: false, ..a_node() },
        LiveNode { mark: "".into(), unschedulable: false, ..a_node() },
        LiveNode { mark: "stop-3".into(), ready: false, ..a_node() },
        LiveNode { uid: "u2".into(), ..a_node() },
    ];
    replies.extend(nodes.map(Reply::Node));
    replies
}
