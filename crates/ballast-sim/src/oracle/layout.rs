//! Pods laid out on machines, to tell whether there is room for all of them together.

use ballast_core::resources::Resources;

use crate::placement::Room;
use crate::world::{Machine, NONE, World};

/// Machines with what is free on them, while pods are laid out.
pub(super) struct Layout<'a> {
    world: &'a World,
    spare: Vec<Spare>,
}

/// What is free on a machine.
struct Spare {
    /// [`NONE`] for one that is not there yet.
    machine: u32,
    kind: u32,
    free: Resources,
    gpus: Vec<u16>,
}

impl Spare {
    fn on(at: u32, machine: &Machine) -> Self {
        Self { machine: at, kind: machine.kind, free: machine.free, gpus: machine.devices.left().to_vec() }
    }
}

impl<'a> Layout<'a> {
    /// On no machine.
    pub(super) fn new(world: &'a World) -> Self {
        Self { world, spare: Vec::new() }
    }

    /// On the machines that take pods, some left out.
    pub(super) fn on_open(world: &'a World, without: &[u32]) -> Self {
        let open = world.open_machines().into_iter().filter(|(at, _)| !without.contains(at));
        Self { world, spare: open.map(|(at, machine)| Spare::on(at, machine)).collect() }
    }

    /// One more of the machines that are there, which takes no pods yet.
    pub(super) fn add(&mut self, machine: u32) {
        self.spare.push(Spare::on(machine, &self.world.machines[machine as usize]));
    }

    /// One more machine of a kind, with nothing on it.
    pub(super) fn open(&mut self, kind: u32) {
        let entry = &self.world.kinds[kind as usize];
        let gpus = vec![1000; usize::from(entry.gpus)];
        self.spare.push(Spare { machine: NONE, kind, free: entry.room, gpus });
    }

    /// Lays pods out, on the fullest machine that takes each or on the last that does. Returns whether all found a place.
    pub(super) fn take_all(&mut self, pods: &[u32], tight: bool) -> bool {
        pods.iter().all(|&pod| self.take(pod, tight))
    }

    /// Lays one pod out, where there is room for it.
    pub(super) fn take(&mut self, pod: u32, tight: bool) -> bool {
        let world = self.world;
        let number = world.pods[pod].class;
        let class = &world.classes[number as usize];
        let fitting = self.spare.iter_mut().filter(|spare| {
            let kind = &world.kinds[spare.kind as usize];
            let room = Room {
                cpu: kind.room[Resources::CPU],
                memory: kind.room[Resources::MEMORY],
                cpu_left: spare.free[Resources::CPU],
                memory_left: spare.free[Resources::MEMORY],
                gpus_left: &spare.gpus,
                model: kind.model,
            };
            // Relations to other pods are left out: laid out one by one, they would forbid more than they do.
            world.allows(number, spare.kind as usize)
                && (spare.machine == NONE
                    || world.is_meant_for(class, &world.machines[spare.machine as usize]))
                && class.requests.fits(&spare.free)
                && room.devices_fit(&class.need)
        });
        let chosen =
            if tight { fitting.min_by_key(|spare| spare.free[Resources::CPU]) } else { fitting.last() };
        let Some(chosen) = chosen else { return false };
        chosen.free.subtract(&class.requests, 1);
        for _ in 0..class.need.gpus {
            let left = chosen.gpus.iter_mut().filter(|left| **left >= class.need.gpu_milli);
            if let Some(left) = left.min() {
                *left -= class.need.gpu_milli;
            }
        }
        true
    }

    /// How many machines there are.
    pub(super) fn len(&self) -> usize {
        self.spare.len()
    }
}

/// The largest first.
pub(super) fn by_size(world: &World, pods: &mut [u32]) {
    pods.sort_by_key(|pod| {
        let class = &world.classes[world.pods[*pod].class as usize];
        std::cmp::Reverse((class.need.gpu_total(), class.need.cpu, class.need.memory))
    });
}
