//! Holds: what was launched for a gang is kept for it until all of it fits, and given back at its deadline.
//!
//! A gang is granted all of its nodes or none, but a cloud may give seven of eight. The seven are not idle while the eighth
//! is sought; without an end to that they would cost for nothing. What can be launched for once more at the deadline is kept once
//! more, and then never again until the gang has begun or all of it was given back.

use std::collections::BTreeMap;

use crate::kube::Name;
use crate::memory::{GangHold, Memory};
use crate::plan::Action;
use crate::policy::VmPoolSpec;
use crate::snapshot::Snapshot;
use crate::units::Time;

use super::wishes::NodeWishes;

/// The gang that a node is kept for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold<'a> {
    pub(super) gang: &'a Name,
    pub(super) since: Time,
}

impl Hold<'_> {
    pub(super) fn until(&self, pool: &VmPoolSpec) -> Time {
        self.since + pool.times.gang_deadline
    }
}

/// Nodes that are kept for gangs, by the name of their machine; one that was launched for several, for the last.
pub(super) fn holds(gangs: &BTreeMap<Name, GangHold>) -> BTreeMap<&Name, Hold<'_>> {
    let mut holds: BTreeMap<&Name, Hold<'_>> = BTreeMap::new();
    for (gang, GangHold { since, nodes, .. }) in gangs {
        for node in nodes {
            let hold = holds.entry(node).or_insert(Hold { gang, since: *since });
            if hold.since < *since {
                *hold = Hold { gang, since: *since };
            }
        }
    }
    holds
}

/// The holds of this plan: those of gangs that still wait, and what is launched for them now.
pub(crate) fn holds_with(
    snapshot: &Snapshot,
    memory: &Memory,
    wishes: &NodeWishes,
    launches: &[Action],
    now: Time,
) -> BTreeMap<Name, GangHold> {
    let is_there =
        |name: &Name| memory.ledger.launches.contains_key(name) || snapshot.node_of_machine(name).is_some();
    let mut gangs = memory.history.gangs.clone();
    gangs.retain(|gang, hold| {
        hold.nodes.retain(is_there);
        wishes.waiting_gangs.contains(gang) && !hold.nodes.is_empty()
    });
    for action in launches.iter().filter(|action| !action.gang.is_empty()) {
        let new = || GangHold { since: now, renewed: false, nodes: Default::default() };
        let hold = gangs.entry(action.gang.clone()).or_insert_with(new);
        let pool = snapshot.pool_named(&action.target.pool);
        let is_over = pool.is_some_and(|pool| now.since(hold.since) >= pool.spec.times.gang_deadline);
        if is_over && !hold.renewed {
            // It was given up, and can be completed after all: what is still there is kept for it once more. Not for ever: a cloud
            // that promises the last machine again and again would let all the others run for nothing.
            (hold.since, hold.renewed) = (now, true);
        }
        hold.nodes.insert(action.target.name.clone());
    }
    gangs
}
