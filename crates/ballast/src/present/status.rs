//! A view as a block of text for a terminal, or as one line for a log.

use ballast_core::foreign::plain;
use ballast_core::plan::{ActionKind, Words};
use ballast_core::units::Time;
use ballast_core::view::{NodeState, NodeView, PendingView, PoolView, View};

use super::figures;
use super::table::Table;
use super::verdict::{Alike, Verdict, alike};

/// Rows of what waits and of what is planned; the rest is on the page.
const ROWS_MAX: usize = 4;
/// Steps of a bar.
const BAR_WIDE: usize = 8;

/// The block: figures, pools, what waits, what is planned, under way and was decided lately. No line is longer than `width`.
pub fn block(view: &View, lately: impl Iterator<Item = (Time, String)>, width: usize) -> Vec<String> {
    let mut lines = vec![figures_line(view), String::new()];
    lines.extend(pools(view, width).lines().map(str::to_owned));
    lines.push(String::new());
    lines.extend(headed("no pool", in_no_pool(view).into_iter()));
    lines.extend(headed("waiting", alike(view).into_iter().take(ROWS_MAX).map(waiting_line)));
    let planned = view.actions.iter().take(ROWS_MAX).map(|action| {
        format!("{} {} {}: {}", sign(action.kind), action.kind, action.target.name, action.reason.message)
    });
    lines.extend(headed("plan", planned));
    let flights = view.in_flight.iter().take(ROWS_MAX);
    lines.extend(headed("under way", flights.map(|flight| format!("{}: {}", flight.target, flight.step))));
    let holds = view.holds.iter().take(ROWS_MAX);
    lines.extend(headed(
        "held",
        holds.map(|hold| format!("{}: {}", hold.subject, hold.reason.words(view.now))),
    ));
    let lately = lately.take(ROWS_MAX).map(|(at, words)| format!("{} {words}", figures::clock(at)));
    lines.extend(headed("lately", lately));
    for note in &view.promises {
        lines.push(format!("BROKEN PROMISE {}: {}", note.promise, note.message));
    }
    lines.iter().map(|line| cut(&plain(line), width)).collect()
}

/// Nodes that belong to no pool: nothing is ever done with them, and a slip in `members` looks like that.
fn in_no_pool(view: &View) -> Option<String> {
    let strays: Vec<&NodeView> = view.nodes.iter().filter(|node| node.pool.is_empty()).collect();
    let first = strays.first()?;
    let count = figures::plural(strays.len() as u32, "node");
    Some(match strays.len() {
        1 => format!("{count} of no VmPool: {}", first.name),
        _ => format!("{count} of no VmPool, {} the first", first.name),
    })
}

/// Sources that are in trouble, a line each, and the age of the oldest answer.
pub fn sources(view: &View) -> Vec<String> {
    let troubled = view.sources.iter().filter_map(|source| Some((source, source.trouble.as_deref()?)));
    let mut lines: Vec<String> = troubled.map(|(source, why)| format!("! {} {why}", source.name)).collect();
    let aged = view.sources.iter().filter_map(|source| Some((source.age?, source)));
    if let Some((age, source)) = aged.max_by_key(|(age, _)| *age) {
        lines.push(format!(
            "the oldest of {} answers is {} old: {}",
            view.sources.len(),
            age.rounded(),
            source.name
        ));
    }
    headed("sources", lines.into_iter()).iter().map(|line| plain(line).into_owned()).collect()
}

/// The same in a line.
pub fn line(view: &View) -> String {
    let count = |states: &[NodeState]| view.nodes.iter().filter(|node| states.contains(&node.state)).count();
    format!(
        "{} {}/h, nodes: {} ready, {} starting, {} leaving, pods waiting: {}, planned: {}, under way: {}",
        view.now,
        figures::money(view.cost_per_hour, &view.currency),
        count(&[NodeState::Ready]),
        count(&[NodeState::Starting]),
        count(&[NodeState::Draining, NodeState::Stopping]),
        view.pending.iter().map(|pending| pending.count).sum::<u32>(),
        view.actions.len(),
        view.in_flight.len(),
    )
}

