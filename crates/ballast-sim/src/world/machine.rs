//! Machines: an instance in a cloud, and the node that it is once it has joined.

use std::sync::Arc;

use ballast_core::kube::{Labels, Name, Requests, Taint};
use ballast_core::observation::{Instance, InstanceState};
use ballast_core::resources::Resources;
use ballast_core::snapshot::{GPU_MODEL_LABELS, POOL_LABEL, TYPE_LABEL, ZONE_LABEL};
use ballast_core::units::{Money, Time};

use ballast_core::policy::NodeTemplate;
use ballast_core::resources::{Dimension, ResourceNames};

use super::devices::Devices;
use crate::placement::{Need, Room};

/// No machine, no pod, no pool.
pub(crate) const NONE: u32 = u32::MAX;

/// What a kubelet allows when nobody says otherwise.
const DEFAULT_PODS: i64 = 110;

/// Machines that are alike: those of one pool, or of one group of nodes, in one zone.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The pool, or [`NONE`].
    pub(crate) pool: u32,
    /// The zone; empty where there is none.
    pub(crate) zone: Name,
    /// Instance type; empty where none is named.
    pub(crate) instance_type: Name,
    /// Labels of a node, its hostname left out.
    pub(crate) labels: Labels,
    /// Taints for good.
    pub(crate) taints: Vec<Taint>,
    /// Taints until the devices are up.
    pub(crate) startup_taints: Vec<Taint>,
    /// What pods may use, as the node tells.
    pub(crate) allocatable: Requests,
    /// The same as a vector, without GPUs.
    pub(crate) room: Resources,
    /// GPU devices.
    pub(crate) gpus: u8,
    /// The bit of the GPU model; 0 where it has none.
    pub(crate) model: u64,
    /// What it costs in an hour while it runs.
    pub(crate) per_hour: Money,
    /// What it costs in an hour while it is off.
    pub(crate) stopped_per_hour: Money,
}

impl Kind {
    /// Of a template in a zone.
    pub(crate) fn new(
        template: &NodeTemplate,
        zone: Name,
        names: &ResourceNames,
        models: &mut Models,
    ) -> Self {
        let mut labels = template.labels.clone();
        if !zone.is_empty() {
            labels.insert(ZONE_LABEL.into(), zone.clone());
        }
        if let Some(instance_type) = &template.instance_type {
            labels.insert(TYPE_LABEL.into(), instance_type.clone());
        }
        if let Some(model) = &template.gpu_model {
            labels.insert(GPU_MODEL_LABELS[0].into(), model.clone());
        }
        let mut room = Resources::ZERO;
        let mut gpus = 0;
        for (name, quantity) in &template.allocatable {
            match names.find(name) {
                Dimension::At(Resources::CPU) => room[Resources::CPU] = quantity.milli(),
                Dimension::At(dimension) => room[dimension] = quantity.units(),
                Dimension::Gpu => gpus = quantity.units().clamp(0, Devices::MOST as i64) as u8,
                Dimension::Unmodelled => {}
            }
        }
        let mut allocatable = template.allocatable.clone();
        if room[Resources::PODS] == 0 {
            room[Resources::PODS] = DEFAULT_PODS;
            allocatable.insert("pods".into(), ballast_core::units::Quantity::from_units(DEFAULT_PODS));
        }
        let model =
            GPU_MODEL_LABELS.iter().find_map(|label| labels.get(*label)).map(|model| models.bit(model));
        Self {
            pool: NONE,
            zone,
            instance_type: template.instance_type.clone().unwrap_or_default(),
            labels,
            taints: template.taints.clone(),
            startup_taints: template.startup_taints.clone(),
            allocatable,
            room,
            gpus,
            model: model.unwrap_or(0),
            per_hour: Money::ZERO,
            stopped_per_hour: Money::ZERO,
        }
    }

    /// The model of its GPUs; empty where none is told.
    pub(crate) fn gpu_model(&self) -> &str {
        GPU_MODEL_LABELS.iter().find_map(|label| self.labels.get(*label)).map_or("", |model| model)
    }

    /// Makes it the kind of a pool.
    pub(crate) fn of_pool(mut self, pool: u32, name: &Name) -> Self {
        self.pool = pool;
        self.labels.insert(POOL_LABEL.into(), name.clone());
        self
    }
}

/// GPU models by bit.
#[derive(Debug, Default)]
pub(crate) struct Models(Vec<Name>);

impl Models {
    /// The bit of a model; models beyond the sixty-fourth share the last bit.
    pub(crate) fn bit(&mut self, model: &Name) -> u64 {
        let at = self.0.iter().position(|known| known == model).unwrap_or_else(|| {
            self.0.push(model.clone());
            self.0.len() - 1
        });
        1 << at.min(63)
    }
}

/// Whether a machine has power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    /// On its way up.
    Starting,
    /// Up.
    Running,
    /// On its way down; `true` where it will be gone for good.
    Stopping(bool),
    /// Off.
    Stopped,
    /// Gone for good.
    Gone,
}

impl Power {
    /// As a provider tells it; what is gone is not told.
    pub(crate) fn state(self) -> InstanceState {
        match self {
            Self::Starting => InstanceState::Starting,
            Self::Running => InstanceState::Running,
            Self::Stopping(_) => InstanceState::Stopping,
            Self::Stopped | Self::Gone => InstanceState::Stopped,
        }
    }

