//! Taking in nodes and pools: what is free, whose a node is, where it is in its life.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::kube::{Name, Node, Taint};
use crate::observation::{Instance, InstanceState, ObjectKey};
use crate::policy::VmPoolSpec;
use crate::resources::{GpuDevices, GpuNeed, ResourceNames, extended_names, is_extended};
use crate::units::Time;

use super::node::offered;
use super::{
    BaseState, CORDON_MARK, NONE, NodeChange, NodeEntry, NodeIndex, PoolEntry, Snapshot, Store, ZONE_LABEL,
};

impl Store {
    pub(super) fn apply_node(&mut self, mut node: Node, at: Time) {
        let slot = self.node_slot(&node.metadata.name);
        let snapshot = Arc::make_mut(&mut self.current);
        let entry = &mut snapshot.nodes[slot as usize];
        // One that does not say when it was made is as old as our sight of it.
        let made = node.metadata.creation_timestamp.or(entry.created()).unwrap_or(at);
        node.metadata.creation_timestamp = Some(made);
        let before = entry.node.replace(Arc::new(node));
        let node = entry.node.as_ref().expect("it was set above");
        if !node.spec.provider_id.is_empty() {
            snapshot.node_ids.insert(node.spec.provider_id.clone(), slot);
        }
        match before {
            None => self.reorder = true,
            Some(before) => {
                self.reorder |= before.spec.provider_id != node.spec.provider_id;
                if before.metadata.labels != node.metadata.labels || before.spec.taints != node.spec.taints {
                    snapshot.fleet.renew();
                }
            }
        }
        snapshot.offer(slot);
        snapshot.judge(slot);
        self.touched.push(slot);
    }

    pub(super) fn delete_node(&mut self, key: &ObjectKey) {
        let snapshot = Arc::make_mut(&mut self.current);
        let Some(&slot) = snapshot.node_slots.get(&key.name) else { return };
        let entry = &mut snapshot.nodes[slot as usize];
        if !key.uid.is_empty() && entry.uid() != key.uid {
            return;
        }
        entry.node = None;
        snapshot.judge(slot);
        self.touched.push(slot);
        self.reorder = true;
    }

    pub(super) fn apply_pool(&mut self, name: Name, spec: Arc<VmPoolSpec>) {
        let snapshot = Arc::make_mut(&mut self.current);
        match snapshot.pools.binary_search_by(|pool| pool.name.cmp(&name)) {
            Ok(at) => snapshot.pools[at].spec = spec,
            Err(at) => {
                let mut pool = PoolEntry::new(name, spec);
                if let Some(instances) = self.poolless.remove(&pool.name) {
                    (pool.instances, pool.listed) = (instances, true);
                }
                snapshot.pools.insert(at, pool);
                snapshot.sort_instances(at);
            }
        }
        self.rebuild_templates();
        self.rejudge_all();
    }

    pub(super) fn delete_pool(&mut self, name: &Name) {
        let snapshot = Arc::make_mut(&mut self.current);
        let Ok(at) = snapshot.pools.binary_search_by(|pool| pool.name.cmp(name)) else { return };
        let pool = snapshot.pools.remove(at);
        // Its source goes on being believed; should the pool come again, it has not lost its instances.
        if pool.listed {
            self.poolless.insert(pool.name, pool.instances);
        }
        self.rejudge_all();
    }

    pub(super) fn rebuild_templates(&mut self) {
        let snapshot = Arc::make_mut(&mut self.current);
        snapshot.supply.renew();
        let asked = asked_of_new_nodes(snapshot);
        asked.iter().for_each(|name| snapshot.ask_for(name.clone()));
        let before = std::mem::replace(&mut self.asked_of_new_nodes, asked);
        before.iter().for_each(|name| snapshot.ask_no_more(name));
        let Snapshot { pools, daemons, names, .. } = snapshot;
        for pool in pools {
            pool.rebuild(daemons, names);
        }
    }

    /// Works out anew whose every node is and where it is in its life: the pools have changed.
    pub(super) fn rejudge_all(&mut self) {
        let snapshot = Arc::make_mut(&mut self.current);
        snapshot.supply.renew();
        snapshot.fleet.renew();
        for pool in &mut snapshot.pools {
            pool.counts = super::Counts::default();
        }
        for entry in &mut snapshot.nodes {
            entry.pool = None;
        }
        for slot in 0..snapshot.nodes.len() as u32 {
            snapshot.judge(slot);
            self.touched.push(slot);
        }
    }

