//! The store: takes observations, keeps the newest snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::kube::Name;
use crate::observation::{
    Body, Change, Instance, InstanceState, Object, ObjectKey, ObjectKind, Observation, Source,
};
use crate::policy::{ClusterPolicySpec, VmPool, VmPoolSpec};
use crate::units::{Share, Time};

use super::instances::{Instances, bring_up_to_date};
use super::pod_table::{PodTable, hash_of};
use super::store_pods::Shortcuts;
use super::{AskKind, AskObject, PodEntry, PoolEntry, Snapshot};

/// How many objects of a list have their places in memory fetched together.
const FETCHED_AT_ONCE: usize = 64;

/// Takes observations and keeps the newest snapshot.
#[derive(Debug, Default)]
pub struct Store {
    pub(super) current: Arc<Snapshot>,
    pub(super) pod_slots: PodTable,
    pub(super) free_pods: Vec<u32>,
    pub(super) shortcuts: Shortcuts,
    /// The instances of each pool as they were last listed and believed.
    lists: FxHashMap<Name, Arc<[Instance]>>,
    /// Instances by pool, where the pool itself is not known (any more): it may be told of later.
    pub(super) poolless: FxHashMap<Name, Instances>,
    /// The name of the cluster's policy.
    policy_name: Option<Name>,
    /// Nodes appeared or disappeared since the index was built.
    pub(super) reorder: bool,
    /// Extended resources that daemons and headroom ask for.
    pub(super) asked_of_new_nodes: BTreeSet<Name>,
    /// Slots whose free vector changed since the index was brought up to date.
    pub(super) touched: Vec<u32>,
    stale: Stale,
}

/// What has to be worked out anew because of objects that came or went: once an observation, however many these are.
#[derive(Clone, Copy, Debug, Default)]
struct Stale {
    templates: bool,
    claims: bool,
    priorities: bool,
}

impl Store {
    /// An empty store: nothing was seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an observation in. One that cannot be believed changes only what is known of its source.
    pub fn observe(&mut self, observation: Observation) {
        let Observation { source, taken_at, outcome } = observation;
        match outcome {
            Err(error) => self.snapshot_mut().sources.entry(source).or_default().error = Some(error),
            Ok(Body::Listed(objects)) => self.list(source, taken_at, objects),
            Ok(Body::Changed(changes)) => self.change(source, taken_at, changes),
            Ok(Body::Instances(instances)) => self.list_instances(source, taken_at, instances),
            Ok(Body::Answer(_)) => {
                // One answer is all there is.
                let state = self.snapshot_mut().sources.entry(source).or_default();
                state.believes(1, taken_at, Share::percent(100));
            }
        }
        self.freshen();
    }

    fn freshen(&mut self) {
        let Stale { templates, claims, priorities } = std::mem::take(&mut self.stale);
        if templates {
            self.rebuild_templates();
        }
        if claims {
            self.resolve_claims();
        }
        if priorities {
            self.resolve_priorities();
        }
    }

    /// The newest snapshot, its index up to date.
    pub fn snapshot(&mut self) -> Arc<Snapshot> {
        if !self.current.names.are_of(self.current.asked.keys()) {
            self.renumber();
        }
        if !self.touched.is_empty() {
            let snapshot = Arc::make_mut(&mut self.current);
            self.touched.sort_unstable();
            self.touched.dedup();
            self.touched.iter().for_each(|&slot| snapshot.settle(slot));
            if !self.reorder {
                self.touched.iter().for_each(|&slot| snapshot.bring_up_to_date(slot));
            }
            self.touched.clear();
        }
        if self.reorder {
            self.rebuild_order();
        }
        self.current.clone()
    }

    /// The cluster's policy as it is known.
    pub fn policy(&self) -> &Arc<ClusterPolicySpec> {
        &self.current.policy
    }

    /// The name of the cluster's policy, where there is one.
    pub fn policy_name(&self) -> Option<&Name> {
        self.policy_name.as_ref()
    }

