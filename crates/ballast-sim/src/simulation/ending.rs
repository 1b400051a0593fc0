//! What is left when everything has come to rest.

use super::run::Simulation;
use crate::world::{NONE, Power, Ready};

/// The state of all machines of pools, and of what waits: what two runs are compared by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Nodes that are ready and take pods.
    pub ready: u32,
    /// Machines on their way up, or up and not ready.
    pub starting: u32,
    /// Machines that are up and are no node.
    pub nodeless: u32,
    /// Machines on their way down.
    pub stopping: u32,
    /// Machines that are off.
    pub stopped: u32,
    /// Nodes that are up and cordoned.
    pub cordoned: u32,
    /// Pods that wait.
    pub waiting: u32,
    /// Machines that were started or made, ever.
    pub adds: u64,
    /// Machines that were stopped or deleted, ever.
    pub removals: u64,
}

impl Ending {
    /// Whether nothing is on its way, cordoned, orphaned or waiting.
    pub fn is_at_rest(&self) -> bool {
        let Self { starting, nodeless, stopping, cordoned, waiting, .. } = *self;
        starting == 0 && nodeless == 0 && stopping == 0 && cordoned == 0 && waiting == 0
    }
}

impl Simulation {
    /// What there is now.
    pub fn ending(&self) -> Ending {
        let world = &self.world;
        let mut ending = Ending {
            waiting: world.meter.waiting.iter().sum(),
            adds: world.meter.counts.adds,
            removals: world.meter.counts.removals,
            ..Ending::default()
        };
        for machine in &world.machines {
            if world.kinds[machine.kind as usize].pool == NONE {
                continue;
            }
            match (machine.power, &machine.node) {
                (Power::Gone, _) => {}
                (Power::Stopped, _) => ending.stopped += 1,
                (Power::Stopping(_), _) => ending.stopping += 1,
                (Power::Starting, _) => ending.starting += 1,
                (Power::Running, None) => ending.nodeless += 1,
                (Power::Running, Some(node)) if node.ready != Ready::Yes || !node.devices_up => {
                    ending.starting += 1
                }
                (Power::Running, Some(node)) if node.cordoned => ending.cordoned += 1,
                (Power::Running, Some(_)) => ending.ready += 1,
            }
        }
        ending
    }

    /// How many plans in a row, up to now, had nothing to do.
    pub fn quiet_plans(&self) -> u64 {
        self.driver.quiet_plans
    }
}
