//! Which nodes are on their way up.

use std::collections::BTreeSet;

use crate::kube::Name;
use crate::memory::{Launch, LaunchKind, Memory};
use crate::observation::InstanceState;
use crate::snapshot::{BaseState, NodeEntry, PoolEntry, Snapshot, ZONE_LABEL};
use crate::units::{Span, Time};

/// A node on its way up: pods that wait may be meant for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StartingNode {
    /// Its name.
    pub name: Name,
    /// Its pool.
    pub pool: u32,
    /// Its template (zone) within the pool.
    pub template: u32,
    /// When it should be ready.
    pub ready_at: Time,
}

/// All nodes on their way up, by pool and name.
pub(crate) fn starting_nodes(snapshot: &Snapshot, memory: &Memory, now: Time) -> Vec<StartingNode> {
    let mut starting = Vec::new();
    for (pool, entry) in snapshot.pools.iter().enumerate() {
        let mut names: BTreeSet<(Name, Name)> = BTreeSet::new();
        for (name, launch) in memory.ledger.launches.iter().filter(|(_, launch)| launch.pool == entry.name) {
            // A machine that was stopped a moment ago and is starting has a node that still says that it is ready. One that
            // became ready since is up, whatever an older list of instances says.
            let rising = entry.state_of(&launch.provider_id, name) == Some(InstanceState::Starting);
            let is_up = |node: &NodeEntry| {
                node.state == BaseState::Ready && (!rising || became_ready_since(node, launch))
            };
            // A creation that was not answered has no identity yet; its name is the one that we gave.
            let named = || snapshot.node_named(name).filter(|node| node.pool == Some(pool as u32));
            let node = match launch.provider_id.is_empty() {
                true => named(),
                false => snapshot.node_of_instance(&launch.provider_id, name),
            };
            let up = node.is_some_and(is_up);
            if !up && now < launch.deadline {
                names.insert((name.clone(), launch.zone.clone()));
            }
        }
        for id in &entry.nodeless {
            let instance = &entry.instances[id];
            let rising = matches!(instance.state, InstanceState::Starting | InstanceState::Running);
            // What is being let go is no place, however young it is.
            let goes = memory.ledger.removals.contains_key(&instance.name);
            if rising && !goes && is_young(entry, instance.since, now) {
                names.insert((instance.name.clone(), instance.zone.clone()));
            }
        }
        for &slot in &snapshot.unsettled {
            let node = snapshot.node(slot);
            let machine = snapshot.machine_of(node);
            let created = node.node.as_ref().and_then(|node| node.metadata.creation_timestamp);
            let removals = &memory.ledger.removals;
            if node.pool == Some(pool as u32)
                && node.state == BaseState::NotReady
                && !removals.contains_key(&node.name)
                && !removals.contains_key(machine)
                && !has_fallen(node)
                && is_young(entry, created, now)
            {
                names.insert((machine.clone(), node.label(ZONE_LABEL).cloned().unwrap_or_default()));
            }
        }
        // A launch and its instance may tell the zone differently; a name counts once.
        let mut last = Name::default();
        for (name, zone) in names {
            if name == last {
                continue;
            }
            let template = entry.template_in(Some(&zone));
            let since = memory.ledger.launches.get(&name).map_or(now, |launch| launch.since);
            let ready_at = (since + entry.spec.times.boot).max(now);
            starting.push(StartingNode { name: name.clone(), pool: pool as u32, template, ready_at });
            last = name;
        }
    }
    starting
}

/// How far the clocks of a machine and of the API may be apart.
const CLOCKS_APART: Span = Span::from_secs(30);

/// Whether a node that is not ready has been, or went silent: however young it is, no pod may count on it.
///
/// Of storms: part of a gang was meant for nodes that hung or flapped a minute after they had come (seeds 765, 2571).
fn has_fallen(node: &NodeEntry) -> bool {
    let Some(node) = node.node.as_ref() else { return false };
    let Some(ready) = node.condition("Ready") else { return false };
    let changed = |created: Time| ready.last_transition_time.is_some_and(|at| at > created + CLOCKS_APART);
    // One that is ready waits for its devices.
    match &*ready.status {
        "True" => false,
        "Unknown" => true,
        _ => node.metadata.creation_timestamp.is_some_and(changed),
    }
}

/// Whether a node became ready after a launch: one of a new machine cannot be older than it.
fn became_ready_since(node: &NodeEntry, launch: &Launch) -> bool {
    let ready = node.node.as_ref().and_then(|node| node.condition("Ready"));
    let since = ready.and_then(|ready| ready.last_transition_time);
    launch.kind == LaunchKind::Create || since.is_some_and(|since| since >= launch.since)
}

/// Whether a machine that is not ready may still be on its way up.
pub(crate) fn is_young(pool: &PoolEntry, since: Option<Time>, now: Time) -> bool {
    since.is_none_or(|since| now.since(since) <= pool.spec.times.boot_deadline)
}
