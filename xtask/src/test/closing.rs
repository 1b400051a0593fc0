//! The end of a run: a table of suites, a table of components, what went wrong, and the sum in the last line.

use super::outcome::Outcome;
use super::{Counts, Size};
use crate::component::{Checked, Found};
use crate::table;

/// A suite may take this long at size `ci`; more is a bug in the suite.
const SUITE_SECONDS_MAX: f64 = 360.0;

/// Prints the closing tables; true when nothing failed and, if demanded, nothing was missing.
pub(super) fn print(
    outcomes: &[Outcome],
    components: &[Checked],
    suites: &[&str],
    size: Size,
    require_all: bool,
) -> bool {
    println!("\n{}", suite_table(outcomes, size));
    println!("{}", component_table(components));
    for outcome in outcomes {
        complain(outcome, size);
    }

    let mut sum = Counts::default();
    outcomes.iter().for_each(|outcome| sum += outcome.counts);
    if require_all {
        for missing in components.iter().filter(|checked| checked.is_missed_by(suites)) {
            println!("missing: {} is required", missing.component.name);
            sum.failed += 1;
        }
    }
    println!("{} passed, {} failed", sum.passed, sum.failed);
    sum.failed == 0
}

fn suite_table(outcomes: &[Outcome], size: Size) -> String {
    let row = |outcome: &Outcome| {
        vec![
            outcome.suite.to_owned(),
            outcome.counts.passed.to_string(),
            outcome.counts.failed.to_string(),
            format!("{:.1}", outcome.seconds),
            size.word().to_owned(),
        ]
    };
    table::layout(
        &["suite", "tests", "failed", "seconds", "size"],
        &outcomes.iter().map(row).collect::<Vec<_>>(),
    )
}

fn component_table(components: &[Checked]) -> String {
    let row = |checked: &Checked| {
        let state = match &checked.found {
            Found::Here { version, .. } => version.clone(),
            Found::Missing(why) => format!("missing: {why}"),
        };
        vec![checked.component.name.to_owned(), state]
    };
    table::layout(&["component", "version"], &components.iter().map(row).collect::<Vec<_>>())
}

fn complain(outcome: &Outcome, size: Size) {
    for step in &outcome.failed_steps {
        println!("failed: {}: {step}", outcome.suite);
    }
    for (step, component) in &outcome.not_run {
        println!("not run: {}: {step}, since {component} is missing", outcome.suite);
    }
    if size == Size::Ci && outcome.seconds > SUITE_SECONDS_MAX {
        println!("slow: {} took longer than the {SUITE_SECONDS_MAX} s of size ci", outcome.suite);
    }
}
