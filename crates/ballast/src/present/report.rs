//! A simulation as a page of its own: figures, differences, waits and charts in one file that needs nothing else.

use ballast_core::units::Time;
use ballast_sim::score::{PoolSizes, Sample, Series as Seen};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart::{Chart, Form, Series};
use super::judged::Judged;
use super::missed::Worst;
use super::score::{LEFT, Runs, Simulated, figures_table, left_table, waits_table, waits_title};
use super::table::Table;

const STYLE: &str = concat!(include_str!("theme.css"), include_str!("report.css"));
/// Colours of the series, in the order of `theme.css`.
const CLASSES: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

/// Broken promises that are listed; the first ones tell.
const BREACHES_MAX: usize = 20;

/// The page.
pub fn render(simulated: &Simulated, gates: &[Judged]) -> String {
    let Simulated { name, story, policies, series, .. } = simulated;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (name) " · Ballast simulation" }
                style { (PreEscaped(STYLE)) }
            }
            body class="report" {
                h1 { "Simulation of " (name) }
                p class="dim" { (simulated.how()) }
                @if let Some(prices) = &simulated.prices { p class="dim" { "Prices: " (prices) } }
                @for text in story.split("\n\n").filter(|text| !text.trim().is_empty()) { p class="story" { (text) } }
                (verdicts(simulated, gates))
                @if let [first, _, ..] = simulated.seeds[..] { p class="dim" { "The charts show seed " (first) "." } }
                @for (policy, seen) in policies.iter().zip(series) { (charts(policy, seen, policies.len() > 1)) }
                section class="panel" {
                    h2 { "Figures" }
                    @if policies.len() > 1 {
                        ul { @for policy in policies { li { b { (policy.letter) } " " (policy.name) } } }
                    }
                    (html_table(&figures_table(policies, true)))
                }
                section class="panel" { h2 { (waits_title(policies)) } (html_table(&waits_table(policies))) }
                @let left = left_table(policies);
                @if !left.is_empty() { section class="panel" { h2 { (LEFT) } (html_table(&left)) } }
            }
        }
    }
    .into_string()
}

fn verdicts(simulated: &Simulated, gates: &[Judged]) -> Markup {
    let Simulated { policies, expect, .. } = simulated;
    let missed = Worst::all(simulated);
    // Promises have a line of their own.
    let has_ranges = expect.keys().any(|figure| &**figure != "brokenPromises");
    let broken: u64 =
        policies.iter().flat_map(|policy| &policy.scores).map(|score| score.broken_promises).sum();
    html! {
        section class="panel" {
            @if broken == 0 { p class="verdict good" { "✓ No promise was broken" } }
            @else {
                p class="verdict bad" { "✕ " (broken) " broken promises" }
                @for policy in policies { (breaches(policy)) }
            }
            @if !has_ranges { p class="verdict" { "No figure was held against a range" } }
            @else if missed.is_empty() { p class="verdict good" { "✓ Every figure landed where it was expected" } }
            @for missed in &missed { p class="verdict bad" { "✕ " (missed) } }
            @for gate in gates { (verdict(gate)) }
        }
    }
}

/// Whether a gate holds, and each of its comparisons.
fn verdict(gate: &Judged) -> Markup {
    let (class, words) = match gate.holds {
        Some(true) => ("verdict bad", "✕ Failed if "),
        Some(false) => ("verdict good", "✓ Would have failed if "),
        None => ("verdict bad", "✕ Cannot be judged: failed if "),
    };
    html! {
        p class=(class) { (words) code { (gate) } }
        @if gate.conditions.len() > 1 { ul { @for condition in &gate.conditions { li { (condition) } } } }
    }
}

fn breaches(policy: &Runs) -> Markup {
    let all: Vec<_> = policy.scores.iter().flat_map(|score| &score.breaches).take(BREACHES_MAX).collect();
    html! {
        @if !all.is_empty() {
            details {
                summary { "The first under " (policy.letter) }
                ul { @for breach in all { li { (breach.at) " " (breach.promise) ": " (breach.message) } } }
            }
        }
    }
}

fn html_table(table: &Table) -> Markup {
    html! {
        div class="scroll" {
            table {
                thead { tr { @for (head, right) in table.heads() { th scope="col" class=[right.then_some("number")] { (head) } } } }
                tbody {
                    @for row in table.rows() {
                        tr { @for (at, (cell, right)) in row.enumerate() {
                            @if at == 0 { th scope="row" { (cell) } }
                            @else { td class=[right.then_some("number")] { (cell) } }
                        } }
                    }
                }
            }
        }
    }
}

fn charts(policy: &Runs, seen: &Seen, several: bool) -> Markup {
    let times: Vec<Time> = seen.samples.iter().map(|sample| sample.at).collect();
    let title = |text: &str| if several { format!("{}: {text}", policy.letter) } else { text.to_owned() };
    let values = |of: &dyn Fn(&Sample) -> f64| seen.samples.iter().map(|sample| Some(of(sample))).collect();
    let sum =
        |sample: &Sample, of: fn(&PoolSizes) -> u32| f64::from(sample.pools.iter().map(of).sum::<u32>());
    let nodes = vec![
        Series { name: "ready", class: "s-ready", values: values(&|sample| sum(sample, |pool| pool.ready)) },
        Series {
            name: "starting",
            class: "s-starting",
            values: values(&|sample| sum(sample, |pool| pool.starting)),
        },
        Series {
            name: "leaving",
            class: "s-leaving",
            values: values(&|sample| sum(sample, |pool| pool.leaving)),
        },
    ];
    let pools = seen.pools.iter().enumerate().map(|(at, name)| Series {
        name,
        class: CLASSES[at % CLASSES.len()],
        values: values(&|sample| f64::from(sample.pools[at].ready)),
    });
    let waiting = seen.workloads.iter().enumerate().map(|(at, name)| Series {
        name,
        class: CLASSES[at % CLASSES.len()],
        values: values(&|sample| f64::from(sample.pending[at])),
    });
    let cost =
        vec![Series { name: "per hour", class: "s-cost", values: values(&|sample| sample.cost_per_hour) }];
    let used = vec![
        Series { name: "CPU", class: "c0", values: values(&|sample| sample.cpu * 100.0) },
        Series { name: "memory", class: "c1", values: values(&|sample| sample.memory * 100.0) },
        Series { name: "GPU", class: "c2", values: values(&|sample| sample.gpu * 100.0) },
    ];
    let chart = |text: &str, unit, form, series| {
        Chart { title: &title(text), unit, form, times: &times, series }.render()
    };
    html! {
        section class="panel charts" {
            (chart("Nodes of pools by state", "", Form::Stacked, nodes))
            (chart("Ready nodes by pool", "", Form::Stacked, pools.collect()))
            (chart("Pods waiting by workload", "", Form::Stacked, waiting.collect()))
            (chart("Cost per hour", "", Form::Lines, cost))
            (chart("Requested of what is ready", "%", Form::Lines, used))
        }
    }
}
