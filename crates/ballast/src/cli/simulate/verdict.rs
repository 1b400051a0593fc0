//! Whether a simulation passes: promises, expected ranges, and the gates of `--fail-if`.

use super::policies::Policy;
use crate::cli::Result;
use crate::gate::Gate;
use crate::present::judged::{Judged, split};
use crate::present::missed::Worst;
use crate::present::score::Simulated;
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

/// Tells on stderr what did not pass; true where something did not.
pub(super) fn judge(simulated: &Simulated, gates: Vec<Judged>, screen: &mut Screen) -> Result<bool> {
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
        if let Some(mistake) = &gate.mistake {
            let what = format!("cannot judge `--fail-if` of {}: {mistake}", simulated.name);
            return Err(Failure::new(what).hint("a figure without a value is neither small nor large"));
        }
        if gate.holds == Some(true) {
            fails = true;
            screen.note(format_args!("fail: {}: {gate}", simulated.name));
            for condition in gate.conditions.iter().filter(|_| gate.conditions.len() > 1) {
                screen.note(format_args!("  {condition}"));
            }
        }
    }
    Ok(fails)
}
