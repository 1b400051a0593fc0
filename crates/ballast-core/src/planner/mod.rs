//! The planner: a column of steps from a snapshot to a plan. Pure: the same input gives the same bytes, whatever is remembered.

mod actions;
mod gates;
mod place;
mod recall;
mod say;
#[cfg(test)]
mod tests;

use crate::grant::{Bins, Scratch as Bench, Terms, elastic};
use crate::memory::{History, Memory};
use crate::plan::{Hold, HoldReason, Plan, PlanId, Report, Shared, Step, Subject};
use crate::scalers::nodes::{
    Asked, Removals, Weighing, asked, displaceable, heed_quotas, holds_with, keep_room, still_to_leave,
};
use crate::snapshot::Snapshot;
use crate::units::{Span, Time};
use crate::wish::ElasticWish;

use actions::Numbering;
use gates::Gates;
pub(crate) use gates::is_blind;
use place::{Placed, Placing};
use recall::{Given, LastWishes, Recall};
use say::Said;

/// How often it looks again when nothing calls for it sooner.
const PERIOD: Span = Span::from_secs(60);
/// Steps that one plan may take: a fraction of a second's work. What was looked at by then is planned for; the rest follows
/// once the scheduler and new nodes have taken that off the list.
const STEPS: u64 = 20_000_000;

/// What is kept from plan to plan, only for speed: memory, and what need not be worked out anew. No plan depends on it.
#[derive(Debug, Default)]
pub struct Scratch {
    bench: Bench,
    wishes: LastWishes,
    recall: Option<Recall>,
}

impl Scratch {
    /// What buffers and requests came to when the last plan was made that saw anything.
    pub(crate) fn asked(&self) -> &[Asked] {
        self.wishes.asked()
    }
}

/// Makes the plan for one instant.
pub fn plan(snapshot: &Snapshot, memory: &Memory, now: Time, scratch: &mut Scratch) -> (Plan, History) {
    plan_with(snapshot, memory, now, scratch, &[], STEPS)
}

