//! What has happened, as it is told on pools, nodes and pods.

use crate::kube::Name;
use crate::memory::{Approval, ApprovalState};
use crate::observation::{ErrorClass, SourceError};
use crate::plan::{Action, ActionKind, DecisionId};
use crate::procedure::{Receipt, Reply, Request};
use crate::publish::{Event, EventReason, Regarding, RegardingKind, pods_told};
use crate::snapshot::Snapshot;

use super::{Begun, Ended, Engine, Outcome, RequestId};

/// An eviction that was asked for: of whom, from which node, by which decision.
#[derive(Clone, Debug)]
pub struct Eviction {
    pod: Regarding,
    node: Name,
    decision: Option<DecisionId>,
}

impl Engine {
    /// What is told of approvals that were answered, of what was begun and of what has ended.
    pub fn events(&mut self, outcome: &Outcome) -> Vec<Event> {
        let Outcome { approvals, begun, receipts, .. } = outcome;
        if approvals.is_empty() && begun.is_empty() && receipts.is_empty() {
            return Vec::new();
        }
        let snapshot = self.store.snapshot();
        let policy = self.store.policy_name();
        let answered = approvals.iter().filter_map(|own| Some(answered_event(own, policy?)));
        let begun = begun.iter().filter_map(|begun| begun_event(begun, &snapshot));
        let ended = receipts.iter().map(|ended| ended_event(ended, &snapshot));
        answered.chain(begun).chain(ended).collect()
    }

    /// What is told to pods that wait: the first of all that are alike.
    pub fn pods_told(&mut self) -> Vec<Event> {
        let snapshot = self.store.snapshot();
        let report = self.last.as_ref().map(|plan| &plan.report);
        let (ledger, acts) = (&self.executor.memory.ledger, self.acts());
        report.map(|report| pods_told(&snapshot, report, ledger, acts)).unwrap_or_default()
    }

    /// What a request is about, where it is an eviction that is out.
    pub fn eviction(&self, id: RequestId, request: &Request) -> Option<Eviction> {
        let Request::Evict { namespace, name, uid } = request else { return None };
        let (namespace, name, uid) = (namespace.clone(), name.clone(), uid.clone());
        let pod = Regarding { kind: RegardingKind::Pod, namespace, name, uid };
        let node = self.executor.owner_of(id)?.clone();
        Some(Eviction { pod, node, decision: self.executor.decision_of(id) })
    }

    /// What is told of an eviction that was answered.
    pub fn evicted(&mut self, eviction: &Eviction, reply: &Reply) -> Option<Event> {
        let Eviction { pod, node, decision } = eviction;
        match reply {
            Reply::Done => {
                let words = format!("asked to leave node {node}, which is removed");
                Some(Event::new(EventReason::AskedToLeave, pod.clone(), &words, *decision))
            }
            Reply::Failed(SourceError { class: ErrorClass::Throttled, .. }) => {
                let words = format!(
                    "pod {}/{} may not leave now: a disruption budget allows no more",
                    pod.namespace, pod.name
                );
                let regarding = on_node(node, &self.store.snapshot())?;
                Some(Event::new(EventReason::DrainBlocked, regarding, &words, *decision))
            }
            _ => None,
        }
    }
}

fn answered_event(approval: &Approval, policy: &Name) -> Event {
    let (reason, words) = match approval.state {
        ApprovalState::Refused => {
            (EventReason::ApprovalRefused, format!("approved, and refused: {}", approval.message))
        }
        ApprovalState::UnderWay | ApprovalState::Done => {
            (EventReason::PlanApproved, "approved: it is carried out".to_owned())
        }
    };
    Event::new(reason, Regarding::policy(policy), &words, Some(approval.plan))
}

fn begun_event(begun: &Begun, snapshot: &Snapshot) -> Option<Event> {
    let Begun { decision, action: Action { kind, target, reason, .. } } = begun;
    let (name, pool, why) = (&target.name, &target.pool, &reason.message);
    let (reason, regarding, words) = match kind {
        ActionKind::StartInstance => {
            (EventReason::Launching, Regarding::pool(pool), format!("{name} is started: {why}"))
        }
        ActionKind::CreateInstance => {
            (EventReason::Launching, Regarding::pool(pool), format!("{name} is made: {why}"))
        }
        ActionKind::StopInstance => {
            (EventReason::Draining, on_node(name, snapshot)?, format!("cordoned and drained: {why}"))
        }
        ActionKind::CordonNode => {
            let words = format!("cordoned, and removed when its work has ended: {why}");
            (EventReason::Draining, on_node(name, snapshot)?, words)
        }
        ActionKind::ReleaseInstance => {
            (EventReason::Releasing, Regarding::pool(pool), format!("{name} is let go: {why}"))
        }
        _ => return None,
    };
    Some(Event::new(reason, regarding, &words, Some(decision)))
}

fn ended_event(ended: &Ended, snapshot: &Snapshot) -> Event {
    let Ended { node: name, pool, receipt, decision } = ended;
    let on_pool = || Regarding::pool(pool);
    let joined = snapshot.node_of_machine(name).map(|node| node.name.clone());
    let (reason, regarding) = match receipt {
        Receipt::Joined => {
            let node = on_node(joined.as_ref().unwrap_or(name), snapshot);
            (EventReason::NodeJoined, node.unwrap_or_else(on_pool))
        }
        Receipt::LaunchFailed { .. } => (EventReason::LaunchFailed, on_pool()),
        Receipt::NeverJoined => (EventReason::NeverJoined, on_pool()),
        Receipt::LaunchCancelled => (EventReason::LaunchCancelled, on_pool()),
        Receipt::Stopped => (EventReason::MachineStopped, on_pool()),
        Receipt::GaveUp { .. } => (EventReason::NodeKept, on_node(name, snapshot).unwrap_or_else(on_pool)),
        Receipt::Uncordoned => (EventReason::Uncordoned, on_node(name, snapshot).unwrap_or_else(on_pool)),
    };
    Event::new(reason, regarding, &format!("{name} {receipt}"), *decision)
}

/// A node that is there.
fn on_node(name: &Name, snapshot: &Snapshot) -> Option<Regarding> {
    let node = snapshot.node_named(name)?;
    let (namespace, name, uid) = (Name::default(), name.clone(), node.uid());
    Some(Regarding { kind: RegardingKind::Node, namespace, name, uid })
}
