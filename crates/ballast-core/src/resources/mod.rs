//! Resource vectors: dense small integers, so that "does it fit" is a handful of comparisons.

mod gpu;
mod names;
mod request;

pub use gpu::{GPU_WHOLE_MILLI, GpuDevices, GpuNeed};
pub use names::{Dimension, ResourceNames, is_gpu};
pub(crate) use request::is_extended;
pub use request::{GPU_MILLI_RESOURCE, amounts_of, extended_names, pod_requests};

use std::ops::{Index, IndexMut};

/// How many kinds of resource one cluster may use.
///
/// Six are fixed; six remain for extended resources that some pod asks for now, the first by name. Resources that nodes offer but no pod asks for
/// need no dimension. A cluster that asks for more is told so in the report (`unmodelled`), and the pods concerned are held.
pub const DIMENSIONS: usize = 12;

/// An amount of every kind of resource.
///
/// CPU is in thousandths of a core, memory and storage in bytes, all else in whole units. The two GPU dimensions of a *free*
/// vector are summaries of its devices: how many are wholly free, and the greatest free share of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resources([i64; DIMENSIONS]);

impl Resources {
    /// Nothing of anything.
    pub const ZERO: Self = Self([0; DIMENSIONS]);
    /// CPU in thousandths of a core.
    pub const CPU: usize = 0;
    /// Memory in bytes.
    pub const MEMORY: usize = 1;
    /// Number of pods.
    pub const PODS: usize = 2;
    /// Ephemeral storage in bytes.
    pub const STORAGE: usize = 3;
    /// Whole GPU devices.
    pub const GPU_WHOLE: usize = 4;
    /// Share of one GPU device, in thousandths.
    pub const GPU_SHARE: usize = 5;
    /// The first dimension for extended resources.
    pub const FIRST_EXTENDED: usize = 6;

    /// From CPU in thousandths and memory in bytes, for one pod.
    pub fn pod(cpu_milli: i64, memory: i64) -> Self {
        let mut resources = Self::ZERO;
        resources[Self::CPU] = cpu_milli;
        resources[Self::MEMORY] = memory;
        resources[Self::PODS] = 1;
        resources
    }

    /// Whether this much fits into `free`.
    #[inline]
    pub fn fits(&self, free: &Self) -> bool {
        // Branch-free over the whole vector: it compiles to a few wide comparisons.
        self.0.iter().zip(&free.0).fold(true, |fits, (need, free)| fits & (need <= free))
    }

    /// The first dimension in which this much does not fit into `free`.
    pub fn misfit(&self, free: &Self) -> Option<usize> {
        self.0.iter().zip(&free.0).position(|(need, free)| need > free)
    }

    /// How many times this much fits into `free`, GPU dimensions left to the devices.
    #[inline]
    pub fn times_in(&self, free: &Self) -> u32 {
        let mut times = i64::from(u32::MAX);
        for (dimension, (&need, &free)) in self.0.iter().zip(&free.0).enumerate() {
            if need > 0 && dimension != Self::GPU_WHOLE && dimension != Self::GPU_SHARE {
                times = times.min(free / need);
            }
        }
        times.max(0) as u32
    }

    /// Adds `other` `times` times.
    #[inline]
    pub fn add(&mut self, other: &Self, times: i64) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.saturating_add(other.saturating_mul(times));
        }
    }

    /// Takes `other` away `times` times. May go below zero: a node can be over-committed.
    #[inline]
    pub fn subtract(&mut self, other: &Self, times: i64) {
        self.add(other, -times);
    }

    /// The greater of each.
    #[inline]
    pub fn max_with(&mut self, other: &Self) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*other);
        }
    }

    /// Each dimension in order.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.0.iter().copied()
    }
}

impl Index<usize> for Resources {
    type Output = i64;

    #[inline]
    fn index(&self, dimension: usize) -> &i64 {
        &self.0[dimension]
    }
}

impl IndexMut<usize> for Resources {
    #[inline]
    fn index_mut(&mut self, dimension: usize) -> &mut i64 {
        &mut self.0[dimension]
    }
}
