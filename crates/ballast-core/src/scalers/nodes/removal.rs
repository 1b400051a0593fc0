//! Which nodes go.
//!
//! Candidates are weighed one after the other, the emptiest first, the last by name first. All that a candidate would
//! displace is placed elsewhere on the same trial that holds what was granted, so that removals are feasible together and
//! never take what a grant will need.

use std::collections::{BTreeMap, BTreeSet};

use crate::grant::{Bins, Rooms};
use crate::kube::Name;
use crate::memory::{GangHold, Memory};
use crate::plan::{Candidate, Hold as PlanHold, HoldReason, Limit, Subject, UnsafeToRemove};
use crate::snapshot::{NodeEntry, Snapshot};
use crate::units::{Share, Time};

use super::budgets::Budgets;
use super::holds::{Hold, holds};
use super::leaving::leave;
use super::patience::{Pace, lost, not_yet};
use super::protection::{Unheeded, capped};
use super::staying::{displaced, is_waited_for, never};

/// What goes, and why the others stay.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    /// Slots of the nodes that go.
    pub nodes: Vec<Going>,
    /// Every candidate that was weighed, by name.
    pub candidates: Vec<Candidate>,
    /// Budgets and cool-downs that kept candidates, each once.
    pub holds: Vec<PlanHold>,
    /// When the next candidate may go, if nothing changes.
    pub next_at: Option<Time>,
    /// Since when nodes have been unneeded.
    pub idle_since: BTreeMap<Name, Time>,
}

/// A node that goes.
#[derive(Debug)]
pub(crate) struct Going {
    pub slot: u32,
    pub idle_since: Time,
    /// Pods that are displaced, by number.
    pub displaces: Vec<u32>,
    /// Pods that run to their end on it first, by number.
    pub waits_for: Vec<u32>,
    pub why: Why,
}

/// Why a node goes.
#[derive(Debug)]
pub(crate) enum Why {
    /// Nobody has needed it for long enough.
    Unneeded,
    /// The pool is above its maximum.
    AboveMaximum,
    /// It was launched for a gang that could not be completed.
    GangGivenUp { gang: Name, since: Time },
}

/// What removals are weighed with: the trial that holds what was granted, and what is counted down meanwhile.
pub(crate) struct Weighing<'a, 'b> {
    snapshot: &'a Snapshot,
    memory: &'a Memory,
    now: Time,
    bins: &'a mut Bins<'b>,
    rooms: &'a mut Rooms,
    /// Pools in which nothing is removed.
    held_pools: &'a [bool],
    /// Nodes that are kept for gangs.
    holds: BTreeMap<&'a Name, Hold<'a>>,
    /// Where annotations of pods are not heeded.
    unheeded: Unheeded<'a>,
    budgets: Budgets,
    paces: Vec<Pace>,
    removals: Removals,
    /// Pools whose cool-down was told of, and pools or the cluster whose budget was.
    told: BTreeSet<(bool, Option<usize>)>,
}

/// Nodes that little would have to leave, the emptiest first; among equals those whose pods cost least to delete, then the
/// last by name.
fn candidates(snapshot: &Snapshot) -> Vec<u32> {
    let mut slots: Vec<(u32, i64, u32, u32)> = snapshot
        .lightly_used
        .iter()
        .map(|&slot| {
            let node = snapshot.node(slot);
            let costs =
                node.pods.iter().map(|&pod| snapshot.class(snapshot.pod(pod).class).traits.deletion_cost);
            let cost: i64 = costs.map(i64::from).sum();
            (node.utilisation_milli(), cost, u32::MAX - snapshot.rank(slot), slot)
        })
        .collect();
    slots.sort_unstable();
    slots.into_iter().map(|(_, _, _, slot)| slot).collect()
}

impl<'a, 'b> Weighing<'a, 'b> {
    /// Before the first candidate, after everything that is granted is placed.
    pub(crate) fn new(
        bins: &'a mut Bins<'b>,
        rooms: &'a mut Rooms,
        memory: &'a Memory,
        now: Time,
        gangs: &'a BTreeMap<Name, GangHold>,
        held_pools: &'a [bool],
    ) -> Self
    where
        'b: 'a,
    {
        let snapshot = bins.snapshot;
        let budgets = Budgets::new(snapshot, memory, rooms, now);
        let holds = holds(gangs);
        let paces = snapshot.pools.iter().map(|pool| Pace::new(pool, memory)).collect();
        let removals = Removals { holds: capped(snapshot), ..Removals::default() };
        let (unheeded, told) = (Unheeded::new(snapshot, &memory.ledger), BTreeSet::new());
        Self {
            snapshot,
            memory,
            now,
            bins,
            rooms,
            held_pools,
            holds,
            unheeded,
            budgets,
            paces,
            removals,
            told,
        }
    }

