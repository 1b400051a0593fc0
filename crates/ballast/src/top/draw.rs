//! The screen. It reads nothing but what it is given, so that a test can look at it.

use ballast_core::foreign::plain;
use ballast_core::plan::Words;
use ballast_core::view::{NodeView, View};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::state::{Sort, State};
use crate::present::figures;
use crate::present::status::{bar, cut, figures_line, share};
use crate::present::table::Table;

/// Lines below the nodes, beside the one that tells the keys.
const FOOT: u16 = 6;
const KEYS: &str = "q ends · ↑↓ mark · p order · g GPUs only · ? why";

/// Columns from which there is room for bars.
const BARS_FROM: u16 = 110;

/// How a share is shown.
type Share = fn(i64, i64) -> String;

/// Draws one instant. Nothing is told by colour alone: the marked row is also led by a sign.
pub fn draw(frame: &mut Frame<'_>, view: &View, state: &State) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let [head, nodes, foot, keys] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(3),
        Constraint::Length(FOOT),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let width = usize::from(head.width);
    frame.render_widget(Paragraph::new(Line::styled(cut(&figures_line(view), width), bold)), head);
    draw_nodes(frame, nodes, view, state);
    let lines: Vec<Line<'_>> =
        below(view, state).iter().map(|line| Line::raw(cut(&plain(line), width))).collect();
    frame.render_widget(Paragraph::new(lines), foot);
    let order = if state.sort == Sort::Pool { "by pool" } else { "by use" };
    frame.render_widget(Paragraph::new(Line::styled(cut(&format!("{order} · {KEYS}"), width), bold)), keys);
}

fn draw_nodes(frame: &mut Frame<'_>, area: Rect, view: &View, state: &State) {
    let rows = state.rows(view);
    let mut table =
        Table::new(&["  NODE", "POOL", "STATE", "CPU", "MEMORY", "GPU", ">PODS", "STAYS BECAUSE"]);
    let marked = state.marked.min(rows.len().saturating_sub(1));
    let share: Share = if area.width < BARS_FROM { share } else { bar };
    for (at, node) in rows.iter().enumerate() {
        table.push(row(node, at == marked, share));
    }
    let text = table.render();
    let width = usize::from(area.width);
    let mut lines = text.lines().enumerate().map(|(at, line)| {
        let style = match at {
            0 => Style::new().add_modifier(Modifier::BOLD),
            at if at == marked + 1 => Style::new().add_modifier(Modifier::REVERSED),
            _ => Style::new(),
        };
        Line::styled(cut(line, width), style)
    });
    let head = lines.next();
    // The marked row is always among those that there is room for.
    let room = usize::from(area.height).saturating_sub(1).max(1);
    let shown: Vec<Line<'_>> =
        head.into_iter().chain(lines.skip((marked + 1).saturating_sub(room)).take(room)).collect();
    frame.render_widget(Paragraph::new(shown), area);
}

fn row(node: &NodeView, is_marked: bool, share: Share) -> Vec<String> {
    let NodeView { name, pool, state, usage, pods, kept_because, .. } = node;
    vec![
        format!("{} {name}", if is_marked { '▸' } else { ' ' }),
        if pool.is_empty() { "·".to_owned() } else { pool.to_string() },
        format!("{state:?}"),
        share(usage.cpu_requested, usage.cpu),
        share(usage.memory_requested, usage.memory),
        share(usage.gpu_requested, usage.gpu),
        pods.to_string(),
        kept_because.clone().unwrap_or_default(),
    ]
}

/// What is below the nodes: why the marked one stays, or what is under way, planned and held.
fn below(view: &View, state: &State) -> Vec<String> {
    let rows = state.rows(view);
    if let Some(node) = rows.get(state.marked.min(rows.len().saturating_sub(1))).filter(|_| state.explains) {
        let idle = node.idle_since.map(|since| format!("unneeded for {}", view.now.since(since).rounded()));
        let why = node.kept_because.clone().unwrap_or_else(|| "nothing keeps it".to_owned());
        let zone = if node.zone.is_empty() { String::new() } else { format!(", zone {}", node.zone) };
        let head = format!("{}{zone}: {:?}, {}", node.name, node.state, figures::plural(node.pods, "pod"));
        return [Some(head), idle, Some(why)].into_iter().flatten().collect();
    }
    let flights = view.in_flight.iter().map(|flight| {
        let left = flight
            .deadline
            .map(|at| format!(", given up {}", figures::ahead(at, view.now)))
            .unwrap_or_default();
        format!("under way  {}: {}{left}", flight.target, flight.step)
    });
    let planned = view.actions.iter().map(|action| {
        format!("planned    {} {}: {}", action.kind, action.target.name, action.reason.message)
    });
    let held =
        view.holds.iter().map(|hold| format!("held       {}: {}", hold.subject, hold.reason.words(view.now)));
    let next = view.next_look.map(|at| format!("looks again {}", figures::ahead(at, view.now)));
    let most = usize::from(FOOT) - 1;
    next.into_iter().chain(flights.chain(planned).chain(held).take(most)).collect()
}
