//! Growing: which nodes to start for what fits nowhere.
//!
//! One node after the other is chosen by what it would carry: each template is filled on trial with what is left, the best
//! one is taken, and taken again as long as it would carry the same. A trial is only repeated when its template is about to
//! win (what is left only shrinks, so an old trial is a bound), which keeps hundreds of templates cheap.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Capacity;
use super::bins::{Bins, NewBin};
use super::need::Need;
use super::room::Rooms;
use crate::kube::Name;
use crate::memory::Memory;
use crate::plan::{Misfit, SkipReason};
use crate::policy::Strategy;
use crate::resources::{GpuDevices, Resources};
use crate::snapshot::{HOSTNAME_LABEL, PodTerm};
use crate::units::Time;

/// Why pools were passed over, by need and pool.
pub(crate) type Refusals = BTreeMap<(usize, u32), SkipReason>;

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
    /// Nodes that may still be taken: stopped ones first.
    stopped: Vec<Name>,
    creatable: bool,
}

/// What one node of a choice would carry.
#[derive(Clone, Debug, Default)]
struct Trial {
    /// Need and units.
    load: Vec<(usize, u32)>,
    /// Price for what it is worth: lower is better.
    efficiency: f64,
    waste: f64,
}

/// Starts nodes for `left[n]` units of each need; places what they carry and lowers `left`. Returns why pools were passed
/// over for needs that are left.
pub(crate) fn grow(
    bins: &mut Bins<'_>,
    rooms: &mut Rooms,
    memory: &Memory,
    now: Time,
    needs: &[Need<'_>],
    left: &mut [u32],
    gang: Option<u32>,
) -> Refusals {
    let mut refusals = Refusals::new();
    let mut choices = choices(bins, rooms, memory, now, needs, &mut refusals);
    let fits = fits(bins, &choices, needs, &mut refusals);
    let worth = worth(&choices, &fits, needs);
    let caps: Vec<u32> = needs.iter().map(|need| bins.host_cap(need.class)).collect();
    let mut trials: Vec<Option<Trial>> = Vec::new();
    for at in 0..choices.len() {
        trials.push(try_one(bins, &choices, at, &fits, &worth, &caps, needs, left));
    }
    loop {
        let Some(best) = best(&choices, &trials, rooms) else { break };
        let fresh = try_one(bins, &choices, best, &fits, &worth, &caps, needs, left);
        let worse = match (&fresh, &trials[best]) {
            (Some(fresh), Some(old)) => fresh.efficiency > old.efficiency,
            _ => true,
        };
        trials[best] = fresh;
        if worse {
            continue;
        }
        let Some(trial) = trials[best].clone() else { continue };
        if !take(bins, rooms, &mut choices, &mut trials, best, &trial, now, needs, left, gang) {
            trials[best] = None;
        }
    }
    note_limits(rooms, &choices, &fits, left, &mut refusals);
    refusals
}

/// Every template that may be started or made now.
fn choices(
    bins: &Bins<'_>,
    rooms: &Rooms,
    memory: &Memory,
    now: Time,
    needs: &[Need<'_>],
    refusals: &mut Refusals,
) -> Vec<Choice> {
    let mut choices = Vec::new();
    for (pool, entry) in bins.snapshot.pools.iter().enumerate() {
        let room = &rooms.pools[pool];
        let mut refused = room.closed.clone();
        let mut offered = false;
        if refused.is_none() {
            for (template, new) in entry.templates.iter().enumerate() {
                if let Some(back_off) = memory.ledger.backed_off(&entry.name, &new.zone, now) {
                    refused = Some(SkipReason::BackOff { class: back_off.class, until: back_off.until });
                    continue;
                }
                let here = |id: &&Name| entry.instances[*id].zone == new.zone || entry.templates.len() == 1;
                let stopped: Vec<Name> = room.stopped.iter().filter(here).cloned().rev().collect();
                if stopped.is_empty() && !entry.spec.create {
                    refused = refused.or(Some(SkipReason::NothingToStart));
                    continue;
                }
                offered = true;
                choices.push(Choice {
                    pool: pool as u32,
                    template: template as u32,
                    free: new.free,
                    gpus: new.gpus,
                    price: room.price.as_f64().max(1e-6),
                    priority: entry.spec.priority,
                    strategy: entry.spec.strategy,
                    stopped,
                    creatable: entry.spec.create,
                });
            }
        }
        if let (false, Some(reason)) = (offered, refused) {
            for need in 0..needs.len() {
                refusals.insert((need, pool as u32), reason.clone());
            }
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
                refusals.entry((at, choice.pool)).or_insert(SkipReason::DoesNotFit { misfit });
            }
        }
    }
    // A pool that fits in one zone is not refused because of another.
    for (row, choice) in fits.iter().zip(choices) {
        for (at, &times) in row.iter().enumerate() {
            if times > 0 {
                refusals.remove(&(at, choice.pool));
            }
        }
    }
    fits
}

fn room_misfit(bins: &Bins<'_>, need: &Need<'_>, free: &Resources) -> Misfit {
    match need.class.requests.misfit(free) {
        Some(Resources::GPU_WHOLE | Resources::GPU_SHARE) | None => Misfit::GpuDevices,
        Some(dimension) => Misfit::Resource(bins.snapshot.names.name(dimension)),
    }
}

/// What one unit of each need is worth: its share of the cheapest node full of it.
fn worth(choices: &[Choice], fits: &[Vec<u32>], needs: &[Need<'_>]) -> Vec<f64> {
    let worth_of = |need: usize| {
        let shares = choices.iter().zip(fits).filter(|(_, row)| row[need] > 0);
        shares.map(|(choice, row)| choice.price / f64::from(row[need])).fold(f64::INFINITY, f64::min)
    };
    (0..needs.len()).map(worth_of).collect()
}

/// Fills one node of a choice with what is left, the greatest first.
#[expect(clippy::too_many_arguments, reason = "the inner loop; a struct would only rename the arguments")]
fn try_one(
    bins: &Bins<'_>,
    choices: &[Choice],
    at: usize,
    fits: &[Vec<u32>],
    worth: &[f64],
    caps: &[u32],
    needs: &[Need<'_>],
    left: &[u32],
) -> Option<Trial> {
    let choice = &choices[at];
    let mut free = choice.free;
    let mut gpus = choice.gpus;
    let mut hosts: Vec<(&PodTerm, u32)> = Vec::new();
    let mut trial = Trial::default();
    let mut carried = 0.0;
    for (need_at, need) in needs.iter().enumerate() {
        if left[need_at] == 0 || fits[at][need_at] == 0 {
            continue;
        }
        let room = need.class.requests.times_in(&free).min(gpus.times(need.class.gpu));
        let units = room.min(left[need_at]).min(caps[need_at]).min(host_room(need, &hosts));
        if units == 0 || !zone_allows(bins, need, choice) {
            continue;
        }
        free.subtract(&need.class.requests, i64::from(units));
        for _ in 0..units {
            gpus.take(need.class.gpu);
        }
        hosts.extend(host_terms(need).map(|term| (term, units)));
        carried += worth[need_at] * f64::from(units);
        trial.load.push((need_at, units));
    }
    if trial.load.is_empty() {
        return None;
    }
    trial.efficiency = choice.price / carried.max(1e-12);
    trial.waste = waste(&choice.free, &free);
    Some(trial)
}

fn waste(all: &Resources, free: &Resources) -> f64 {
    let share = |dimension: usize| {
        if all[dimension] > 0 { free[dimension].max(0) as f64 / all[dimension] as f64 } else { 0.0 }
    };
    (share(Resources::CPU) + share(Resources::MEMORY)) / 2.0
}

/// Terms of a need that bind on one host.
fn host_terms<'n>(need: &Need<'n>) -> impl Iterator<Item = &'n PodTerm> {
    let relations = &need.class.relations;
    let terms = relations.away.iter().chain(relations.spread.iter().map(|spread| &spread.pods));
    terms.filter(|term| &*term.key == HOSTNAME_LABEL)
}

/// How many more units the ties to what is already on the host allow.
fn host_room(need: &Need<'_>, hosts: &[(&PodTerm, u32)]) -> u32 {
    let taken = hosts
        .iter()
        .any(|(term, _)| term.matches(&need.class.key) || host_terms(need).any(|own| own == *term));
    if taken { 0 } else { u32::MAX }
}

/// Whether the relations of a need allow the zone of a choice now.
fn zone_allows(bins: &Bins<'_>, need: &Need<'_>, choice: &Choice) -> bool {
    bins.zone_misfit(need, choice.pool, choice.template).is_none()
}

/// The best choice that may still be taken.
fn best(choices: &[Choice], trials: &[Option<Trial>], rooms: &Rooms) -> Option<usize> {
    let open = |at: &usize| {
        let choice = &choices[*at];
        trials[*at].is_some()
            && (choice.creatable || !choice.stopped.is_empty())
            && rooms.allowance(choice.pool as usize).0 > 0
    };
    (0..choices.len()).filter(open).min_by(|&a, &b| compare(choices, trials, rooms, a, b))
}

fn compare(choices: &[Choice], trials: &[Option<Trial>], rooms: &Rooms, a: usize, b: usize) -> Ordering {
    let (one, other) = (&choices[a], &choices[b]);
    let (Some(trial), Some(other_trial)) = (&trials[a], &trials[b]) else { return Ordering::Equal };
    let by_price = || trial.efficiency.total_cmp(&other_trial.efficiency);
    let by_waste = || trial.waste.total_cmp(&other_trial.waste);
    let by_priority = || other.priority.cmp(&one.priority);
    let by_strategy = match one.strategy {
        Strategy::Price => by_price(),
        Strategy::LeastWaste => by_waste().then_with(by_price),
        Strategy::Priority => by_priority().then_with(by_price),
    };
    by_strategy
        .then_with(|| one.stopped.is_empty().cmp(&other.stopped.is_empty()))
        .then_with(by_waste)
        // Alike pools and zones grow evenly.
        .then_with(|| rooms.pools[one.pool as usize].size.cmp(&rooms.pools[other.pool as usize].size))
        .then(a.cmp(&b))
}

/// Takes nodes of a choice as long as each would carry the same. Returns whether one was taken.
#[expect(clippy::too_many_arguments, reason = "one step of `grow`, split off for its length")]
fn take(
    bins: &mut Bins<'_>,
    rooms: &mut Rooms,
    choices: &mut [Choice],
    trials: &mut [Option<Trial>],
    at: usize,
    trial: &Trial,
    now: Time,
    needs: &[Need<'_>],
    left: &mut [u32],
    gang: Option<u32>,
) -> bool {
    let same = trial.load.iter().map(|&(need, units)| left[need] / units).min().unwrap_or(0);
    let tied = alike(choices, trials, at);
    let tied_needs = trial.load.iter().any(|&(need, _)| bins.is_tied(needs[need].class));
    let most = if tied > 1 || tied_needs { 1 } else { same };
    let choice = &mut choices[at];
    let pool = choice.pool as usize;
    let supply = if choice.creatable { u32::MAX } else { choice.stopped.len() as u32 };
    let count = most.min(rooms.allowance(pool).0).min(supply);
    let mut taken = 0;
    for _ in 0..count {
        let bin = bins.open(new_bin(bins, choice, now, gang));
        let mut carried = false;
        for &(need, units) in &trial.load {
            let units = units.min(bins.times_on(&needs[need], super::Bin::New(bin)));
            if units > 0 {
                bins.take_on_new(&needs[need], bin, units);
                left[need] -= units;
                carried = true;
            }
        }
        if !carried {
            bins.close_last();
            break;
        }
        rooms.take(pool, 1);
        taken += 1;
    }
    taken > 0
}

/// How many choices would carry the same for the same price.
fn alike(choices: &[Choice], trials: &[Option<Trial>], at: usize) -> usize {
    let Some(trial) = &trials[at] else { return 1 };
    let same = |other: usize| {
        trials[other].as_ref().is_some_and(|t| t.efficiency == trial.efficiency && t.load == trial.load)
            && choices[other].price == choices[at].price
    };
    (0..choices.len()).filter(|&other| same(other)).count()
}

fn new_bin(bins: &Bins<'_>, choice: &mut Choice, now: Time, gang: Option<u32>) -> NewBin {
    let entry = &bins.snapshot.pools[choice.pool as usize];
    let ready_at = now + entry.spec.times.boot;
    match choice.stopped.pop() {
        Some(id) => {
            let name = entry.instances[&id].name.clone();
            let mut bin =
                NewBin::new(choice.pool, choice.template, Capacity::Stopped, name, ready_at, choice.gpus);
            bin.provider_id = id;
            bin.gang = gang;
            bin
        }
        None => {
            let name = format!("{}+{}", entry.name, bins.new.len()).into();
            let mut bin =
                NewBin::new(choice.pool, choice.template, Capacity::Creatable, name, ready_at, choice.gpus);
            bin.gang = gang;
            bin
        }
    }
}

/// Notes the limit that bound for needs that are left though a pool fits them.
fn note_limits(rooms: &Rooms, choices: &[Choice], fits: &[Vec<u32>], left: &[u32], refusals: &mut Refusals) {
    for (choice, row) in choices.iter().zip(fits) {
        let (allowed, limit) = rooms.allowance(choice.pool as usize);
        for (need, &times) in row.iter().enumerate() {
            if left[need] == 0 || times == 0 {
                continue;
            }
            let reason = match limit.clone() {
                Some(limit) if allowed == 0 => SkipReason::AtLimit { limit },
                _ if !choice.creatable => SkipReason::NothingToStart,
                _ => SkipReason::DoesNotFit { misfit: Misfit::TopologySpread },
            };
            refusals.entry((need, choice.pool)).or_insert(reason);
        }
    }
}
