//! What waits, and why: what is needed, what was tried pool by pool, what bound it, what it waits for, the next look.

use std::collections::BTreeMap;

use ballast_core::plan::{Infeasible, WaitingOn, Words};
use ballast_core::view::{PendingView, View};
use maud::{Markup, html};

use super::plan;
use crate::console::parts::{pending_path, pool_path};
use crate::present::figures;
use crate::present::verdict::{Alike, Verdict, alike, remedy, verdict};

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

/// What waits in short, at most `rows` of it: what is alike stands in one row, a click away from its reason.
pub(super) fn short(view: &View, rows: usize) -> Markup {
    let groups = alike(view);
    html! {
        section class="panel" {
            (head(view))
            ul class="rows" { @for group in groups.iter().take(rows) { li { (row(group)) } } }
            @if groups.len() > rows || groups.iter().any(|group| group.pods > group.first.count) {
                p class="more" { a href="/pending" { "all that waits, one by one" } }
            }
        }
    }
}

fn head(view: &View) -> Markup {
    let pods: u32 = view.pending.iter().map(|pending| pending.count).sum();
    html! {
        h2 { "Waiting" span class="badge" { (figures::group(pods.into())) } }
        @if view.pending.is_empty() { p class="empty" { "No pod waits" } }
    }
}

fn row(group: &Alike<'_>) -> Markup {
    let Alike { first, verdict: Verdict { mood, words }, pods } = group;
    html! {
        a class="row-link" href=(pending_path(&first.namespace, &first.workload)) {
            span class={ "sign " (mood.class()) } aria-hidden="true" { (mood.sign()) }
            div {
                p {
                    b { (figures::group((*pods).into())) " × " bdi { (first.who()) } }
                    span class="dim" { (group.others()) @if let Some(waited) = first.waited { " for " (waited.rounded()) } }
                }
                p class="reason" { (words) span class="dim" { " · " (first.requests) } }
            }
            span class="go" { "why" }
        }
    }
}

/// The page of all that waits.
pub(super) fn all(view: &View) -> Markup {
    let each = |pending| Alike { first: pending, verdict: verdict(pending, view.mode), pods: pending.count };
    html! {
        h1 { "Waiting" }
        section class="panel" {
            (head(view))
            ul class="rows" { @for pending in &view.pending { li { (row(&each(pending))) } } }
        }
    }
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
    let Verdict { mood, words } = verdict(pending, view.mode);
    html! {
        section class={ "panel verdict " (mood.class()) } {
            p class="verdict-words" { span class={ "sign " (mood.class()) } aria-hidden="true" { (mood.sign()) } " " (words) }
            dl class="facts" {
                dt { "Waits" } dd { (figures::plural(pending.count, "pod")) @if let Some(waited) = pending.waited { @if pending.count > 1 { ", the first" } " for " (waited.rounded()) } }
                dt { "Asks for" } dd { (pending.requests) }
                dt { "Waits for" }
                dd {
                    @if pending.waiting.is_empty() { "nothing that is on its way" }
                    ul { @for waiting in &pending.waiting { li { (waiting.words(view.now)) } } }
                }
                @if let Some(remedy) = pending.infeasible.as_ref().and_then(remedy) { dt { "What would help" } dd { (remedy) } }
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
    // Pools that were bound by the same share a row.
    let mut pools: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for verdict in &infeasible.pools {
        pools.entry(verdict.reason.words(view.now)).or_default().push(&verdict.pool);
    }
    html! {
        section class="panel" {
            h2 { "What was tried" }
            table class="tried" {
                thead { tr { th scope="col" { "Where" } th scope="col" { "What bound it" } } }
                tbody {
                    @for (words, pools) in &pools {
                        tr {
                            th scope="row" {
                                "New node of "
                                @for (at, pool) in pools.iter().enumerate() {
                                    @if at > 0 { ", " }
                                    a href=(pool_path(pool)) { (pool) }
                                }
                            }
                            td { (words) }
                        }
                    }
                    @for verdict in &infeasible.nodes {
                        tr {
                            th scope="row" { (figures::plural(verdict.nodes, "node")) " in the cluster" }
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
