//! The snapshot: one immutable view of everything that was seen, with the indexes that planning needs.
//!
//! [`Store`] takes observations and keeps the newest [`Snapshot`]; versions share what did not change. A snapshot built from
//! deltas and one built at once from the same facts lead to the same plan, byte for byte: wherever order matters it is the
//! order of names, never the order of arrival.

mod ask;
mod changes;
mod class;
mod constraint;
mod index;
mod instances;
mod intern;
mod node;
mod pod_table;
mod pool;
mod source;
mod stamp;
mod store;
mod store_asks;
mod store_nodes;
mod store_pods;
#[cfg(test)]
mod tests;
mod unmodelled;
mod volumes;

pub(crate) use ask::REQUEST_PARAMETERS;
pub use ask::{Ask, AskKind, AskObject, AskRef, RequestClass, RequestStage, UnitSet};
pub(crate) use changes::{Changes, NodeChange};
pub use class::{Class, ClassKey, Gang, HostPort, PodTerm, Relations, SpreadTerm, Traits};
pub(crate) use class::{GANG_SIZE, VOLCANO_GROUP};
pub use constraint::{Constraint, GPU_MODEL_LABELS, GPU_MODELS_ANNOTATION, Profile};
pub use index::{Allowed, CLOSED, NodeIndex, Overlay};
pub use intern::{Interned, Interner};
pub use node::{BaseState, CORDON_MARK, NodeEntry};
pub use pool::{Counts, HOSTNAME_LABEL, POOL_LABEL, PoolEntry, TYPE_LABEL, Template, ZONE_LABEL};
pub use source::SourceState;
pub use stamp::Stamp;
pub use store::Store;
pub use volumes::{Claim, Volumes};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::kube::{
    DaemonSet, Name, PersistentVolume, PersistentVolumeClaim, Phase, PodDisruptionBudget, PodTemplate,
    PriorityClass, StorageClass,
};
use crate::observation::Source;
use crate::plan::SourceTrouble;
use crate::policy::{ClusterPolicySpec, Price};
use crate::resources::ResourceNames;
use crate::units::{Money, Time};

/// One immutable view of everything that was seen.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The cluster's policy.
    pub policy: Arc<ClusterPolicySpec>,
    /// Names of resources.
    pub names: ResourceNames,
    /// Extended resources that are asked for, and by how many classes, daemons and pools.
    pub(crate) asked: BTreeMap<Name, u32>,
    /// Pools, in order of their names.
    pub pools: Vec<PoolEntry>,
    /// Disruption budgets by namespace and name.
    pub budgets: BTreeMap<(Name, Name), Arc<PodDisruptionBudget>>,
    /// What is known of each source.
    pub sources: BTreeMap<Source, SourceState>,
    /// Pods that wait, by class, the oldest first.
    pub pending: BTreeMap<u32, BTreeSet<(Time, Name, u32)>>,
    /// Stands for the nodes: which there are, whose they are, their labels, taints and kinds of GPU.
    pub(crate) fleet: Stamp,
    /// Stands for what could be had: the policy, the pools with their instances and the states of their nodes, the names of
    /// resources.
    pub(crate) supply: Stamp,
    /// Stands for what waits: its classes and their numbers, and gangs with all their members.
    pub(crate) demand: Stamp,
    /// Nodes of the fleet on which room, devices or ports have changed of late.
    pub(crate) changes: Changes,
    pub(crate) nodes: Vec<NodeEntry>,
    pub(crate) node_slots: FxHashMap<Name, u32>,
    /// Slots by the provider's identity of the node's instance.
    pub(crate) node_ids: FxHashMap<Name, u32>,
    /// Identities that more than one node bears: which of them is the machine, nobody can tell.
    pub(crate) shared_ids: BTreeSet<Name>,
    /// Slots of the nodes that are there, in order of their names.
    pub(crate) order: Vec<u32>,
    /// Place of each slot in `order`.
    pub(crate) ranks: Vec<u32>,
    pub(crate) index: NodeIndex,
    pub(crate) pods: Vec<Option<PodEntry>>,
    pub(crate) classes: Vec<Option<Class>>,
    pub(crate) class_keys: Interner<ClassKey>,
    pub(crate) constraints: Interner<Constraint>,
    /// Nodes that little would have to leave, by slot.
    pub(crate) lightly_used: BTreeSet<u32>,
    /// Nodes with pods that ask to stay, by slot.
    pub(crate) asked_to_stay: BTreeSet<u32>,
    /// Nodes of pools that are not ready or are cordoned, by slot.
    pub(crate) unsettled: BTreeSet<u32>,
    /// Nodes whose machine is gone, by slot.
    pub(crate) ghosts: BTreeSet<u32>,
    /// Nodes that carry our mark though they are ready or their machine runs, by slot.
    pub(crate) marked: BTreeSet<u32>,
    /// Classes whose pods demand nearness to others, distance from them, or an even spread.
    pub(crate) related: BTreeSet<u32>,
    /// Classes whose pods belong to gangs.
    pub(crate) in_gangs: BTreeSet<u32>,
    /// Classes whose pods take room that was requested for them.
    pub(crate) consumers: BTreeSet<u32>,
    /// Buffers and requests.
    pub(crate) asks: BTreeMap<AskRef, Ask>,
    pub(crate) templates: BTreeMap<(Name, Name), Arc<PodTemplate>>,
    pub(crate) daemons: BTreeMap<(Name, Name), Arc<DaemonSet>>,
    pub(crate) volumes: BTreeMap<Name, Arc<PersistentVolume>>,
    pub(crate) volume_claims: BTreeMap<(Name, Name), Arc<PersistentVolumeClaim>>,
    pub(crate) storage_classes: BTreeMap<Name, Arc<StorageClass>>,
    pub(crate) priorities: BTreeMap<Name, Arc<PriorityClass>>,
    /// Pods that wait and for which the scheduler makes room by preemption, by number: the node's name.
    pub(crate) nominated: BTreeMap<u32, Name>,
    /// Pods that are being resized where they run, by number.
    pub(crate) resizing: BTreeSet<u32>,
}

