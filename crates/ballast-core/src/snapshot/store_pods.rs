//! Taking in pods: each finds its class, its node or its place in the queue.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::kube::{Labels, Meta, Name, Phase, Pod, PodCondition, PodSpec};
use crate::observation::ObjectKey;
use crate::resources::{GpuNeed, Resources, amounts_of, extended_names, is_gpu, pod_requests};
use crate::units::Time;

use super::pod_table::hash_of;
use super::volumes::{Volumes, claims};
use super::{
    Class, ClassKey, Constraint, GPU_MODELS_ANNOTATION, NONE, PodEntry, Snapshot, Store, unmodelled,
};

/// Where the Alibaba scheduler writes the device of a GPU share.
const GPU_INDEX_ANNOTATION: &str = "alibabacloud.com/gpu-index";

/// Shortcuts are dropped all at once when there are more: they are only an aid to speed.
const SHORTCUTS_KEPT: usize = 100_000;

/// Classes by the identity of their parts, past hashing whole specs. The parts are kept alive, so an identity stays theirs.
pub(super) type Shortcuts = FxHashMap<(usize, usize), Shortcut>;

#[derive(Debug)]
pub(super) struct Shortcut {
    _kept_alive: (Arc<PodSpec>, Arc<Labels>),
    annotations: Arc<Labels>,
    namespace: Name,
    owner: Option<Name>,
    class: u32,
    serial: u64,
}

impl Store {
    pub(super) fn apply_pod(&mut self, pod: Pod) {
        let Meta { namespace, name, .. } = &pod.metadata;
        let hash = hash_of(namespace, name);
        let known = self.pod_slot(hash, namespace, name);
        if pod.status.phase.is_terminal() {
            known.into_iter().for_each(|slot| self.forget(hash, slot));
            return;
        }
        let class = self.class_of(&pod);
        let (nominated, resizing) = (pod.status.nominated_node_name.clone(), is_resizing(&pod));
        let node = if pod.node_name.is_empty() { NONE } else { self.node_slot(&pod.node_name) };
        let snapshot = Arc::make_mut(&mut self.current);
        let slot = match known {
            Some(slot) => {
                snapshot.detach(slot, &mut self.touched);
                slot
            }
            None => {
                let slot = new_pod_slot(&mut self.free_pods, snapshot);
                self.pod_slots.insert(hash, slot);
                slot
            }
        };
        snapshot.pods[slot as usize] = Some(entry_of(pod, class, node));
        snapshot.attach(slot, &mut self.touched);
        if node == NONE && !nominated.is_empty() {
            snapshot.nominated.insert(slot, nominated);
        }
        if resizing {
            snapshot.resizing.insert(slot);
        }
    }

    pub(super) fn delete_pod(&mut self, key: &ObjectKey) {
        let hash = hash_of(&key.namespace, &key.name);
        let Some(slot) = self.pod_slot(hash, &key.namespace, &key.name) else { return };
        // A late word of an older pod of the same name says nothing about this one.
        if key.uid.is_empty() || self.current.pod(slot).uid == key.uid {
            self.forget(hash, slot);
        }
    }

    fn pod_slot(&self, hash: u32, namespace: &Name, name: &Name) -> Option<u32> {
        self.pod_slots.find(hash, |slot| {
            let pod = self.current.pod(slot);
            pod.name == *name && pod.namespace == *namespace
        })
    }

    fn forget(&mut self, hash: u32, slot: u32) {
        Arc::make_mut(&mut self.current).detach(slot, &mut self.touched);
        self.pod_slots.remove(hash, slot);
        self.free_pods.push(slot);
    }

    /// Looks up the volumes of every class with claims anew.
    pub(super) fn resolve_claims(&mut self) {
        let snapshot = self.snapshot_mut();
        for slot in 0..snapshot.classes.len() {
            let Some(class) = snapshot.classes[slot].as_ref().filter(|class| !class.claims.is_empty()) else {
                continue;
            };
            let volumes = snapshot.volumes_of(&class.key.namespace, &class.claims);
            let constraint = snapshot.constraint_for(&class.key, &volumes);
            let (_, _, unmodelled) = snapshot.reckon(&class.key, &volumes);
            let constraint = snapshot.constraints.take(constraint).slot;
            let class = snapshot.classes[slot].as_mut().expect("it was there a moment ago");
            (class.volumes, class.unmodelled) = (volumes, unmodelled);
            let before = std::mem::replace(&mut class.constraint, constraint);
            snapshot.constraints.give_back(before);
            snapshot.demand.renew();
        }
    }

    /// Looks up the priority of every class anew.
    pub(super) fn resolve_priorities(&mut self) {
        let snapshot = self.snapshot_mut();
        for slot in 0..snapshot.classes.len() {
            let Some(key) = snapshot.classes[slot].as_ref().map(|class| class.key.clone()) else { continue };
            let priority = snapshot.priority_of(&key.spec);
            snapshot.classes[slot].as_mut().expect("it was there a moment ago").priority = priority;
            snapshot.demand.renew();
        }
    }