/// Makes the plan for one instant, elastic workloads included, in no more than so many steps.
pub fn plan_with(
    snapshot: &Snapshot,
    memory: &Memory,
    now: Time,
    scratch: &mut Scratch,
    elastic: &[ElasticWish],
    steps: u64,
) -> (Plan, History) {
    let mut report = Report::default();
    let gates = Gates::judge(snapshot, memory, now, &mut report);
    if gates.blind {
        report.next_look = Some(now + PERIOD);
        let history = History { idle_since: Default::default(), ..memory.history.clone() };
        return (empty(now, report), history);
    }
    let mut asked = asked(snapshot, now);
    let asks_change_at = asked.iter().filter_map(|ask| ask.until).min();
    let beyond = heed_quotas(snapshot, &mut asked);
    let wishes = scratch.wishes.bring_up_to_date(snapshot, &asked, &beyond);
    let needs = wishes.needs(snapshot);
    let given = Given::new(snapshot, memory, asked, beyond, now);
    let mut rooms = given.rooms.clone();
    let terms = Terms::new(snapshot, needs.iter().map(|need| need.class).chain(displaceable(snapshot)));
    let leaving = still_to_leave(snapshot, memory);
    // Relations between pods, what has to move and elastic workloads bind steps to each other in ways that are not remembered.
    let is_simple = terms.is_empty() && leaving.is_empty() && elastic.is_empty();
    let last = scratch.recall.take().filter(|last| is_simple && last.is_about(&given, snapshot));
    let (mut bins, mut placed, said) = match last {
        Some(last) => last.resume(snapshot, &mut scratch.bench, &needs, &mut rooms),
        None => {
            let mut bins = begin(snapshot, &mut scratch.bench, terms, &given, steps);
            keep_room(&mut bins, &leaving);
            (bins, Placed::new(&needs), None)
        }
    };
    let elastic = elastic::release(&mut bins, snapshot, elastic);
    Placing { bins: &mut bins, rooms: &mut rooms, needs: &needs, wishes: &wishes, placed: &mut placed }
        .go_on();
    let (rising, numbering) = (given.rising.len(), Numbering::new(snapshot, memory, now));
    let mut said = said.unwrap_or_else(|| Said::new(&bins, rising, &needs, &placed, &wishes, numbering));
    said.renumber(&bins, rising, &wishes, numbering);
    let take_backs = actions::take_backs(&bins, now);
    let nodeless = actions::nodeless(snapshot, memory, now);
    let releases = actions::releases(snapshot, &nodeless, &gates, now);
    let elastic_grants = elastic::serve(&mut bins, &elastic);
    // A gang for which something is launched once more is not given up by the same plan.
    let gangs = holds_with(snapshot, memory, &wishes, &said.launches, now);
    // What is not weighed is not seen to be idle: its time begins anew, so that nothing goes all at once after an outage. What
    // was not looked at may need any node.
    let mut removals = match gates.removals && bins.trial.steps_left > 0 {
        true => Weighing::new(&mut bins, &mut rooms, memory, now, &gangs, &gates.held_pools).run(),
        false => Removals::default(),
    };
    let stops = actions::stops(snapshot, &removals, now);
    if bins.trial.steps_left == 0 {
        report.holds.push(Hold { subject: Subject::Cluster, reason: HoldReason::StepsUsedUp, until: None });
    }
    report.holds.extend(said.held_growth(&bins, rising, memory, now));
    report.holds.append(&mut removals.holds);
    report.waiting = said.waiting.clone().and(say::leaving(snapshot, memory));
    report.skipped = placed.skipped.clone();
    report.infeasible = said.infeasible.clone();
    report.unmodelled = said.unmodelled(snapshot, now);
    removals.idle_since.extend(nodeless);
    report.trace = placed.options.clone().and(removals.candidates.into_iter().map(Step::Candidate));
    report.next_look = Some(next_look(snapshot, memory, now, [removals.next_at, asks_change_at]));
    let actions = actions::in_order(take_backs, &said.launches, releases.into_iter().chain(stops));
    let plan = Plan {
        schema_version: Plan::VERSION,
        id: PlanId::of(&actions),
        now,
        actions,
        wishes: wishes.wishes.clone().and(elastic.iter().map(|elastic| elastic.wish())),
        grants: said.grants.clone().and(elastic_grants),
        report,
    };
    let history = History { idle_since: removals.idle_since, gangs, ..memory.history.without_nodes() };
    if is_simple && bins.trial.steps_left > 0 {
        let changes = snapshot.changes.count();
        scratch.recall = Some(Recall { given, changes, trial: bins.trial, placed, said });
    }
    (plan, history)
}

/// A trial on which nothing was placed yet.
fn begin<'a>(
    snapshot: &'a Snapshot,
    bench: &'a mut Bench,
    terms: Terms,
    given: &Given,
    steps: u64,
) -> Bins<'a> {
    let mut bins = Bins::new(snapshot, bench, terms, steps);
    given.replaced.iter().for_each(|&rank| bins.close(rank));
    bins.open_all(&given.rising);
    bins
}

fn next_look(snapshot: &Snapshot, memory: &Memory, now: Time, known: [Option<Time>; 2]) -> Time {
    let back_off = memory.ledger.back_off.iter().map(|entry| entry.until).filter(|&until| until > now).min();
    let pools = snapshot.pools.iter().map(|pool| &pool.spec.pause);
    let pauses = pools.chain([&snapshot.policy.pause]).filter_map(|pause| pause.ends_at(now)).min();
    let known = known.into_iter().flatten().filter(|&at| at > now);
    known.chain(back_off).chain(pauses).fold(now + PERIOD, Time::min)
}

fn empty(now: Time, report: Report) -> Plan {
    Plan {
        schema_version: Plan::VERSION,
        id: PlanId::of(&[]),
        now,
        actions: Shared::default(),
        wishes: Shared::default(),
        grants: Shared::default(),
        report,
    }
}
