//! Files of documents as `ballast plan` and `ballast simulate` take them: whatever loads can be planned with, the plan
//! keeps its promises, and a scenario is run or refused.

use ballast_core::check::check;
use ballast_core::documents::{Documents, File, load};
use ballast_core::memory::Memory;
use ballast_core::plan::Severity;
use ballast_core::planner::{self, Scratch};
use ballast_core::snapshot::Store;
use ballast_core::units::Time;
use ballast_sim::scenario::{Scenario, ScenarioSpec};

pub(super) fn run(input: &[u8]) {
    // What does not load is the business of the target `documents`.
    if let Ok(documents) = load(&[File { name: "input".to_owned(), bytes: input.to_vec() }]) {
        read_scenarios(&documents);
        plan(documents);
    }
}

/// The simulator reads a scenario's spec for itself, and refuses what it cannot run.
fn read_scenarios(documents: &Documents) {
    for placed in &documents.scenarios {
        let spec = placed.value.spec.read::<ScenarioSpec>();
        match spec.map(|spec| Scenario::new(placed.value.name.clone(), spec)) {
            Ok(Ok(scenario)) => drop(scenario.to_value()),
            Ok(Err(error)) => drop(error.to_string()),
            Err(problems) => drop(problems.to_string()),
        }
    }
}

fn plan(documents: Documents) {
    let newest = documents.observations.iter().map(|placed| placed.value.taken_at).max();
    let now = newest.unwrap_or(Time::from_secs(1_800_000_000));
    let mut store = Store::new();
    for observation in documents.into_observations(now) {
        store.observe(observation);
    }
    let (snapshot, memory) = (store.snapshot(), Memory::default());
    let (plan, _) = planner::plan(&snapshot, &memory, now, &mut Scratch::default());
    let broken: Vec<_> = check(&snapshot, &memory, &plan)
        .into_iter()
        .filter(|note| note.severity == Severity::Fatal)
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
    assert!(serde_json::to_string(&plan).is_ok());
}
