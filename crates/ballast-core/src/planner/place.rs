//! Placing: every need on what is free, on what is starting, on what can be started or made.

use crate::grant::{Bins, Capacity, Need, NewBin, Placement, Refusals, Rooms, Tier, grow, pool_misfit};
use crate::kube::Name;
use crate::memory::Memory;
use crate::plan::{Infeasible, NodeVerdict, PoolVerdict, Report, Skip, SkipReason, Subject};
use crate::scalers::nodes::NodeWishes;
use crate::units::Time;

/// Options noted in the report for each need that is not met.
const VERDICTS_KEPT: usize = 50;

/// Places every need: gangs one by one, all or nothing; the rest by priority.
pub(super) fn place_all(
    bins: &mut Bins<'_>,
    rooms: &mut Rooms,
    memory: &Memory,
    now: Time,
    needs: &[Need<'_>],
    wishes: &NodeWishes,
    report: &mut Report,
) -> Vec<Placement> {
    let mut placements = vec![Placement::default(); needs.len()];
    let mut from = 0;
    while from < needs.len() {
        let to = match needs[from].gang {
            Some(_) => from + 1,
            None => group_end(needs, from),
        };
        if let Some(gang) = needs[from].gang {
            let members: Vec<usize> = (0..needs.len()).filter(|&at| needs[at].gang == Some(gang)).collect();
            if members[0] == from {
                place_gang(bins, rooms, memory, now, needs, &members, &mut placements, wishes, report);
            }
        } else {
            let group: Vec<usize> = (from..to).collect();
            let refusals = place_group(bins, rooms, memory, now, needs, &group, &mut placements, None);
            explain(bins, needs, &group, &placements, &refusals, wishes, report);
        }
        from = to;
    }
    placements
}

/// The end of the run of needs that are equal in tier and priority and belong to no gang.
fn group_end(needs: &[Need<'_>], from: usize) -> usize {
    let same = |need: &Need<'_>| {
        need.tier == needs[from].tier && need.priority == needs[from].priority && need.gang.is_none()
    };
    from + needs[from..].iter().take_while(|need| same(need)).count()
}

/// Places a group on what is free, on what is starting, then on new nodes.
#[expect(clippy::too_many_arguments, reason = "the state of one plan, passed by parts to keep borrows apart")]
fn place_group(
    bins: &mut Bins<'_>,
    rooms: &mut Rooms,
    memory: &Memory,
    now: Time,
    needs: &[Need<'_>],
    group: &[usize],
    placements: &mut [Placement],
    gang: Option<u32>,
) -> Refusals {
    place_on_existing(bins, needs, group, placements);
    grow_for(bins, rooms, memory, now, needs, group, placements, gang)
}

/// Places a group on what is free, then on what is starting.
fn place_on_existing(bins: &mut Bins<'_>, needs: &[Need<'_>], group: &[usize], placements: &mut [Placement]) {
    for &at in group {
        let need = &needs[at];
        let mut left = need.count;
        if !need.class.unmodelled.is_empty() {
            placements[at].left = left;
            continue;
        }
        let free = bins.place_on_nodes(need, left);
        left -= free;
        if left > 0 {
            left -= bins.place_on_new(need, left);
        }
        placements[at] = Placement { free, left };
    }
}

/// Starts nodes for what is left of a group.
#[expect(clippy::too_many_arguments, reason = "the state of one plan, passed by parts to keep borrows apart")]
fn grow_for(
    bins: &mut Bins<'_>,
    rooms: &mut Rooms,
    memory: &Memory,
    now: Time,
    needs: &[Need<'_>],
    group: &[usize],
    placements: &mut [Placement],
    gang: Option<u32>,
) -> Refusals {
    let hungry: Vec<usize> = group
        .iter()
        .copied()
        .filter(|&at| placements[at].left > 0 && needs[at].class.unmodelled.is_empty())
        .collect();
    if hungry.is_empty() {
        return Refusals::new();
    }
    let wanted: Vec<Need<'_>> = hungry.iter().map(|&at| needs[at].clone()).collect();
    let mut left: Vec<u32> = hungry.iter().map(|&at| placements[at].left).collect();
    let refusals = grow(bins, rooms, memory, now, &wanted, &mut left, gang);
    for (&at, left) in hungry.iter().zip(left) {
        placements[at].left = left;
    }
    refusals.into_iter().map(|((row, pool), reason)| ((hungry[row], pool), reason)).collect()
}

/// Places a gang whole or not at all.
#[expect(clippy::too_many_arguments, reason = "the state of one plan, passed by parts to keep borrows apart")]
fn place_gang(
    bins: &mut Bins<'_>,
    rooms: &mut Rooms,
    memory: &Memory,
    now: Time,
    needs: &[Need<'_>],
    members: &[usize],
    placements: &mut [Placement],
    wishes: &NodeWishes,
    report: &mut Report,
) {
    let mark = bins.mark();
    let left = |placements: &[Placement]| members.iter().map(|&at| placements[at].left).sum::<u32>();
    place_on_existing(bins, needs, members, placements);
    if left(placements) == 0 {
        bins.keep(mark);
        return;
    }
    let rooms_before = rooms.clone();
    let gang = needs[members[0]].gang;
    let refusals = grow_for(bins, rooms, memory, now, needs, members, placements, gang);
    if left(placements) == 0 {
        bins.keep(mark);
        return;
    }
    let placed: u32 = members.iter().map(|&at| needs[at].count - placements[at].left).sum();
    bins.roll_back(mark);
    *rooms = rooms_before;
    for &at in members {
        placements[at] = Placement { free: 0, left: needs[at].count };
    }
    explain(bins, needs, members, placements, &refusals, wishes, report);
    if placed > 0 {
        for pool in 0..bins.snapshot.pools.len() as u32 {
            if !refusals.contains_key(&(members[0], pool)) {
                let name = bins.snapshot.pools[pool as usize].name.clone();
                let reason = SkipReason::PartOfGang { members: placed };
                report.skipped.push(Skip {
                    subject: wishes.subjects[needs[members[0]].wish].clone(),
                    pool: name,
                    reason,
                });
            }
        }
    }
}

/// Says why needs are left.
fn explain(
    bins: &mut Bins<'_>,
    needs: &[Need<'_>],
    group: &[usize],
    placements: &[Placement],
    refusals: &Refusals,
    wishes: &NodeWishes,
    report: &mut Report,
) {
    for &at in group.iter().filter(|&&at| placements[at].left > 0 && needs[at].tier != Tier::Headroom) {
        let mut subject = wishes.subjects[needs[at].wish].clone();
        if let Subject::Pods { count, .. } = &mut subject {
            *count = placements[at].left;
        }
        let mut pools = Vec::new();
        for ((_, pool), reason) in refusals.range((at, 0)..(at + 1, 0)).take(VERDICTS_KEPT) {
            // What could never serve says so even while something else keeps it closed: waiting would not help.
            let misfit = pool_misfit(bins, &needs[at], *pool);
            let reason = misfit.map_or_else(|| reason.clone(), |misfit| SkipReason::DoesNotFit { misfit });
            pools.push(PoolVerdict { pool: bins.snapshot.pools[*pool as usize].name.clone(), reason });
        }
        let verdicts = bins.verdicts(&needs[at]);
        let nodes = verdicts.into_iter().map(|(misfit, nodes)| NodeVerdict { misfit, nodes }).collect();
        report.infeasible.push(Infeasible { subject, pools, nodes });
    }
}

/// Opens nodes until each pool has its minimum.
pub(super) fn fill_to_minimum(bins: &mut Bins<'_>, rooms: &mut Rooms, memory: &Memory, now: Time) {
    for pool in 0..bins.snapshot.pools.len() {
        let entry = &bins.snapshot.pools[pool];
        while rooms.pools[pool].size < rooms.pools[pool].min
            && rooms.pools[pool].closed.is_none()
            && rooms.allowance(pool).0 > 0
        {
            let used = |id: &&Name| !bins.new.iter().any(|bin| bin.provider_id == **id);
            let stopped = rooms.pools[pool].stopped.iter().find(used).cloned();
            let open = |template: &usize| {
                memory.ledger.backed_off(&entry.name, &entry.templates[*template].zone, now).is_none()
            };
            // Zones in turn, so that a minimum spreads over them.
            let turn = rooms.pools[pool].size as usize;
            let zones = entry.templates.len();
            let Some(template) = (0..zones).map(|at| (at + turn) % zones.max(1)).find(open) else { break };
            let ready_at = now + entry.spec.times.boot;
            let gpus = entry.templates[template].gpus;
            let mut bin = match &stopped {
                Some(id) => NewBin::new(
                    pool as u32,
                    0,
                    Capacity::Stopped,
                    entry.instances[id].name.clone(),
                    ready_at,
                    gpus,
                ),
                None if entry.spec.create => {
                    let name = format!("{}+{}", entry.name, bins.new.len()).into();
                    NewBin::new(pool as u32, template as u32, Capacity::Creatable, name, ready_at, gpus)
                }
                None => break,
            };
            bin.provider_id = stopped.unwrap_or_default();
            bins.open(bin);
            rooms.take(pool, 1);
        }
    }
}
