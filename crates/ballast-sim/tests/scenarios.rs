//! Every scenario in `scenarios/`: each figure lands in the range that its file expects, on every seed.
//!
//! Size `ci`: the file's own seed and the next. Size `full`: ten seeds. `openb.yaml` needs the trace and is run with it.
#![expect(clippy::disallowed_methods, reason = "reads scenarios from files")]

use std::path::Path;

use ballast_sim::scenario::Scenario;
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
                .filter(|_| expects_none(&scenario))
                .map(|breach| format!("seed {seed}: {} {} {}", breach.at, breach.promise, breach.message)),
        );
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n").into()) }
}

fn expects_none(scenario: &Scenario) -> bool {
    scenario.spec.expect.get("brokenPromises") == Some(&[0.0, 0.0])
}

datatest_stable::harness! {
    { test = land, root = "../../scenarios", pattern = r"^(?!.*openb\.yaml).*\.yaml$" },
}
