//! A memory as `ballast plan --memory` takes it: any bytes are read or refused, and whatever is read can be planned with.

use ballast_core::check::check;
use ballast_core::documents::{File, Part, load, whole};
use ballast_core::memory::Memory;
use ballast_core::planner::{self, Scratch};
use ballast_core::snapshot::Store;
use ballast_core::units::Time;

/// A small cluster that a memory can speak of.
const CLUSTER: &str = include_str!("../../../crates/ballast/tests/documents/cluster.yaml");

pub(super) fn run(input: &[u8]) {
    let read = |part: Part| part.field("memory").unwrap_or(part).read::<Memory>();
    match whole(&File { name: "input".to_owned(), bytes: input.to_vec() }).and_then(read) {
        Ok(memory) => plan(&memory),
        Err(problems) => assert!(!problems.list.is_empty(), "refused for no reason"),
    }
}

fn plan(memory: &Memory) {
    let documents = load(&[File { name: "cluster".to_owned(), bytes: CLUSTER.as_bytes().to_vec() }]);
    let now = Time::from_secs(1_794_700_800);
    let mut store = Store::new();
    for observation in documents.map(|documents| documents.into_observations(now)).unwrap_or_default() {
        store.observe(observation);
    }
    let snapshot = store.snapshot();
    let (plan, _) = planner::plan(&snapshot, memory, now, &mut Scratch::default());
    // A memory that somebody wrote may contradict the cluster; judging the plan must still come to an end.
    drop(check(&snapshot, memory, &plan));
    assert!(serde_json::to_string(&plan).is_ok());
}
