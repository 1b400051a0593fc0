//! What waits, and why: what is needed, what was tried pool by pool, what bound it, what it waits for, the next look.

use ballast_core::plan::{Infeasible, Limit, SkipReason, WaitingOn, Words};
use ballast_core::view::{PendingView, View};
use maud::{Markup, html};

use super::plan;
use crate::console::parts::{pending_path, pool_path};
use crate::present::figures;

/// Names of pods that a page lists before it says how many more there are.
const NAMES_MAX: usize = 24;

/// The classes of a workload that wait.
pub(super) fn of<'a>(
    view: &'a View,
    namespace: &str,
    workload: &str,
) -> impl Iterator<Item = &'a PendingView> {
    view.pending
        .iter()
        .filter(move |pending| *pending.namespace == *namespace && *pending.workload == *workload)
}

/// What comes first when somebody asks: the state of it in a few words, and whether it is bad.
fn verdict(pending: &PendingView) -> (&'static str, &'static str) {
    if let Some(infeasible) = &pending.infeasible {
        return refused(infeasible);
    }
    let has = |wanted: fn(&WaitingOn) -> bool| pending.waiting.iter().any(|waiting| wanted(&waiting.on));
    if has(|on| matches!(on, WaitingOn::SchedulingGate)) {
        ("same", "Gated by someone else")
    } else if has(|on| matches!(on, WaitingOn::Gang { .. })) {
        ("same", "Waits for its gang")
    } else if has(|on| matches!(on, WaitingOn::Planned { .. })) {
        ("good", "Nodes are being started for it")
    } else if has(|on| matches!(on, WaitingOn::Starting { .. })) {
        ("good", "Nodes for it are starting")
    } else if has(|on| matches!(on, WaitingOn::Scheduler { .. })) {
        ("good", "Fits; the scheduler will place it")
    } else {
        ("same", "Not decided yet")
    }
}

/// What nothing serves now: whether that may pass by itself, whether a limit stands in the way, or whether nothing ever could.
fn refused(infeasible: &Infeasible) -> (&'static str, &'static str) {
    let has =
        |wanted: fn(&SkipReason) -> bool| infeasible.pools.iter().any(|verdict| wanted(&verdict.reason));
    if has(|reason| matches!(reason, SkipReason::AtLimit { limit: Limit::Growth })) {
        ("same", "Its turn comes: as much is starting as may start at once")
    } else if has(|reason| matches!(reason, SkipReason::AtLimit { .. } | SkipReason::PartOfGang { .. })) {
        ("bad", "A limit stands in the way")
    } else if has(|reason| matches!(reason, SkipReason::BackOff { .. })) {
        ("bad", "The cloud has none to give, or refuses")
    } else if has(|reason| matches!(reason, SkipReason::Paused | SkipReason::Mode)) {
        ("bad", "What could serve it is paused")
    } else {
        ("bad", "Nothing can serve it")
    }
}

/// What waits, at most `rows` classes of it, each a click away from its reason.
pub(super) fn list(view: &View, rows: usize) -> Markup {
    let pods: u32 = view.pending.iter().map(|pending| pending.count).sum();
    html! {
        section class="panel" {
            h2 { "Waiting" span class="badge" { (figures::group(pods.into())) } }
            @if view.pending.is_empty() { p class="empty" { "No pod waits" } }
            ul class="rows" {
                @for pending in view.pending.iter().take(rows) {
                    @let (mood, words) = verdict(pending);
                    li {
                        a class="row-link" href=(pending_path(&pending.namespace, &pending.workload)) {
                            span class={ "sign " (mood) } aria-hidden="true" { (sign(mood)) }
                            div {
                                p {
                                    b { (figures::group(pending.count.into())) " × " bdi { (pending.namespace) "/" (pending.workload) } }
                                    span class="dim" { " " (pending.waited.rounded()) }
                                }
                                p class="reason" { (words) span class="dim" { " · " (pending.requests) } }
                            }
                            span class="go" { "why" }
                        }
                    }
                }
            }
            @if view.pending.len() > rows {
                p class="more" { a href="/pending" { "and " (view.pending.len() - rows) " more classes" } }
            }
        }
    }
}