    /// The pools as they are known.
    pub fn pools(&self) -> Vec<VmPool> {
        let document = |pool: &PoolEntry| VmPool {
            name: pool.name.clone(),
            namespace: Name::default(),
            spec: VmPoolSpec::clone(&pool.spec),
        };
        self.current.pools.iter().map(document).collect()
    }

    pub(super) fn snapshot_mut(&mut self) -> &mut Snapshot {
        Arc::make_mut(&mut self.current)
    }

    fn set_policy(&mut self, policy: Arc<ClusterPolicySpec>) {
        let snapshot = self.snapshot_mut();
        snapshot.policy = policy;
        snapshot.supply.renew();
    }

    fn list(&mut self, source: Source, at: Time, objects: Vec<Object>) {
        let max_shrink = self.current.policy.sources.max_shrink;
        let kind = ObjectKind::ALL.into_iter().find(|kind| kind.name() == &*source.name);
        // Without a policy or without pools nothing is done at all: that may be believed at once.
        let calms =
            objects.is_empty() && matches!(kind, Some(ObjectKind::ClusterPolicy | ObjectKind::VmPool));
        let max_shrink = if calms { Share::percent(100) } else { max_shrink };
        let state = self.snapshot_mut().sources.entry(source.clone()).or_default();
        let len = objects.iter().filter(|object| is_kept(object)).count();
        if !state.believes(len, at, max_shrink) {
            return;
        }
        let mut gone = kind.map(|kind| self.keys(kind)).unwrap_or_default();
        if kind == Some(ObjectKind::Pod) {
            let more = objects.len().saturating_sub(self.pod_slots.len());
            self.pod_slots.reserve(objects.len());
            self.snapshot_mut().pods.reserve(more);
        }
        let mut objects = objects.into_iter();
        while !objects.as_slice().is_empty() {
            self.pod_slots.fetch(objects.as_slice().iter().take(FETCHED_AT_ONCE).filter_map(pod_hash));
            for object in objects.by_ref().take(FETCHED_AT_ONCE) {
                if !gone.is_empty() {
                    let key = key_of(&object);
                    gone.remove(&(key.namespace, key.name));
                }
                self.apply(object, at);
            }
        }
        for (namespace, name) in gone.into_keys() {
            if let Some(kind) = kind {
                self.delete(kind, &ObjectKey { namespace, name, uid: Name::default() });
            }
        }
    }

    fn change(&mut self, source: Source, at: Time, changes: Vec<Change>) {
        let kind = ObjectKind::ALL.into_iter().find(|kind| kind.name() == &*source.name);
        for change in changes {
            match change {
                Change::Applied(object) => self.apply(object, at),
                Change::Deleted(key) => {
                    if let Some(kind) = kind {
                        self.delete(kind, &key);
                    }
                }
            }
        }
        let len = kind.map_or(0, |kind| self.count(kind));
        self.snapshot_mut().sources.entry(source).or_default().changed(at, len);
    }

    fn list_instances(&mut self, source: Source, at: Time, instances: Arc<[Instance]>) {
        let max_shrink = self.current.policy.sources.max_shrink;
        let pool = source.name.clone();
        let snapshot = Arc::make_mut(&mut self.current);
        let state = snapshot.sources.entry(source).or_default();
        if !state.believes(instances.len(), at, max_shrink) {
            return;
        }
        // What was seen on its way out may be missing next time without suspicion.
        state.len = instances.iter().filter(|instance| instance.state != InstanceState::Stopping).count();
        let found = snapshot.pools.binary_search_by(|entry| entry.name.cmp(&pool)).ok();
        let is_first = found.is_some_and(|at| !std::mem::replace(&mut snapshot.pools[at].listed, true));
        let last = self.lists.insert(pool.clone(), instances.clone());
        if !is_first && last.is_some_and(|last| Arc::ptr_eq(&last, &instances)) {
            return;
        }
        let known = match found {
            Some(at) => &mut snapshot.pools[at].instances,
            None => self.poolless.entry(pool).or_default(),
        };
        let concerned = bring_up_to_date(known, &instances, at);
        let Some(at) = found else { return };
        if !concerned.is_empty() {
            snapshot.sort_instances(at);
        }
        let mut slots: Vec<u32> =
            concerned.iter().filter_map(|id| snapshot.node_ids.get(id).copied()).collect();
        if is_first {
            // What is missing says something from now on.
            let own = |slot: &u32| snapshot.nodes[*slot as usize].pool == Some(at as u32);
            slots.extend((0..snapshot.nodes.len() as u32).filter(own));
        }
        for slot in slots {
            snapshot.judge(slot);
            self.touched.push(slot);
        }
    }

