//! What `ballast simulate -o json` prints.

use std::collections::BTreeMap;

use ballast_sim::score::{Comparison, Figure, compare};
use schemars::JsonSchema;
use serde::Serialize;

use super::judged::Judged;
use super::missed::Worst;
use super::score::{Runs, Simulated};

/// What `-o json` prints.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer<'a> {
    /// Version of this form.
    schema_version: u32,
    /// One a scenario.
    simulations: Vec<Simulation<'a>>,
}

/// What came of one scenario.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Simulation<'a> {
    /// The name of the scenario.
    scenario: &'a str,
    /// The seeds, in the order of `scores`.
    seeds: &'a [u64],
    /// Each policy with its runs; the first is the scenario's own.
    policies: &'a [Runs],
    /// Each policy after the first against the first, by its letter.
    comparisons: BTreeMap<char, Comparison>,
    /// Figures of the scenario's own policy that are not where the scenario expects them.
    missed: Vec<Worst>,
    /// What came of each `--fail-if`.
    gates: &'a [Judged],
}

impl<'a> Answer<'a> {
    /// The version of this form.
    pub const VERSION: u32 = 1;

    /// Of everything that was simulated, with what came of the gates of each.
    pub fn of(all: &'a [Simulated], gates: &'a [Vec<Judged>]) -> Self {
        let told = |(simulated, gates): (&'a Simulated, &'a Vec<Judged>)| Simulation {
            scenario: &simulated.name,
            seeds: &simulated.seeds,
            policies: &simulated.policies,
            comparisons: comparisons(&simulated.policies),
            missed: Worst::all(simulated),
            gates,
        };
        Self { schema_version: Self::VERSION, simulations: all.iter().zip(gates).map(told).collect() }
    }
}

fn comparisons(policies: &[Runs]) -> BTreeMap<char, Comparison> {
    let Some((first, others)) = policies.split_first() else { return BTreeMap::new() };
    let names = || Figure::ALL.iter().map(|figure| figure.name);
    let against = |other: &Runs| (other.letter, compare(&first.scores, &other.scores, names()));
    others.iter().map(against).collect()
}