/// No slot, no rank.
pub const NONE: u32 = u32::MAX;

/// A pod that has not ended.
#[derive(Clone, Debug)]
pub struct PodEntry {
    /// Namespace.
    pub namespace: Name,
    /// Name.
    pub name: Name,
    /// Identity.
    pub uid: Name,
    /// Number of its class.
    pub class: u32,
    /// Slot of its node, [`NONE`] while it waits.
    pub node: u32,
    /// Where it is in its life.
    pub phase: Phase,
    /// When it was made.
    pub created: Time,
    /// Since when it runs, where that is told.
    pub started: Option<Time>,
    /// It was told to end.
    pub leaving: bool,
    /// Device of its GPU share, where it says.
    pub gpu_index: Option<u8>,
}

impl Snapshot {
    /// Nodes that are there, in order of their names.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &NodeEntry> {
        self.order.iter().map(|&slot| &self.nodes[slot as usize])
    }

    /// The node at a place in the order of names.
    pub fn node_at(&self, rank: usize) -> &NodeEntry {
        &self.nodes[self.order[rank] as usize]
    }

    /// The node of a slot.
    pub fn node(&self, slot: u32) -> &NodeEntry {
        &self.nodes[slot as usize]
    }

    /// The node of a name, if it is there.
    pub fn node_named(&self, name: &str) -> Option<&NodeEntry> {
        let slot = *self.node_slots.get(name)?;
        let entry = &self.nodes[slot as usize];
        entry.node.is_some().then_some(entry)
    }

    /// What is wrong with a source now.
    pub fn trouble(&self, source: &Source, now: Time) -> Option<SourceTrouble> {
        match self.sources.get(source) {
            Some(state) => state.trouble(now, self.policy.sources.max_age),
            None => Some(SourceTrouble::NotSynced),
        }
    }

    /// Until when nothing is removed on a source, where its list was suddenly much shorter a while ago.
    pub fn settles_at(&self, source: &Source, now: Time) -> Option<Time> {
        self.sources.get(source).and_then(|state| state.settles_at(now))
    }

    /// Whether what a source does not list may be there all the same.
    pub fn may_lack(&self, source: &Source, now: Time) -> bool {
        self.sources.get(source).is_some_and(|state| state.may_lack(now))
    }

    /// The node of an instance: the one that bears its identity, else one of its name that bears none.
    pub fn node_of_instance(&self, id: &str, name: &str) -> Option<&NodeEntry> {
        let named = || self.node_named(name).filter(|node| node.provider_id().is_empty());
        self.node_with_id(id).or_else(named)
    }

    /// The name that a node's machine is known by: that of its instance, which need not be the node's; the node's own where its
    /// instance is not listed. Launches, and what is kept for gangs, go by it.
    pub fn machine_of<'a>(&'a self, node: &'a NodeEntry) -> &'a Name {
        let pool = node.pool.map(|pool| &self.pools[pool as usize]);
        let instance = pool.and_then(|pool| pool.instances.get(node.provider_id()));
        instance.map_or(&node.name, |instance| &instance.name)
    }

    /// The node that a machine has become.
    pub fn node_of_machine(&self, name: &str) -> Option<&NodeEntry> {
        let instance = self.pools.iter().find_map(|pool| pool.instance_named(name));
        match instance {
            Some(instance) => self.node_of_instance(&instance.id, name),
            None => self.node_named(name),
        }
    }

    /// The node that bears an identity of the provider.
    pub fn node_with_id(&self, id: &str) -> Option<&NodeEntry> {
        let entry = &self.nodes[*self.node_ids.get(id)? as usize];
        (entry.provider_id() == id).then_some(entry)
    }

    /// Whether another node stands for the same machine.
    pub fn has_twin(&self, node: &NodeEntry) -> bool {
        self.shared_ids.contains(node.provider_id())
    }

    /// The place of a slot in the order of names; [`NONE`] where the node is not there.
    pub fn rank(&self, slot: u32) -> u32 {
        self.ranks[slot as usize]
    }

    /// A pod by number.
    pub fn pod(&self, pod: u32) -> &PodEntry {
        self.pods[pod as usize].as_ref().expect("a pod's number is dropped with it")
    }

    /// A class by number.
    pub fn class(&self, class: u32) -> &Class {
        self.classes[class as usize].as_ref().expect("a class is kept while it has pods")
    }

    /// A constraint by number.
    pub fn constraint(&self, constraint: u32) -> &Constraint {
        self.constraints.get(constraint)
    }

    /// The index over what is free.
    pub fn index(&self) -> &NodeIndex {
        &self.index
    }

    /// What a node counts as in an hour where its pool has no price.
    pub fn assumed_price(&self) -> Money {
        Price::assumed(self.pools.iter().map(|pool| pool.spec.price))
    }

    /// The pool of a name.
    pub fn pool_named(&self, name: &str) -> Option<&PoolEntry> {
        self.pools.binary_search_by(|pool| (*pool.name).cmp(name)).ok().map(|at| &self.pools[at])
    }
}
