//! Growing: which nodes to start for what fits nowhere.
//!
//! One node after the other is chosen by what it would carry: each template is filled on trial with what is left, the best
//! one is taken, and taken again as long as it would carry the same. A trial is only repeated when its template is about to
//! win (what is left only shrinks, so an old trial is a bound), which keeps hundreds of templates cheap.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::Capacity;
use super::bins::Bins;
use super::need::Need;
use super::new_bin::NewBin;
use super::parts::{Lean, Part, Parts};
use super::room::Rooms;
use crate::kube::Name;
use crate::plan::{Limit, Misfit, Offer, SkipReason};
use crate::policy::Strategy;
use crate::resources::{GpuDevices, GpuNeed, Resources};
use crate::snapshot::Class;

/// Why pools were passed over, by need and pool.
pub(crate) type Refusals = BTreeMap<(usize, u32), SkipReason>;

/// What growing came to.
#[derive(Debug, Default)]
pub(crate) struct Grown {
    /// Why pools were passed over.
    pub refusals: Refusals,
    /// Where a node was taken: what was weighed, the pool of the first node first.
    pub weighed: Vec<Weighed>,
    /// The need that the first node carries first.
    pub first: usize,
}

/// A pool that could have served when the first node was chosen.
#[derive(Clone, Debug)]
pub(crate) struct Weighed {
    pub pool: u32,
    pub strategy: Strategy,
    /// What one of its nodes would have carried.
    pub offer: Offer,
    /// The limit that kept it from being taken at all.
    pub limit: Option<Limit>,
    /// Nodes that were taken, and the units on them.
    pub nodes: u32,
    pub units: u32,
}

/// What growing works on.
struct Growth<'a, 'b, 'n> {
    bins: &'a mut Bins<'b>,
    rooms: &'a mut Rooms,
    needs: &'a [Need<'n>],
    gang: Option<u32>,
    choices: Vec<Choice>,
    /// How many units of each need an empty node of each choice would carry.
    fits: Vec<Vec<u32>>,
    /// What one unit of each need is worth: its share of the cheapest node full of it.
    worth: Vec<f64>,
    parts: Parts,
    /// Parts that a new node of a choice refused because of relations to other pods.
    refused: FxHashMap<(usize, usize), Misfit>,
    /// What was weighed for the first node, and the need that it carries first.
    weighed: Vec<Weighed>,
    first: usize,
    /// Nodes of each choice that were taken, and the units on them.
    taken: Vec<(u32, u32)>,
}

/// A template of a pool that could be started or made.
#[derive(Clone, Debug)]
struct Choice {
    pool: u32,
    template: u32,
    free: Resources,
    gpus: GpuDevices,
    price: f64,
    priority: i32,
    strategy: Strategy,
    /// Instances that are off, to be started before any is made; the next is the last.
    stopped: Vec<Name>,
    creatable: bool,
}

/// What one node of a choice would carry.
#[derive(Clone, Debug, Default, PartialEq)]
struct Trial {
    /// Part and units.
    load: Vec<(usize, u32)>,
    /// Price for what it is worth: lower is better.
    efficiency: f64,
    waste: f64,
}

/// One node that is being filled.
struct Fill<'c> {
    all: &'c Resources,
    free: Resources,
    gpus: GpuDevices,
    /// Terms that bind on this host because of what is on it: those that a pod has, and those that mean one.
    had: Vec<u32>,
    meant: Vec<u32>,
}

impl<'c> Fill<'c> {
    fn new(choice: &'c Choice) -> Self {
        Self { all: &choice.free, free: choice.free, gpus: choice.gpus, had: Vec::new(), meant: Vec::new() }
    }

    fn free_share(&self, dimension: usize) -> f64 {
        self.free[dimension] as f64 / self.all[dimension].max(1) as f64
    }

    /// Of which more is free.
    fn lean(&self) -> Lean {
        if self.free_share(Resources::CPU) >= self.free_share(Resources::MEMORY) {
            Lean::Cpu
        } else {
            Lean::Memory
        }
    }

    fn units(&self, class: &Class, part: &Part) -> u32 {
        class.requests.times_in(&self.free).min(self.gpus.times(class.gpu)).min(part.host_cap)
    }

