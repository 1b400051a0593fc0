//! Every scenario in `scenarios/`: each figure lands in the range that its file expects, on every seed; and the ranges tell
//! something, for with nobody deciding they are missed.
//!
//! Size `ci`: the file's own seed and the next. Size `full`: ten seeds. `openb.yaml` needs the trace and is run with it.
#![expect(clippy::disallowed_methods, reason = "reads scenarios from files")]

use std::path::Path;

use ballast_sim::scenario::{Controller, Scenario};
use ballast_sim::score::Amount;
use ballast_sim::simulation::Simulation;

fn land(_: &Path, text: String) -> datatest_stable::Result<()> {
    let scenario = Scenario::from_value(serde_saphyr::from_str(&text)?)?;
    let full = std::env::var("BALLAST_TEST_SIZE").is_ok_and(|size| size == "full");
    let first = scenario.spec.seed;
    let mut complaints = Vec::new();
    for seed in first..first + if full { 10 } else { 2 } {
        let score = Simulation::new(&scenario, seed).finish();
        for missed in score.missed(&scenario.spec.expect) {
            let [least, most] = missed.expected;
            complaints.push(format!(
                "seed {seed}: {} is {:?}, expected {least} to {most}",
                missed.figure, missed.seen
            ));
        }
        complaints.extend(
            score
                .breaches
                .iter()
                .take(3)
                .filter(|_| !expects_some(&scenario))
                .map(|breach| format!("seed {seed}: {} {} {}", breach.at, breach.promise, breach.message)),
        );
    }
    complaints.extend(passes_without_us(scenario));
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n").into()) }
}

/// Scenarios in which doing nothing is right, and why.
const NOTHING_IS_RIGHT: [(&str, &str); 1] =
    [("blind", "nothing may be removed while sight fails, and there is room for all that comes")];

/// A scenario that is about what we decide and passes where nobody decides anything shows nothing.
fn passes_without_us(mut scenario: Scenario) -> Option<String> {
    let is_ours = scenario.spec.controller == Controller::Ballast;
    if !is_ours || NOTHING_IS_RIGHT.iter().any(|(name, _)| *name == &*scenario.name) {
        return None;
    }
    scenario.spec.controller = Controller::None;
    let missed = Simulation::new(&scenario, scenario.spec.seed).finish().missed(&scenario.spec.expect);
    missed.is_empty().then(|| "it passes with nobody deciding anything".to_owned())
}

/// Whether it is about promises that a controller of somebody else breaks.
fn expects_some(scenario: &Scenario) -> bool {
    let expected = scenario.spec.expect.get("brokenPromises");
    expected.is_some_and(|range| *range != [Amount::plain(0.0); 2])
}

datatest_stable::harness! {
    { test = land, root = "../../scenarios", pattern = r"^(?!.*openb\.yaml).*\.yaml$" },
}
