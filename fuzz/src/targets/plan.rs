//! Files of documents as `ballast plan`, `ballast simulate` and `ballast import kubectl` take them: whatever loads can be
//! planned with, the plan keeps its promises, and a scenario, written or imported, is run or refused.

use ballast_core::check::check;
use ballast_core::documents::{Documents, File, load};
use ballast_core::memory::Memory;
use ballast_core::observation::Object;
use ballast_core::plan::Severity;
use ballast_core::planner::{self, Scratch};
use ballast_core::snapshot::Store;
use ballast_core::units::{Span, Time};
use ballast_sim::import;
use ballast_sim::scenario::{Scenario, ScenarioSpec, Workload};
use ballast_sim::simulation::Simulation;

pub(super) fn run(input: &[u8]) {
    // What does not load is the business of the target `documents`.
    if let Ok(documents) = load(&[File { name: "input".to_owned(), bytes: input.to_vec() }]) {
        read_scenarios(&documents);
        import_cluster(&documents);
        plan(documents);
    }
}

/// The simulator reads a scenario's spec for itself, and refuses what it cannot run.
fn read_scenarios(documents: &Documents) {
    for placed in &documents.scenarios {
        let spec = placed.value.spec.read::<ScenarioSpec>();
        match spec.map(|spec| Scenario::new(placed.value.name.clone(), spec)) {
            Ok(Ok(scenario)) => simulate(&scenario),
            Ok(Err(error)) => drop(error.to_string()),
            Err(problems) => drop(problems.to_string()),
        }
    }
}

/// What a dump holds becomes a scenario like any other, or is refused.
fn import_cluster(documents: &Documents) {
    let objects: Vec<Object> = documents.objects.iter().map(|placed| placed.value.clone()).collect();
    match import::kubectl("imported".into(), &objects) {
        Ok(imported) => simulate(&imported.scenario),
        Err(error) => drop(error.to_string()),
    }
}

/// How much is run of what is small enough for an input among thousands.
const SIMULATED: Span = Span::from_mins(10);
const MACHINES_MOST: u32 = 100;
const PODS_MOST: u64 = 1000;

fn simulate(scenario: &Scenario) {
    drop(scenario.to_value());
    let spec = &scenario.spec;
    let machines = spec.pools.iter().map(|pool| pool.running.saturating_add(pool.stopped));
    let machines = machines.chain(spec.nodes.iter().map(|group| group.count)).fold(0, u32::saturating_add);
    let members = |workload: &Workload| {
        workload.sizes.iter().filter_map(|size| size.members).fold(workload.members, u32::max)
    };
    let pods = spec.workloads.iter().map(|workload| {
        let jobs = workload.arrivals.expected(SIMULATED).ceil() as u64;
        jobs.saturating_mul(u64::from(members(workload)))
    });
    let pods = pods.chain(spec.jobs.iter().map(|job| u64::from(job.members))).fold(0, u64::saturating_add);
    if machines <= MACHINES_MOST && pods <= PODS_MOST && spec.openb.is_none() {
        let mut simulation = Simulation::new(scenario, 1);
        simulation.step_until(simulation.now() + SIMULATED);
        assert!(serde_json::to_string(&simulation.score()).is_ok());
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