    fn clashes(&self, part: &Part) -> bool {
        part.host_terms.iter().any(|term| self.meant.contains(term))
            || part.host_meant.iter().any(|term| self.had.contains(term))
    }

    /// How many units of a class until the other resource is the one of which more is free.
    fn until_it_leans_over(&self, class: &Class) -> u32 {
        let share = |dimension: usize| class.requests[dimension] as f64 / self.all[dimension].max(1) as f64;
        let gap = self.free_share(Resources::CPU) - self.free_share(Resources::MEMORY);
        let each = share(Resources::CPU) - share(Resources::MEMORY);
        if gap * each <= 0.0 { u32::MAX } else { (gap / each).ceil().clamp(1.0, 1e9) as u32 }
    }

    fn take(&mut self, class: &Class, part: &Part, units: u32) {
        self.free.subtract(&class.requests, i64::from(units));
        if class.gpu != GpuNeed::None {
            (0..units).for_each(|_| _ = self.gpus.take(class.gpu));
            self.free[Resources::GPU_WHOLE] = self.gpus.wholly_free();
            self.free[Resources::GPU_SHARE] = self.gpus.greatest_share();
        }
        self.had.extend(&part.host_terms);
        self.meant.extend(&part.host_meant);
    }
}

/// Starts nodes for `left[n]` units of each need; places what they carry and lowers `left`.
pub(crate) fn grow(
    bins: &mut Bins<'_>,
    rooms: &mut Rooms,
    needs: &[Need<'_>],
    left: &mut [u32],
    gang: Option<u32>,
) -> Grown {
    let mut refusals = Refusals::new();
    let choices = choices(bins, rooms, needs, &mut refusals);
    let fits = fits(bins, &choices, needs, &mut refusals);
    let worth = worth(&choices, &fits, needs);
    let offered: Vec<BTreeMap<Name, Vec<Name>>> =
        (0..needs.len()).map(|need| zones(bins, &choices, &fits, needs, need)).collect();
    let mut all = Resources::ZERO;
    choices.iter().for_each(|choice| all.add(&choice.free, 1));
    let parts =
        Parts::new(bins, needs, left, &all, |need, key| offered[need].get(key).cloned().unwrap_or_default());
    let (refused, weighed, taken) = (FxHashMap::default(), Vec::new(), vec![(0, 0); choices.len()]);
    let mut growth =
        Growth { bins, rooms, needs, gang, choices, fits, worth, parts, refused, weighed, first: 0, taken };
    for (need, units) in growth.run() {
        left[need] -= units;
    }
    growth.note_limits(left, &mut refusals);
    Grown { refusals, first: growth.first, weighed: growth.weighed() }
}

impl Growth<'_, '_, '_> {
    /// Takes the best node as long as there is one. Returns what was placed: need and units.
    fn run(&mut self) -> Vec<(usize, u32)> {
        let mut placed = Vec::new();
        let mut trials: Vec<Option<Trial>> = (0..self.choices.len()).map(|at| self.try_one(at)).collect();
        while let Some(best) = self.best(&trials) {
            let fresh = self.try_one(best);
            let bound = trials[best].as_ref().map_or(0.0, |old| old.efficiency);
            let worse = fresh.as_ref().is_none_or(|fresh| fresh.efficiency > bound);
            trials[best] = fresh;
            if worse {
                continue;
            }
            let Some(trial) = trials[best].clone() else { continue };
            let most = if self.alike(&trials, best) > 1 { 1 } else { u32::MAX };
            if self.weighed.is_empty() {
                self.weigh(&trials, best);
            }
            if !self.take(best, &trial, most, &mut placed) {
                trials[best] = None;
            }
        }
        placed
    }

    /// Notes what every pool offers for the first node, the one that is about to be taken first.
    fn weigh(&mut self, trials: &[Option<Trial>], best: usize) {
        let others = (0..self.choices.len()).filter(|&at| at != best);
        let mut seen = vec![false; self.rooms.pools.len()];
        for at in std::iter::once(best).chain(others) {
            let (choice, Some(trial)) = (&self.choices[at], &trials[at]) else { continue };
            if std::mem::replace(&mut seen[choice.pool as usize], true) {
                continue;
            }
            let (allowed, limit) = self.rooms.allowance(choice.pool as usize);
            let offer = Offer {
                pods: trial.load.iter().map(|&(_, units)| units).sum(),
                price: self.rooms.pools[choice.pool as usize].price,
                waste_milli: (trial.waste * 1000.0).round() as u32,
            };
            let limit = limit.filter(|_| allowed == 0);
            let (pool, strategy) = (choice.pool, choice.strategy);
            self.weighed.push(Weighed { pool, strategy, offer, limit, nodes: 0, units: 0 });
        }
        let first = trials[best].as_ref().and_then(|trial| trial.load.first());
        self.first = first.map_or(0, |&(part, _)| self.parts.list[part].need);
    }

    /// What was weighed, with what was taken; nothing where no node was.
    fn weighed(self) -> Vec<Weighed> {
        let mut weighed = self.weighed;
        let mut by_pool: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for (choice, (nodes, units)) in self.choices.iter().zip(self.taken).filter(|(_, taken)| taken.0 > 0) {
            let all = by_pool.entry(choice.pool).or_default();
            *all = (all.0 + nodes, all.1 + units);
        }
        if by_pool.is_empty() {
            return Vec::new();
        }
        for one in &mut weighed {
            (one.nodes, one.units) = by_pool.get(&one.pool).copied().unwrap_or_default();
        }
        weighed
    }

    /// Fills one node of a choice with what is left: the greatest first, from what leans towards the resource of which more
    /// is free.
    fn try_one(&self, at: usize) -> Option<Trial> {
        let choice = &self.choices[at];
        let mut fill = Fill::new(choice);
        let mut trial = Trial::default();
        let (mut from, mut carried) = ([0, 0], 0.0);
        loop {
            let lean = fill.lean();
            let other = if lean == Lean::Cpu { Lean::Memory } else { Lean::Cpu };
            let first = self.parts.next(lean, from[lean as usize], &fill.free).map(|next| (lean, next));
            let second =
                || self.parts.next(other, from[other as usize], &fill.free).map(|next| (other, next));
            let Some((lean, next)) = first.or_else(second) else { break };
            let part = &self.parts.list[next];
            let class = self.needs[part.need].class;
            let barred = self.fits[at][part.need] == 0
                || !self.in_domain(choice, part.domain.as_ref())
                || (!self.refused.is_empty() && self.refused.contains_key(&(at, next)));
            let taken = trial.load.iter().find(|(taken, _)| *taken == next).map_or(0, |(_, units)| *units);
            let units =
                fill.units(class, part).min(part.left - taken).min(part.host_cap - taken.min(part.host_cap));
            if barred || units == 0 || (taken == 0 && fill.clashes(part)) {
                from[lean as usize] = next + 1;
                continue;
            }
            let units = units.min(fill.until_it_leans_over(class));
            fill.take(class, part, units);
            carried += self.worth[part.need] * f64::from(units);
            match trial.load.iter_mut().find(|(taken, _)| *taken == next) {
                Some((_, all)) => *all += units,
                None => trial.load.push((next, units)),
            }
            from[lean as usize] = next;
        }
        if trial.load.is_empty() {
            return None;
        }
        trial.efficiency = choice.price / carried.max(1e-12);
        trial.waste = waste(&choice.free, &fill.free);
        Some(trial)
    }

    fn in_domain(&self, choice: &Choice, domain: Option<&(Name, Name)>) -> bool {
        let labels =
            &self.bins.snapshot.pools[choice.pool as usize].templates[choice.template as usize].labels;
        domain.is_none_or(|(key, value)| labels.get(key) == Some(value))
    }

    /// The best choice that may still be taken.
    fn best(&self, trials: &[Option<Trial>]) -> Option<usize> {
        let open = |at: &usize| {
            let choice = &self.choices[*at];
            trials[*at].is_some()
                && (choice.creatable || !choice.stopped.is_empty())
                && self.rooms.allowance(choice.pool as usize).0 > 0
        };
        // Choices of one strategy are held against each other by it, the best of each strategy by price.
        let mut best: [Option<usize>; 3] = [None; 3];
        for at in (0..self.choices.len()).filter(open) {
            let strategy = self.choices[at].strategy;
            let best = &mut best[strategy as usize];
            *best = Some(best.map_or(at, |best| match self.compare(trials, best, at, strategy) {
                Ordering::Greater => at,
                _ => best,
            }));
        }
        best.into_iter().flatten().min_by(|&a, &b| self.compare(trials, a, b, Strategy::Price))
    }

    fn compare(&self, trials: &[Option<Trial>], a: usize, b: usize, strategy: Strategy) -> Ordering {
        let (one, other) = (&self.choices[a], &self.choices[b]);
        let (Some(trial), Some(other_trial)) = (&trials[a], &trials[b]) else { return Ordering::Equal };
        let by_price = || trial.efficiency.total_cmp(&other_trial.efficiency);
        let by_waste = || trial.waste.total_cmp(&other_trial.waste);
        let by_priority = || other.priority.cmp(&one.priority);
        let by_strategy = match strategy {
            Strategy::Price => by_price(),
            Strategy::LeastWaste => by_waste().then_with(by_price),
            Strategy::Priority => by_priority().then_with(by_price),
        };
        by_strategy
            .then_with(|| one.stopped.is_empty().cmp(&other.stopped.is_empty()))
            .then_with(by_waste)
            .then_with(|| self.by_balance(one, other))
            .then(a.cmp(&b))
    }

    /// Zones of a pool, and pools of one balance group, grow evenly.
    fn by_balance(&self, one: &Choice, other: &Choice) -> Ordering {
        let size = |choice: &Choice| self.rooms.pools[choice.pool as usize].size;
        let in_zone = |choice: &Choice| {
            let ready = self.bins.snapshot.pools[choice.pool as usize].counts.ready_in(choice.template);
            ready + self.bins.opened_in(choice.pool, choice.template)
        };
        match self.balances(one, other) {
            true if one.pool == other.pool => in_zone(one).cmp(&in_zone(other)),
            true => size(one).cmp(&size(other)).then_with(|| in_zone(one).cmp(&in_zone(other))),
            false => Ordering::Equal,
        }
    }

    fn balances(&self, one: &Choice, other: &Choice) -> bool {
        let group = |choice: &Choice| &self.bins.snapshot.pools[choice.pool as usize].spec.balance_group;
        one.pool == other.pool || (group(one).is_some() && group(one) == group(other))
    }

    /// Takes nodes of a choice, at most `most`, as long as each would carry the same. Returns whether one was taken.
    fn take(&mut self, at: usize, trial: &Trial, most: u32, placed: &mut Vec<(usize, u32)>) -> bool {
        let same =
            trial.load.iter().map(|&(part, units)| self.parts.list[part].left / units).min().unwrap_or(0);
        let pool = self.choices[at].pool as usize;
        let supply =
            if self.choices[at].creatable { u32::MAX } else { self.choices[at].stopped.len() as u32 };
        let count = most.min(same).min(self.rooms.allowance(pool).0).min(supply);
        for taken in 0..count {
            let refused_before = self.refused.len();
            if !self.take_one(at, trial, placed) {
                return taken > 0;
            }
            self.rooms.take(pool, 1);
            if self.refused.len() > refused_before {
                break;
            }
        }
        count > 0
    }

    /// Opens a node and places on it what the trial gives it, as far as relations between pods let it. Returns whether it
    /// carries anything.
    fn take_one(&mut self, at: usize, trial: &Trial, placed: &mut Vec<(usize, u32)>) -> bool {
        let mark = self.bins.mark();
        let before = placed.len();
        let bin = self.new_bin(at);
        let stopped = bin.provider_id.clone();
        let bin = self.bins.open(bin);
        for &(part, most) in &trial.load {
            let Part { need, ref spread_over, .. } = self.parts.list[part];
            let (units, misfit) = self.bins.take_on_new(&self.needs[need], bin, most, spread_over.as_ref());
            self.refused.extend(misfit.map(|misfit| ((at, part), misfit)));
            if units > 0 {
                self.parts.take(part, units);
                placed.push((need, units));
            }
        }
        if placed.len() > before {
            let units: u32 = placed[before..].iter().map(|(_, units)| units).sum();
            let (nodes, all) = self.taken[at];
            self.taken[at] = (nodes + 1, all + units);
            return true;
        }
        self.bins.roll_back(mark);
        if !stopped.is_empty() {
            self.choices[at].stopped.push(stopped);
        }
        false
    }

    /// How many choices that balance each other would carry the same for the same price.
    fn alike(&self, trials: &[Option<Trial>], at: usize) -> usize {
        let same = |other: &usize| {
            trials[*other] == trials[at]
                && self.choices[*other].price == self.choices[at].price
                && self.balances(&self.choices[*other], &self.choices[at])
        };
        (0..self.choices.len()).filter(same).count()
    }

    fn new_bin(&mut self, at: usize) -> NewBin {
        let choice = &mut self.choices[at];
        let entry = &self.bins.snapshot.pools[choice.pool as usize];
        let (capacity, name, id) = match choice.stopped.pop() {
            Some(id) => (Capacity::Stopped, entry.instances[&id].name.clone(), id),
            None => (
                Capacity::Creatable,
                format!("{}+{}", entry.name, self.bins.trial.new.len()).into(),
                Name::default(),
            ),
        };
        let mut bin = NewBin::new(choice.pool, choice.template, capacity, name, choice.gpus);
        (bin.provider_id, bin.gang) = (id, self.gang);
        bin
    }

    /// Notes the limit that bound for needs that are left though a pool fits them.
    fn note_limits(&self, left: &[u32], refusals: &mut Refusals) {
        for (at, (choice, row)) in self.choices.iter().zip(&self.fits).enumerate() {
            let (allowed, limit) = self.rooms.allowance(choice.pool as usize);
            for (need, &times) in row.iter().enumerate() {
                if left[need] == 0 || times == 0 {
                    continue;
                }
                let reason = match (limit.clone(), self.relation_refusing(at, need)) {
                    (_, Some(misfit)) => SkipReason::DoesNotFit { misfit },
                    (Some(limit), _) if allowed == 0 => SkipReason::AtLimit { limit },
                    _ if !choice.creatable => SkipReason::NothingToStart,
                    _ => SkipReason::DoesNotFit { misfit: Misfit::TopologySpread },
                };
                refusals.entry((need, choice.pool)).or_insert(reason);
            }
        }
    }

    /// Which relation between pods a new node of a choice would break with a need.
    fn relation_refusing(&self, at: usize, need: usize) -> Option<Misfit> {
        let of_need = |((choice, part), _): &(&(usize, usize), &Misfit)| {
            *choice == at && self.parts.list[*part].need == need
        };
        let refused = self.refused.iter().filter(of_need).map(|(_, misfit)| misfit);
        refused.min().cloned().or_else(|| self.parts.unsplit.get(&need).cloned())
    }
}

