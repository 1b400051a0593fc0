//! Documents in, problems out: one case for each file in `tests/documents`, with what is told about it beside it.
//!
//! `SNAPSHOTS=overwrite cargo test -p ballast-core --test documents` accepts what was told.
#![expect(clippy::disallowed_methods, reason = "reads its cases from files")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ballast_core::documents::{Documents, File, load};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    let entries = std::fs::read_dir(folder).expect("there are cases");
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    cases.retain(|path| path.extension().is_some_and(|end| end != "told"));
    cases.sort();
    cases
}

/// What was loaded, in a few lines.
fn summary(documents: &Documents) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for object in &documents.objects {
        *counts.entry(object.value.kind().name()).or_default() += 1;
    }
    for (kind, count) in [
        ("PodGroup", documents.pod_groups.len()),
        ("ElasticJobPolicy", documents.elastic_job_policies.len()),
        ("MetricScaler", documents.metric_scalers.len()),
        ("RayScaler", documents.ray_scalers.len()),
        ("SparkPool", documents.spark_pools.len()),
        ("Observation", documents.observations.len()),
        ("Scenario", documents.scenarios.len()),
    ] {
        counts.insert(kind, count);
    }
    let mut told = String::from("loaded\n");
    for (kind, count) in counts.iter().filter(|(_, count)| **count > 0) {
        writeln!(told, "  {count} {kind}").expect("a string takes everything");
    }
    for ((api_version, kind), count) in &documents.ignored {
        writeln!(told, "  {count} {kind} ({api_version}) ignored").expect("a string takes everything");
    }
    for doubt in &documents.doubts {
        writeln!(told, "\n{doubt}").expect("a string takes everything");
    }
    told
}

#[test]
fn every_case_is_told_as_before() {
    let cases = cases();
    assert!(cases.len() > 40, "only {} cases", cases.len());
    for path in cases {
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).expect("it can be read");
        let told = match load(&[File { name, bytes }]) {
            Ok(documents) => summary(&documents),
            Err(problems) => format!("{problems}\n"),
        };
        let mut beside = path.clone().into_os_string();
        beside.push(".told");
        snapbox::assert_data_eq!(told, snapbox::Data::read_from(Path::new(&beside), None).raw());
    }
}