    /// Gives dimensions to the resources that are asked for now, and works out anew all that is counted in them. It happens when
    /// the first pod comes that asks for something or the last one goes.
    pub(super) fn renumber(&mut self) {
        let snapshot = Arc::make_mut(&mut self.current);
        snapshot.names = ResourceNames::of(snapshot.asked.keys());
        snapshot.demand.renew();
        snapshot.reckon_all();
        for slot in 0..snapshot.nodes.len() as u32 {
            snapshot.offer(slot);
            self.touched.push(slot);
        }
        self.reorder = true;
        self.rebuild_templates();
    }

    /// The slot of a node by name, made where there is none.
    pub(super) fn node_slot(&mut self, name: &Name) -> u32 {
        if let Some(&slot) = self.current.node_slots.get(name) {
            return slot;
        }
        let snapshot = self.snapshot_mut();
        let slot = snapshot.nodes.len() as u32;
        snapshot.nodes.push(NodeEntry::unseen(name.clone()));
        snapshot.ranks.push(NONE);
        snapshot.node_slots.insert(name.clone(), slot);
        slot
    }

    /// Puts the nodes that are there into the order of their names and builds the indexes anew.
    pub(super) fn rebuild_order(&mut self) {
        self.reorder = false;
        let snapshot = Arc::make_mut(&mut self.current);
        let mut order: Vec<u32> = (0..snapshot.nodes.len() as u32).collect();
        order.retain(|&slot| snapshot.nodes[slot as usize].node.is_some());
        order
            .sort_unstable_by(|&a, &b| snapshot.nodes[a as usize].name.cmp(&snapshot.nodes[b as usize].name));
        snapshot.ranks.fill(NONE);
        for (rank, &slot) in order.iter().enumerate() {
            snapshot.ranks[slot as usize] = rank as u32;
        }
        snapshot.index = NodeIndex::build(order.iter().map(|&slot| snapshot.nodes[slot as usize].room()));
        snapshot.nodes.iter_mut().for_each(|node| node.stirred = false);
        snapshot.node_ids.clear();
        snapshot.shared_ids.clear();
        for &slot in &order {
            let id = snapshot.nodes[slot as usize].provider_id();
            if !id.is_empty() && snapshot.node_ids.insert(id.into(), slot).is_some() {
                snapshot.shared_ids.insert(id.into());
            }
        }
        snapshot.order = order;
        snapshot.fleet.renew();
        (0..snapshot.pools.len()).for_each(|pool| snapshot.sort_instances(pool));
    }
}

impl Snapshot {
    /// Sorts the instances of a pool by what they are: off, up without being a node, a node.
    pub(super) fn sort_instances(&mut self, pool: usize) {
        self.supply.renew();
        let is_nodeless = |instance: &Instance| {
            instance.state != InstanceState::Stopped
                && self.node_of_instance(&instance.id, &instance.name).is_none()
        };
        let nodeless: Vec<bool> = self.pools[pool].instances.values().map(is_nodeless).collect();
        self.pools[pool].sort_instances(&nodeless);
    }

    /// Brings the index up to date with a node, and notes the change if placing pods depends on it.
    pub(super) fn bring_up_to_date(&mut self, slot: u32) {
        let rank = self.ranks[slot as usize];
        if rank == NONE {
            return;
        }
        let (rank, entry) = (rank as usize, &mut self.nodes[slot as usize]);
        let (before, free) = (*self.index.get(rank), entry.room());
        let stirred = std::mem::take(&mut entry.stirred);
        if stirred || before != free {
            self.changes.push(NodeChange { rank, before, stirred });
            self.index.set(rank, free);
        }
    }

    /// Adds or takes away what one pod of a class asks of a node.
    pub(super) fn account(&mut self, slot: u32, class: u32, times: i64) {
        let class = self.classes[class as usize].as_ref().expect("a class is kept while it has pods");
        let (daemon, gpu) = (class.traits.daemon || class.traits.mirror, class.gpu);
        let entry = &mut self.nodes[slot as usize];
        entry.stirred |= !class.ports.is_empty();
        entry.requested.add(&class.requests, times);
        if !daemon {
            entry.movable.add(&class.requests, times);
        }
        entry.recount |= gpu != GpuNeed::None;
    }