    /// Weighs every candidate.
    pub(crate) fn run(mut self) -> Removals {
        let mut weighed = Vec::new();
        for slot in candidates(self.snapshot) {
            let node = self.snapshot.node(slot);
            let Some(pool) = node.pool else { continue };
            let verdict = self.weigh(slot, node, pool as usize).err();
            if let Some(at) = verdict.as_ref().and_then(looks_again) {
                self.removals.next_at = Some(self.removals.next_at.map_or(at, |next| next.min(at)));
            }
            verdict.iter().for_each(|verdict| self.tell(verdict, pool as usize));
            let candidate = Candidate { node: node.name.clone(), unsafe_to_remove: verdict };
            weighed.push((self.snapshot.rank(slot), candidate));
        }
        // Ranks are in the order of names.
        weighed.sort_unstable_by_key(|(rank, _)| *rank);
        self.removals.candidates = weighed.into_iter().map(|(_, candidate)| candidate).collect();
        self.removals
    }

    /// Tells of a budget or a cool-down that keeps a node, once.
    fn tell(&mut self, verdict: &UnsafeToRemove, pool: usize) {
        let is_cool_down = matches!(verdict, UnsafeToRemove::CoolDown { .. });
        let of = match verdict {
            UnsafeToRemove::CoolDown { .. } => Some(pool),
            UnsafeToRemove::Budget { limit: Limit::PoolRemovalBudget } => Some(pool),
            UnsafeToRemove::Budget { .. } => None,
            _ => return,
        };
        if !self.told.insert((is_cool_down, of)) {
            return;
        }
        let subject = of
            .map_or(Subject::Cluster, |pool| Subject::Pool { name: self.snapshot.pools[pool].name.clone() });
        let (reason, until) = match verdict {
            UnsafeToRemove::CoolDown { until } => (HoldReason::CoolDown, Some(*until)),
            UnsafeToRemove::Budget { limit } => {
                (HoldReason::RemovalBudget { limit: limit.clone() }, self.slides_at(of))
            }
            _ => return,
        };
        self.removals.holds.push(PlanHold { subject, reason, until });
    }

    /// When the budget of a pool, or of the cluster, allows the next removal; never where it allows none at all.
    fn slides_at(&self, pool: Option<usize>) -> Option<Time> {
        let rules = &self.snapshot.policy.removal;
        let entry = pool.map(|pool| &self.snapshot.pools[pool]);
        let rule = match entry {
            Some(entry) => entry.spec.budget.as_ref().unwrap_or(&rules.per_pool),
            None => &rules.per_cluster,
        };
        let removed = self.memory.ledger.removed.iter().filter(|gone| gone.at > self.now - rule.window);
        let own = removed.filter(|gone| entry.is_none_or(|entry| gone.pool == entry.name));
        // What is spent by this plan is spent now.
        let first = own.map(|gone| gone.at).min().unwrap_or(self.now);
        (rule.share > Share::default()).then_some(first + rule.window)
    }

    /// Lets a node go, or says why it stays.
    fn weigh(&mut self, slot: u32, node: &NodeEntry, pool: usize) -> Result<(), UnsafeToRemove> {
        let entry = &self.snapshot.pools[pool];
        let machine = self.snapshot.machine_of(node);
        if let Some(reason) = never(self.snapshot, node, machine, entry, self.memory, self.now) {
            return Err(reason);
        }
        if self.held_pools[pool] {
            return Err(UnsafeToRemove::HealthGate);
        }
        let rank = self.snapshot.rank(slot) as usize;
        let is_nominated = self.snapshot.nominated.values().any(|nominated| *nominated == node.name);
        if is_nominated || self.bins.is_used(rank) {
            return Err(UnsafeToRemove::NeededByGrant);
        }
        let hold = self.holds.get(machine).copied();
        if let Some(hold) = hold.filter(|hold| self.now < hold.until(&entry.spec)) {
            return Err(UnsafeToRemove::HeldForGang {
                gang: hold.gang.clone(),
                until: hold.until(&entry.spec),
            });
        }
        let displaces = displaced(self.snapshot, node, &entry.spec, &self.budgets, &self.unheeded)?;
        let mark = self.bins.mark();
        let elsewhere = self.place_elsewhere(rank, &displaces);
        let going = elsewhere.and_then(|()| self.may_go(slot, node, pool, displaces, hold));
        match going {
            Ok(going) => {
                self.bins.close(rank);
                self.let_go(going, pool);
                Ok(())
            }
            Err(reason) => {
                self.bins.roll_back(mark);
                Err(reason)
            }
        }
    }

