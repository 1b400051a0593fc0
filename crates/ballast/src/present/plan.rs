//! A plan as text: what is done and why, what is held, what waits, what cannot be served, and a closing line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use ballast_core::foreign::plain;
use ballast_core::memory::Memory;
use ballast_core::plan::{
    Action, ActionKind, Infeasible, Plan, Report, Step, Subject, TargetKind, Waiting, Words,
};
use ballast_core::units::Time;
use schemars::JsonSchema;
use serde::Serialize;

use super::figures;
use super::table::Table;

/// What `-o json` and `-o yaml` print: the plan, and the memory that the next one begins with.
#[derive(Serialize, JsonSchema)]
pub struct Answer<'a> {
    /// What shall be done.
    #[serde(flatten)]
    pub plan: &'a Plan,
    /// What the next plan has to know.
    pub memory: &'a Memory,
}

/// What is said of those that no node and no pool was even asked for: there is none, or nothing may be started for them.
const NOWHERE: &str = "there is no room, and nothing would be started for it";

/// The plan as tables.
pub fn tables(plan: &Plan, wide: bool) -> String {
    let mut text = String::new();
    actions(&mut text, plan, wide);
    report(&mut text, &plan.report, plan.now, wide);
    let _ = writeln!(text, "{}", closing(plan));
    text
}

/// The targets of the actions, one a line, as `kind/name`.
pub fn names(plan: &Plan) -> String {
    let name = |action: &Action| {
        let kind = match action.target.kind {
            TargetKind::Instance => "instance",
            TargetKind::Node => "node",
            TargetKind::Job => "job",
            TargetKind::Scale => "scale",
            TargetKind::RayGroup => "raygroup",
            TargetKind::RayWorker => "rayworker",
            TargetKind::SparkWorker => "sparkworker",
        };
        match &*action.target.namespace {
            "" => format!("{kind}/{}\n", plain(&action.target.name)),
            namespace => format!("{kind}/{}/{}\n", plain(namespace), plain(&action.target.name)),
        }
    };
    plan.actions.iter().map(name).collect()
}

fn actions(text: &mut String, plan: &Plan, wide: bool) {
    if plan.actions.is_empty() {
        return;
    }
    let heads: &[&str] = if wide {
        &["ID", "ACTION", "TARGET", "POOL", "FROM", "TO", "AFTER", "BOUND BY", "REASON"]
    } else {
        &["ACTION", "TARGET", "POOL", "REASON"]
    };
    let mut table = Table::new(heads);
    for action in &plan.actions {
        let kind = action.kind.to_string();
        let (target, pool) = (action.target.name.to_string(), action.target.pool.to_string());
        let reason = action.reason.message.clone();
        if wide {
            let after: Vec<String> = action.after.iter().map(ToString::to_string).collect();
            let limit = action.reason.limit.as_ref().map(ToString::to_string).unwrap_or_default();
            let (from, to) = (action.from.to_string(), action.to.to_string());
            let row =
                vec![action.id.to_string(), kind, target, pool, from, to, after.join(","), limit, reason];
            table.push(row);
        } else {
            table.push(vec![kind, target, pool, reason]);
        }
    }
    let _ = writeln!(text, "{}", table.render());
}

