//! The planner: a column of steps from a snapshot to a plan. Pure: the same input gives the same bytes.

mod actions;
mod gates;
mod place;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod relations_tests;
mod say;
#[cfg(test)]
mod tests;

use crate::grant::{Bins, Capacity, NewBin, Rooms, Scratch as Bench, elastic};
use crate::memory::{History, Memory};
use crate::plan::{ActionId, Hold, HoldReason, Plan, Report, Step, Subject};
use crate::scalers::nodes::{NodeWishes, Removals, Weighing, displaceable, holds_after, starting_nodes};
use crate::snapshot::{BaseState, NodeEntry, Snapshot};
use crate::units::{Span, Time};
use crate::wish::ElasticWish;

use gates::Gates;
use place::Placing;

/// Version of the plan's form.
const SCHEMA_VERSION: u32 = 1;
/// How often it looks again when nothing calls for it sooner.
const PERIOD: Span = Span::from_secs(60);
/// Steps that one plan may take: a fraction of a second's work. What is left over follows in the next plan.
const STEPS: u64 = 20_000_000;

/// Memory that is kept from plan to plan only for its size.
#[derive(Debug, Default)]
pub struct Scratch {
    bench: Bench,
}

/// Makes the plan for one instant.
pub fn plan(snapshot: &Snapshot, memory: &Memory, now: Time, scratch: &mut Scratch) -> (Plan, History) {
    plan_with(snapshot, memory, now, scratch, &[])
}

/// Makes the plan for one instant, elastic workloads included.
pub fn plan_with(
    snapshot: &Snapshot,
    memory: &Memory,
    now: Time,
    scratch: &mut Scratch,
    elastic: &[ElasticWish],
) -> (Plan, History) {
    let mut report = Report::default();
    let gates = Gates::judge(snapshot, now, &mut report);
    if gates.blind {
        report.next_look = Some(now + PERIOD);
        return (empty(now, report), memory.history.clone());
    }
    let wishes = NodeWishes::new(snapshot);
    report.waiting.extend(wishes.waiting.iter().cloned());
    let needs = wishes.needs(snapshot);
    let mut rooms = Rooms::new(snapshot, memory, now);
    let related = needs.iter().map(|need| need.class).chain(displaceable(snapshot));
    let mut bins = Bins::new(snapshot, &mut scratch.bench, related, STEPS);
    let elastic = elastic::release(&mut bins, snapshot, elastic);
    open_returning(&mut bins, snapshot, memory);
    open_starting(&mut bins, snapshot, memory, now);
    let starting = bins.new.len();
    let mut placing = Placing {
        bins: &mut bins,
        rooms: &mut rooms,
        needs: &needs,
        wishes: &wishes,
        report: &mut report,
        placements: Vec::new(),
    };
    placing.place_all();
    let placements = placing.placements;
    let mut actions = actions::take_backs(&bins, now);
    actions.extend(actions::launches(&bins, starting, memory, &wishes, now));
    let nodeless = actions::nodeless(snapshot, memory, now);
    actions.extend(actions::releases(snapshot, &nodeless, &gates.held_pools, now));
    let loads = say::Loads::new(&bins, wishes.wishes.len());
    let mut grants = say::grants(&bins, &loads, &needs, &placements, &wishes);
    grants.extend(elastic::serve(&mut bins, &elastic));
    say::waiting(&bins, &loads, &needs, &placements, &wishes, &mut report);
    say::unmodelled(snapshot, &mut report);
    let mut removals = match gates.removals {
        true => Weighing::new(&mut bins, &mut rooms, memory, now, &wishes, &gates.held_pools).run(),
        false => Removals { idle_since: memory.history.idle_since.clone(), ..Removals::default() },
    };
    actions.extend(actions::stops(snapshot, &removals, now));
    if bins.steps_left == 0 {
        report.holds.push(Hold { subject: Subject::Cluster, reason: HoldReason::StepsUsedUp, until: None });
    }
    removals.idle_since.extend(nodeless);
    report.trace.extend(removals.candidates.into_iter().map(Step::Candidate));
    report.next_look = Some(next_look(memory, now, removals.next_at));
    for (at, action) in actions.iter_mut().enumerate() {
        action.id = ActionId(at as u32 + 1);
    }
    let history = History {
        idle_since: removals.idle_since,
        boots: memory.history.boots.clone(),
        gangs: holds_after(snapshot, memory, &wishes, &actions, now),
    };
    let mut all = wishes.wishes;
    all.extend(elastic.iter().map(|elastic| elastic.wish()));
    let plan = Plan { schema_version: SCHEMA_VERSION, now, actions, wishes: all, grants, report };
    (plan, history)
}

/// Nodes that we cordoned only to let their work end can be taken back at once.
fn open_returning(bins: &mut Bins<'_>, snapshot: &Snapshot, memory: &Memory) {
    let waits = |name: &str| {
        memory.ledger.removals.get(name).is_some_and(|removal| removal.waits && !removal.stopping)
    };
    let mut nodes: Vec<&NodeEntry> = snapshot.unsettled.iter().map(|&slot| snapshot.node(slot)).collect();
    nodes.retain(|node| node.state == BaseState::CordonedByUs && waits(&node.name));
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    for node in nodes {
        let Some(pool) = node.pool else { continue };
        let mut bin = NewBin::new(pool, node.zone, Capacity::Free, node.name.clone(), node.gpus);
        bin.returning = Some(node.free());
        bins.open(bin);
    }
}

/// Nodes on their way up are places already.
fn open_starting(bins: &mut Bins<'_>, snapshot: &Snapshot, memory: &Memory, now: Time) {
    for node in starting_nodes(snapshot, memory, now) {
        let gpus = snapshot.pools[node.pool as usize].templates[node.template as usize].gpus;
        // It is a place once: as it will be, not as the node of its former life still says that it is.
        let former = snapshot.node_slots.get(&node.name).filter(|&&slot| snapshot.node(slot).takes_pods());
        if let Some(&slot) = former {
            bins.close(snapshot.rank(slot) as usize);
        }
        let mut bin = NewBin::new(node.pool, node.template, Capacity::Starting, node.name, gpus);
        bin.ready_at = Some(node.ready_at);
        bins.open(bin);
    }
}

fn next_look(memory: &Memory, now: Time, removal: Option<Time>) -> Time {
    let back_off = memory.ledger.back_off.iter().map(|entry| entry.until).filter(|&until| until > now).min();
    let soonest = [Some(now + PERIOD), removal.filter(|&at| at > now), back_off].into_iter().flatten().min();
    soonest.unwrap_or(now + PERIOD)
}

fn empty(now: Time, report: Report) -> Plan {
    Plan {
        schema_version: SCHEMA_VERSION,
        now,
        actions: Vec::new(),
        wishes: Vec::new(),
        grants: Vec::new(),
        report,
    }
}