    /// The class of a pod, with one more user.
    fn class_of(&mut self, pod: &Pod) -> u32 {
        let owner = pod.metadata.controller().map(|owner| &owner.name);
        let identity = (Arc::as_ptr(&pod.spec) as usize, Arc::as_ptr(&pod.metadata.labels) as usize);
        if let Some(known) = self.shortcuts.get(&identity) {
            let same = known.owner.as_ref() == owner
                && known.namespace == pod.metadata.namespace
                && known.annotations == pod.metadata.annotations;
            let snapshot = Arc::make_mut(&mut self.current);
            if same && snapshot.class_keys.serial(known.class) == known.serial {
                return snapshot.class_keys.take_again(known.class).slot;
            }
        }
        let class = self.intern_class(pod);
        if self.shortcuts.len() >= SHORTCUTS_KEPT {
            self.shortcuts.clear();
        }
        let shortcut = Shortcut {
            _kept_alive: (pod.spec.clone(), pod.metadata.labels.clone()),
            annotations: pod.metadata.annotations.clone(),
            namespace: pod.metadata.namespace.clone(),
            owner: owner.cloned(),
            class,
            serial: self.current.class_keys.serial(class),
        };
        self.shortcuts.insert(identity, shortcut);
        class
    }

    fn intern_class(&mut self, pod: &Pod) -> u32 {
        Arc::make_mut(&mut self.current).take_class(ClassKey::new(&pod.metadata, &pod.spec))
    }
}

impl Snapshot {
    /// The class of a key, with one more user.
    pub(super) fn take_class(&mut self, key: ClassKey) -> u32 {
        let slot = self.class_keys.take(key).slot;
        if self.classes.len() <= slot as usize {
            self.classes.resize(slot as usize + 1, None);
        }
        if self.classes[slot as usize].is_none() {
            self.add_class(slot);
        }
        slot
    }

    /// A pod of a class comes or goes. What waits is counted with those of its class and gang that run.
    fn note_demand(&mut self, class: u32, node: u32) {
        let concerns = |class: u32| self.pending.contains_key(&class) || self.class(class).gang.is_some();
        if self.demand.is_kept() && (node == NONE || concerns(class)) {
            self.demand.renew();
        }
    }

    /// Takes the pod from its node or from the queue, and gives its class back.
    fn detach(&mut self, slot: u32, touched: &mut Vec<u32>) {
        let pod = self.pods[slot as usize].take().expect("only pods that are there are detached");
        self.note_demand(pod.class, pod.node);
        self.nominated.remove(&slot);
        self.resizing.remove(&slot);
        if pod.node == NONE {
            if let Some(queue) = self.pending.get_mut(&pod.class) {
                queue.remove(&(pod.created, pod.name.clone(), slot));
                if queue.is_empty() {
                    self.pending.remove(&pod.class);
                }
            }
        } else {
            self.nodes[pod.node as usize].pods.retain(|&other| other != slot);
            self.account(pod.node, pod.class, -1);
            touched.push(pod.node);
        }
        self.drop_class(pod.class);
    }

    fn attach(&mut self, slot: u32, touched: &mut Vec<u32>) {
        let pod = self.pods[slot as usize].as_ref().expect("only pods that are there are attached");
        let (class, node) = (pod.class, pod.node);
        if node != NONE {
            self.nodes[node as usize].pods.push(slot);
            self.account(node, class, 1);
            touched.push(node);
        } else if !pod.leaving && !self.class(class).traits.daemon {
            let key = (pod.created, pod.name.clone(), slot);
            self.pending.entry(class).or_default().insert(key);
        }
        self.note_demand(class, node);
    }

    fn add_class(&mut self, slot: u32) {
        let key = self.class_keys.get(slot).clone();
        extended_names(&key.spec).for_each(|name| self.ask_for(name));
        let claims = claims(&key.spec);
        let volumes = self.volumes_of(&key.namespace, &claims);
        let (requests, gpu, unmodelled) = self.reckon(&key, &volumes);
        let constraint = self.constraint_for(&key, &volumes);
        let constraint = self.constraints.take(constraint).slot;
        let relations = key.relations();
        if !relations.is_empty() {
            self.related.insert(slot);
        }
        let gang = key.gang();
        if gang.is_some() {
            self.in_gangs.insert(slot);
        }
        if key.consumes().is_some() {
            self.consumers.insert(slot);
        }
        self.classes[slot as usize] = Some(Class {
            amounts: Arc::new(amounts_of(&requests, gpu, &self.names)),
            requests,
            gpu,
            priority: self.priority_of(&key.spec),
            constraint,
            gang,
            ports: key.ports(),
            relations,
            traits: key.traits(),
            unmodelled,
            claims,
            volumes,
            key,
        });
    }

