//! Whether a simulation passes: promises, expected ranges, and the gates of `--fail-if`.

use ballast_core::kube::Name;
use ballast_sim::scenario::ScenarioSpec;
use ballast_sim::score::{Missed, Score};

use super::policies::Policy;
use crate::cli::Result;
use crate::gate::Gate;
use crate::present::report::missed_words;
use crate::present::score::{Runs, Simulated};
use crate::present::{Failure, Screen};

/// Refuses a gate that speaks of figures or policies that do not exist, before anything is run.
pub(super) fn check_names(gate: &Gate, policies: &[Policy]) -> Result<()> {
    let letters: Vec<char> = policies.iter().map(|policy| policy.letter).collect();
    let known = |name: &str| {
        let (letter, figure) = split(name);
        if let Some(letter) = letter.filter(|letter| !letters.contains(letter)) {
            return Err(format!("there is no policy {letter}: each `--policy` adds one after A"));
        }
        let spec = &policies[0].scenario.spec;
        if spec.has_figure(figure) { Ok(()) } else { Err(unknown(figure, spec)) }
    };
    gate.check_names(&known).map_err(|mistake| Failure::new(format!("cannot use `--fail-if`: {mistake}")))
}

fn unknown(figure: &str, spec: &ScenarioSpec) -> String {
    if figure.contains('.') {
        let list = |names: Vec<&Name>| names.into_iter().map(|name| &**name).collect::<Vec<_>>().join(", ");
        let (pools, workloads) = (list(spec.pool_names()), list(spec.workload_names()));
        return format!("there is no figure `{figure}`: the pools are {pools}, the workloads {workloads}");
    }
    let near = |name: &&str| strsim::jaro_winkler(figure, name);
    let nearest = Score::names().iter().copied().max_by(|a, b| near(a).total_cmp(&near(b)));
    match nearest.filter(|name| near(name) > 0.8) {
        Some(name) => format!("there is no figure `{figure}`; did you mean `{name}`?"),
        None => format!("there is no figure `{figure}`: they are {}", Score::names().join(", ")),
    }
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

/// Figures of A that did not land where the scenario expects them, over all seeds.
pub(super) fn missed(simulated: &Simulated) -> Vec<Missed> {
    let own = simulated.policies.first().map(|policy| &policy.scores[..]).unwrap_or_default();
    let mut missed: Vec<Missed> = Vec::new();
    for score in own {
        for one in score.missed(&simulated.expect) {
            if !missed.iter().any(|other| other.figure == one.figure) {
                missed.push(one);
            }
        }
    }
    missed
}

/// Tells on stderr what did not pass; true where something did not.
pub(super) fn judge(simulated: &Simulated, gates: &[Gate], screen: &mut Screen) -> Result<bool> {
    let mut fails = false;
    // A scenario that tells of a rule which breaks promises says how many it expects; all others expect none.
    let allowed = simulated.expect.get("brokenPromises").map_or(0.0, |[_, most]| *most);
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
    for missed in missed(simulated) {
        fails = true;
        screen.note(format_args!("fail: {}: {}", simulated.name, missed_words(&missed)));
    }
    for gate in gates {
        let holds = gate.holds(&|name| figure(&simulated.policies, name));
        if holds.map_err(|mistake| Failure::new(format!("cannot judge `--fail-if`: {mistake}")))? {
            fails = true;
            screen.note(format_args!("fail: {}: {}", simulated.name, gate.text()));
        }
    }
    Ok(fails)
}

/// The mean of a figure over all seeds.
fn figure(policies: &[Runs], name: &str) -> std::result::Result<f64, String> {
    let (letter, figure) = split(name);
    let policy = policies.iter().find(|policy| policy.letter == letter.unwrap_or('A'));
    let policy = policy.ok_or_else(|| "there is no such policy".to_owned())?;
    let values: Option<Vec<f64>> = policy.scores.iter().map(|score| score.get(figure)).collect();
    let values = values.ok_or_else(|| format!("this run has no figure `{figure}`"))?;
    Ok(values.iter().sum::<f64>() / values.len().max(1) as f64)
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
