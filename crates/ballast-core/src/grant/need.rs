//! Needs: the parts of wishes that have to be placed.

use std::cmp::Reverse;

use crate::snapshot::{Class, Constraint};

/// So many units of a shape that have to be placed.
#[derive(Clone, Debug)]
pub(crate) struct Need<'a> {
    /// The shape.
    pub class: &'a Class,
    /// What it demands of a node besides room.
    pub constraint: &'a Constraint,
    /// The constraint's serial; 0 for one that no pod has.
    pub constraint_serial: u64,
    /// Only nodes of this pool will do.
    pub only_pool: Option<u32>,
    /// How many units.
    pub count: u32,
    /// When its turn comes.
    pub tier: Tier,
    /// Whether nodes are started for it; else only what is there will do.
    pub grows: bool,
    /// Higher goes first within a tier.
    pub priority: i32,
    /// Number of the gang it belongs to: all of a gang's needs are met or none.
    pub gang: Option<u32>,
    /// Number of the wish it is part of.
    pub wish: usize,
}

/// When a need's turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// What a workload needs at the least.
    Floor,
    /// Pods that wait.
    Pending,
    /// What is asked to be held of what nobody needs.
    Spare,
    /// Room for what may come.
    Headroom,
    /// What an elastic workload can use of what is left.
    Surplus,
}

/// What became of a need. Where its units on new nodes are is written on those.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Placement {
    /// Units on nodes that are ready.
    pub free: u32,
    /// Units on nodes that were opened before its turn came to start some.
    pub rising: u32,
    /// Units nowhere.
    pub left: u32,
    /// Steps were used up while it was looked for: what is left may fit on what is there.
    pub cut: bool,
}

/// What needs are ordered by before their names.
pub(crate) type Turn = (Tier, Reverse<i32>, Reverse<[i64; 4]>);

impl Need<'_> {
    /// When its turn comes among others: by tier, priority and size by GPU, CPU, memory and storage.
    pub(crate) fn turn(&self) -> Turn {
        let requests = &self.class.requests;
        let size = [self.class.gpu.milli(), requests[0], requests[1], requests[3]];
        (self.tier, Reverse(self.priority), Reverse(size))
    }

    /// What is placed first: whose turn comes first; then by name.
    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
        let (own, others) = (&self.class.key, &other.class.key);
        (self.turn().cmp(&other.turn()))
            .then_with(|| own.namespace.cmp(&others.namespace))
            .then_with(|| own.owner.cmp(&others.owner))
            .then_with(|| own.labels.cmp(&others.labels))
            .then(self.wish.cmp(&other.wish))
    }
}
