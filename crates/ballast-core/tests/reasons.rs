//! Every reason that is published is given by something, or it stands here with the scaler that will.
#![expect(clippy::disallowed_methods, reason = "reads the sources")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What later scalers will give, by enum.
const LATER: [(&str, &[&str]); 5] = [
    // Elastic jobs, metrics, Ray, Spark: sizes of workloads.
    (
        "ActionCode",
        &[
            "Granted",
            "Yielded",
            "Surplus",
            "MetricAboveTarget",
            "MetricsBelowTarget",
            "Band",
            "Demand",
            "Schedule",
            "Fallback",
            "Evidence",
            "RayDemand",
            "IdleBuffer",
            "Idle",
        ],
    ),
    ("Limit", &["WorkloadMax", "WorkloadMin", "MaxLoad", "Rate", "Granted"]),
    (
        "HoldReason",
        &[
            "Conflict",
            "NotFollowed",
            "Changing",
            "NotAllRemovable",
            "Settling",
            "MetricUnknown",
            "LossDoesNotPay",
            "Invalid",
        ],
    ),
    // What is worth a look and stops no plan: a metric that a rule of HPA's reads otherwise than ours.
    ("Severity", &["Warning"]),
    (
        "Step",
        &[
            "Metric",
            "Replicas",
            "Inquiry",
            "JobCandidate",
            "JobOrder",
            "DryRun",
            "JobTarget",
            "RayPacking",
            "RayWorker",
            "SparkCount",
            "SparkWorker",
        ],
    ),
];

fn rust_files(folder: &Path, all: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).expect("text");
            all.push((path.to_string_lossy().into_owned(), text));
        }
    }
}

/// The variants of every enum in a source.
fn variants(source: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut within: Option<String> = None;
    for line in source.lines() {
        if let Some(rest) = line.strip_prefix("pub enum ") {
            within = rest.split(' ').next().map(str::to_owned);
        } else if line == "}" {
            within = None;
        } else if let (Some(name), Some(rest)) = (&within, line.strip_prefix("    "))
            && rest.starts_with(|first: char| first.is_ascii_uppercase())
        {
            let variant: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            found.entry(name.clone()).or_default().push(variant);
        }
    }
    found
}

/// Whether a text makes a variant: it is named other than as what a `match` looks for.
fn makes(text: &str, variant: &str) -> bool {
    text.match_indices(variant).any(|(at, _)| {
        let after = &text[at + variant.len()..];
        let line = after.lines().next().unwrap_or_default();
        let is_whole = !after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
        is_whole && !line.contains("=>")
    })
}

#[test]
fn every_reason_is_given_or_is_of_a_later_scaler() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&core.join("src"), &mut files);
    let is_test = |path: &str| path.contains("/tests/") || path.ends_with("tests.rs");
    let told = ["plan/reason.rs", "plan/refusal.rs", "plan/report.rs"];
    let words = ["plan/words.rs", "plan/trace_words.rs"];
    let ends = |path: &str, all: &[&str]| all.iter().any(|end| path.ends_with(end));
    let published: BTreeMap<_, _> =
        files.iter().filter(|(path, _)| ends(path, &told)).flat_map(|(_, text)| variants(text)).collect();
    assert!(published.len() > 8, "only {published:?}");
    let made: Vec<&str> = files
        .iter()
        .filter(|(path, _)| !is_test(path) && !ends(path, &words) && !ends(path, &told))
        .map(|(_, text)| text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default())
        .collect();
    let later: BTreeMap<&str, BTreeSet<&str>> =
        LATER.into_iter().map(|(name, variants)| (name, variants.iter().copied().collect())).collect();
    let mut wrong = Vec::new();
    for (name, variants) in &published {
        for variant in variants {
            let is_made = made.iter().any(|text| makes(text, &format!("{name}::{variant}")));
            let is_later = later.get(&**name).is_some_and(|later| later.contains(&**variant));
            if is_made == is_later {
                let what = if is_made { "is given, and stands on the list" } else { "is given by nothing" };
                wrong.push(format!("{name}::{variant} {what}"));
            }
        }
    }
    let gone = later.iter().flat_map(|(name, variants)| variants.iter().map(move |variant| (name, variant)));
    let is_gone = |(name, variant): &(&&str, &&str)| {
        !published.get(**name).is_some_and(|known| known.iter().any(|known| known == **variant))
    };
    wrong.extend(gone.filter(is_gone).map(|(name, variant)| format!("{name}::{variant} is not published")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