    /// Works out what follows from all that happened to a node.
    pub(super) fn settle(&mut self, slot: u32) {
        if std::mem::take(&mut self.nodes[slot as usize].recount) {
            self.recount_gpus(slot);
        }
        self.weigh(slot);
        let stays =
            self.nodes[slot as usize].pods.iter().any(|&pod| self.class(self.pod(pod).class).asks_to_stay());
        keep(&mut self.asked_to_stay, slot, stays);
    }

    /// What a node offers, worked out from its object.
    pub(super) fn offer(&mut self, slot: u32) {
        let entry = &mut self.nodes[slot as usize];
        let Some(node) = &entry.node else { return };
        let (allocatable, devices, kind) = offered(node.status.allocatable.iter(), &self.names);
        entry.allocatable = allocatable;
        if entry.gpu_kind != kind {
            entry.gpu_kind = kind;
            self.fleet.renew();
        }
        if entry.gpus.count() != GpuDevices::new(devices).count() {
            entry.gpus = GpuDevices::new(devices);
            entry.stirred = true;
        }
        entry.recount = true;
    }

    /// Which device each pod uses is not told in general. It is worked out the same way whatever came first: pods that name
    /// their device, then whole devices, then shares from the greatest down, each on the tightest device.
    fn recount_gpus(&mut self, slot: u32) {
        let entry = &self.nodes[slot as usize];
        let mut devices = GpuDevices::new(entry.gpus.count());
        let mut needs: Vec<(GpuNeed, Option<u8>)> = Vec::new();
        for &pod in &entry.pods {
            let pod = self.pod(pod);
            let need = self.class(pod.class).gpu;
            if need != GpuNeed::None {
                needs.push((need, pod.gpu_index));
            }
        }
        needs.sort_by_key(|&(need, index)| (index.is_none(), index, std::cmp::Reverse(need.milli())));
        for &(need, index) in &needs {
            let placed = match (need, index) {
                (GpuNeed::Share(milli), Some(index)) => devices.take_from(usize::from(index), milli),
                _ => false,
            };
            if !placed {
                devices.take(need);
            }
        }
        let entry = &mut self.nodes[slot as usize];
        entry.gpu_requested = needs.iter().map(|(need, _)| need.milli()).sum();
        entry.stirred |= entry.gpus != devices;
        entry.gpus = devices;
    }

    /// Whose a node is and where it is in its life.
    pub(super) fn judge(&mut self, slot: u32) {
        let entry = &self.nodes[slot as usize];
        let pool = entry.node.as_ref().and_then(|node| self.pool_of(node));
        let state = match &entry.node {
            None => BaseState::Unseen,
            Some(node) => self.state_of(node, pool, entry.gpus.count()),
        };
        let entry = &mut self.nodes[slot as usize];
        if let Some(before) = entry.pool {
            self.pools[before as usize].counts.remove(entry.state, entry.zone);
        }
        if let Some(pool) = pool {
            let pool = &mut self.pools[pool as usize];
            entry.zone = pool.template_in(entry.label(ZONE_LABEL));
            pool.counts.add(state, entry.zone);
        }
        if entry.pool != pool {
            self.fleet.renew();
        }
        if entry.state != state {
            entry.stirred = true;
            self.supply.renew();
        }
        entry.pool = pool;
        entry.state = state;
        let pool = pool.map(|pool| &self.pools[pool as usize]);
        let ghost = entry.node.as_ref().zip(pool).is_some_and(|(node, pool)| is_ghost(node, pool));
        keep(&mut self.ghosts, slot, ghost);
        let unsettled = matches!(state, BaseState::NotReady | BaseState::Cordoned | BaseState::CordonedByUs);
        keep(&mut self.unsettled, slot, pool.is_some() && unsettled);
        let marked = self.is_marked(slot);
        keep(&mut self.marked, slot, marked);
    }

    /// Whether a node that is ready or whose machine runs carries our mark.
    fn is_marked(&self, slot: u32) -> bool {
        let entry = &self.nodes[slot as usize];
        let Some(node) = entry.node.as_ref().filter(|node| is_ours(node)) else { return false };
        let pool = entry.pool.map(|pool| &self.pools[pool as usize]);
        let instance = pool.and_then(|pool| pool.instances.get(&node.spec.provider_id));
        node.is_ready() || instance.is_some_and(|instance| instance.state == InstanceState::Running)
    }

