//! Placing: every need on what is free, on what is starting, on what can be started or made.

use std::ops::Range;

use crate::grant::{
    Bins, Capacity, Grown, Mark, Need, NewBin, Placement, Refusals, Rooms, Tier, Weighed, grow, pool_misfit,
};
use crate::kube::Name;
use crate::plan::{self, Infeasible, NodeVerdict, PoolVerdict, Shared, Skip, SkipReason, Subject};
use crate::policy::Strategy;
use crate::scalers::nodes::NodeWishes;
use crate::snapshot::NodeChange;
use crate::units::Money;

/// Options noted in the report for each need that is not met.
const VERDICTS_KEPT: usize = 50;
/// Pools that one plan tells of which were weighed for new nodes, over all its choices: enough to follow the first by hand.
const WEIGHED_KEPT: usize = 100;
/// Nodes that are asked in one plan why they refuse: some tens of milliseconds. The needs that wait longest in line go without.
const NODES_ASKED: usize = 500_000;

/// Places the needs of one plan.
pub(super) struct Placing<'p, 'b, 'n> {
    pub(super) bins: &'p mut Bins<'b>,
    pub(super) rooms: &'p mut Rooms,
    pub(super) needs: &'p [Need<'n>],
    pub(super) wishes: &'p NodeWishes,
    pub(super) placed: &'p mut Placed,
}

/// What became of the needs, step by step.
#[derive(Debug)]
pub(super) struct Placed {
    /// What became of each need.
    pub(super) placements: Vec<Placement>,
    pub(super) infeasible: Shared<Infeasible>,
    pub(super) skipped: Shared<Skip>,
    /// Pools that were weighed for new nodes.
    pub(super) options: Shared<plan::Step>,
    /// The need that each of `infeasible` is about.
    explained: Vec<usize>,
    steps: Vec<Step>,
    taken: Vec<Taken>,
    /// Where the last step ended.
    end: Option<Mark>,
}

/// A step that was taken.
#[derive(Debug)]
struct Taken {
    /// Where it began.
    mark: Mark,
    explained: usize,
    skipped: usize,
    options: usize,
    /// How many nodes, from the first on, it looked at.
    seen: usize,
}

/// One step of placing.
#[derive(Debug)]
enum Step {
    /// A need on what is free, then on what is starting.
    OnExisting(usize),
    /// New nodes for what is left of needs that are equal in tier and priority.
    Grow(Range<usize>),
    /// A gang whole or not at all.
    Gang(Vec<usize>),
    /// Nodes until each pool has its minimum.
    Minimum,
}

