//! What a simulation came to, as tables: the figures, how policies differ, and how long each workload waited.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use ballast_core::kube::Name;
use ballast_core::units::Span;
use ballast_sim::score::{self, Amount, Difference, Figure, Score, Series, Unit, Waits, compare};
use schemars::JsonSchema;
use serde::Serialize;

use super::figures;
use super::table::Table;

/// A scenario that was run.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Its name.
    pub name: String,
    /// Its story.
    pub story: String,
    /// Where its figures have to land.
    pub expect: BTreeMap<Name, [Amount; 2]>,
    /// The currency of its money.
    pub currency: String,
    /// What is to be known of its prices, where pools have none.
    pub prices: Option<String>,
    /// The seeds of the runs.
    pub seeds: Vec<u64>,
    /// How long each run lasted.
    pub lasted: Span,
    /// How long all runs took.
    pub took: Duration,
    /// Policies and their figures.
    pub policies: Vec<Runs>,
    /// What went on under each policy, for the first seed.
    pub series: Vec<Series>,
}

impl Simulated {
    /// What was run, in a line: the same for every run of it.
    pub fn how(&self) -> String {
        let seeds = match &self.seeds[..] {
            [seed] => format!("seed {seed}"),
            [first, .., last] => format!("{} seeds from {first} to {last}", self.seeds.len()),
            [] => "no seed".to_owned(),
        };
        format!("{}: {} with {seeds}, money in {}", self.name, self.lasted, self.currency)
    }

    /// The same, with how long it took.
    pub fn how_long(&self) -> String {
        format!("{}, simulated in {:.1}s", self.how(), self.took.as_secs_f64())
    }
}

/// A policy and its runs, the same seed at the same place in each.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Runs {
    /// `A`, `B`, …
    pub letter: char,
    /// What it is, such as the name of a file.
    pub name: String,
    /// One a seed.
    pub scores: Vec<Score>,
}

/// A value of a figure in words.
pub fn word(figure: &str, value: f64) -> String {
    amount(unit(figure), value)
}

/// An amount of a unit in words.
pub fn amount(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Money if value.abs() >= 10_000.0 => figures::group(value.round() as i64),
        Unit::Money => format!("{value:.2}"),
        Unit::Share => format!("{:.1}%", value * 100.0),
        Unit::Seconds => seconds(value),
        Unit::Hours | Unit::Count => figures::number(value),
    }
}

/// A difference of two values of a figure in words: shares differ by points, not by percent.
fn apart(figure: &str, value: f64) -> String {
    match unit(figure) {
        Unit::Share => format!("{:.1} pp", value * 100.0),
        _ => word(figure, value),
    }
}

fn unit(figure: &str) -> Unit {
    let name = figure.split('.').next().unwrap_or_default();
    Figure::find(name).map_or(Unit::Count, |figure| figure.unit)
}

/// Seconds as people read them: `12s`, `3m20s`, `2h5m`.
pub fn seconds(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let whole = value.abs().round() as u64;
    let text = match whole {
        0 if value != 0.0 => format!("{:.1}s", value.abs()),
        0..60 => format!("{whole}s"),
        60..3600 if whole.is_multiple_of(60) => format!("{}m", whole / 60),
        60..3600 => format!("{}m{}s", whole / 60, whole % 60),
        3600..86_400 if whole % 3600 < 60 => format!("{}h", whole / 3600),
        3600..86_400 => format!("{}h{}m", whole / 3600, whole / 60 % 60),
        _ if whole % 86_400 < 3600 => format!("{}d", whole / 86_400),
        _ => format!("{}d{}h", whole / 86_400, whole / 3600 % 24),
    };
    format!("{sign}{text}")
}

/// Figures that a wide table adds to the others.
const WIDE_ONLY: [&str; 5] = ["meanPending", "unusedLaunches", "meanCompletion", "ticks", "requests"];

/// The names of the figures that are shown.
pub fn shown(wide: bool) -> Vec<&'static str> {
    let names = Figure::ALL.iter().map(|figure| figure.name);
    names.filter(|name| wide || !WIDE_ONLY.contains(name)).collect()
}

/// Where there is nothing to tell.
const NOTHING: &str = "·";

/// A figure over all seeds: its mean and, where `spread` is wanted, how sure that is.
pub fn mean(runs: &Runs, figure: &str, spread: bool) -> Option<String> {
    let (seen, within) = score::mean(&runs.scores, figure)?;
    let within = within.filter(|within| spread && *within > 0.0);
    let within = within.map(|within| format!(" ± {}", apart(figure, within))).unwrap_or_default();
    Some(format!("{}{within}", word(figure, seen)))
}

