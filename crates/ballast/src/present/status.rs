//! A view as a block of text for a terminal, or as one line for a log.

use ballast_core::plan::{ActionKind, Words};
use ballast_core::view::{NodeState, PendingView, PoolView, View};

use super::figures;
use super::table::{Table, plain};

/// Rows of what waits and of what is planned; the rest is on the page.
const ROWS_MAX: usize = 4;
/// Steps of a bar.
const BAR_WIDE: usize = 8;

/// The block: figures, pools, what waits, what is planned and under way. No line is longer than `width`.
pub fn block(view: &View, width: usize) -> Vec<String> {
    let mut lines = vec![figures_line(view), String::new()];
    lines.extend(pools(view).lines().map(str::to_owned));
    lines.push(String::new());
    let waiting = view.pending.iter().take(ROWS_MAX).map(|pending| waiting_line(view, pending));
    lines.extend(headed("waiting", waiting));
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
    for note in &view.promises {
        lines.push(format!("BROKEN PROMISE {}: {}", note.promise, note.message));
    }
    lines.iter().map(|line| cut(&plain(line), width)).collect()
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

fn figures_line(view: &View) -> String {
    let waiting: u32 = view.pending.iter().map(|pending| pending.count).sum();
    format!(
        "{} {} UTC   {}/h   {} plans   {} waiting",
        figures::day(view.now),
        figures::clock(view.now),
        figures::money(view.cost_per_hour, &view.currency),
        figures::group(view.plans as i64),
        figures::plural(waiting, "pod"),
    )
}

fn pools(view: &View) -> String {
    let mut table = Table::new(&[
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
    ]);
    for pool in &view.pools {
        let PoolView { usage, .. } = pool;
        table.push(vec![
            pool.name.to_string(),
            pool.ready.to_string(),
            some(pool.starting),
            some(pool.leaving),
            some(pool.stopped),
            pool.max.to_string(),
            bar(usage.cpu_requested, usage.cpu),
            bar(usage.memory_requested, usage.memory),
            bar(usage.gpu_requested, usage.gpu),
            pool.cost_per_hour.to_string(),
        ]);
    }
    table.render()
}

fn some(count: u32) -> String {
    if count == 0 { "·".to_owned() } else { count.to_string() }
}

fn bar(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return "·".to_owned();
    }
    let percent = figures::percent(part, whole);
    let full = (percent.min(100) as usize * BAR_WIDE + 50) / 100;
    format!("{}{} {percent:>3}%", "█".repeat(full), "░".repeat(BAR_WIDE - full))
}

fn waiting_line(view: &View, pending: &PendingView) -> String {
    let why = match (&pending.infeasible, pending.waiting.first()) {
        (Some(_), _) => "nothing can serve it".to_owned(),
        (None, Some(waiting)) => waiting.on.words(view.now),
        (None, None) => "not decided yet".to_owned(),
    };
    let waited = pending.waited.rounded();
    format!("{} × {}/{} for {waited}: {why}", pending.count, pending.namespace, pending.workload)
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
        | ActionKind::RemoveRayWorkers
        | ActionKind::RemoveSparkWorker => "▼",
        ActionKind::ResizeJob | ActionKind::SetReplicas | ActionKind::ResizeRayGroup => "↕",
    }
}

/// Lines with a head in front of the first.
fn headed(head: &str, lines: impl Iterator<Item = String>) -> Vec<String> {
    let head = |at: usize| if at == 0 { head } else { "" };
    lines.enumerate().map(|(at, line)| format!("{:<10}{line}", head(at))).collect()
}

fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
