//! Nodes that are not there yet, as places for pods.

use super::Capacity;
use super::relations::Opened;
use crate::kube::Name;
use crate::resources::{GpuDevices, Resources};
use crate::snapshot::{HostPort, Snapshot};
use crate::units::Time;

/// A node that is starting, or that this plan starts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewBin {
    /// The name it has or will have.
    pub name: Name,
    /// Its pool.
    pub pool: u32,
    /// Its template (zone) within the pool.
    pub template: u32,
    /// Starting, stopped, or to be made.
    pub capacity: Capacity,
    /// The provider's identity, where it has one.
    pub provider_id: Name,
    /// When it should be ready, where it is on its way already.
    pub ready_at: Option<Time>,
    /// Its devices.
    pub gpus: GpuDevices,
    /// Units placed on it: wish and units.
    pub load: Vec<(usize, u32)>,
    /// The gang it was opened for.
    pub gang: Option<u32>,
    /// What is free on it, where it is a node that we cordoned and could take back.
    pub returning: Option<Resources>,
    /// Host ports taken on it besides those of its daemons.
    pub(super) ports: Vec<HostPort>,
    /// Domains that it brought along.
    pub(super) domains: Vec<Opened>,
}

impl NewBin {
    /// How many units it carries.
    pub(crate) fn units(&self) -> u32 {
        self.load.iter().map(|(_, units)| units).sum()
    }

    /// What is free on it before anything is placed there.
    pub(super) fn room(&self, snapshot: &Snapshot) -> Resources {
        let template = &snapshot.pools[self.pool as usize].templates[self.template as usize];
        let mut free = self.returning.unwrap_or(template.free);
        free[Resources::GPU_WHOLE] = self.gpus.wholly_free();
        free[Resources::GPU_SHARE] = self.gpus.greatest_share();
        free
    }

    /// A bin without ports taken.
    pub(crate) fn new(pool: u32, template: u32, capacity: Capacity, name: Name, gpus: GpuDevices) -> Self {
        Self {
            name,
            pool,
            template,
            capacity,
            provider_id: Name::default(),
            ready_at: None,
            gpus,
            load: Vec::new(),
            gang: None,
            returning: None,
            ports: Vec::new(),
            domains: Vec::new(),
        }
    }
}
