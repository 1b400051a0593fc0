//! Which of the pods that wait go beyond the quota of their namespace: no machine is started for them.
//!
//! What runs counts first, then what waits, the highest priority first, then what buffers and requests ask for. A gang, and a
//! request that is all or nothing, goes beyond with all of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::kube::{Name, Requests};
use crate::snapshot::{AskRef, Snapshot};

use super::asks::{Asked, How};
use super::wishes::{gangs, kept_back, preemptions, priority_of};

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

/// What is within a quota together, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kin<'s> {
    /// Nothing but itself: pods of a class.
    Alone(u32),
    /// A gang, by namespace and name.
    Gang(&'s Name, &'s Name),
    /// A request that is all or nothing, by its number, with those of its pods that wait.
    Ask(usize),
}

/// Pods that wait and are kin.
struct Turn<'s> {
    /// Whose turn comes first: the highest priority, then the first name.
    order: (Reverse<i32>, &'s Name, &'s Name),
    /// Classes, and how many pods of each wait.
    members: Vec<(u32, u32)>,
}

/// Takes what goes beyond quotas off what is asked for, and tells of it.
pub(crate) fn heed_quotas(snapshot: &Snapshot, asked: &mut Vec<Asked>) -> Beyond {
    let mut beyond = Beyond::default();
    if snapshot.policy.tenants.iter().all(|tenant| tenant.quota.is_empty()) {
        return beyond;
    }
    let mut quotas = quotas(snapshot);
    // What was promised is spent.
    for ask in asked.iter().filter(|ask| matches!(ask.how, How::Booked { .. })) {
        let Some(left) = quotas.get_mut(&ask.reference.namespace) else { continue };
        ask.units.iter().for_each(|units| left.spend(&snapshot.class(units.class).amounts, units.count));
    }
    let mut judged: BTreeMap<usize, bool> = BTreeMap::new();
    for (kin, turn) in turns(snapshot, asked) {
        let Some(left) = quotas.get_mut(turn.order.1) else { continue };
        let amounts = |&(slot, count): &(u32, u32)| (&*snapshot.class(slot).amounts, count);
        let mut units: Vec<(&Requests, u32)> = turn.members.iter().map(amounts).collect();
        match kin {
            Kin::Alone(slot) => {
                let (requests, count) = units[0];
                beyond.pods.extend(left.take(requests, count).map(|excess| (slot, excess)));
                continue;
            }
            Kin::Gang(..) => {}
            Kin::Ask(number) => {
                units.extend(asked[number].units.iter().map(|units| amounts(&(units.class, units.count))));
            }
        }
        let short = left.take_all(&units);
        if let Kin::Ask(number) = kin {
            judged.insert(number, short.is_none());
            beyond.asks.extend(short.clone().map(|resource| {
                let ask = &asked[number];
                (ask.reference.clone(), Excess { count: ask.count(), resource })
            }));
        }
        if let Some(resource) = short {
            let excess = |count| Excess { count, resource: resource.clone() };
            beyond.pods.extend(turn.members.iter().map(|&(slot, count)| (slot, excess(count))));
        }
    }
    let mut number = 0;
    asked.retain_mut(|ask| {
        let is_judged = judged.get(&number).copied();
        number += 1;
        is_judged.unwrap_or_else(|| heed_quota_of(snapshot, &mut quotas, ask, &mut beyond))
    });
    beyond
}

/// What waits and could be helped by a machine, whose turn comes first. What is behind a gate, waits for a volume or for more of
/// its gang takes nothing from the others.
fn turns<'s>(snapshot: &'s Snapshot, asked: &[Asked]) -> Vec<(Kin<'s>, Turn<'s>)> {
    let gangs = gangs(snapshot, &preemptions(snapshot));
    let mut turns: BTreeMap<Kin<'s>, Turn<'s>> = BTreeMap::new();
    for (&slot, queue) in &snapshot.pending {
        let class = snapshot.class(slot);
        let Some((_, first, _)) = queue.first().filter(|_| kept_back(class).is_none()) else { continue };
        let consumed = asked.iter().position(|ask| ask.how == How::Atomic && ask.is_consumed_by(class));
        let kin = match (consumed, &class.gang) {
            (Some(number), _) => Kin::Ask(number),
            (None, Some(gang)) => {
                let (namespace, name) = gang.identity();
                let state = gangs.get(&(namespace, name));
                if state.is_none_or(|state| state.bound + state.pending < state.gang.size) {
                    continue;
                }
                Kin::Gang(namespace, name)
            }
            (None, None) => Kin::Alone(slot),
        };
        let order = (Reverse(priority_of(snapshot, class)), &class.key.namespace, first);
        let turn = turns.entry(kin).or_insert(Turn { order, members: Vec::new() });
        turn.order = turn.order.min(order);
        turn.members.push((slot, queue.len() as u32));
    }
    let mut turns: Vec<(Kin<'s>, Turn<'s>)> = turns.into_iter().collect();
    turns.sort_by_key(|(kin, turn)| (turn.order, *kin));
    turns
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
            beyond.asks.push((ask.reference.clone(), Excess { count: ask.count(), resource }));
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