/// The figures of a view in a line.
pub fn figures_line(view: &View) -> String {
    let waiting: u32 = view.pending.iter().map(|pending| pending.count).sum();
    format!(
        "{} {} UTC   {}/h   {} waiting   {}",
        figures::day(view.now),
        figures::clock(view.now),
        figures::money(view.cost_per_hour, &view.currency),
        figures::plural(waiting, "pod"),
        figures::plural(u32::try_from(view.plans).unwrap_or(u32::MAX), "plan"),
    )
}

/// How much of a table there is room for, the richest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    /// Every column, with bars.
    Bars,
    /// Every column, shares as numbers.
    Numbers,
    /// What matters most.
    Little,
}

/// The richest table that fits.
fn pools(view: &View, width: usize) -> String {
    let fits = |table: &String| table.lines().all(|line| line.chars().count() <= width);
    let tables = [Room::Bars, Room::Numbers, Room::Little].map(|room| table_of(view, room));
    let [.., least] = &tables;
    tables.iter().find(|table| fits(table)).unwrap_or(least).clone()
}

fn table_of(view: &View, room: Room) -> String {
    let heads: &[&str] = match room {
        Room::Bars => &[
            "POOL",
            ">READY",
            ">STARTING",
            ">LEAVING",
            ">STOPPED",
            ">MAX",
            "CPU",
            "MEMORY",
            "GPU",
            ">COST/H",
        ],
        Room::Numbers => {
            &["POOL", ">READY", ">START", ">LEAVE", ">OFF", ">MAX", ">CPU", ">MEM", ">GPU", ">COST/H"]
        }
        Room::Little => &["POOL", ">READY", ">START", ">LEAVE", ">CPU", ">GPU", ">COST/H"],
    };
    let share = if room == Room::Bars { bar } else { share };
    let mut table = Table::new(heads);
    for PoolView { name, ready, starting, leaving, stopped, max, usage, cost_per_hour, .. } in &view.pools {
        let cpu = share(usage.cpu_requested, usage.cpu);
        let memory = share(usage.memory_requested, usage.memory);
        let gpu = share(usage.gpu_requested, usage.gpu);
        let mut row = vec![name.to_string(), ready.to_string(), some(*starting), some(*leaving)];
        if room < Room::Little {
            row.extend([some(*stopped), max.to_string(), cpu, memory, gpu]);
        } else {
            row.extend([cpu, gpu]);
        }
        row.push(cost_per_hour.to_string());
        table.push(row);
    }
    table.render()
}

fn some(count: u32) -> String {
    if count == 0 { "·".to_owned() } else { count.to_string() }
}

/// A share as a number.
pub fn share(part: i64, whole: i64) -> String {
    if whole <= 0 { "·".to_owned() } else { format!("{}%", figures::percent(part, whole)) }
}

/// A share as a bar with its number.
pub fn bar(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return "·".to_owned();
    }
    let percent = figures::percent(part, whole);
    let full = (percent.min(100) as usize * BAR_WIDE + 50) / 100;
    format!("{}{} {percent:>3}%", "█".repeat(full), "░".repeat(BAR_WIDE - full))
}

fn waiting_line(group: Alike<'_>) -> String {
    let PendingView { waited, requests, .. } = group.first;
    let who = group.first.who();
    let (Alike { pods, verdict: Verdict { mood, words }, .. }, others) = (group, group.others());
    let waited = waited.map(|waited| format!(" for {}", waited.rounded())).unwrap_or_default();
    format!("{} {pods} × {who}{others}{waited}: {words} ({requests})", mood.sign())
}

fn sign(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::StartInstance
        | ActionKind::CreateInstance
        | ActionKind::UncordonNode
        | ActionKind::CreateSparkWorker => "▲",
        ActionKind::StopInstance
        | ActionKind::ReleaseInstance
        | ActionKind::CordonNode
        | ActionKind::RemoveRayWorker
        | ActionKind::RemoveSparkWorker => "▼",
        ActionKind::ResizeJob | ActionKind::SetReplicas | ActionKind::ResizeRayGroup => "↕",
    }
}

/// Lines with a head in front of the first.
fn headed(head: &str, lines: impl Iterator<Item = String>) -> Vec<String> {
    let head = |at: usize| if at == 0 { head } else { "" };
    lines.enumerate().map(|(at, line)| format!("{:<10}{line}", head(at))).collect()
}

/// A line that is too long ends with a sign that it goes on.
pub fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_ends_with_a_sign_that_it_goes_on() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("äöüß", 3), "äö…");
    }
}