    fn apply(&mut self, object: Object, at: Time) {
        match object {
            Object::Pod(pod) => self.apply_pod(pod),
            Object::Node(node) => self.apply_node(node, at),
            Object::PodDisruptionBudget(budget) => {
                let key = (budget.metadata.namespace.clone(), budget.metadata.name.clone());
                self.snapshot_mut().budgets.insert(key, Arc::new(budget));
            }
            Object::PersistentVolume(volume) => {
                self.snapshot_mut().volumes.insert(volume.metadata.name.clone(), Arc::new(volume));
                self.stale.claims = true;
            }
            Object::PersistentVolumeClaim(claim) => {
                let key = (claim.metadata.namespace.clone(), claim.metadata.name.clone());
                self.snapshot_mut().volume_claims.insert(key, Arc::new(claim));
                self.stale.claims = true;
            }
            Object::DaemonSet(daemon) => {
                let key = (daemon.metadata.namespace.clone(), daemon.metadata.name.clone());
                self.snapshot_mut().daemons.insert(key, Arc::new(daemon));
                self.stale.templates = true;
            }
            Object::PriorityClass(class) => {
                self.snapshot_mut().priorities.insert(class.metadata.name.clone(), Arc::new(class));
                self.stale.priorities = true;
            }
            Object::StorageClass(class) => {
                self.snapshot_mut().storage_classes.insert(class.metadata.name.clone(), Arc::new(class));
                self.stale.claims = true;
            }
            Object::PodTemplate(template) => self.apply_template(template),
            Object::CapacityBuffer(buffer) => self.apply_ask(AskObject::Buffer(Arc::new(buffer))),
            Object::ProvisioningRequest(request) => self.apply_ask(AskObject::Request(Arc::new(request))),
            Object::ClusterPolicy(policy) => {
                self.policy_name = Some(policy.name);
                self.set_policy(Arc::new(policy.spec));
            }
            Object::VmPool(pool) => self.apply_pool(pool.name, Arc::new(pool.spec)),
        }
    }

    fn delete(&mut self, kind: ObjectKind, key: &ObjectKey) {
        let pair = (key.namespace.clone(), key.name.clone());
        match kind {
            ObjectKind::Pod => self.delete_pod(key),
            ObjectKind::Node => self.delete_node(key),
            ObjectKind::PodDisruptionBudget => {
                self.snapshot_mut().budgets.remove(&pair);
            }
            ObjectKind::PersistentVolume => {
                self.snapshot_mut().volumes.remove(&key.name);
                self.stale.claims = true;
            }
            ObjectKind::PersistentVolumeClaim => {
                self.snapshot_mut().volume_claims.remove(&pair);
                self.stale.claims = true;
            }
            ObjectKind::DaemonSet => {
                self.snapshot_mut().daemons.remove(&pair);
                self.stale.templates = true;
            }
            ObjectKind::PriorityClass => {
                self.snapshot_mut().priorities.remove(&key.name);
                self.stale.priorities = true;
            }
            ObjectKind::StorageClass => {
                self.snapshot_mut().storage_classes.remove(&key.name);
                self.stale.claims = true;
            }
            ObjectKind::PodTemplate => self.delete_template(&pair),
            ObjectKind::CapacityBuffer => self.delete_ask(AskKind::CapacityBuffer, &pair),
            ObjectKind::ProvisioningRequest => self.delete_ask(AskKind::ProvisioningRequest, &pair),
            ObjectKind::ClusterPolicy => {
                if self.policy_name.as_ref() == Some(&key.name) {
                    self.policy_name = None;
                    self.set_policy(Arc::default());
                }
            }
            ObjectKind::VmPool => self.delete_pool(&key.name),
        }
    }