    /// Whether what is on it runs.
    pub(crate) fn is_on(self) -> bool {
        matches!(self, Self::Running | Self::Stopping(_))
    }

    /// Whether it is paid for as a running machine, and counts towards the size of its pool.
    pub(crate) fn counts(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Stopping(_))
    }
}

/// What the control plane thinks of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// Its kubelet says so.
    Yes,
    /// Its kubelet says that it is not.
    No,
    /// Its kubelet says nothing.
    Unknown,
}

/// The node of a machine, as an object of Kubernetes.
#[derive(Clone, Debug)]
pub(crate) struct NodeObject {
    /// Its identity.
    pub(crate) uid: Name,
    /// Its labels.
    pub(crate) labels: Arc<Labels>,
    /// Ready or not.
    pub(crate) ready: Ready,
    /// Since when.
    pub(crate) since: Time,
    /// When it joined for the first time.
    pub(crate) created: Time,
    /// Cordoned.
    pub(crate) cordoned: bool,
    /// Our mark; empty where there is none.
    pub(crate) mark: Name,
    /// The devices can be used and the startup taints are gone.
    pub(crate) devices_up: bool,
}

/// A machine.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Its kind.
    pub(crate) kind: u32,
    /// Its name, which is the node's too.
    pub(crate) name: Name,
    /// The provider's identity.
    pub(crate) id: Name,
    /// The token of the launch that made it; empty where it was there before.
    pub(crate) token: Name,
    /// Power.
    pub(crate) power: Power,
    /// Since when.
    pub(crate) since: Time,
    /// When it was last put on its way up.
    pub(crate) started_at: Time,
    /// The node, from joining on.
    pub(crate) node: Option<NodeObject>,
    /// What is free on it.
    pub(crate) free: Resources,
    /// Its devices; none before they are up.
    pub(crate) devices: Devices,
    /// Pods on it, daemons included.
    pub(crate) pods: Vec<u32>,
    /// How many of them are no daemons.
    pub(crate) guests: u32,
    /// Grows with every change of power: events of an earlier life are void.
    pub(crate) epoch: u32,
    /// Grows when its kubelet falls silent and when it joins again: what follows from an earlier silence is void. Power is no
    /// measure of that, for a machine that is started anew is silent until it joins.
    pub(crate) silence: u32,
    /// Its key in the scheduler's order while it takes pods.
    pub(crate) rank: Option<i64>,
    /// It has been all that it promised to be since it was last started.
    pub(crate) has_been_whole: bool,
    /// It was launched while the scenario ran.
    pub(crate) was_launched: bool,
    /// It has had a guest since it was last started.
    pub(crate) was_used: bool,
    /// It is on the list of changed nodes.
    pub(crate) dirty: bool,
    /// Its cloud has said that it will take it back.
    pub(crate) doomed: bool,
    /// It is on and answers nobody, until it is started anew.
    pub(crate) hangs: bool,
}

impl Machine {
    /// A machine that is off.
    pub(crate) fn new(kind: u32, name: Name, id: Name, now: Time) -> Self {
        Self {
            kind,
            name,
            id,
            token: Name::default(),
            power: Power::Stopped,
            since: now,
            started_at: now,
            node: None,
            free: Resources::ZERO,
            devices: Devices::default(),
            pods: Vec::new(),
            guests: 0,
            epoch: 0,
            silence: 0,
            rank: None,
            has_been_whole: false,
            was_launched: false,
            was_used: false,
            dirty: false,
            doomed: false,
            hangs: false,
        }
    }

    /// Whether its node is ready.
    pub(crate) fn is_ready(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.ready == Ready::Yes)
    }

    /// Whether the scheduler places pods on it.
    pub(crate) fn takes_pods(&self, kind: &Kind) -> bool {
        let open = |node: &NodeObject| {
            node.ready == Ready::Yes && !node.cordoned && (node.devices_up || kind.startup_taints.is_empty())
        };
        !self.doomed && self.node.as_ref().is_some_and(open)
    }

    /// Whether its node is all that it promised to be.
    pub(crate) fn is_whole(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.ready == Ready::Yes && node.devices_up)
    }

    /// What it has left, as scores see it.
    pub(crate) fn room<'a>(&'a self, kind: &Kind) -> Room<'a> {
        Room {
            cpu: kind.room[Resources::CPU],
            memory: kind.room[Resources::MEMORY],
            cpu_left: self.free[Resources::CPU],
            memory_left: self.free[Resources::MEMORY],
            gpus_left: self.devices.left(),
            model: kind.model,
        }
    }

    /// Whether there is room for a pod that asks for this.
    pub(crate) fn has_room(&self, kind: &Kind, requests: &Resources, need: &Need) -> bool {
        requests.fits(&self.free) && (need.gpus == 0 || self.room(kind).devices_fit(need))
    }

    /// As a provider tells of it.
    pub(crate) fn instance(&self, kind: &Kind, pool: &Name) -> Instance {
        Instance {
            id: self.id.clone(),
            name: self.name.clone(),
            pool: pool.clone(),
            zone: kind.zone.clone(),
            instance_type: kind.instance_type.clone(),
            state: self.power.state(),
            since: Some(self.since),
            token: self.token.clone(),
        }
    }
}