/// The table of figures; with several policies, each against the first.
pub fn figures_table(policies: &[Runs], wide: bool) -> Table {
    let mut heads = vec!["FIGURE".to_owned()];
    // Of several policies the differences tell, pair by pair, what chance may do.
    let spread = policies.len() == 1 && policies[0].scores.len() > 1;
    let of_mean = if spread { " (95 %)" } else { "" };
    heads.extend(policies.iter().map(|policy| format!(">{}{of_mean}", policy.letter)));
    heads.extend(policies.iter().skip(1).map(|policy| format!(">{} - A (95 %)", policy.letter)));
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    let Some(first) = policies.first() else { return table };
    for figure in shown(wide) {
        let mut row = vec![figure.to_owned()];
        let seen = |policy| mean(policy, figure, spread).unwrap_or_else(|| NOTHING.to_owned());
        row.extend(policies.iter().map(seen));
        for other in &policies[1..] {
            let compared = compare(&first.scores, &other.scores, [figure]);
            row.push(compared.differences.first().map(difference).unwrap_or_default());
        }
        table.push(row);
    }
    table
}

/// A difference with its interval; a star where the interval leaves zero out.
pub fn difference(difference: &Difference) -> String {
    if difference.difference == 0.0 && difference.within.unwrap_or(0.0) == 0.0 {
        return format!("{NOTHING}  ");
    }
    let word = |value| apart(&difference.figure, value);
    let sign = if difference.difference > 0.0 { "+" } else { "" };
    let star = if difference.is_clear() { "*" } else { " " };
    match difference.within {
        Some(within) => {
            format!("{sign}{} ± {} {star}", word(difference.difference), word(within))
        }
        None => format!("{sign}{} {star}", word(difference.difference)),
    }
}

/// How long the pods of each workload waited for a node, over all seeds.
pub fn waits_table(policies: &[Runs]) -> Table {
    let several = policies.len() > 1;
    let mut heads = vec!["WORKLOAD", "POLICY", ">PODS", ">UNSERVED", ">P50", ">P90", ">P95", ">P99", ">MAX"];
    heads.retain(|head| several || *head != "POLICY");
    let mut table = Table::new(&heads);
    let Some(first) = policies.first().and_then(|policy| policy.scores.first()) else { return table };
    for workload in first.pending_by_workload.keys() {
        for policy in policies {
            let waits: Vec<&Waits> =
                policy.scores.iter().filter_map(|score| score.pending_by_workload.get(workload)).collect();
            let sum = |of: fn(&Waits) -> u64| waits.iter().map(|waits| of(waits)).sum::<u64>().to_string();
            // A seed in which none of its pods came tells nothing of how long they wait.
            let told: Vec<_> = waits.iter().filter(|waits| waits.count > 0).collect();
            let over = |of: fn(&Waits) -> f64| match told.len() {
                0 => NOTHING.to_owned(),
                seeds => seconds(told.iter().map(|waits| of(waits)).sum::<f64>() / seeds as f64),
            };
            let mut row = vec![workload.to_string()];
            row.extend(several.then(|| policy.letter.to_string()));
            row.extend([
                sum(|waits| waits.count),
                sum(|waits| waits.unserved),
                over(|waits| waits.p50),
                over(|waits| waits.p90),
                over(|waits| waits.p95),
                over(|waits| waits.p99),
                over(|waits| waits.max),
            ]);
            table.push(row);
        }
    }
    table
}

/// Why pods still waited at the end, over all seeds.
pub fn left_table(policies: &[Runs]) -> Table {
    let several = policies.len() > 1;
    let mut heads = vec!["WORKLOAD", "POLICY", ">PODS", "POOL", "WHY THEY STILL WAIT"];
    heads.retain(|head| several || *head != "POLICY");
    let mut table = Table::new(&heads);
    for policy in policies {
        let mut counts: BTreeMap<(&Name, &Name, &str), u64> = BTreeMap::new();
        for left in policy.scores.iter().flat_map(|score| &score.left) {
            *counts.entry((&left.workload, &left.pool, &left.why)).or_default() += left.pods;
        }
        for ((workload, pool, why), pods) in counts {
            let mut row = vec![workload.to_string()];
            row.extend(several.then(|| policy.letter.to_string()));
            row.extend([pods.to_string(), pool.to_string(), why.to_owned()]);
            table.push(row);
        }
    }
    table
}

/// What the table of waits shows; over several seeds pods are counted together, and of times the mean is told.
pub fn waits_title(policies: &[Runs]) -> String {
    let seeds = policies.first().map_or(0, |policy| policy.scores.len());
    let how = match seeds {
        0 | 1 => String::new(),
        seeds => format!(" (pods of all {seeds} seeds, times as means over them)"),
    };
    format!("Time that pods waited for a node{how}")
}

/// What the table of those that are left shows.
pub const LEFT: &str = "Pods without a node at the end";

/// Everything, as text.
pub fn tables(policies: &[Runs], wide: bool) -> String {
    let mut text = String::new();
    if policies.len() > 1 {
        for policy in policies {
            let _ = writeln!(text, "{}: {}", policy.letter, policy.name);
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", figures_table(policies, wide).render());
    let waits = waits_table(policies);
    if !waits.is_empty() {
        let _ = write!(text, "{}:\n{}", waits_title(policies), waits.render());
    }
    let left = left_table(policies);
    if !left.is_empty() {
        let _ = write!(text, "\n{LEFT}:\n{}", left.render());
    }
    let several = policies.first().is_some_and(|policy| policy.scores.len() > 1);
    if policies.len() > 1 && several {
        text.push_str("\n* the interval leaves zero out: the policies differ beyond chance\n");
    }
    text
}
