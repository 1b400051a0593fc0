//! The overview: money, pools with their nodes, what waits, what is planned, under way and held, and how it went.

use ballast_core::units::Time;
use ballast_core::view::{NodeState, NodeView, PoolView, Usage, View};
use maud::{Markup, html};

use super::{Fragment, pending, plan};
use crate::console::parts::{bars, cell, cell_with_devices, count, pool_path};
use crate::console::{Frame, Point, Story};
use crate::present::chart::{Chart, Form, Series};
use crate::present::figures;

/// From here on cells are drawn smaller.
const MANY_NODES: usize = 120;
/// Rows of a list that the overview shows; the rest is on a page of its own.
const ROWS_MAX: usize = 8;
/// Machines under way are much alike, and a cell in the grid besides.
const FLIGHTS_MAX: usize = 4;

pub(super) fn fragments(frame: &Frame) -> Vec<Fragment> {
    let view = &frame.view;
    vec![
        Fragment::new("figures", figures_of(view)),
        Fragment::new("pools", pools(view)),
        Fragment::new("pending", pending::short(view, ROWS_MAX)),
        Fragment::new("plan", plan::actions(view, ROWS_MAX)),
        Fragment::new("flight", unless(view.in_flight.is_empty(), || plan::in_flight(view, FLIGHTS_MAX))),
        Fragment::new("holds", unless(view.holds.is_empty(), || plan::holds(view, ROWS_MAX))),
        Fragment::new("lately", plan::lately(frame, ROWS_MAX)),
        Fragment::new("charts", charts(&frame.points, &view.currency)),
    ]
}

/// A panel that would only say that there is nothing in it is left out here; its own page has it.
fn unless(empty: bool, panel: impl FnOnce() -> Markup) -> Markup {
    if empty { Markup::default() } else { panel() }
}

pub(super) fn layout(frame: &Frame, fragments: &[Fragment]) -> Markup {
    let place = |target: &str| fragments.iter().find(|part| part.target == target).map(Fragment::placed);
    let place = |target: &str| place(target).unwrap_or_default();
    html! {
        h1 class="spoken" { "Overview" }
        @if let Some(Story { title, text }) = frame.story.as_deref() {
            details class="story" { summary { (title) } p { (text) } }
        }
        (place("figures"))
        div class="columns" {
            div class="wide" { (place("pools")) (place("charts")) }
            div class="side" { (place("pending")) (place("plan")) (place("flight")) (place("holds")) (place("lately")) }
        }
    }
}

/// Sums over all pools.
fn total(view: &View) -> Usage {
    let mut sum = Usage::default();
    for Usage { cpu_requested, cpu, memory_requested, memory, gpu_requested, gpu } in
        view.pools.iter().map(|pool| pool.usage)
    {
        sum.cpu_requested += cpu_requested;
        sum.cpu += cpu;
        sum.memory_requested += memory_requested;
        sum.memory += memory;
        sum.gpu_requested += gpu_requested;
        sum.gpu += gpu;
    }
    sum
}

fn figures_of(view: &View) -> Markup {
    let point = Point::of(view);
    let longest = view.pending.iter().filter_map(|pending| pending.waited).max();
    let usage = total(view);
    html! {
        section class="figures" aria-label="Key figures" {
            div class="figure" {
                span class="figure-name" { "Cost per hour" }
                span class="figure-value" { (figures::money(view.cost_per_hour, &view.currency)) }
                span class="figure-note" { (figures::money(view.cost_per_hour * 730, &view.currency)) " a month at this rate" }
            }
            div class="figure" {
                span class="figure-name" { "Nodes ready" }
                span class="figure-value" { (figures::group(point.ready.into())) }
                span class="figure-note" { (moving(&point)) }
            }
            div class="figure" {
                span class="figure-name" { "Pods waiting" }
                span class="figure-value" { (figures::group(point.waiting.into())) }
                span class="figure-note" {
                    @if let Some(longest) = longest { "longest " (longest.rounded()) }
                    @else if view.pending.is_empty() { "nothing waits" }
                }
            }
            div class="figure bars-figure" { span class="figure-name" { "Requested of what is there" } (bars(&usage)) }
        }
    }
}

fn moving(point: &Point) -> String {
    let parts = [(point.starting, "starting"), (point.leaving, "leaving"), (point.unwell, "unwell")];
    let parts: Vec<String> =
        parts.iter().filter(|part| part.0 > 0).map(|(n, word)| format!("{n} {word}")).collect();
    if parts.is_empty() { "none is starting or leaving".to_owned() } else { parts.join(", ") }
}

