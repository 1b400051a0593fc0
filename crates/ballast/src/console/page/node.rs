//! One node: where it is in its life, how full it is, why it is kept, and what happens to it.

use ballast_core::view::{NodeState, NodeView, View};
use maud::{Markup, html};

use super::plan::{action_row, lasting, moment_row};
use crate::console::Frame;
use crate::console::parts::{bars, pool_path, state_word};

/// Whether it is there, or anything that is shown speaks of it: a link to a machine that never came leads somewhere too.
pub(super) fn is_known(frame: &Frame, name: &str) -> bool {
    let view = &frame.view;
    view.nodes.iter().any(|node| *node.name == *name)
        || view.actions.iter().any(|action| *action.target.name == *name)
        || view.in_flight.iter().any(|flight| *flight.target == *name)
        || frame.moments.iter().any(|moment| moment.node() == name)
}

pub(super) fn page(frame: &Frame, name: &str) -> Markup {
    let view = &frame.view;
    let moments: Vec<_> = frame.moments.iter().filter(|moment| moment.node() == name).collect();
    let node = view.nodes.iter().find(|node| *node.name == *name);
    let actions: Vec<_> = view.actions.iter().filter(|action| *action.target.name == *name).collect();
    let flights: Vec<_> = view.in_flight.iter().filter(|flight| *flight.target == *name).collect();
    html! {
        p class="crumbs" {
            a href="/" { "Overview" }
            @if let Some(node) = node.filter(|node| !node.pool.is_empty()) {
                " / " a href=(pool_path(&node.pool)) { "Pool " (node.pool) }
            }
        }
        h1 { "Node " bdi { (name) } }
        @match node {
            Some(node) => (facts(view, node)),
            None => p class="empty" { "No node or instance of this name is known now" },
        }
        @if !flights.is_empty() {
            section class="panel" {
                h2 { "Under way" }
                ul class="rows" {
                    @for flight in flights {
                        li { span class="sign same" aria-hidden="true" { "…" }
                            div { p { (flight.step) (lasting(view.now, flight)) } } }
                    }
                }
            }
        }
        @if !actions.is_empty() {
            section class="panel" { h2 { "Planned" } ul class="rows" { @for action in actions { (action_row(action)) } } }
        }
        @if !moments.is_empty() {
            section class="panel" { h2 { "Lately" } ul class="rows" { @for moment in moments { (moment_row(moment)) } } }
        }
    }
}

fn facts(view: &View, node: &NodeView) -> Markup {
    html! {
        section class="panel verdict same" {
            p class="verdict-words" { i class={ "cell f2 " (state_word(node.state)) } aria-hidden="true" {} " " (state_sentence(node.state)) }
            dl class="facts" {
                dt { "Why it is kept" }
                dd { (node.kept_because.as_deref().unwrap_or(unsaid(node.state))) }
                dt { "Unneeded" }
                dd {
                    @match node.idle_since {
                        Some(since) => { "for " (view.now.since(since).rounded()) },
                        None => "no, its pods need it or it has not been weighed yet",
                    }
                }
                dt { "Pods" } dd { (node.pods) " besides daemons" }
                @if !node.zone.is_empty() { dt { "Zone" } dd { bdi { (node.zone) } } }
            }
            (bars(&node.usage))
        }
    }
}

const fn state_sentence(state: NodeState) -> &'static str {
    match state {
        NodeState::Starting => "Starting, or up without the devices it promised",
        NodeState::Ready => "Ready for pods",
        NodeState::Unready => "Unwell: the cluster does not hear from it as it should",
        NodeState::Cordoned => "Cordoned by someone else",
        NodeState::Draining => "Cordoned by Ballast: running empty or being drained",
        NodeState::Stopping => "On its way down",
        NodeState::Stopped => "Stopped",
    }
}

/// Where no reason was weighed, what that means.
const fn unsaid(state: NodeState) -> &'static str {
    match state {
        NodeState::Starting => "it is starting because something asked for it",
        NodeState::Draining | NodeState::Stopping => "it is not: it is on its way out",
        NodeState::Stopped => "it costs only its disk and starts faster than a new one",
        NodeState::Ready | NodeState::Unready | NodeState::Cordoned => {
            "it was not weighed for removal in this plan"
        }
    }
}
