//! The results of size `full`, kept so that a long run can be resumed.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::evidence::{self, FOLDER, Stamp};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Evidence {
    suite: String,
    size: String,
    passed: u64,
    failed: u64,
    /// Whether every step ran and nothing failed.
    whole: bool,
    seconds: f64,
    #[serde(flatten)]
    stamp: Stamp,
}

fn name(suite: &str) -> String {
    format!("test-{suite}.json")
}

/// Where the result of a suite lies, from the root of the clone.
pub(super) fn path(suite: &str) -> String {
    format!("{FOLDER}/{}", name(suite))
}

/// Writes the result of a suite.
pub(super) fn write(outcome: &Outcome) -> Result<()> {
    let evidence = Evidence {
        suite: outcome.suite.to_owned(),
        size: "full".to_owned(),
        passed: outcome.counts.passed,
        failed: outcome.counts.failed,
        whole: outcome.is_whole(),
        seconds: (outcome.seconds * 10.0).round() / 10.0,
        stamp: Stamp::now()?,
    };
    evidence::write(&name(outcome.suite), &evidence)
}

/// Whether the suite passed as a whole on the commit that is checked out, with nothing changed since.
pub(super) fn passed_here(suite: &str) -> bool {
    let text = std::fs::read_to_string(evidence::file(&name(suite))).unwrap_or_default();
    let Ok(evidence) = serde_json::from_str::<Evidence>(&text) else { return false };
    evidence.whole && evidence.stamp.is_of_here()
}
