//! I-12: what a plan displaces fits elsewhere, all of it together.

use ballast_core::plan::{ActionKind, Plan};
use ballast_core::resources::Resources;

use super::Oracle;
use crate::placement::Room;
use crate::world::{Life, World};

/// What is free on a machine while displaced pods are laid out.
struct Spare<'a> {
    machine: u32,
    free: Resources,
    gpus: Vec<u16>,
    room: Room<'a>,
}

impl Oracle {
    /// Lays out all pods that a plan displaces on the nodes that stay. Only where no order of trying works is it a breach.
    pub(super) fn check_jointly(&mut self, world: &World, plan: &Plan) {
        let stops = plan.actions.iter().filter(|action| action.kind == ActionKind::StopInstance);
        let leaving: Vec<u32> =
            stops.filter_map(|action| world.by_name.get(&action.target.name).copied()).collect();
        let mut displaced: Vec<u32> = Vec::new();
        for &machine in &leaving {
            let guests = world.machines[machine as usize].pods.iter().copied();
            displaced.extend(guests.filter(|&pod| {
                let entry = &world.pods[pod];
                let class = &world.classes[entry.class as usize];
                !class.daemon && matches!(entry.life, Life::Running | Life::Starting)
            }));
        }
        if displaced.is_empty() {
            return;
        }
        let size = |pod: &u32| {
            let class = &world.classes[world.pods[*pod].class as usize];
            (class.need.gpu_total(), class.need.cpu, class.need.memory)
        };
        let given = displaced.clone();
        displaced.sort_by_key(|pod| std::cmp::Reverse(size(pod)));
        let fits = [true, false].into_iter().any(|tight| {
            lay_out(world, &leaving, &displaced, tight) || lay_out(world, &leaving, &given, tight)
        });
        if !fits {
            let names: Vec<&str> = leaving.iter().map(|&at| &*world.machines[at as usize].name).collect();
            let message = format!("{} pods of {} fit nowhere else together", given.len(), names.join(", "));
            self.breach(world, "I-12", message);
        }
    }
}

fn lay_out(world: &World, leaving: &[u32], pods: &[u32], tight: bool) -> bool {
    let open = world.open_machines().into_iter().filter(|(at, _)| !leaving.contains(at));
    let mut spare: Vec<Spare<'_>> = open
        .map(|(machine, entry)| Spare {
            machine,
            free: entry.free,
            gpus: entry.devices.left().to_vec(),
            room: entry.room(&world.kinds[entry.kind as usize]),
        })
        .collect();
    pods.iter().all(|&pod| {
        let class_number = world.pods[pod].class;
        let class = &world.classes[class_number as usize];
        let fitting = spare.iter_mut().filter(|spare| {
            let kind = world.machines[spare.machine as usize].kind as usize;
            let room = Room { gpus_left: &spare.gpus, ..spare.room };
            // Relations to other pods are left out: laid out one by one, they would forbid more than they do.
            world.allows(class_number, kind)
                && world.is_meant_for(class, &world.machines[spare.machine as usize])
                && class.requests.fits(&spare.free)
                && room.devices_fit(&class.need)
        });
        let chosen =
            if tight { fitting.min_by_key(|spare| spare.free[Resources::CPU]) } else { fitting.last() };
        let Some(chosen) = chosen else { return false };
        chosen.free.subtract(&class.requests, 1);
        take(&mut chosen.gpus, class.need.gpus, class.need.gpu_milli);
        true
    })
}

/// Takes devices, the tightest that do.
fn take(gpus: &mut [u16], count: u8, milli: u16) {
    for _ in 0..count {
        if let Some(left) = gpus.iter_mut().filter(|left| **left >= milli).min() {
            *left -= milli;
        }
    }
}
