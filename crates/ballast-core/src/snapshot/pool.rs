//! Pools: the policy, the instances, and what a new node would look like in each zone.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kube::{DaemonSet, Labels, Name};
use rustc_hash::FxHashMap;

use crate::observation::{Instance, InstanceState};
use crate::policy::VmPoolSpec;
use crate::resources::{GpuDevices, ResourceNames, Resources, pod_requests};

use super::class::{HostPort, host_ports};
use super::constraint::{Constraint, GPU_MODEL_LABELS, Profile};
use super::instances::Instances;
use super::node::{BaseState, offered};

/// The label of a node's zone.
pub const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
/// The label of a node's own name.
pub const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";
/// The label of a node's instance type.
pub const TYPE_LABEL: &str = "node.kubernetes.io/instance-type";
/// The label of the pool that a node belongs to.
pub const POOL_LABEL: &str = "ballast.dev/pool";
/// What a kubelet allows when nobody says otherwise.
const DEFAULT_PODS: i64 = 110;

/// A pool.
#[derive(Clone, Debug)]
pub struct PoolEntry {
    /// Its name.
    pub name: Name,
    /// Its policy.
    pub spec: Arc<VmPoolSpec>,
    /// What a new node would look like, one for each zone.
    pub templates: Vec<Template>,
    /// Its instances by identity, in order.
    pub instances: Instances,
    /// A list of them was believed: one that is missing is not there.
    pub listed: bool,
    /// Identities of its instances by name.
    ids: FxHashMap<Name, Name>,
    /// Identities of the instances that are off, in order of their names.
    pub stopped: Vec<Name>,
    /// Identities of the instances that are up but are no node, in order of their names.
    pub nodeless: Vec<Name>,
    /// How many of its nodes are in each state.
    pub counts: Counts,
}

/// How many nodes of a pool are in each state, and how many of those that take pods in each zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    states: [u32; 7],
    /// By the number of the zone's template.
    zones: Vec<u32>,
}

impl Counts {
    /// Nodes in a state.
    pub fn of(&self, state: BaseState) -> u32 {
        self.states[state as usize]
    }

    /// Nodes in every state but one.
    pub fn all_but(&self, state: BaseState) -> u32 {
        self.states.iter().sum::<u32>() - self.of(state)
    }

    /// Nodes that take pods in the zone of a template.
    pub fn ready_in(&self, template: u32) -> u32 {
        self.zones.get(template as usize).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, state: BaseState, zone: u32) {
        self.states[state as usize] += 1;
        if state == BaseState::Ready {
            let zones = self.zones.len().max(zone as usize + 1);
            self.zones.resize(zones, 0);
            self.zones[zone as usize] += 1;
        }
    }

    pub(super) fn remove(&mut self, state: BaseState, zone: u32) {
        self.states[state as usize] -= 1;
        if state == BaseState::Ready {
            self.zones[zone as usize] -= 1;
        }
    }
}

/// What a new node would look like.
#[derive(Clone, Debug)]
pub struct Template {
    /// Its zone; empty where the pool has none.
    pub zone: Name,
    /// Its labels.
    pub labels: Labels,
    /// What it has for pods and daemons together.
    pub allocatable: Resources,
    /// What is free on it once its daemons run.
    pub free: Resources,
    /// Host ports that its daemons take.
    pub ports: Vec<HostPort>,
    /// Its devices.
    pub gpus: GpuDevices,
    /// The resource name of its GPUs.
    pub gpu_kind: Option<Name>,
}

impl PoolEntry {
    /// The instance type that is launched; empty where the pool names none.
    pub fn instance_type(&self) -> &str {
        self.spec.template.instance_type.as_deref().unwrap_or_default()
    }