    /// What a pod of a class asks for, and what of it the model does not know.
    fn reckon(&self, key: &ClassKey, volumes: &Volumes) -> (Resources, GpuNeed, Vec<Name>) {
        let annotations = Arc::new(key.annotations.iter().cloned().collect());
        let meta = Meta { annotations, ..Meta::default() };
        let (requests, gpu, unknown) = pod_requests(&key.spec, &meta, &self.names);
        let features = unmodelled::features(&key.spec).into_iter();
        (requests, gpu, features.chain(unknown).chain(volumes.unmodelled.iter().cloned()).collect())
    }

    /// Works out anew what every pod asks for: another set of resources has a dimension.
    pub(super) fn reckon_all(&mut self) {
        for slot in 0..self.classes.len() {
            let Some(class) = &self.classes[slot] else { continue };
            let (requests, gpu, unmodelled) = self.reckon(&class.key, &class.volumes);
            let amounts = Arc::new(amounts_of(&requests, gpu, &self.names));
            let class = self.classes[slot].as_mut().expect("it is there");
            (class.requests, class.amounts, class.unmodelled) = (requests, amounts, unmodelled);
        }
        for slot in 0..self.nodes.len() {
            let node = &mut self.nodes[slot];
            (node.requested, node.movable) = (Resources::ZERO, Resources::ZERO);
            for pod in node.pods.clone() {
                self.account(slot as u32, self.pod(pod).class, 1);
            }
        }
    }

    /// Somebody more asks for an extended resource.
    pub(super) fn ask_for(&mut self, name: Name) {
        *self.asked.entry(name).or_default() += 1;
    }

    /// Somebody asks for an extended resource no more.
    pub(super) fn ask_no_more(&mut self, name: &Name) {
        if let Some(users) = self.asked.get_mut(name) {
            *users -= 1;
            if *users == 0 {
                self.asked.remove(name);
            }
        }
    }

    /// One user less of a class; it goes with its last.
    pub(super) fn drop_class(&mut self, slot: u32) {
        if self.class_keys.give_back(slot).is_some() {
            let class = self.classes[slot as usize].take().expect("a class is kept while it has pods");
            self.constraints.give_back(class.constraint);
            extended_names(&class.key.spec).for_each(|name| self.ask_no_more(&name));
            self.related.remove(&slot);
            self.in_gangs.remove(&slot);
            self.consumers.remove(&slot);
        }
    }

    fn constraint_for(&self, key: &ClassKey, volumes: &Volumes) -> Constraint {
        if key.owner.as_ref().is_some_and(|(kind, _)| &**kind == "DaemonSet") {
            return Constraint::default();
        }
        let containers = key.spec.containers.iter();
        let mut names = containers.flat_map(|c| c.resources.requests.keys().chain(c.resources.limits.keys()));
        let gpu_kind = names.find(|name| is_gpu(name)).cloned();
        Constraint::new(&key.spec, volumes.places.clone(), gpu_kind, key.annotation(GPU_MODELS_ANNOTATION))
    }

    fn priority_of(&self, spec: &PodSpec) -> i32 {
        spec.priority.unwrap_or_else(|| match self.priorities.get(&spec.priority_class_name) {
            Some(class) => class.value,
            None => {
                self.priorities.values().find(|class| class.global_default).map_or(0, |class| class.value)
            }
        })
    }
}

/// Whether the kubelet has not given it yet what its spec asks for.
fn is_resizing(pod: &Pod) -> bool {
    let resize = |condition: &PodCondition| {
        matches!(&*condition.kind, "PodResizePending" | "PodResizeInProgress") && &*condition.status == "True"
    };
    pod.status.conditions.iter().any(resize)
}

fn new_pod_slot(free: &mut Vec<u32>, snapshot: &mut Snapshot) -> u32 {
    free.pop().unwrap_or_else(|| {
        snapshot.pods.push(None);
        (snapshot.pods.len() - 1) as u32
    })
}

fn entry_of(pod: Pod, class: u32, node: u32) -> PodEntry {
    PodEntry {
        gpu_index: pod.metadata.annotation(GPU_INDEX_ANNOTATION).and_then(|index| index.parse().ok()),
        leaving: pod.metadata.deletion_timestamp.is_some(),
        created: pod.metadata.creation_timestamp.unwrap_or(Time::ZERO),
        started: pod.status.start_time,
        namespace: pod.metadata.namespace,
        name: pod.metadata.name,
        uid: pod.metadata.uid,
        class,
        node,
        phase: match pod.status.phase {
            Phase::Unknown => Phase::Running,
            phase => phase,
        },
    }
}