/// Every template that may be started or made now.
fn choices(bins: &Bins<'_>, rooms: &Rooms, needs: &[Need<'_>], refusals: &mut Refusals) -> Vec<Choice> {
    let mut choices = Vec::new();
    for (pool, entry) in bins.snapshot.pools.iter().enumerate() {
        let room = &rooms.pools[pool];
        let mut refused = room.closed.clone();
        let before = choices.len();
        for (template, new) in entry.templates.iter().enumerate().filter(|_| room.closed.is_none()) {
            if room.backed_off[template].is_some() {
                refused = room.backed_off[template].clone();
                continue;
            }
            let here = |id: &&Name| entry.instances[*id].zone == new.zone || entry.templates.len() == 1;
            let used = |id: &&Name| !bins.is_opened(id);
            let stopped: Vec<Name> = room.startable(entry).filter(here).filter(used).cloned().rev().collect();
            let creatable = entry.can_make(template as u32);
            if stopped.is_empty() && !creatable {
                refused = refused.or(Some(SkipReason::NothingToStart));
                continue;
            }
            choices.push(Choice {
                pool: pool as u32,
                template: template as u32,
                free: new.free,
                gpus: new.gpus,
                price: room.price.as_f64().max(1e-6),
                priority: entry.spec.priority,
                strategy: entry.spec.strategy,
                stopped,
                creatable,
            });
        }
        if let (true, Some(reason)) = (choices.len() == before, refused) {
            refusals.extend((0..needs.len()).map(|need| ((need, pool as u32), reason.clone())));
        }
    }
    choices
}