impl Placing<'_, '_, '_> {
    /// Takes the steps that were not taken yet: places every need, gangs one by one, all or nothing, the rest by priority; then
    /// opens nodes until each pool has its minimum.
    pub(super) fn go_on(&mut self) {
        let steps = std::mem::take(&mut self.placed.steps);
        for step in &steps[self.placed.taken.len()..] {
            let (mark, explained) = (self.bins.mark(), self.placed.explained.len());
            let (skipped, options) = (self.placed.skipped.len(), self.placed.options.len());
            self.bins.trial.seen = 0;
            match step {
                Step::OnExisting(need) => self.place_on_existing(&[*need]),
                Step::Grow(group) => {
                    let group: Vec<usize> = group.clone().collect();
                    let grown = self.grow_for(&group, None);
                    self.tell_choice(&grown);
                    self.explain(&group, &grown.refusals);
                }
                Step::Gang(members) => self.place_gang(members),
                Step::Minimum => self.fill_to_minimum(),
            }
            let seen = self.bins.trial.seen;
            self.placed.taken.push(Taken { mark, explained, skipped, options, seen });
        }
        self.placed.steps = steps;
        self.placed.end = Some(self.bins.mark());
    }

    /// Places needs on what is free, then on what is starting.
    fn place_on_existing(&mut self, group: &[usize]) {
        for &at in group {
            let need = &self.needs[at];
            let mut left = need.count;
            if !need.class.unmodelled.is_empty() {
                self.placed.placements[at].left = left;
                continue;
            }
            let free = self.bins.place_on_nodes(need, left);
            left -= free;
            let rising = if left > 0 && need.grows { self.bins.place_on_new(need, left) } else { 0 };
            let cut = self.bins.trial.steps_left == 0;
            self.placed.placements[at] = Placement { free, rising, left: left - rising, cut };
        }
    }

    /// Starts nodes for what is left of a group.
    fn grow_for(&mut self, group: &[usize], gang: Option<u32>) -> Grown {
        // Not what is left in the end: the step may be taken anew.
        let left_of = |at: usize| {
            let placement = &self.placed.placements[at];
            self.needs[at].count - placement.free - placement.rising
        };
        let is_hungry = |at: &usize| {
            let may_grow = self.needs[*at].grows && !self.placed.placements[*at].cut;
            left_of(*at) > 0 && may_grow && self.needs[*at].class.unmodelled.is_empty()
        };
        let hungry: Vec<usize> = group.iter().copied().filter(is_hungry).collect();
        if hungry.is_empty() {
            return Grown::default();
        }
        let wanted: Vec<Need<'_>> = hungry.iter().map(|&at| self.needs[at].clone()).collect();
        let mut left: Vec<u32> = hungry.iter().map(|&at| left_of(at)).collect();
        let Grown { refusals, weighed, first } = grow(self.bins, self.rooms, &wanted, &mut left, gang);
        for (&at, left) in hungry.iter().zip(left) {
            self.placed.placements[at].left = left;
        }
        let refusals =
            refusals.into_iter().map(|((row, pool), reason)| ((hungry[row], pool), reason)).collect();
        Grown { refusals, weighed, first: hungry[first] }
    }

    /// Says what each pool offered for what nodes are started for, and why the others were not taken.
    fn tell_choice(&mut self, grown: &Grown) {
        let Some(best) = grown.weighed.first() else { return };
        let kept = WEIGHED_KEPT.saturating_sub(self.placed.options.len());
        if kept == 0 {
            return;
        }
        let need = &self.needs[grown.first];
        let subject = &self.wishes.subjects[need.wish];
        let pools = &self.bins.snapshot.pools;
        let option = |one: &Weighed| {
            let nodes = one.nodes.max(1);
            plan::Step::Option {
                subject: subject.clone(),
                pool: pools[one.pool as usize].name.clone(),
                nodes,
                pods: if one.nodes > 0 { one.units } else { one.offer.pods },
                price: Money::from_micros(one.offer.price.as_micros().saturating_mul(i64::from(nodes))),
                waste_milli: one.offer.waste_milli,
                chosen: one.nodes > 0,
            }
        };
        self.placed.options.make_mut().extend(grown.weighed.iter().take(kept).map(option));
        // Headroom is a pool's own: no other is passed over for it.
        if need.only_pool.is_some() {
            return;
        }
        let refused = grown.refusals.range((grown.first, 0)..(grown.first + 1, 0));
        let refused = refused.map(|((_, pool), reason)| (*pool, reason.clone()));
        let others = grown.weighed.iter().filter(|one| one.nodes == 0).map(|one| {
            let reason = match one.limit.clone() {
                Some(limit) => SkipReason::AtLimit { limit },
                None => SkipReason::NotBest {
                    chosen: pools[best.pool as usize].name.clone(),
                    by: if one.strategy == best.strategy { best.strategy } else { Strategy::Price },
                    offer: one.offer,
                    better: best.offer,
                },
            };
            (one.pool, reason)
        });
        let is_idle = |pool: u32| !grown.weighed.iter().any(|one| one.pool == pool);
        let skip = |(pool, reason): (u32, SkipReason)| Skip {
            subject: subject.clone(),
            pool: pools[pool as usize].name.clone(),
            reason,
        };
        let skips = others.chain(refused.filter(|(pool, _)| is_idle(*pool))).take(kept).map(skip);
        self.placed.skipped.make_mut().extend(skips);
    }

    /// Places a gang whole or not at all.
    fn place_gang(&mut self, members: &[usize]) {
        let mark = self.bins.mark();
        self.place_on_existing(members);
        if self.left_of(members) == 0 {
            return;
        }
        let rooms_before = self.rooms.clone();
        self.rooms.begin_gang();
        let grown = self.grow_for(members, self.needs[members[0]].gang);
        self.rooms.end_gang();
        let left = self.left_of(members);
        if left == 0 {
            return self.tell_choice(&grown);
        }
        let refusals = grown.refusals;
        let all: u32 = members.iter().map(|&at| self.needs[at].count).sum();
        self.bins.roll_back(mark);
        *self.rooms = rooms_before;
        for &at in members {
            self.placed.placements[at] = Placement { left: self.needs[at].count, ..Placement::default() };
        }
        self.explain(members, &refusals);
        if all > left {
            self.skip_for_the_rest(members[0], all - left, &refusals);
        }
    }

    fn left_of(&self, members: &[usize]) -> u32 {
        members.iter().map(|&at| self.placed.placements[at].left).sum()
    }

    /// Says of pools that could have served a part of a gang that a part is not enough.
    fn skip_for_the_rest(&mut self, first: usize, members: u32, refusals: &Refusals) {
        for (pool, entry) in self.bins.snapshot.pools.iter().enumerate() {
            if !refusals.contains_key(&(first, pool as u32)) {
                self.placed.skipped.make_mut().push(Skip {
                    subject: self.wishes.subjects[self.needs[first].wish].clone(),
                    pool: entry.name.clone(),
                    reason: SkipReason::PartOfGang { members },
                });
            }
        }
    }

    /// Says why needs are left.
    fn explain(&mut self, group: &[usize], refusals: &Refusals) {
        for &at in group {
            let (need, left) = (&self.needs[at], self.placed.placements[at].left);
            if left == 0 {
                continue;
            }
            if need.tier == Tier::Headroom {
                self.skip_headroom(at, refusals);
                continue;
            }
            let mut subject = self.wishes.subjects[need.wish].clone();
            if let Subject::Pods { count, .. } = &mut subject {
                *count = left;
            }
            let mut pools = Vec::new();
            for ((_, pool), reason) in refusals.range((at, 0)..(at + 1, 0)).take(VERDICTS_KEPT) {
                // What could never serve says so even while something else keeps it closed: waiting would not help.
                let misfit = pool_misfit(self.bins, need, *pool);
                let reason =
                    misfit.map_or_else(|| reason.clone(), |misfit| SkipReason::DoesNotFit { misfit });
                pools.push(PoolVerdict {
                    pool: self.bins.snapshot.pools[*pool as usize].name.clone(),
                    reason,
                });
            }
            let is_told = self.placed.explained.len() < NODES_ASKED / self.bins.snapshot.index().len().max(1);
            let verdicts = if is_told { self.bins.verdicts(need) } else { Vec::new() };
            let nodes = verdicts.into_iter().map(|(misfit, nodes)| NodeVerdict { misfit, nodes }).collect();
            self.placed.infeasible.make_mut().push(Infeasible { subject, pools, nodes });
            self.placed.explained.push(at);
        }
    }

    /// Says why headroom is not there, a pool's own or a buffer's: nobody waits for it, so that it is an option passed over.
    fn skip_headroom(&mut self, at: usize, refusals: &Refusals) {
        let subject = &self.wishes.subjects[self.needs[at].wish];
        for ((_, pool), reason) in refusals.range((at, 0)..(at + 1, 0)) {
            let pool = self.bins.snapshot.pools[*pool as usize].name.clone();
            if !matches!(subject, Subject::Pool { name } if *name != pool) {
                let (subject, reason) = (subject.clone(), reason.clone());
                self.placed.skipped.make_mut().push(Skip { subject, pool, reason });
            }
        }
    }

    /// Opens nodes until each pool has its minimum.
    fn fill_to_minimum(&mut self) {
        for pool in 0..self.bins.snapshot.pools.len() {
            while self.rooms.pools[pool].size < self.rooms.pools[pool].min
                && self.rooms.pools[pool].closed.is_none()
                && self.rooms.allowance(pool).0 > 0
            {
                let Some(bin) = self.for_minimum(pool) else { break };
                self.bins.open(bin);
                self.rooms.take(pool, 1);
            }
        }
    }

    /// One more node of a pool: one that is off, else one to be made.
    fn for_minimum(&self, pool: usize) -> Option<NewBin> {
        let (entry, room) = (&self.bins.snapshot.pools[pool], &self.rooms.pools[pool]);
        let is_open = |template: u32| room.backed_off[template as usize].is_none();
        let zone_of = |id: &Name| entry.template_in(Some(&entry.instances[id].zone));
        let startable = |id: &&Name| !self.bins.is_opened(id) && is_open(zone_of(id));
        if let Some(id) = room.startable(entry).find(startable) {
            let (name, template) = (entry.instances[id].name.clone(), zone_of(id));
            let gpus = entry.templates[template as usize].gpus;
            let mut bin = NewBin::new(pool as u32, template, Capacity::Stopped, name, gpus);
            bin.provider_id = id.clone();
            return Some(bin);
        }
        // Zones in turn, so that a minimum spreads over them.
        let zones: Vec<u32> = (0..entry.templates.len() as u32).filter(|&at| entry.can_make(at)).collect();
        let turns = (0..zones.len()).map(|at| zones[(at + room.size as usize) % zones.len()]);
        let template = turns.into_iter().find(|&template| is_open(template))?;
        let gpus = entry.templates[template as usize].gpus;
        let name: Name = format!("{}+{}", entry.name, self.bins.trial.new.len()).into();
        Some(NewBin::new(pool as u32, template, Capacity::Creatable, name, gpus))
    }
}