    /// A pool without instances.
    pub fn new(name: Name, spec: Arc<VmPoolSpec>) -> Self {
        Self {
            name,
            spec,
            templates: Vec::new(),
            instances: Instances::default(),
            listed: false,
            ids: FxHashMap::default(),
            stopped: Vec::new(),
            nodeless: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Whether a node belongs to it by name or label.
    pub fn claims(&self, name: &str, labels: &Labels) -> bool {
        let members = &self.spec.members;
        members.selector.as_ref().is_some_and(|selector| !selector.is_empty() && selector.matches(labels))
            || members
                .name_prefix
                .as_ref()
                .is_some_and(|prefix| !prefix.is_empty() && name.starts_with(&**prefix))
            || labels.get(POOL_LABEL).is_some_and(|pool| *pool == self.name)
    }

    /// Whether a template stands for instances whose zone is not known.
    pub(crate) fn is_zone_unknown(&self, template: u32) -> bool {
        self.templates.len() > 1 && self.templates[template as usize].zone.is_empty()
    }

    /// Whether nodes of a template can be made: one has to know where.
    pub(crate) fn can_make(&self, template: u32) -> bool {
        self.spec.create && !self.is_zone_unknown(template)
    }

    /// The template of a zone; the first where no template is of this zone.
    pub(crate) fn template_in(&self, zone: Option<&Name>) -> u32 {
        let of = |template: &Template| zone.is_some_and(|zone| *zone == template.zone);
        self.templates.iter().position(of).unwrap_or(0) as u32
    }

    /// The instance of a name.
    pub(crate) fn instance_named(&self, name: &str) -> Option<&Instance> {
        self.instances.get(self.ids.get(name)?)
    }

    /// The state of an instance: of the one with this identity, else of the one of this name.
    pub(crate) fn state_of(&self, id: &str, name: &str) -> Option<InstanceState> {
        let known = self.instances.get(id).or_else(|| self.instance_named(name));
        known.map(|instance| instance.state)
    }

    /// Sorts the instances into those that are off and those that are up without being a node; `is_nodeless` tells it of each.
    pub(super) fn sort_instances(&mut self, is_nodeless: &[bool]) {
        self.ids.clear();
        self.ids.extend(self.instances.values().map(|instance| (instance.name.clone(), instance.id.clone())));
        let (mut stopped, mut nodeless) = (Vec::new(), Vec::new());
        for (instance, is_nodeless) in self.instances.values().zip(is_nodeless) {
            let named = (instance.name.clone(), instance.id.clone());
            if instance.state == InstanceState::Stopped {
                stopped.push(named);
            } else if *is_nodeless {
                nodeless.push(named);
            }
        }
        let by_name = |mut ids: Vec<(Name, Name)>| {
            ids.sort_unstable();
            ids.into_iter().map(|(_, id)| id).collect()
        };
        (self.stopped, self.nodeless) = (by_name(stopped), by_name(nodeless));
    }

    /// Works out the templates anew: they depend on the daemon sets.
    pub fn rebuild(&mut self, daemons: &BTreeMap<(Name, Name), Arc<DaemonSet>>, names: &ResourceNames) {
        // Of one zone there is no doubt; of several, the last template is for instances whose provider does not say where they
        // are: it has no zone, so that what demands one does not fit.
        let zones = match self.spec.template.zones.as_slice() {
            [] => vec![Name::default()],
            [one] => vec![one.clone()],
            several => several.iter().cloned().chain([Name::default()]).collect(),
        };
        self.templates = zones.into_iter().map(|zone| self.template(zone, daemons, names)).collect();
    }

    fn template(
        &self,
        zone: Name,
        daemons: &BTreeMap<(Name, Name), Arc<DaemonSet>>,
        names: &ResourceNames,
    ) -> Template {
        let template = &self.spec.template;
        let (mut free, devices, gpu_kind) = offered(template.allocatable.iter(), names);
        if free[Resources::PODS] == 0 {
            free[Resources::PODS] = DEFAULT_PODS;
        }
        let mut labels = template.labels.clone();
        labels.insert(POOL_LABEL.into(), self.name.clone());
        if !zone.is_empty() {
            labels.insert(ZONE_LABEL.into(), zone.clone());
        }
        if let Some(instance_type) = &template.instance_type {
            labels.insert(TYPE_LABEL.into(), instance_type.clone());
        }
        if let Some(model) = &template.gpu_model {
            labels.insert(GPU_MODEL_LABELS[0].into(), model.clone());
        }
        let gpus = GpuDevices::new(devices);
        free[Resources::GPU_WHOLE] = gpus.wholly_free();
        free[Resources::GPU_SHARE] = gpus.greatest_share();
        let mut new = Template { zone, labels, allocatable: free, free, ports: Vec::new(), gpus, gpu_kind };
        for daemon in daemons.values() {
            new.make_room_for(daemon, template, names);
        }
        new
    }
}

impl Template {
    /// What constraints are held against.
    pub fn profile<'a>(&'a self, name: &'a Name, taints: &'a [crate::kube::Taint]) -> Profile<'a> {
        Profile { name, labels: &self.labels, taints, gpu_kind: self.gpu_kind.as_ref() }
    }

    fn make_room_for(
        &mut self,
        daemon: &DaemonSet,
        template: &crate::policy::NodeTemplate,
        names: &ResourceNames,
    ) {
        let pod = &daemon.spec.template;
        let constraint = Constraint::new(&pod.spec, Vec::new(), None, None);
        let name = Name::default();
        if constraint.misfit(&self.profile(&name, &template.taints)).is_none() {
            let (requests, gpu, _) = pod_requests(&pod.spec, &pod.metadata, names);
            if !could_run(&requests, &self.allocatable) {
                return;
            }
            let (whole, share) = (self.free[Resources::GPU_WHOLE], self.free[Resources::GPU_SHARE]);
            self.free.subtract(&requests, 1);
            self.free.max_with(&Resources::ZERO);
            self.ports.extend(host_ports(&pod.spec));
            self.free[Resources::GPU_WHOLE] = whole;
            self.free[Resources::GPU_SHARE] = share;
            if self.gpus.take(gpu) {
                self.free[Resources::GPU_WHOLE] = self.gpus.wholly_free();
                self.free[Resources::GPU_SHARE] = self.gpus.greatest_share();
            }
        }
    }
}

/// Whether a daemon fits on an empty node. What the template does not list is not held against it: storage is often left out,
/// and a daemon whose share is forgotten would leave new nodes too small for what they were started for.
fn could_run(requests: &Resources, empty: &Resources) -> bool {
    requests.iter().zip(empty.iter()).all(|(need, all)| need <= all || all == 0)
}
