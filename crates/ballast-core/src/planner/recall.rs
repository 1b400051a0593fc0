//! Recall: what the last plan placed is placed anew only as far as something has changed.
//!
//! Placing is a row of steps. A step reads what is given, the nodes from the first on as far as it comes, and what the steps
//! before it left. Where all that is given is the same, a step gives the same unless it comes to a node that changed and would
//! have stopped there or would now, or gave the reasons of nodes and one of them changed. So the trial is taken back to the
//! first step that is concerned and goes on from there; nothing was placed on a changed node before it.

use std::sync::Arc;

use super::place::Placed;
use super::say::Said;
use crate::grant::{Bins, Capacity, Need, NewBin, Rooms, Scratch as Bench, Trial};
use crate::memory::Memory;
use crate::policy::Mode;
use crate::scalers::nodes::{
    Asked, Beyond, NodeWishes, Preemptions, StartingNode, preemptions, starting_nodes,
};
use crate::snapshot::{BaseState, NodeEntry, Snapshot, Stamp};
use crate::units::Time;

/// All that placing reads, the room on nodes left aside.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    demand: Stamp,
    fleet: Stamp,
    supply: Stamp,
    preemptions: Preemptions,
    asked: Vec<Asked>,
    beyond: Beyond,
    pub(super) rooms: Rooms,
    /// Nodes that are places already though they take no pods yet.
    pub(super) rising: Vec<NewBin>,
    /// Nodes that take pods in a former life of one that is rising: each is a place once.
    pub(super) replaced: Vec<usize>,
}

/// What the last plan was given, and what it placed and said.
#[derive(Debug)]
pub(super) struct Recall {
    pub(super) given: Given,
    /// How many changes to nodes it knew of.
    pub(super) changes: u64,
    pub(super) trial: Trial,
    pub(super) placed: Placed,
    pub(super) said: Said,
}

/// The wishes of the last plan, good for as long as what waits, what is asked for and what could be had are the same.
#[derive(Debug, Default)]
pub(super) struct LastWishes(Option<(Wished, Arc<NodeWishes>)>);

/// All that wishes are made of.
#[derive(Debug, PartialEq)]
struct Wished {
    demand: Stamp,
    supply: Stamp,
    preemptions: Preemptions,
    asked: Vec<Asked>,
    beyond: Beyond,
}

impl LastWishes {
    /// What buffers and requests came to.
    pub(super) fn asked(&self) -> &[Asked] {
        self.0.as_ref().map(|(wished, _)| wished.asked.as_slice()).unwrap_or_default()
    }

    /// The wishes now.
    pub(super) fn bring_up_to_date(
        &mut self,
        snapshot: &Snapshot,
        asked: &[Asked],
        beyond: &Beyond,
    ) -> Arc<NodeWishes> {
        let wished = Wished {
            demand: snapshot.demand.clone(),
            supply: snapshot.supply.clone(),
            preemptions: preemptions(snapshot),
            asked: asked.to_vec(),
            beyond: beyond.clone(),
        };
        if let Some((of, last)) = &self.0
            && *of == wished
        {
            return last.clone();
        }
        let wishes = Arc::new(NodeWishes::new(snapshot, &wished.preemptions, asked, beyond));
        self.0 = Some((wished, wishes.clone()));
        wishes
    }
}

impl Given {
    pub(super) fn new(
        snapshot: &Snapshot,
        memory: &Memory,
        asked: Vec<Asked>,
        beyond: Beyond,
        now: Time,
    ) -> Self {
        let mut rising = returning(snapshot, memory);
        let starting = starting_nodes(snapshot, memory, now);
        let mut by_pool = vec![0; snapshot.pools.len()];
        starting.iter().for_each(|node| by_pool[node.pool as usize] += 1);
        let former = |node: &StartingNode| {
            let former = snapshot.node_of_machine(&node.name).filter(|former| former.takes_pods())?;
            Some(snapshot.rank(snapshot.node_slots[&former.name]) as usize)
        };
        let replaced = starting.iter().filter_map(former).collect();
        rising.extend(starting.into_iter().map(|node| as_bin(snapshot, node)));
        Self {
            demand: snapshot.demand.clone(),
            fleet: snapshot.fleet.clone(),
            supply: snapshot.supply.clone(),
            preemptions: preemptions(snapshot),
            asked,
            beyond,
            rooms: Rooms::new(snapshot, memory, now, &by_pool),
            rising,
            replaced,
        }
    }
}

impl Recall {
    /// Whether it is about the same, nodes that changed since left aside.
    pub(super) fn is_about(&self, given: &Given, snapshot: &Snapshot) -> bool {
        self.given == *given && snapshot.changes.since(self.changes).is_some()
    }

    /// Takes the trial back to the first step that is concerned by what changed; new nodes that are kept are counted in `rooms`.
    /// What was said still holds where no step is concerned.
    pub(super) fn resume<'a>(
        self,
        snapshot: &'a Snapshot,
        bench: &'a mut Bench,
        needs: &[Need<'_>],
        rooms: &mut Rooms,
    ) -> (Bins<'a>, Placed, Option<Said>) {
        let changes = snapshot.changes.since(self.changes).unwrap_or_default();
        let mut placed = self.placed;
        let mut bins = Bins::resume(snapshot, bench, self.trial);
        let concerned = placed.first_concerned(&bins, needs, changes);
        bins.take_back(placed.take_back(concerned), changes);
        for bin in &bins.trial.new[self.given.rising.len()..] {
            rooms.take(bin.pool as usize, 1);
        }
        let said = Some(self.said).filter(|_| placed.is_complete());
        (bins, placed, said)
    }
}

/// Nodes that we cordoned only to let their work end can be taken back at once, where that is done: what `Enforce` has begun
/// stays as it is when the mode is lowered, so it is no room for anybody.
fn returning(snapshot: &Snapshot, memory: &Memory) -> Vec<NewBin> {
    let ledger = &memory.ledger;
    let enforces = snapshot.policy.mode == Mode::Enforce;
    let waits = |name: &str| {
        let removal = ledger.removals.get(name).filter(|_| enforces || ledger.is_approved(name));
        removal.is_some_and(|removal| removal.waits() && !removal.stopping)
    };
    let mut slots: Vec<u32> = snapshot.unsettled.iter().copied().collect();
    slots.retain(|&slot| {
        let node = snapshot.node(slot);
        node.state == BaseState::CordonedByUs && waits(&node.name)
    });
    slots.sort_unstable_by_key(|&slot| snapshot.rank(slot));
    let taken_back = |node: &NodeEntry| {
        let pool = node.pool?;
        let mut bin = NewBin::new(pool, node.zone, Capacity::Free, node.name.clone(), node.gpus);
        bin.returning = Some(node.free());
        Some(bin)
    };
    slots.into_iter().filter_map(|slot| taken_back(snapshot.node(slot))).collect()
}

/// A node on its way up is a place already.
fn as_bin(snapshot: &Snapshot, node: StartingNode) -> NewBin {
    let gpus = snapshot.pools[node.pool as usize].templates[node.template as usize].gpus;
    let mut bin = NewBin::new(node.pool, node.template, Capacity::Starting, node.name, gpus);
    bin.ready_at = Some(node.ready_at);
    bin
}