    /// Keeps the set of nodes that little would have to leave.
    fn weigh(&mut self, slot: u32) {
        let entry = &self.nodes[slot as usize];
        let light = entry.pool.is_some_and(|pool| {
            let threshold = self.pools[pool as usize].spec.scale_down.utilisation.as_milli();
            let managed =
                matches!(entry.state, BaseState::Ready | BaseState::NotReady | BaseState::CordonedByUs);
            let is_light = entry.utilisation_milli() < threshold.max(1);
            managed && (is_light || entry.state == BaseState::NotReady && self.is_deserted(entry))
        });
        keep(&mut self.lightly_used, slot, light);
    }

    /// Whether all that could move was told to go. On a node that does not answer nobody confirms that it is gone: it uses
    /// nothing any more, however much it asked for.
    fn is_deserted(&self, node: &NodeEntry) -> bool {
        node.pods.iter().map(|&pod| self.pod(pod)).all(|pod| {
            let traits = &self.class(pod.class).traits;
            pod.leaving || traits.daemon || traits.mirror
        })
    }

    fn pool_of(&self, node: &Node) -> Option<u32> {
        let claims = |pool: &PoolEntry| {
            pool.claims(&node.metadata.name, &node.metadata.labels)
                || pool.instances.contains_key(&node.spec.provider_id)
        };
        self.pools.iter().position(claims).map(|at| at as u32)
    }

    fn state_of(&self, node: &Node, pool: Option<u32>, devices: usize) -> BaseState {
        let pool = pool.map(|pool| &self.pools[pool as usize]);
        let instance = pool.and_then(|pool| pool.instances.get(&node.spec.provider_id));
        match instance.map(|instance| instance.state) {
            Some(InstanceState::Stopped) => return BaseState::Stopped,
            Some(InstanceState::Stopping) => return BaseState::Stopping,
            None if pool.is_some_and(|pool| is_ghost(node, pool)) => return BaseState::Stopped,
            _ => {}
        }
        if node.spec.unschedulable {
            return if is_ours(node) { BaseState::CordonedByUs } else { BaseState::Cordoned };
        }
        let usable = is_usable(node, pool, devices);
        if usable { BaseState::Ready } else { BaseState::NotReady }
    }
}

/// The extended resources that daemons and headroom ask for.
fn asked_of_new_nodes(snapshot: &Snapshot) -> BTreeSet<Name> {
    let daemons = snapshot.daemons.values().flat_map(|daemon| extended_names(&daemon.spec.template.spec));
    let headroom = snapshot.pools.iter().flat_map(|pool| &pool.spec.headroom);
    let headroom = headroom.flat_map(|headroom| headroom.requests.keys()).filter(|name| is_extended(name));
    daemons.chain(headroom.cloned()).collect()
}

/// Whether the machine of a node is gone and only its object is left, which nobody deletes where no cloud controller runs.
fn is_ghost(node: &Node, pool: &PoolEntry) -> bool {
    let id = &node.spec.provider_id;
    pool.listed && !id.is_empty() && !node.is_ready() && !pool.instances.contains_key(id)
}

/// Whether the cordon of a node is ours.
fn is_ours(node: &Node) -> bool {
    node.metadata.annotations.contains_key(CORDON_MARK)
}

/// Keeps a slot in a set, or out of it.
fn keep(set: &mut BTreeSet<u32>, slot: u32, is_in: bool) {
    if is_in {
        set.insert(slot);
    } else {
        set.remove(&slot);
    }
}

impl Store {
    /// Whether a node that was read past every cache is ready, with all that its pool promises.
    pub(crate) fn is_usable(&self, node: &Node) -> bool {
        let pool = self.current.pool_of(node).map(|pool| &self.current.pools[pool as usize]);
        let (_, devices, _) = offered(node.status.allocatable.iter(), &self.current.names);
        is_usable(node, pool, devices)
    }
}

/// Whether a node is ready, has the devices that its pool promises and none of the taints of its start.
fn is_usable(node: &Node, pool: Option<&PoolEntry>, devices: usize) -> bool {
    let promised = pool.and_then(|pool| pool.templates.first()).map_or(0, |template| template.gpus.count());
    let has = |taint: &Taint| node.spec.taints.iter().any(|on| on.key == taint.key);
    let starting_up = pool.is_some_and(|pool| pool.spec.template.startup_taints.iter().any(has));
    node.is_ready() && devices >= promised && !starting_up
}