impl Placed {
    /// Nothing yet.
    pub(super) fn new(needs: &[Need<'_>]) -> Self {
        Self {
            placements: vec![Placement::default(); needs.len()],
            infeasible: Shared::default(),
            skipped: Shared::default(),
            options: Shared::default(),
            explained: Vec::new(),
            steps: steps(needs),
            taken: Vec::new(),
            end: None,
        }
    }

    /// Whether all steps were taken.
    pub(super) fn is_complete(&self) -> bool {
        self.taken.len() == self.steps.len()
    }

    /// The first step that might be taken differently now that nodes have changed.
    pub(super) fn first_concerned(
        &self,
        bins: &Bins<'_>,
        needs: &[Need<'_>],
        changes: &[NodeChange],
    ) -> usize {
        if changes.is_empty() {
            return self.steps.len();
        }
        let concerned = |at: &usize| changes.iter().any(|change| self.is_concerned(*at, bins, needs, change));
        (0..self.steps.len()).find(concerned).unwrap_or(self.steps.len())
    }

    fn is_concerned(&self, at: usize, bins: &Bins<'_>, needs: &[Need<'_>], change: &NodeChange) -> bool {
        let taken = &self.taken[at];
        let stops = |need: &usize| bins.concerns(&needs[*need], change);
        let searched = change.rank < taken.seen
            && match &self.steps[at] {
                Step::OnExisting(need) => stops(need),
                Step::Gang(members) => members.iter().any(stops),
                Step::Grow(_) | Step::Minimum => false,
            };
        let explained_end = self.taken.get(at + 1).map_or(self.explained.len(), |next| next.explained);
        let mut explained = self.explained[taken.explained..explained_end].iter();
        searched || explained.any(|&need| bins.refuses_otherwise(&needs[need], change))
    }

    /// Forgets all steps from one on. Returns where it began.
    pub(super) fn take_back(&mut self, from: usize) -> Mark {
        let Some(first) = self.taken.get(from) else {
            return self.end.expect("all steps were taken");
        };
        let mark = first.mark;
        if self.infeasible.len() > first.explained {
            self.infeasible.make_mut().truncate(first.explained);
        }
        if self.skipped.len() > first.skipped {
            self.skipped.make_mut().truncate(first.skipped);
        }
        if self.options.len() > first.options {
            self.options.make_mut().truncate(first.options);
        }
        self.explained.truncate(first.explained);
        self.taken.truncate(from);
        mark
    }
}

/// The steps in which needs are placed, given in their order.
fn steps(needs: &[Need<'_>]) -> Vec<Step> {
    let gangs = needs.iter().filter_map(|need| need.gang).max().map_or(0, |last| last as usize + 1);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); gangs];
    for (at, need) in needs.iter().enumerate() {
        if let Some(gang) = need.gang {
            members[gang as usize].push(at);
        }
    }
    let mut steps = Vec::with_capacity(needs.len() + 2);
    let mut from = 0;
    while from < needs.len() {
        let Some(gang) = needs[from].gang else {
            let group = from..group_end(needs, from);
            from = group.end;
            steps.extend(group.clone().map(Step::OnExisting));
            steps.push(Step::Grow(group));
            continue;
        };
        // A gang is placed when the first of its members comes.
        let members = std::mem::take(&mut members[gang as usize]);
        if !members.is_empty() {
            steps.push(Step::Gang(members));
        }
        from += 1;
    }
    steps.push(Step::Minimum);
    steps
}

/// The end of the run of needs that are equal in tier and priority and belong to no gang.
fn group_end(needs: &[Need<'_>], from: usize) -> usize {
    let same = |need: &Need<'_>| {
        need.tier == needs[from].tier && need.priority == needs[from].priority && need.gang.is_none()
    };
    from + needs[from..].iter().take_while(|need| same(need)).count()
}