const fn sign(mood: &str) -> &'static str {
    match mood.as_bytes() {
        b"bad" => "✕",
        b"good" => "✓",
        _ => "…",
    }
}

/// The page of all that waits.
pub(super) fn all(view: &View) -> Markup {
    html! { h1 { "Waiting" } (list(view, usize::MAX)) }
}

/// The page of one workload.
pub(super) fn why(view: &View, namespace: &str, workload: &str) -> Markup {
    let classes: Vec<&PendingView> = of(view, namespace, workload).collect();
    html! {
        p class="crumbs" { a href="/" { "Overview" } " / " a href="/pending" { "Waiting" } }
        h1 { "Why " bdi { (namespace) "/" (workload) } " waits" }
        @if classes.is_empty() {
            section class="panel verdict good" { p class="verdict-words" { "It does not wait any more" }
                p { "All of its pods have a node, or they are gone. This page comes back by itself should one wait again." } }
        }
        @for pending in &classes { (class(view, pending)) }
    }
}

fn class(view: &View, pending: &PendingView) -> Markup {
    let (mood, words) = verdict(pending);
    html! {
        section class={ "panel verdict " (mood) } {
            p class="verdict-words" { span class={ "sign " (mood) } aria-hidden="true" { (sign(mood)) } " " (words) }
            dl class="facts" {
                dt { "Waits" } dd { (figures::plural(pending.count, "pod")) ", the first for " (pending.waited.rounded()) }
                dt { "One needs" } dd { (pending.requests) }
                dt { "Waits for" }
                dd {
                    @if pending.waiting.is_empty() { "nothing that is on its way" }
                    ul { @for waiting in &pending.waiting { li { (waiting.on.words(view.now)) } } }
                }
                @if let Some(next) = view.next_look { dt { "Next look" } dd { (figures::ahead(next, view.now)) ", or as soon as anything changes" } }
            }
        }
        @if let Some(infeasible) = &pending.infeasible { (tried(view, infeasible)) }
        (planned(view, pending))
        section class="panel" {
            h2 { "Pods" span class="badge" { (pending.count) } }
            ul class="names" { @for pod in pending.pods.iter().take(NAMES_MAX) { li { bdi { (pod) } } } }
            @let shown = pending.pods.len().min(NAMES_MAX);
            @if pending.count as usize > shown { p class="more" { "and " (pending.count as usize - shown) " more" } }
        }
    }
}

fn tried(view: &View, infeasible: &Infeasible) -> Markup {
    html! {
        section class="panel" {
            h2 { "What was tried" }
            table {
                thead { tr { th scope="col" { "Where" } th scope="col" { "What bound it" } } }
                tbody {
                    @for verdict in &infeasible.pools {
                        tr {
                            th scope="row" { "New node of " a href=(pool_path(&verdict.pool)) { (verdict.pool) } }
                            td { (verdict.reason.words(view.now)) }
                        }
                    }
                    @for verdict in &infeasible.nodes {
                        tr {
                            th scope="row" { (figures::plural(verdict.nodes, "node")) " there" }
                            td { (verdict.misfit) }
                        }
                    }
                    @if infeasible.pools.is_empty() && infeasible.nodes.is_empty() {
                        tr { th scope="row" { "Anywhere" } td { "there is neither a node nor a pool" } }
                    }
                }
            }
        }
    }
}

/// Actions of the plan in pools that this class waits for.
fn planned(view: &View, pending: &PendingView) -> Markup {
    let pools = pending.waiting.iter().filter_map(|waiting| match &waiting.on {
        WaitingOn::Planned { pool, .. } => Some(pool),
        _ => None,
    });
    let pools: Vec<_> = pools.collect();
    let actions = view.actions.iter().filter(|action| pools.contains(&&action.target.pool));
    let actions: Vec<_> = actions.collect();
    html! {
        @if !actions.is_empty() {
            section class="panel" {
                h2 { "Planned for it" span class="badge" { (actions.len()) } }
                ul class="rows" { @for action in actions.iter().take(NAMES_MAX) { (plan::action_row(action)) } }
            }
        }
    }
}
