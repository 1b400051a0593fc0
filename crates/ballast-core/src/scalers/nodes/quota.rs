//! Which of the pods that wait go beyond the quota of their namespace: no machine is started for them.
//!
//! What runs counts first, then what waits, the highest priority first, then what buffers and requests ask for. A gang, and a
//! request that is all or nothing, goes beyond with all of it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::kube::{Name, Requests};
use crate::snapshot::{AskRef, Snapshot};

use super::asks::{Asked, How};
use super::wishes::priority_of;

/// What counts as one for each pod.
const PODS: &str = "pods";

/// What goes beyond the quotas of namespaces.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Beyond {
    /// Pods that wait, by class.
    pub(crate) pods: BTreeMap<u32, Excess>,
    /// Pods that buffers and requests ask for.
    pub(crate) asks: Vec<(AskRef, Excess)>,
}

/// So many pods, and what there is too little of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    pub(crate) count: u32,
    pub(crate) resource: Name,
}

/// What is left of a quota, in thousandths.
struct Left(BTreeMap<Name, i128>);

/// Takes what goes beyond quotas off what is asked for, and tells of it.
pub(crate) fn heed_quotas(snapshot: &Snapshot, asked: &mut Vec<Asked>) -> Beyond {
    let mut beyond = Beyond::default();
    if snapshot.policy.tenants.iter().all(|tenant| tenant.quota.is_empty()) {
        return beyond;
    }
    let mut quotas = quotas(snapshot);
    let mut turns = Vec::new();
    for (&slot, queue) in &snapshot.pending {
        let Some((_, first, _)) = queue.first() else { continue };
        let (class, count) = (snapshot.class(slot), queue.len() as u32);
        turns.push((Reverse(priority_of(snapshot, class)), &class.key.namespace, first, slot, count));
    }
    turns.sort_unstable();
    let mut seen = BTreeSet::new();
    for &(_, namespace, _, slot, count) in &turns {
        let class = snapshot.class(slot);
        let Some(left) = quotas.get_mut(namespace) else { continue };
        let Some(gang) = &class.gang else {
            if let Some(excess) = left.take(&class.amounts, count) {
                beyond.pods.insert(slot, excess);
            }
            continue;
        };
        if seen.insert(gang.identity()) {
            let is_member = |slot: u32| {
                snapshot.class(slot).gang.as_ref().map(|own| own.identity()) == Some(gang.identity())
            };
            let members: Vec<(u32, u32)> = turns
                .iter()
                .map(|&(.., slot, count)| (slot, count))
                .filter(|(slot, _)| is_member(*slot))
                .collect();
            let units: Vec<(&Requests, u32)> =
                members.iter().map(|(slot, count)| (&*snapshot.class(*slot).amounts, *count)).collect();
            if let Some(resource) = left.take_all(&units) {
                let excess = |count| Excess { count, resource: resource.clone() };
                beyond.pods.extend(members.iter().map(|&(slot, count)| (slot, excess(count))));
            }
        }
    }
    asked.retain_mut(|ask| heed_quota_of(snapshot, &mut quotas, ask, &mut beyond));
    beyond
}

/// Takes what goes beyond off an ask; whether anything is left of it.
fn heed_quota_of(
    snapshot: &Snapshot,
    quotas: &mut BTreeMap<Name, Left>,
    ask: &mut Asked,
    beyond: &mut Beyond,
) -> bool {
    let Some(left) = quotas.get_mut(&ask.reference.namespace) else { return true };
    match ask.how {
        // No machine is started for it; or its room was promised when it was within.
        How::Checked | How::Booked { .. } => true,
        How::Atomic => {
            let units = ask.units.iter().map(|units| (&*snapshot.class(units.class).amounts, units.count));
            let Some(resource) = left.take_all(&units.collect::<Vec<_>>()) else { return true };
            let count = ask.units.iter().map(|units| units.count).sum();
            beyond.asks.push((ask.reference.clone(), Excess { count, resource }));
            false
        }
        How::Buffer => {
            for units in &mut ask.units {
                if let Some(excess) = left.take(&snapshot.class(units.class).amounts, units.count) {
                    units.count -= excess.count;
                    beyond.asks.push((ask.reference.clone(), excess));
                }
            }
            true
        }
    }
}

/// What is left of the quotas of all namespaces that ask for something, once what runs is counted.
fn quotas(snapshot: &Snapshot) -> BTreeMap<Name, Left> {
    let mut quotas: BTreeMap<Name, Left> = BTreeMap::new();
    let pending = snapshot.pending.keys().map(|&slot| &snapshot.class(slot).key.namespace);
    for namespace in pending.chain(snapshot.asks.keys().map(|ask| &ask.namespace)) {
        let quota = snapshot.policy.tenant(namespace).map(|tenant| &tenant.quota);
        if let Some(quota) = quota.filter(|quota| !quota.is_empty() && !quotas.contains_key(namespace)) {
            let left = quota.iter().map(|(name, most)| (name.clone(), i128::from(most.milli())));
            quotas.insert(namespace.clone(), Left(left.collect()));
        }
    }
    for (slot, class) in snapshot.classes.iter().enumerate() {
        // What stands for pods that are still to come is asked for, and is counted there.
        let Some(class) = class.as_ref().filter(|class| !class.key.stands_for_pods()) else { continue };
        let Some(left) = quotas.get_mut(&class.key.namespace) else { continue };
        let slot = slot as u32;
        let waiting = snapshot.pending.get(&slot).map_or(0, |queue| queue.len() as u32);
        left.spend(&class.amounts, snapshot.class_keys.users(slot).saturating_sub(waiting));
    }
    quotas
}

/// What a pod takes of a resource, in thousandths.
fn each(requests: &Requests, name: &str) -> i128 {
    if name == PODS { 1000 } else { requests.get(name).map_or(0, |amount| i128::from(amount.milli())) }
}

impl Left {
    fn spend(&mut self, requests: &Requests, count: u32) {
        for (name, left) in &mut self.0 {
            *left -= each(requests, name) * i128::from(count);
        }
    }

    /// Takes as many pods as are within; those that are not.
    fn take(&mut self, requests: &Requests, count: u32) -> Option<Excess> {
        let fits = self.0.iter().filter_map(|(name, left)| match each(requests, name) {
            0 => None,
            each => Some(((*left).max(0) / each, name)),
        });
        let (within, resource) = fits.min()?;
        let within = u32::try_from(within).unwrap_or(u32::MAX).min(count);
        let excess = Excess { count: count - within, resource: resource.clone() };
        self.spend(requests, within);
        (excess.count > 0).then_some(excess)
    }

    /// Takes all of it, or nothing; what there is too little of.
    fn take_all(&mut self, units: &[(&Requests, u32)]) -> Option<Name> {
        let is_short = |(name, left): &(&Name, &i128)| {
            let needs: i128 =
                units.iter().map(|(requests, count)| each(requests, name) * i128::from(*count)).sum();
            needs > 0 && needs > **left
        };
        let short = self.0.iter().find(is_short).map(|(name, _)| name.clone());
        if short.is_none() {
            units.iter().for_each(|(requests, count)| self.spend(requests, *count));
        }
        short
    }
}
