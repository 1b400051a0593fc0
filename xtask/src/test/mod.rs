//! `cargo xtask test`: suites in, a closing table and an exit code out.
//!
//! A suite that fails does not stop the others, and nothing is passed over in silence: a step whose component
//! is missing is named at the end, an ignored test and a step that ran no test at all count as failures.

mod closing;
mod counts;
mod deny;
mod evidence;
mod outcome;
mod step;
mod suite;

use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueEnum;

pub(crate) use counts::Counts;
use outcome::Outcome;
pub(crate) use step::{Surroundings, check};
use suite::{SUITES, Suite};

use crate::component;

/// How much of each counted test is run; tests read it from `BALLAST_TEST_SIZE`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Size {
    /// Every path at least once
    Ci,
    /// The counts and lengths that are promised; the result goes to docs/evidence
    Full,
}

impl Size {
    /// The word that tests see.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ci => "ci",
            Self::Full => "full",
        }
    }
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Suites to run; none named means all
    #[arg(value_name = "SUITE", long_help = suite::long_help())]
    suites: Vec<String>,
    /// How much of each counted test is run
    #[arg(long, value_enum, default_value = "ci")]
    size: Size,
    /// Fail where a component that one of the suites needs is missing
    #[arg(long)]
    require_all: bool,
    /// Pass over suites that docs/evidence shows as passed at size full on this very commit
    #[arg(long)]
    resume: bool,
}

/// Runs the suites; `Ok(false)` when anything failed.
pub(crate) fn run(args: Args) -> Result<bool> {
    let mut suites = choose(&args.suites)?;
    let mut done_before = Vec::new();
    if args.resume {
        (done_before, suites) = suites.into_iter().partition(|suite| evidence::passed_here(suite.name));
    }
    let names: Vec<&str> = suites.iter().map(|suite| suite.name).collect();
    let components = component::check_all(&names);
    let surroundings = Surroundings { size: args.size, components: &components };

    let mut outcomes = Vec::new();
    for suite in suites {
        let started = Instant::now();
        let mut outcome = Outcome::new(suite.name);
        for step in suite.steps {
            outcome.add(step.name, step.run(suite.name, &surroundings));
        }
        outcome.seconds = started.elapsed().as_secs_f64();
        println!("{}", outcome.line());
        if args.size == Size::Full {
            evidence::write(&outcome)?;
        }
        outcomes.push(outcome);
    }
    for suite in done_before {
        println!(
            "{}: passed at size full on this commit before, see {}",
            suite.name,
            evidence::path(suite.name)
        );
    }
    Ok(closing::print(&outcomes, &components, &names, args.size, args.require_all))
}

/// The suites of these names in the order of the table, or all of them.
fn choose(names: &[String]) -> Result<Vec<&'static Suite>> {
    if let Some(name) = names.iter().find(|name| SUITES.iter().all(|suite| suite.name != **name)) {
        let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        bail!("there is no suite `{name}`\n\nhint: the suites are {}", known.join(", "));
    }
    let wanted = |suite: &&Suite| names.is_empty() || names.iter().any(|name| name == suite.name);
    Ok(SUITES.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_suite_is_refused_with_the_known_ones() {
        let error = choose(&["unitt".to_owned()]).err().expect("no such suite").to_string();
        assert!(error.contains("`unitt`"), "{error}");
        assert!(error.contains("the suites are unit"), "{error}");
    }

    #[test]
    fn none_named_means_all_and_the_table_gives_the_order() {
        assert_eq!(choose(&[]).expect("all").len(), SUITES.len());
        let last = SUITES.last().expect("there is one").name;
        let named = [last, "unit", last].map(str::to_owned);
        let names: Vec<&str> = choose(&named).expect("both exist").iter().map(|suite| suite.name).collect();
        assert_eq!(names.first(), Some(&"unit"));
        assert_eq!(names.last(), Some(&last));
        assert!(names.len() <= 2);
    }
}