/// Which needs fit which choices at all: how many units of each an empty node would carry.
fn fits(
    bins: &mut Bins<'_>,
    choices: &[Choice],
    needs: &[Need<'_>],
    refusals: &mut Refusals,
) -> Vec<Vec<u32>> {
    let mut fits = vec![vec![0; needs.len()]; choices.len()];
    for (row, choice) in fits.iter_mut().zip(choices) {
        for (cell, (at, need)) in row.iter_mut().zip(needs.iter().enumerate()) {
            let misfit = match bins.template_misfit(need, choice.pool, choice.template) {
                Some(misfit) => Some(misfit),
                None => {
                    *cell = need.class.requests.times_in(&choice.free).min(choice.gpus.times(need.class.gpu));
                    (*cell == 0).then(|| room_misfit(bins, need, &choice.free))
                }
            };
            if let Some(misfit) = misfit {
                let unknown = bins.snapshot.pools[choice.pool as usize].is_zone_unknown(choice.template);
                let reason =
                    if unknown { SkipReason::ZoneUnknown } else { SkipReason::DoesNotFit { misfit } };
                refusals.entry((at, choice.pool)).or_insert(reason);
            }
        }
    }
    // A pool that fits in one zone is not refused because of another.
    for (row, choice) in fits.iter().zip(choices) {
        for (at, _) in row.iter().enumerate().filter(|(_, times)| **times > 0) {
            refusals.remove(&(at, choice.pool));
        }
    }
    fits
}

/// Why no new node of a pool could ever carry a unit; `None` where one could.
pub(crate) fn pool_misfit(bins: &mut Bins<'_>, need: &Need<'_>, pool: u32) -> Option<Misfit> {
    let snapshot = bins.snapshot;
    let mut first = None;
    for (template, new) in snapshot.pools[pool as usize].templates.iter().enumerate() {
        let misfit = match bins.template_misfit(need, pool, template as u32) {
            Some(misfit) => misfit,
            None if need.class.requests.times_in(&new.free).min(new.gpus.times(need.class.gpu)) > 0 => {
                return None;
            }
            None => room_misfit(bins, need, &new.free),
        };
        first.get_or_insert(misfit);
    }
    first
}

fn room_misfit(bins: &Bins<'_>, need: &Need<'_>, free: &Resources) -> Misfit {
    match need.class.requests.misfit(free) {
        Some(Resources::GPU_WHOLE | Resources::GPU_SHARE) | None => Misfit::GpuDevices,
        Some(dimension) => Misfit::Resource(bins.snapshot.names.name(dimension)),
    }
}

fn worth(choices: &[Choice], fits: &[Vec<u32>], needs: &[Need<'_>]) -> Vec<f64> {
    let worth_of = |need: usize| {
        let shares = choices.iter().zip(fits).filter(|(_, row)| row[need] > 0);
        shares.map(|(choice, row)| choice.price / f64::from(row[need])).fold(f64::INFINITY, f64::min)
    };
    (0..needs.len()).map(worth_of).collect()
}

/// For each topology key that a need's relations name, the values that nodes which could be started for it would have.
fn zones(
    bins: &Bins<'_>,
    choices: &[Choice],
    fits: &[Vec<u32>],
    needs: &[Need<'_>],
    need: usize,
) -> BTreeMap<Name, Vec<Name>> {
    let relations = &needs[need].class.relations;
    let mut zones: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
    for term in relations.near.iter().chain(relations.spread.iter().map(|spread| &spread.pods)) {
        if zones.contains_key(&term.key) {
            continue;
        }
        let fitting = choices.iter().zip(fits).filter(|(_, row)| row[need] > 0);
        let label = |choice: &Choice| {
            let template = &bins.snapshot.pools[choice.pool as usize].templates[choice.template as usize];
            template.labels.get(&term.key).cloned()
        };
        let mut values: Vec<Name> = fitting.filter_map(|(choice, _)| label(choice)).collect();
        values.sort();
        values.dedup();
        zones.insert(term.key.clone(), values);
    }
    zones
}

/// The unused share of a node, CPU and memory alike.
fn waste(all: &Resources, free: &Resources) -> f64 {
    let share = |dimension: usize| {
        if all[dimension] > 0 { free[dimension].max(0) as f64 / all[dimension] as f64 } else { 0.0 }
    };
    (share(Resources::CPU) + share(Resources::MEMORY)) / 2.0
}
