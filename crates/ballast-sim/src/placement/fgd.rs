//! Fragmentation of GPUs, and the score that makes it grow least.
//!
//! After Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent",
//! USENIX ATC 2023: what is left on a node's devices is a fragment *for a shape of pods* as far as no pod of that shape can
//! use it, for want of a device with enough left, of CPU, of the right model, or because it asks for no GPU at all. The
//! fragmentation of a node is the mean over the shapes that usually come.

use rustc_hash::FxHashMap;

use super::{Need, Room};

/// A shape of pods and how often it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What a pod of it needs; memory plays no part.
    pub need: Need,
    /// How many pods had it.
    pub count: i64,
}

/// The shapes of pods that usually come, most frequent first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typical {
    shapes: Vec<Shape>,
    total: i64,
}

/// The share of all pods, in percent, that the typical shapes have to stand for.
const POPULARITY_PERCENT: i64 = 95;

impl Typical {
    /// The most frequent shapes that together make up 95 % of the pods.
    pub fn of(needs: impl IntoIterator<Item = Need>) -> Self {
        Self::weighed(needs.into_iter().map(|need| (need, 1)))
    }

    /// The same of pods of which only their number is known.
    pub fn weighed(needs: impl IntoIterator<Item = (Need, i64)>) -> Self {
        let mut counts: FxHashMap<Need, i64> = FxHashMap::default();
        let mut pods = 0;
        for (need, count) in needs {
            *counts.entry(Need { memory: 0, ..need }).or_default() += count;
            pods += count;
        }
        let mut shapes: Vec<Shape> = counts.into_iter().map(|(need, count)| Shape { need, count }).collect();
        shapes.sort_unstable_by_key(|shape| (-shape.count, shape.need));
        let mut total = 0;
        let kept = shapes.iter().position(|shape| {
            let reached = total * 100 >= POPULARITY_PERCENT * pods;
            total += if reached { 0 } else { shape.count };
            reached
        });
        shapes.truncate(kept.unwrap_or(shapes.len()));
        Self { shapes, total }
    }

    /// The shapes.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// What of the node's GPUs a typical pod cannot use, in thousandths of a device, times the number of typical pods:
    /// whole numbers, so that two equal nodes are equal.
    fn fragments(&self, room: &Room<'_>) -> i64 {
        let left = room.gpu_left();
        if left == 0 {
            return 0;
        }
        let usable: i64 = self.shapes.iter().map(|shape| shape.count * usable(room, &shape.need)).sum();
        left * self.total - usable
    }

    /// The fragmentation of a node: thousandths of a device that a typical pod cannot use.
    pub fn fragmentation(&self, room: &Room<'_>) -> f64 {
        if self.total == 0 { 0.0 } else { self.fragments(room) as f64 / self.total as f64 }
    }

    /// The score of a node for a pod that fits there, in whole points from 0 to 100, and for a share the device.
    ///
    /// 50 leaves the fragmentation as it is. Devices are compared by the same whole points, the first of the best wins.
    pub fn score(&self, room: &Room<'_>, need: &Need) -> (i64, usize) {
        let before = self.fragments(room);
        let mut left = [0; 256];
        let left = &mut left[..room.gpus_left.len()];
        left.copy_from_slice(room.gpus_left);
        if !need.is_share() {
            take_whole(left, need);
            return (self.points(before, room, need, left), 0);
        }
        let mut best = (i64::MIN, 0);
        for device in 0..left.len() {
            // Devices with as much left are alike, and the first of them has been looked at.
            let is_new = !room.gpus_left[..device].contains(&left[device]);
            if is_new && left[device] >= need.gpu_milli {
                left[device] -= need.gpu_milli;
                let points = self.points(before, room, need, left);
                left[device] += need.gpu_milli;
                if points > best.0 {
                    best = (points, device);
                }
            }
        }
        best
    }

    fn points(&self, before: i64, room: &Room<'_>, need: &Need, left: &[u16]) -> i64 {
        let after = Room { cpu_left: room.cpu_left - need.cpu, gpus_left: left, ..*room };
        let gained = (before - self.fragments(&after)) as f64 / (self.total.max(1) * 1000) as f64;
        (100.0 / (1.0 + (-gained).exp())) as i64
    }
}

/// What of the node's GPUs a pod of this shape could use, in thousandths of a device.
fn usable(room: &Room<'_>, need: &Need) -> i64 {
    if need.gpus == 0 || room.cpu_left < need.cpu || !room.allows(need) {
        return 0;
    }
    let mut enough = 0;
    let mut usable = 0;
    for &left in room.gpus_left {
        if left >= need.gpu_milli {
            enough += 1;
            usable += i64::from(left);
        }
    }
    if enough >= need.gpus { usable } else { 0 }
}

/// Takes whole devices, the first that are free.
fn take_whole(left: &mut [u16], need: &Need) {
    let mut wanted = need.gpus;
    for device in left {
        if wanted > 0 && *device >= need.gpu_milli {
            *device -= need.gpu_milli;
            wanted -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(gpus: u8, gpu_milli: u16) -> Need {
        Need { cpu: 1000, gpus, gpu_milli, ..Need::default() }
    }

    fn room(gpus_left: &[u16]) -> Room<'_> {
        Room { cpu: 8000, memory: 0, cpu_left: 8000, memory_left: 0, gpus_left, model: 1 }
    }

    #[test]
    fn what_no_typical_pod_can_use_is_a_fragment() {
        let typical = Typical::of([gpu(1, 1000), gpu(1, 1000), gpu(1, 500), gpu(2, 1000)]);
        // Half a device: of no use to three of four; a whole one beside it: of no use to the pod that wants two.
        assert_eq!(typical.fragmentation(&room(&[500])), 375.0);
        assert_eq!(typical.fragmentation(&room(&[1000, 500])), 500.0 * 3.0 / 4.0 + 1000.0 / 4.0);
        let without_cpu = Room { cpu_left: 0, ..room(&[1000]) };
        assert_eq!(typical.fragmentation(&without_cpu), 1000.0);
    }

    #[test]
    fn a_share_goes_where_it_breaks_nothing() {
        let typical = Typical::of([gpu(1, 1000), gpu(1, 400)]);
        let (_, device) = typical.score(&room(&[1000, 400]), &gpu(1, 400));
        assert_eq!(device, 1);
        let broken = typical.score(&room(&[1000]), &gpu(1, 400)).0;
        let whole = typical.score(&room(&[400]), &gpu(1, 400)).0;
        assert!(whole > 50 && broken < 50, "{whole} {broken}");
    }

    #[test]
    fn rare_shapes_are_left_out() {
        let many = std::iter::repeat_n(gpu(1, 1000), 96).chain(std::iter::repeat_n(gpu(2, 1000), 4));
        assert_eq!(Typical::of(many).shapes().len(), 1);
    }
}