fn pools(view: &View) -> Markup {
    let mut managed = view.pools.iter().collect::<Vec<_>>();
    managed.sort_by(|a, b| a.name.cmp(&b.name));
    let alone: Vec<&NodeView> = view.nodes.iter().filter(|node| node.pool.is_empty()).collect();
    html! {
        section class="panel" aria-label="Pools" {
            h2 { "Pools" }
            @if managed.is_empty() { p class="empty" { "No pool is known yet" } }
            @for pool in managed { (card(view, pool)) }
            @if !alone.is_empty() {
                article class="pool" {
                    header { h3 { "In no pool" } span class="dim" { (figures::plural(alone.len() as u32, "node")) ", left alone" } }
                    (grid(&alone))
                }
            }
            (legend())
        }
    }
}

fn card(view: &View, pool: &PoolView) -> Markup {
    let nodes: Vec<&NodeView> = view.nodes.iter().filter(|node| node.pool == pool.name).collect();
    html! {
        article class="pool" {
            header {
                h3 { a href=(pool_path(&pool.name)) { (pool.name) } }
                span class="dim" { (sizes(pool)) }
                @if let Some(price) = pool.price_per_hour {
                    span class="dim" { (figures::money(price, &view.currency)) " a node" }
                }
                span class="cost" { (figures::money(pool.cost_per_hour, &view.currency)) "/h" }
            }
            @if let Some(why) = &pool.backed_off { p class="warning" { "Takes no launches: " (why) } }
            (body(pool, &nodes))
        }
    }
}

/// Bars beside the nodes, or above them where they are many.
pub(super) fn body(pool: &PoolView, nodes: &[&NodeView]) -> Markup {
    let class = if nodes.len() > MANY_NODES { "pool-body many" } else { "pool-body" };
    html! { div class=(class) { (bars(&pool.usage)) div { (counts(pool)) (grid(nodes)) } } }
}

/// The limits of a pool's size.
pub(super) fn sizes(pool: &PoolView) -> String {
    format!("{} to {} nodes", pool.min, pool.max)
}

/// Nodes of a pool by state.
fn counts(pool: &PoolView) -> Markup {
    html! {
        p class="counts" {
            (count(NodeState::Ready, pool.ready))
            @if pool.starting > 0 { (count(NodeState::Starting, pool.starting)) }
            @if pool.leaving > 0 { (count(NodeState::Draining, pool.leaving)) }
            @if pool.stopped > 0 { (count(NodeState::Stopped, pool.stopped)) }
            @if pool.unready > 0 { (count(NodeState::Unready, pool.unready)) }
        }
    }
}

/// A cell for every node.
fn grid(nodes: &[&NodeView]) -> Markup {
    let (class, draw): (_, fn(&NodeView) -> Markup) = match nodes.iter().any(|node| node.usage.gpu > 0) {
        _ if nodes.len() > MANY_NODES => ("grid many", cell),
        true => ("grid of-gpus", cell_with_devices),
        false => ("grid", cell),
    };
    html! { div class=(class) { @for node in nodes { (draw(node)) } } }
}

fn legend() -> Markup {
    const STATES: [NodeState; 6] = [
        NodeState::Ready,
        NodeState::Starting,
        NodeState::Draining,
        NodeState::Stopped,
        NodeState::Unready,
        NodeState::Cordoned,
    ];
    html! {
        p class="legend" {
            @for state in STATES {
                @let word = crate::console::parts::state_word(state);
                span { i class={ "cell f2 " (word) } aria-hidden="true" {} (word) }
            }
            span class="dim" { "a cell is a node: the fuller, the higher its filling; where it has GPUs, a block each" }
        }
    }
}

fn charts(points: &[Point], currency: &str) -> Markup {
    let times: Vec<Time> = points.iter().map(|point| point.time).collect();
    let values = |of: fn(&Point) -> f64| points.iter().map(|point| Some(of(point))).collect::<Vec<_>>();
    let nodes = vec![
        Series { name: "ready", class: "s-ready", values: values(|p| p.ready.into()) },
        Series { name: "starting", class: "s-starting", values: values(|p| p.starting.into()) },
        Series { name: "leaving", class: "s-leaving", values: values(|p| p.leaving.into()) },
        Series { name: "unwell", class: "s-unwell", values: values(|p| p.unwell.into()) },
    ];
    let waiting = vec![Series { name: "waiting", class: "s-waiting", values: values(|p| p.waiting.into()) }];
    let name = format!("{currency}/h");
    let cost = vec![Series { name: &name, class: "s-cost", values: values(|p| p.cost) }];
    let gpus = vec![
        Series { name: "requested", class: "s-gpu", values: values(|p| p.gpus_requested) },
        Series { name: "free", class: "s-free", values: values(|p| p.gpus - p.gpus_requested) },
    ];
    let has_gpus = points.iter().any(|point| point.gpus > 0.0);
    let chart = |title, form, series| Chart { title, unit: "", form, times: &times, series }.render();
    html! {
        section class="panel charts" aria-label="History" {
            (chart("Nodes that cost", Form::Stacked, nodes))
            (chart("Pods waiting", Form::Stacked, waiting))
            (chart("Cost per hour", Form::Lines, cost))
            @if has_gpus { (chart("GPUs", Form::Stacked, gpus)) }
        }
    }
}
