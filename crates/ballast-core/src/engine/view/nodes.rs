//! Nodes, instances that are none, and launches of which nothing is seen yet.

use std::collections::{BTreeMap, BTreeSet};

use crate::kube::Name;
use crate::memory::Memory;
use crate::observation::InstanceState;
use crate::plan::{Plan, Step, UnsafeToRemove, Words};
use crate::resources::Resources;
use crate::snapshot::{BaseState, NodeEntry, Snapshot, ZONE_LABEL};
use crate::units::{Share, Time};
use crate::view::{NodeState, NodeView, Usage};

/// Everything that is or will be a node, by pool and name.
pub(super) fn nodes(snapshot: &Snapshot, memory: &Memory, plan: Option<&Plan>, now: Time) -> Vec<NodeView> {
    let weighed = weighed(plan);
    let mut views: Vec<NodeView> = Vec::with_capacity(snapshot.nodes().len());
    for node in snapshot.nodes() {
        let reason = weighed.get(&node.name).copied().flatten();
        views.push(view(snapshot, memory, node, reason, now));
    }
    let mut known: BTreeSet<Name> = views.iter().map(|view| view.name.clone()).collect();
    for pool in &snapshot.pools {
        for instance in pool.instances.values() {
            if known.insert(instance.name.clone()) {
                let state = match instance.state {
                    InstanceState::Running | InstanceState::Starting | InstanceState::Unknown => {
                        NodeState::Starting
                    }
                    InstanceState::Stopping => NodeState::Stopping,
                    InstanceState::Stopped if memory.ledger.launches.contains_key(&instance.name) => {
                        NodeState::Starting
                    }
                    InstanceState::Stopped => NodeState::Stopped,
                };
                views.push(bare(&instance.name, &pool.name, &instance.zone, state));
            }
        }
    }
    for (name, launch) in &memory.ledger.launches {
        if known.insert(name.clone()) {
            views.push(bare(name, &launch.pool, &launch.zone, NodeState::Starting));
        }
    }
    views.sort_by(|a, b| a.rank().cmp(&b.rank()));
    views
}

/// What the last plan said of each node that it weighed for removal.
fn weighed(plan: Option<&Plan>) -> BTreeMap<Name, Option<&UnsafeToRemove>> {
    let steps = plan.map(|plan| plan.report.trace.as_slice()).unwrap_or_default();
    let candidates = steps.iter().filter_map(|step| match step {
        Step::Candidate(candidate) => Some((candidate.node.clone(), candidate.unsafe_to_remove.as_ref())),
        _ => None,
    });
    candidates.collect()
}

fn view(
    snapshot: &Snapshot,
    memory: &Memory,
    node: &NodeEntry,
    reason: Option<&UnsafeToRemove>,
    now: Time,
) -> NodeView {
    let state = state_of(snapshot, memory, node, now);
    let pool = node.pool.map(|pool| &snapshot.pools[pool as usize]);
    let guests = node.pods.iter().filter(|&&pod| {
        let traits = &snapshot.class(snapshot.pod(pod).class).traits;
        !traits.daemon && !traits.mirror
    });
    let kept = match reason {
        Some(reason) => Some(reason.words(now)),
        None if pool.is_none() => Some(UnsafeToRemove::NotManaged.words(now)),
        None if state == NodeState::Cordoned => Some(UnsafeToRemove::CordonedByOther.words(now)),
        None => pool
            .filter(|pool| node.utilisation_milli() >= pool.spec.scale_down.utilisation.as_milli().max(1))
            .map(|_| {
                let share = Share::from_milli(node.utilisation_milli());
                UnsafeToRemove::Utilised { share }.words(now)
            }),
    };
    NodeView {
        name: node.name.clone(),
        pool: pool.map(|pool| pool.name.clone()).unwrap_or_default(),
        zone: node.label(ZONE_LABEL).cloned().unwrap_or_default(),
        state,
        usage: usage(node),
        pods: guests.count() as u32,
        idle_since: memory.history.idle_since.get(&node.name).copied(),
        kept_because: kept
            .filter(|_| matches!(state, NodeState::Ready | NodeState::Unready | NodeState::Cordoned)),
    }
}

fn usage(node: &NodeEntry) -> Usage {
    Usage {
        cpu_requested: node.requested[Resources::CPU],
        cpu: node.allocatable[Resources::CPU],
        memory_requested: node.requested[Resources::MEMORY],
        memory: node.allocatable[Resources::MEMORY],
        gpu_requested: node.gpu_requested,
        gpu: node.gpus.count() as i64 * 1000,
    }
}

/// Where a node is in its life, with what is under way.
fn state_of(snapshot: &Snapshot, memory: &Memory, node: &NodeEntry, now: Time) -> NodeState {
    let ledger = &memory.ledger;
    let rising = ledger.launches.contains_key(snapshot.machine_of(node));
    let leaving = ledger.removals.get(&node.name);
    match node.state {
        BaseState::Ready if leaving.is_some() => NodeState::Draining,
        BaseState::Ready => NodeState::Ready,
        BaseState::Stopped if rising => NodeState::Starting,
        BaseState::Stopped => NodeState::Stopped,
        BaseState::Stopping => NodeState::Stopping,
        BaseState::CordonedByUs if rising => NodeState::Starting,
        BaseState::CordonedByUs if leaving.is_some_and(|removal| removal.stopping) => NodeState::Stopping,
        BaseState::CordonedByUs => NodeState::Draining,
        BaseState::Cordoned => NodeState::Cordoned,
        BaseState::NotReady | BaseState::Unseen if rising || is_young(snapshot, node, now) => {
            NodeState::Starting
        }
        BaseState::NotReady | BaseState::Unseen => NodeState::Unready,
    }
}

/// Whether a node that is not ready may still be on its way up.
fn is_young(snapshot: &Snapshot, node: &NodeEntry, now: Time) -> bool {
    let created = node.node.as_ref().and_then(|node| node.metadata.creation_timestamp);
    let pool = node.pool.map(|pool| &snapshot.pools[pool as usize]);
    match (created, pool) {
        (Some(created), Some(pool)) => now.since(created) <= pool.spec.times.boot_deadline,
        _ => false,
    }
}

/// A machine of which there is no node.
fn bare(name: &Name, pool: &Name, zone: &Name, state: NodeState) -> NodeView {
    NodeView {
        name: name.clone(),
        pool: pool.clone(),
        zone: zone.clone(),
        state,
        usage: Usage::default(),
        pods: 0,
        idle_since: None,
        kept_because: None,
    }
}