    /// Places all displaced pods on other nodes, or says which fits nowhere.
    fn place_elsewhere(&mut self, rank: usize, displaces: &[u32]) -> Result<(), UnsafeToRemove> {
        if !displaces.is_empty() {
            self.bins.close(rank);
        }
        for (need, pod) in leave(self.bins, rank, displaces) {
            let is_modelled = need.class.unmodelled.is_empty();
            if !is_modelled || self.bins.place_on_nodes(&need, need.count) < need.count {
                let pod = self.snapshot.pod(pod);
                let (pod, namespace) = (pod.name.clone(), pod.namespace.clone());
                return Err(UnsafeToRemove::NoPlaceFor { pod, namespace });
            }
        }
        Ok(())
    }

    /// A node that is not needed: only its pool's minimum, time and budgets keep it.
    fn may_go(
        &mut self,
        slot: u32,
        node: &NodeEntry,
        pool: usize,
        displaces: Vec<u32>,
        hold: Option<Hold<'_>>,
    ) -> Result<Going, UnsafeToRemove> {
        let (entry, room) = (&self.snapshot.pools[pool], &self.rooms.pools[pool]);
        let idle_since = self.memory.history.idle_since.get(&node.name).copied().unwrap_or(self.now);
        self.removals.idle_since.insert(node.name.clone(), idle_since);
        // What is on its way out already counts as gone, and what this plan launches is not there yet: a pool would else fall
        // below its minimum one plan at a time, or with the first launch that fails.
        let staying = room.size_before.saturating_sub(room.leaving);
        if staying <= room.min {
            return Err(UnsafeToRemove::AtMinimum);
        }
        let why = match hold {
            _ if staying > room.max => Why::AboveMaximum,
            Some(Hold { gang, since }) if displaces.is_empty() => {
                Why::GangGivenUp { gang: gang.clone(), since }
            }
            _ => Why::Unneeded,
        };
        // Time is there to see whether a node is needed again; of the others it is known.
        if matches!(why, Why::Unneeded) {
            let pace = &self.paces[pool];
            let lost = lost(self.snapshot, &displaces, self.now);
            let reason = not_yet(entry, node, pace, room.price, self.now, idle_since, lost);
            reason.map_or(Ok(()), Err)?;
        }
        // Nothing will be done, so that no budget is spent that others could use.
        if entry.spec.lowers(self.snapshot.policy.mode) {
            return Err(UnsafeToRemove::Mode);
        }
        self.budgets.bind(pool).map_or(Ok(()), Err)?;
        let waited_for = |pod: &u32| is_waited_for(self.snapshot, *pod, &entry.spec);
        let mut waits_for: Vec<u32> = node.pods.iter().copied().filter(waited_for).collect();
        waits_for.sort_by_key(|&pod| &self.snapshot.pod(pod).uid);
        Ok(Going { slot, idle_since, displaces, waits_for, why })
    }

    fn let_go(&mut self, going: Going, pool: usize) {
        self.budgets.spend(self.snapshot, pool, &going.displaces);
        let room = &mut self.rooms.pools[pool];
        room.size -= 1;
        room.size_before = room.size_before.saturating_sub(1);
        room.ready = room.ready.saturating_sub(1);
        self.removals.nodes.push(going);
    }
}

/// When time alone may have changed a verdict.
fn looks_again(verdict: &UnsafeToRemove) -> Option<Time> {
    match verdict {
        UnsafeToRemove::TooSoon { at } => Some(*at),
        UnsafeToRemove::CoolDown { until } | UnsafeToRemove::HeldForGang { until, .. } => Some(*until),
        _ => None,
    }
}
