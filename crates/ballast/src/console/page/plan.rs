//! The plan as it stands: what is done next and why, what is under way, and what is held.

use ballast_core::plan::{Action, Words};
use ballast_core::procedure::Receipt;
use ballast_core::units::Time;
use ballast_core::view::{InFlightView, View};
use maud::{Markup, html};

use super::Fragment;
use crate::console::parts::{action_sign, action_target, node_path, subject};
use crate::console::{Frame, Moment, What};
use crate::present::figures;

pub(super) fn fragments(frame: &Frame) -> Vec<Fragment> {
    let view = &frame.view;
    vec![
        Fragment::new("plan", actions(view, usize::MAX)),
        Fragment::new("lately", lately(frame, usize::MAX)),
        Fragment::new("flight", in_flight(view, usize::MAX)),
        Fragment::new("holds", holds(view, usize::MAX)),
    ]
}

pub(super) fn layout(fragments: &[Fragment]) -> Markup {
    html! { h1 { "Plan" } div class="stack" { @for fragment in fragments { (fragment.placed()) } } }
}

/// What is planned, at most `rows` of it.
pub(super) fn actions(view: &View, rows: usize) -> Markup {
    html! {
        section class="panel" {
            h2 { "Planned now" span class="badge" { (view.actions.len()) } }
            @if view.actions.is_empty() {
                p class="empty" { "Nothing to change: all that asks is served, waited for, held for a reason, or cannot be served" }
            }
            ul class="rows" { @for action in view.actions.iter().take(rows) { (action_row(action)) } }
            (more(view.actions.len(), rows))
        }
    }
}

/// One action with its reason.
pub(super) fn action_row(action: &Action) -> Markup {
    html! {
        li {
            (action_sign(action.kind))
            div {
                p { (action.kind) " " (action_target(action)) }
                p class="reason" {
                    (action.reason.message)
                    @if let Some(limit) = &action.reason.limit { span class="bound" { " Bound by " (limit) } }
                }
            }
        }
    }
}

/// What was decided lately and what came of it, at most `rows` of it.
pub(super) fn lately(frame: &Frame, rows: usize) -> Markup {
    html! {
        section class="panel" {
            h2 { "Lately" }
            @if frame.moments.is_empty() { p class="empty" { "Nothing was decided yet" } }
            ul class="rows" { @for moment in frame.moments.iter().take(rows) { (moment_row(moment)) } }
            (more(frame.moments.len(), rows))
        }
    }
}

pub(super) fn moment_row(moment: &Moment) -> Markup {
    let clock = figures::clock(moment.at);
    html! {
        li {
            @match &moment.what {
                What::Decided(action) => {
                    (action_sign(action.kind))
                    div {
                        p { (action.kind) " " (action_target(action)) span class="when" { (clock) } }
                        p class="reason" { (action.reason.message) }
                    }
                }
                What::Ended { node, receipt } => {
                    @let (mood, sign) = outcome(receipt);
                    span class={ "sign " (mood) } aria-hidden="true" { (sign) }
                    div { p { a href=(node_path(node)) { bdi { (node) } } " " (receipt) span class="when" { (clock) } } }
                }
            }
        }
    }
}

/// Whether something ended as it was meant to.
fn outcome(receipt: &Receipt) -> (&'static str, &'static str) {
    match receipt {
        Receipt::Joined | Receipt::Stopped | Receipt::Uncordoned => ("good", "✓"),
        Receipt::LaunchCancelled | Receipt::GaveUp { .. } => ("same", "↩"),
        Receipt::LaunchFailed { .. } | Receipt::NeverJoined => ("bad", "✕"),
    }
}

/// What is under way, at most `rows` of it.
pub(super) fn in_flight(view: &View, rows: usize) -> Markup {
    html! {
        section class="panel" {
            h2 { "Under way" span class="badge" { (view.in_flight.len()) } }
            @if view.in_flight.is_empty() { p class="empty" { "Nothing" } }
            ul class="rows" {
                @for flight in view.in_flight.iter().take(rows) {
                    li {
                        span class="sign same" aria-hidden="true" { "…" }
                        div {
                            p { a href=(node_path(&flight.target)) { bdi { (flight.target) } } }
                            p class="reason" {
                                (flight.step) (lasting(view.now, flight))
                            }
                        }
                    }
                }
            }
            (more(view.in_flight.len(), rows))
        }
    }
}

/// How long something has been under way, and how long it may be.
pub(super) fn lasting(now: Time, flight: &InFlightView) -> String {
    let so_far = now.since(flight.since).rounded();
    match flight.deadline {
        Some(deadline) => format!(", for {so_far} of at most {}", deadline.since(flight.since).rounded()),
        None => format!(", for {so_far}"),
    }
}

/// What is held, at most `rows` of it.
pub(super) fn holds(view: &View, rows: usize) -> Markup {
    html! {
        section class="panel" {
            h2 { "Held on purpose" span class="badge" { (view.holds.len()) } }
            @if view.holds.is_empty() { p class="empty" { "Nothing" } }
            ul class="rows" {
                @for hold in view.holds.iter().take(rows) {
                    li {
                        span class="sign same" aria-hidden="true" { "‖" }
                        div {
                            p { (subject(&hold.subject)) }
                            p class="reason" {
                                (hold.reason.words(view.now))
                                @if let Some(until) = hold.until { "; may end " (figures::ahead(until, view.now)) }
                            }
                        }
                    }
                }
            }
            (more(view.holds.len(), rows))
        }
    }
}

fn more(all: usize, shown: usize) -> Markup {
    html! { @if all > shown { p class="more" { a href="/plan" { "and " (all - shown) " more" } } } }
}
