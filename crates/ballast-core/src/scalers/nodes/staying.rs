//! What keeps a node, whatever time and budgets say: what somebody has said of it, and the pods on it.

use std::collections::BTreeMap;

use crate::kube::Name;
use crate::memory::Memory;
use crate::plan::{PodBlock, UnsafeToRemove};
use crate::policy::{Direction, VmPoolSpec};
use crate::snapshot::{BaseState, Class, NodeEntry, PoolEntry, Snapshot};
use crate::units::Time;

use super::budgets::Budgets;
use super::census::is_young;
use super::protection::Unheeded;

/// Labels of nodes that are never touched.
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
/// The annotation of a node that is never touched.
const DO_NOT_DISRUPT: [&str; 3] = [
    "ballast.dev/do-not-disrupt",
    "karpenter.sh/do-not-disrupt",
    "cluster-autoscaler.kubernetes.io/scale-down-disabled",
];

/// Whether a node whose removal is under way has to stay after all: of it, of its pool or of a pod that it still has to move
/// something was said meanwhile that would have kept it.
pub(crate) fn must_stay(
    snapshot: &Snapshot,
    node: &NodeEntry,
    pool: &PoolEntry,
    displaces: &[Name],
    unheeded: &Unheeded<'_>,
    now: Time,
) -> bool {
    let blocks = |&number: &u32| {
        let pod = snapshot.pod(number);
        let class = snapshot.class(pod.class);
        let covered = covering(snapshot, pod.class).next().is_some();
        !pod.leaving
            && displaces.contains(&pod.uid)
            && unheeded.block(class, &node.name, covered, &pool.spec.scale_down).is_some()
    };
    forbidden(snapshot, node, pool, now).is_some() || node.pods.iter().any(blocks)
}

/// What keeps a node whatever happens elsewhere.
pub(super) fn never(
    snapshot: &Snapshot,
    node: &NodeEntry,
    machine: &Name,
    pool: &PoolEntry,
    memory: &Memory,
    now: Time,
) -> Option<UnsafeToRemove> {
    let object = node.node.as_ref()?;
    let removals = &memory.ledger.removals;
    let leaves = removals.contains_key(&node.name) || removals.contains_key(machine);
    if leaves || node.state == BaseState::CordonedByUs {
        return Some(UnsafeToRemove::BeingRemoved);
    }
    if let Some(reason) = forbidden(snapshot, node, pool, now) {
        return Some(reason);
    }
    if !pool.instances.contains_key(&object.spec.provider_id) {
        return Some(UnsafeToRemove::InstanceUnknown);
    }
    let rising = memory.ledger.launches.contains_key(machine)
        || (node.state == BaseState::NotReady && is_young(pool, object.metadata.creation_timestamp, now));
    let at = now + pool.spec.times.boot_deadline;
    rising.then_some(UnsafeToRemove::TooSoon { at })
}

/// What somebody has said that keeps a node.
fn forbidden(snapshot: &Snapshot, node: &NodeEntry, pool: &PoolEntry, now: Time) -> Option<UnsafeToRemove> {
    let object = node.node.as_ref()?;
    // Of the two objects one is of the past, and it may be this one; the work is on the other.
    if snapshot.has_twin(node) {
        return Some(UnsafeToRemove::SharedMachine);
    }
    if CONTROL_PLANE.iter().any(|label| object.metadata.labels.contains_key(*label)) {
        return Some(UnsafeToRemove::ControlPlane);
    }
    if DO_NOT_DISRUPT.iter().any(|key| object.metadata.annotation(key).is_some_and(|value| value != "false"))
    {
        return Some(UnsafeToRemove::DoNotDisrupt);
    }
    let is_off = !pool.spec.scale_down.enabled || pool.spec.pause.holds(Direction::Down, now);
    is_off.then_some(UnsafeToRemove::ScaleDownOff)
}

/// Whether a pod's work is waited for: its pool says so, and the work has an end. What has none would be waited for in vain.
pub(super) fn is_waited_for(snapshot: &Snapshot, pod: u32, spec: &VmPoolSpec) -> bool {
    let traits = &snapshot.class(snapshot.pod(pod).class).traits;
    spec.scale_down.wait_for_completion && traits.finite && !traits.daemon && !traits.mirror
}

/// The pods that a removal would displace, if all of them may go.
pub(super) fn displaced(
    snapshot: &Snapshot,
    node: &NodeEntry,
    spec: &VmPoolSpec,
    budgets: &Budgets,
    unheeded: &Unheeded<'_>,
) -> Result<Vec<u32>, UnsafeToRemove> {
    let mut displaces = Vec::new();
    let mut spent: BTreeMap<usize, i64> = BTreeMap::new();
    let name = |pod: &u32| (&snapshot.pod(*pod).namespace, &snapshot.pod(*pod).name);
    let mut pods = node.pods.clone();
    pods.sort_by(|a, b| name(a).cmp(&name(b)));
    for number in pods {
        let pod = snapshot.pod(number);
        let class = snapshot.class(pod.class);
        if class.traits.ballast {
            return Err(UnsafeToRemove::ControlPlane);
        }
        if class.traits.daemon || class.traits.mirror || is_waited_for(snapshot, number, spec) {
            continue;
        }
        displaces.push(number);
        if pod.leaving {
            continue;
        }
        let covering: Vec<usize> = covering(snapshot, pod.class).collect();
        let mut block = unheeded.block(class, &node.name, !covering.is_empty(), &spec.scale_down);
        if class.volumes.are_missed && !budgets.volumes_known {
            block = block.or(Some(PodBlock::VolumeUnknown));
        }
        if covering.len() > 1 {
            block = block.or(Some(PodBlock::SeveralBudgets));
        }
        for at in covering {
            let spent = spent.entry(at).or_default();
            *spent += 1;
            if *spent > budgets.disruptions[at] {
                block = block.or(Some(PodBlock::DisruptionBudget));
            }
        }
        if let Some(why) = block {
            let (pod, namespace) = (pod.name.clone(), pod.namespace.clone());
            return Err(UnsafeToRemove::PodBlocks { pod, namespace, why });
        }
    }
    Ok(displaces)
}

/// Numbers of the disruption budgets that cover a class.
pub(super) fn covering(snapshot: &Snapshot, class: u32) -> impl Iterator<Item = usize> {
    let key = &snapshot.class(class).key;
    let budgets = snapshot.budgets.values().enumerate();
    budgets.filter(|(_, budget)| key.is_covered_by(budget)).map(|(at, _)| at)
}

/// Classes that removals may displace, once for each pod: what is on nodes that little would have to leave.
pub(crate) fn displaceable(snapshot: &Snapshot) -> impl Iterator<Item = &Class> {
    let pods = snapshot.lightly_used.iter().flat_map(|&slot| &snapshot.node(slot).pods);
    pods.map(|&pod| snapshot.class(snapshot.pod(pod).class)).filter(|class| !class.traits.daemon)
}
