//! Nodes as the planner sees them: what is free, what runs there, where they are in their life.

use std::sync::Arc;

use crate::kube::{Name, Node};
use crate::resources::{Dimension, GpuDevices, ResourceNames, Resources};

use crate::units::Time;

use super::constraint::Profile;

/// The annotation by which Ballast marks a cordon as its own.
pub const CORDON_MARK: &str = "ballast.dev/cordoned-for";

/// A node with what runs on it.
#[derive(Clone, Debug)]
pub struct NodeEntry {
    /// Its name.
    pub name: Name,
    /// The object; `None` while only pods have spoken of it.
    pub node: Option<Arc<Node>>,
    /// Number of its pool.
    pub pool: Option<u32>,
    /// Number of its zone's template in the pool.
    pub zone: u32,
    /// What pods may use.
    pub allocatable: Resources,
    /// What pods ask for, daemons included.
    pub requested: Resources,
    /// What pods ask for that would have to go elsewhere.
    pub movable: Resources,
    /// GPUs asked for, in thousandths of a device.
    pub gpu_requested: i64,
    /// Its devices with what is free of each.
    pub gpus: GpuDevices,
    /// The resource name of its GPUs.
    pub gpu_kind: Option<Name>,
    /// Pods on it that have not ended, by number.
    pub pods: Vec<u32>,
    /// Where it is in its life, as far as the node and its instance tell.
    pub state: BaseState,
    /// Its devices, the ports taken on it or its state may have changed since the index was brought up to date.
    pub(super) stirred: bool,
    /// Which device each pod uses has to be worked out anew.
    pub(super) recount: bool,
}

/// Where a machine is in its life, as far as the node and its instance tell, whatever Ballast has begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum BaseState {
    /// Only pods have spoken of it.
    #[default]
    Unseen,
    /// Takes pods.
    Ready,
    /// Up, but not yet ready, or without the devices it promised.
    NotReady,
    /// Cordoned by someone else.
    Cordoned,
    /// Cordoned by us.
    CordonedByUs,
    /// Its instance is on its way down.
    Stopping,
    /// Its instance is off.
    Stopped,
}

impl NodeEntry {
    /// A node of which only the name is known.
    pub fn unseen(name: Name) -> Self {
        Self {
            name,
            node: None,
            pool: None,
            zone: 0,
            allocatable: Resources::ZERO,
            requested: Resources::ZERO,
            movable: Resources::ZERO,
            gpu_requested: 0,
            gpus: GpuDevices::default(),
            gpu_kind: None,
            pods: Vec::new(),
            state: BaseState::Unseen,
            stirred: false,
            recount: false,
        }
    }

    /// Whether the scheduler places pods here.
    pub fn takes_pods(&self) -> bool {
        self.state == BaseState::Ready
    }

    /// What is free, the GPU dimensions summed up from the devices. Where more is asked for than there is, nothing is free,
    /// but a pod that asks for none of it may still come, as with the scheduler.
    pub fn free(&self) -> Resources {
        let mut free = self.allocatable;
        free.subtract(&self.requested, 1);
        free.max_with(&Resources::ZERO);
        free[Resources::GPU_WHOLE] = self.gpus.wholly_free();
        free[Resources::GPU_SHARE] = self.gpus.greatest_share();
        free
    }

    /// What the index holds: what is free where pods are placed, nothing elsewhere.
    pub fn room(&self) -> Resources {
        if self.takes_pods() { self.free() } else { super::CLOSED }
    }

    /// How much of it is asked for by what would have to go elsewhere, in thousandths: the greatest of CPU, memory, GPU.
    pub fn utilisation_milli(&self) -> u32 {
        let share = |used: i64, all: i64| match used.max(0) {
            0 => 0,
            // Devices that are in use and not offered any more are not unused.
            _ if all <= 0 => u32::MAX,
            used => {
                let milli = used.checked_mul(1000).map(|milli| i128::from(milli / all));
                let milli = milli.unwrap_or_else(|| i128::from(used) * 1000 / i128::from(all));
                u32::try_from(milli).unwrap_or(u32::MAX)
            }
        };
        let gpus = self.gpus.count() as i64 * 1000;
        share(self.movable[Resources::CPU], self.allocatable[Resources::CPU])
            .max(share(self.movable[Resources::MEMORY], self.allocatable[Resources::MEMORY]))
            .max(share(self.gpu_requested, gpus))
    }

    /// What constraints are held against.
    pub fn profile(&self) -> Option<Profile<'_>> {
        let node = self.node.as_ref()?;
        Some(Profile {
            name: &self.name,
            labels: &node.metadata.labels,
            taints: &node.spec.taints,
            gpu_kind: self.gpu_kind.as_ref(),
        })
    }

    /// The node's identity; empty while unseen.
    pub fn uid(&self) -> Name {
        self.node.as_ref().map(|node| node.metadata.uid.clone()).unwrap_or_default()
    }

    /// The provider's identity of its instance; empty while unseen or not told.
    pub fn provider_id(&self) -> &str {
        self.node.as_ref().map_or("", |node| &node.spec.provider_id)
    }

    /// When it was made.
    pub fn created(&self) -> Option<Time> {
        self.node.as_ref()?.metadata.creation_timestamp
    }

    /// The value of one of its labels.
    pub fn label(&self, key: &str) -> Option<&Name> {
        self.node.as_ref()?.metadata.labels.get(key)
    }
}

/// The vector, the number of devices and the GPU resource name of what a node offers.
pub(super) fn offered<'a>(
    amounts: impl Iterator<Item = (&'a Name, &'a crate::units::Quantity)>,
    names: &ResourceNames,
) -> (Resources, usize, Option<Name>) {
    let mut vector = Resources::ZERO;
    let mut devices = 0;
    let mut kind = None;
    for (name, quantity) in amounts {
        match names.find(name) {
            Dimension::At(Resources::CPU) => vector[Resources::CPU] = quantity.milli(),
            Dimension::At(dimension) => vector[dimension] = quantity.units(),
            Dimension::Gpu if quantity.units() > 0 => {
                devices = quantity.units().clamp(0, i64::from(u16::MAX)) as usize;
                kind = Some(name.clone());
            }
            _ => {}
        }
    }
    (vector, devices, kind)
}
