//! Leaving: pods that have to move, on trial. Those of removals under way were promised a place; nobody else gets it.

use std::collections::BTreeMap;

use crate::grant::{Bins, Need, Tier};
use crate::memory::{Memory, Removal};
use crate::snapshot::Snapshot;

/// Pods that have not left yet the nodes that are being emptied: the node's place in the order of names, and the pods.
pub(crate) fn still_to_leave(snapshot: &Snapshot, memory: &Memory) -> Vec<(usize, Vec<u32>)> {
    let emptied = memory.ledger.removals.iter().filter(|(_, removal)| !removal.release);
    let nodes = emptied.filter_map(|(name, removal)| Some((removal, *snapshot.node_slots.get(name)?)));
    let pods = |(removal, slot): (&Removal, u32)| {
        let stays = |&pod: &u32| {
            let pod = snapshot.pod(pod);
            let traits = &snapshot.class(pod.class).traits;
            let runs_to_its_end = removal.waits() && !removal.displaces.contains(&pod.uid);
            traits.daemon || traits.mirror || pod.leaving || runs_to_its_end
        };
        let pods = snapshot.node(slot).pods.iter().copied().filter(|pod| !stays(pod)).collect();
        (snapshot.rank(slot) as usize, pods)
    };
    let is_there = |(_, slot): &(&Removal, u32)| snapshot.node(*slot).node.is_some();
    nodes.filter(is_there).map(pods).filter(|(_, pods): &(usize, Vec<u32>)| !pods.is_empty()).collect()
}

/// Places what removals under way will displace, before anything else is placed.
pub(crate) fn keep_room(bins: &mut Bins<'_>, leaving: &[(usize, Vec<u32>)]) {
    for (rank, pods) in leaving {
        for (need, _) in leave(bins, *rank, pods) {
            bins.place_on_nodes(&need, need.count);
        }
    }
}

/// Takes pods off their node's counts. Returns what has to find another place, by class: the need, and the first of its pods.
pub(super) fn leave<'s>(bins: &mut Bins<'s>, rank: usize, pods: &[u32]) -> Vec<(Need<'s>, u32)> {
    let needs = needs(bins.snapshot, pods);
    for (need, _) in &needs {
        bins.leave(need.class, rank, need.count);
    }
    needs
}

fn needs<'s>(snapshot: &'s Snapshot, displaces: &[u32]) -> Vec<(Need<'s>, u32)> {
    let mut by_class: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for &pod in displaces.iter().filter(|&&pod| !snapshot.pod(pod).leaving) {
        by_class.entry(snapshot.pod(pod).class).or_insert((pod, 0)).1 += 1;
    }
    let need = |(slot, (pod, count)): (u32, (u32, u32))| {
        let class = snapshot.class(slot);
        let constraint = snapshot.constraint(class.constraint);
        let constraint_serial = snapshot.constraints.serial(class.constraint);
        let (only_pool, tier, priority, gang, wish) = (None, Tier::Pending, 0, None, 0);
        let grows = false;
        let need = Need {
            class,
            constraint,
            constraint_serial,
            only_pool,
            count,
            tier,
            grows,
            priority,
            gang,
            wish,
        };
        (need, pod)
    };
    let mut needs: Vec<(Need<'s>, u32)> = by_class.into_iter().map(need).collect();
    needs.sort_by(|(a, first), (b, second)| {
        a.order(b).then_with(|| snapshot.pod(*first).name.cmp(&snapshot.pod(*second).name))
    });
    needs
}