fn report(text: &mut String, report: &Report, now: Time, wide: bool) {
    // Taken apart in full, so that what a later report holds cannot be forgotten here.
    let Report { holds, skipped, waiting, infeasible, unmodelled, promises, next_look: _, trace } = report;
    let mut section = |title: &str, table: Table| {
        if !table.is_empty() {
            let _ = writeln!(text, "{title}\n{}", indent(&table.render()));
        }
    };
    let mut broken = Table::new(&["PROMISE", "SUBJECT", "WHAT"]);
    for note in promises {
        broken.row([note.promise.to_string(), note.subject.to_string(), note.message.clone()]);
    }
    section("Broken promises:", broken);
    let mut held = Table::new(&["SUBJECT", "UNTIL", "WHY"]);
    for hold in holds {
        let until = hold.until.map(|until| figures::ahead(until, now)).unwrap_or_default();
        held.row([hold.subject.to_string(), until, hold.reason.words(now)]);
    }
    section("Held on purpose:", held);
    let mut waits = Table::new(&["SUBJECT", "WAITS FOR"]);
    for wait in waiting {
        waits.row([wait.subject.to_string(), wait.words(now)]);
    }
    section("Waiting:", waits);
    let mut unserved = Table::new(&["SUBJECT", "WHERE", "WHAT BINDS"]);
    for one in infeasible {
        for verdict in &one.pools {
            let place = format!("new node of {}", verdict.pool);
            unserved.row([one.subject.to_string(), place, verdict.reason.words(now)]);
        }
        for verdict in &one.nodes {
            let place = format!("{} there", figures::plural(verdict.nodes, "node"));
            unserved.row([one.subject.to_string(), place, verdict.misfit.to_string()]);
        }
        if one.pools.is_empty() && one.nodes.is_empty() {
            unserved.row([one.subject.to_string(), "anywhere".to_owned(), NOWHERE.to_owned()]);
        }
    }
    section("Cannot be served:", unserved);
    let mut short = Table::new(&["POOL", "WHAT BINDS"]);
    // Nobody waits for headroom: a pool is passed over for its own.
    for skip in skipped.iter().filter(|skip| matches!(skip.subject, Subject::Pool { .. })) {
        short.row([skip.pool.to_string(), skip.reason.words(now)]);
    }
    section("Headroom that is not there:", short);
    let mut unknown = Table::new(&["FEATURE", ">OBJECTS", "SUCH AS"]);
    for one in unmodelled {
        unknown.row([one.feature.to_string(), one.count.to_string(), one.example.to_string()]);
    }
    section("Seen but not judged:", unknown);
    if wide {
        let mut passed = Table::new(&["SUBJECT", "POOL", "PASSED OVER BECAUSE"]);
        for skip in skipped {
            passed.row([skip.subject.to_string(), skip.pool.to_string(), skip.reason.words(now)]);
        }
        section("Passed over:", passed);
        section("Weighed:", steps(trace, now));
    }
}

fn steps(trace: &[Step], now: Time) -> Table {
    let mut table = Table::new(&["WHAT", "VERDICT"]);
    for step in trace {
        let (what, verdict) = step.told(now);
        table.row([what, verdict]);
    }
    table
}

/// What the plan comes to, in a line.
fn closing(plan: &Plan) -> String {
    let mut counts: BTreeMap<ActionKind, u32> = BTreeMap::new();
    for action in &plan.actions {
        *counts.entry(action.kind).or_default() += 1;
    }
    let mut parts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} to {kind}")).collect();
    if parts.is_empty() {
        parts.push("Nothing to change".to_owned());
    }
    // Of a request nobody has made the pods yet: it counts as one.
    let is_ahead = |wait: &&Waiting| matches!(wait.subject, Subject::Workload { .. });
    let (ahead, waiting): (Vec<&Waiting>, Vec<&Waiting>) = plan.report.waiting.iter().partition(is_ahead);
    let waiting: u32 = waiting.into_iter().map(Waiting::pods).sum();
    let ahead: BTreeSet<&Subject> = ahead.into_iter().map(|wait| &wait.subject).collect();
    let is_request = |left: &&Infeasible| matches!(left.subject, Subject::Workload { .. });
    let (requests, pods): (Vec<&Infeasible>, Vec<&Infeasible>) =
        plan.report.infeasible.iter().partition(is_request);
    let unserved: u32 = pods.iter().map(|left| left.subject.pods()).sum();
    let others = [
        (waiting, "pod", "waiting"),
        (ahead.len() as u32, "request", "waiting"),
        (unserved, "pod", "that cannot be served"),
        (requests.len() as u32, "request", "that cannot be served"),
    ];
    let told = |(count, one, what): &(u32, &str, &str)| format!("{} {what}", figures::plural(*count, one));
    parts.extend(others.iter().filter(|part| part.0 > 0).map(told));
    if !plan.report.holds.is_empty() {
        parts.push(format!("{} held", plan.report.holds.len()));
    }
    if let Some(next) = plan.report.next_look {
        parts.push(format!("looks again {}", figures::ahead(next, plan.now)));
    }
    parts.join(", ")
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
