//! Whether a simulation passes: promises, expected ranges, and the gates of `--fail-if`.

use ballast_sim::score::mean;
use serde::Serialize;

use super::policies::Policy;
use crate::cli::Result;
use crate::gate::{Gate, Mistake};
use crate::present::missed::Worst;
use crate::present::score::{Runs, Simulated};
use crate::present::{Failure, Screen};

/// Refuses a gate that speaks of figures or policies that do not exist, or that mixes units, before anything is run.
pub(super) fn check(gate: &Gate, policies: &[Policy]) -> Result<()> {
    let letters: Vec<char> = policies.iter().map(|policy| policy.letter).collect();
    let unit = |name: &str| {
        let (letter, figure) = split(name);
        if let Some(letter) = letter.filter(|letter| !letters.contains(letter)) {
            return Err(format!("there is no policy {letter}: each `--policy` adds one after A"));
        }
        policies[0].scenario.spec.figure(figure).map(|figure| figure.unit)
    };
    gate.check(&unit).map_err(|mistake| Failure::new(format!("cannot use `--fail-if`: {mistake}")))
}

/// `B.cost` is the cost of policy B; a figure alone is that of A.
fn split(name: &str) -> (Option<char>, &str) {
    match name.split_once('.') {
        Some((letter, figure)) if letter.len() == 1 && letter.as_bytes()[0].is_ascii_uppercase() => {
            (letter.chars().next(), figure)
        }
        _ => (None, name),
    }
}

/// What came of a gate.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Judged<'a> {
    fail_if: &'a str,
    /// Whether it holds; `None` where a figure of it has no value.
    holds: Option<bool>,
    #[serde(skip)]
    mistake: Option<Mistake>,
}

impl<'a> Judged<'a> {
    /// What came of a gate in a simulation.
    pub(super) fn new(gate: &'a Gate, simulated: &Simulated) -> Self {
        let holds = gate.holds(&|name| figure(&simulated.policies, name));
        Self { fail_if: gate.text(), holds: holds.as_ref().ok().copied(), mistake: holds.err() }
    }
}

/// Tells on stderr what did not pass; true where something did not.
pub(super) fn judge(simulated: &Simulated, gates: Vec<Judged<'_>>, screen: &mut Screen) -> Result<bool> {
    let mut fails = false;
    // A scenario that tells of a rule which breaks promises says how many it expects; all others expect none.
    let allowed = simulated.expect.get("brokenPromises").map_or(0.0, |[_, most]| most.value);
    for policy in &simulated.policies {
        let broken: u64 = policy.scores.iter().map(|score| score.broken_promises).sum();
        if policy.scores.iter().any(|score| score.broken_promises as f64 > allowed) {
            fails = true;
            screen.note(format_args!("fail: {} broken promises under {}", broken, policy.letter));
            for breach in policy.scores.iter().flat_map(|score| &score.breaches).take(5) {
                screen.note(format_args!("  {} {}: {}", breach.at, breach.promise, breach.message));
            }
        }
    }
    for missed in Worst::all(simulated) {
        fails = true;
        screen.note(format_args!("fail: {}: {missed}", simulated.name));
    }
    for gate in gates {
        if let Some(mistake) = gate.mistake {
            let what = format!("cannot judge `--fail-if` of {}: {mistake}", simulated.name);
            return Err(Failure::new(what).hint("a figure without a value is neither small nor large"));
        }
        if gate.holds == Some(true) {
            fails = true;
            screen.note(format_args!("fail: {}: {}", simulated.name, gate.fail_if));
        }
    }
    Ok(fails)
}

/// The mean of a figure over all seeds that have one.
fn figure(policies: &[Runs], name: &str) -> std::result::Result<f64, String> {
    let (letter, figure) = split(name);
    let policy = policies.iter().find(|policy| policy.letter == letter.unwrap_or('A'));
    let policy = policy.ok_or_else(|| "there is no such policy".to_owned())?;
    let seen = mean(&policy.scores, figure).map(|(value, _)| value);
    seen.ok_or_else(|| format!("`{figure}` has no value here: there was nothing to measure"))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_letter_in_front_names_the_policy() {
        assert_eq!(split("B.cost"), (Some('B'), "cost"));
        assert_eq!(split("cost.gpu"), (None, "cost.gpu"));
        assert_eq!(split("A.pendingP95.etl"), (Some('A'), "pendingP95.etl"));
        assert_eq!(split("cost"), (None, "cost"));
    }
}
