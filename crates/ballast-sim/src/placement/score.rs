//! The scores that look at one node and one pod alone.

use serde::{Deserialize, Serialize};

/// How the scheduler of the simulated cluster chooses among the nodes on which a pod fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Placement {
    /// The node with the most room left, as kube-scheduler does unless told otherwise.
    #[default]
    LeastAllocated,
    /// The node with the least room left by share of what it has.
    MostAllocated,
    /// The node with the least CPU and GPU left in absolute terms.
    BestFit,
    /// The node whose GPUs become the least fragmented for what usually comes (fragmentation gradient descent).
    Fgd,
    /// Any node.
    Random,
}

/// What a node has, and what is left of it.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// CPU in thousandths of a core.
    pub cpu: i64,
    /// Memory in bytes.
    pub memory: i64,
    /// CPU that is left.
    pub cpu_left: i64,
    /// Memory that is left.
    pub memory_left: i64,
    /// What is left of each GPU device, in thousandths.
    pub gpus_left: &'a [u16],
    /// The GPU model as one bit; 0 where it has none.
    pub model: u64,
}

/// What a pod needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Need {
    /// CPU in thousandths of a core.
    pub cpu: i64,
    /// Memory in bytes.
    pub memory: i64,
    /// How many GPU devices.
    pub gpus: u8,
    /// How much of each device, in thousandths.
    pub gpu_milli: u16,
    /// The GPU models that do, a bit each; 0 means any.
    pub models: u64,
}

impl Room<'_> {
    /// Whether the devices can take the need.
    pub fn devices_fit(&self, need: &Need) -> bool {
        let enough = self.gpus_left.iter().filter(|&&left| left >= need.gpu_milli).count();
        need.gpus == 0 || (self.allows(need) && enough >= usize::from(need.gpus))
    }

    /// Whether the model of the devices is one that does.
    pub fn allows(&self, need: &Need) -> bool {
        need.models == 0 || need.models & self.model != 0
    }

    /// What is left of all devices together, in thousandths.
    pub fn gpu_left(&self) -> i64 {
        self.gpus_left.iter().map(|&left| i64::from(left)).sum()
    }
}

impl Need {
    /// Of all devices together, in thousandths.
    pub fn gpu_total(&self) -> i64 {
        i64::from(self.gpus) * i64::from(self.gpu_milli)
    }

    /// Whether it needs a part of one device only.
    pub fn is_share(&self) -> bool {
        self.gpus == 1 && self.gpu_milli < 1000
    }

    /// The device that a share leaves least of, among devices with so much left of each.
    pub fn tightest(&self, left: &[u16]) -> usize {
        let fitting = (0..left.len()).filter(|&device| left[device] >= self.gpu_milli);
        fitting.min_by_key(|&device| left[device]).unwrap_or(0)
    }
}

/// The score of kube-scheduler's `LeastAllocated`: the mean share of CPU and memory that stays free, from 0 to 100.
pub fn least_allocated(room: &Room<'_>, need: &Need) -> i64 {
    let share = |left: i64, need: i64, all: i64| if all == 0 { 0 } else { (left - need).max(0) * 100 / all };
    (share(room.cpu_left, need.cpu, room.cpu) + share(room.memory_left, need.memory, room.memory)) / 2
}

/// The score of kube-scheduler's `MostAllocated`: the mean share of CPU and memory in use, from 0 to 100.
pub fn most_allocated(room: &Room<'_>, need: &Need) -> i64 {
    let used =
        |left: i64, need: i64, all: i64| if all == 0 { 0 } else { (all - left + need).min(all) * 100 / all };
    (used(room.cpu_left, need.cpu, room.cpu) + used(room.memory_left, need.memory, room.memory)) / 2
}

/// The greatest node of the openb cluster, by which its BestFit makes CPU and GPU comparable.
const BEST_FIT_CPU: f64 = 128_000.0;
const BEST_FIT_GPU: f64 = 8000.0;

/// The score of the published BestFit: half CPU, half GPU, less left is better, in whole points from 0 to 100.
///
/// The rounding down to whole points belongs to it: nodes of equal points are equally good.
pub fn best_fit(room: &Room<'_>, need: &Need) -> i64 {
    let cpu = (room.cpu_left - need.cpu) as f64 / BEST_FIT_CPU;
    let gpu = (room.gpu_left() - need.gpu_total()) as f64 / BEST_FIT_GPU;
    ((1.0 - (cpu + gpu) * 0.5) * 100.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(gpus_left: &[u16]) -> Room<'_> {
        Room { cpu: 8000, memory: 1000, cpu_left: 4000, memory_left: 500, gpus_left, model: 1 }
    }

    #[test]
    fn least_and_most_allocated_are_shares() {
        let need = Need { cpu: 2000, memory: 250, ..Need::default() };
        assert_eq!(least_allocated(&room(&[]), &need), 25);
        assert_eq!(most_allocated(&room(&[]), &need), 75);
    }

    #[test]
    fn best_fit_prefers_what_leaves_less() {
        let need = Need { gpus: 1, gpu_milli: 1000, ..Need::default() };
        assert!(best_fit(&room(&[1000]), &need) > best_fit(&room(&[1000, 1000]), &need));
    }

    #[test]
    fn a_share_lies_on_one_device_of_the_right_model() {
        let share = Need { gpus: 1, gpu_milli: 600, ..Need::default() };
        assert!(room(&[500, 600]).devices_fit(&share));
        assert!(!room(&[500, 500]).devices_fit(&share));
        assert!(!room(&[1000]).devices_fit(&Need { models: 2, ..share }));
        assert!(room(&[]).devices_fit(&Need::default()));
    }
}