    /// Everything of a kind, by namespace and name.
    fn keys(&self, kind: ObjectKind) -> FxHashMap<(Name, Name), ()> {
        let snapshot = &*self.current;
        let cluster = |name: &Name| ((Name::default(), name.clone()), ());
        match kind {
            ObjectKind::Pod => {
                let key = |pod: &PodEntry| ((pod.namespace.clone(), pod.name.clone()), ());
                snapshot.pods.iter().flatten().map(key).collect()
            }
            ObjectKind::Node => snapshot.nodes().map(|node| cluster(&node.name)).collect(),
            ObjectKind::PodDisruptionBudget => snapshot.budgets.keys().map(|key| (key.clone(), ())).collect(),
            ObjectKind::PersistentVolume => snapshot.volumes.keys().map(cluster).collect(),
            ObjectKind::PersistentVolumeClaim => {
                snapshot.volume_claims.keys().map(|key| (key.clone(), ())).collect()
            }
            ObjectKind::DaemonSet => snapshot.daemons.keys().map(|key| (key.clone(), ())).collect(),
            ObjectKind::PriorityClass => snapshot.priorities.keys().map(cluster).collect(),
            ObjectKind::StorageClass => snapshot.storage_classes.keys().map(cluster).collect(),
            ObjectKind::PodTemplate => snapshot.templates.keys().map(|key| (key.clone(), ())).collect(),
            ObjectKind::CapacityBuffer => snapshot.ask_keys(AskKind::CapacityBuffer),
            ObjectKind::ProvisioningRequest => snapshot.ask_keys(AskKind::ProvisioningRequest),
            ObjectKind::ClusterPolicy => self.policy_name.iter().map(cluster).collect(),
            ObjectKind::VmPool => snapshot.pools.iter().map(|pool| cluster(&pool.name)).collect(),
        }
    }

    fn count(&self, kind: ObjectKind) -> usize {
        match kind {
            ObjectKind::Pod => self.pod_slots.len(),
            ObjectKind::Node => self.current.order.len(),
            kind => self.keys(kind).len(),
        }
    }
}

/// Whether an object of a list is kept: pods that have ended are not, and say nothing of how long the list should be.
fn is_kept(object: &Object) -> bool {
    !matches!(object, Object::Pod(pod) if pod.status.phase.is_terminal())
}

/// The hash of a pod's names.
fn pod_hash(object: &Object) -> Option<u32> {
    let Object::Pod(pod) = object else { return None };
    Some(hash_of(&pod.metadata.namespace, &pod.metadata.name))
}

/// The name of an object, with its identity where it has one.
fn key_of(object: &Object) -> ObjectKey {
    let meta = match object {
        Object::Node(object) => &object.metadata,
        Object::Pod(object) => &object.metadata,
        Object::PodDisruptionBudget(object) => &object.metadata,
        Object::PersistentVolume(object) => &object.metadata,
        Object::PersistentVolumeClaim(object) => &object.metadata,
        Object::DaemonSet(object) => &object.metadata,
        Object::PriorityClass(object) => &object.metadata,
        Object::StorageClass(object) => &object.metadata,
        Object::PodTemplate(object) => &object.metadata,
        Object::CapacityBuffer(object) => &object.metadata,
        Object::ProvisioningRequest(object) => &object.metadata,
        Object::ClusterPolicy(object) => return named(&object.name),
        Object::VmPool(object) => return named(&object.name),
    };
    ObjectKey { namespace: meta.namespace.clone(), name: meta.name.clone(), uid: meta.uid.clone() }
}

fn named(name: &Name) -> ObjectKey {
    ObjectKey { namespace: Name::default(), name: name.clone(), uid: Name::default() }
}
