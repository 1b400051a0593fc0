//! Figures that did not land where their scenario expects them.

use std::fmt;

use ballast_sim::score::Missed;
use schemars::JsonSchema;
use serde::Serialize;

use super::score::{Simulated, word};

/// A figure of the scenario's own policy that missed its range, as the seed saw it that missed by most.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worst {
    /// The figure, what was seen of it and what was expected.
    #[serde(flatten)]
    missed: Missed,
    /// The seed.
    seed: u64,
    /// How many seeds missed it.
    seeds_that_missed: usize,
    #[serde(skip)]
    seeds: usize,
}

impl Worst {
    /// Every figure that was missed.
    pub fn all(simulated: &Simulated) -> Vec<Self> {
        let own = simulated.policies.first().map(|policy| &policy.scores[..]).unwrap_or_default();
        let mut all: Vec<Self> = Vec::new();
        for (score, &seed) in own.iter().zip(&simulated.seeds) {
            for missed in score.missed(&simulated.expect) {
                let one = Self { missed, seed, seeds_that_missed: 1, seeds: simulated.seeds.len() };
                match all.iter_mut().find(|other| other.missed.figure == one.missed.figure) {
                    None => all.push(one),
                    Some(other) => other.join(one),
                }
            }
        }
        all
    }

    fn join(&mut self, other: Self) {
        let seeds_that_missed = self.seeds_that_missed + 1;
        if other.far() > self.far() {
            *self = other;
        }
        self.seeds_that_missed = seeds_that_missed;
    }

    /// How far out of its range it is; what has no value is as far as can be.
    fn far(&self) -> f64 {
        let [least, most] = self.missed.expected;
        self.missed.seen.map_or(f64::INFINITY, |seen| (least - seen).max(seen - most))
    }
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figure = &self.missed.figure;
        match self.missed.seen {
            Some(seen) => write!(f, "{figure} is {}", word(figure, seen))?,
            None => write!(f, "{figure} has no value")?,
        }
        if self.seeds > 1 {
            write!(f, " with seed {}", self.seed)?;
        }
        let [least, most] = self.missed.expected.map(|value| word(figure, value));
        write!(f, ", expected {least} to {most}")?;
        if self.seeds > 1 {
            write!(f, " ({} of {} seeds missed it)", self.seeds_that_missed, self.seeds)?;
        }
        Ok(())
    }
}
