//! The results of size `full`, kept in docs/evidence with their date and commit so that a long run can be
//! resumed and anyone can see what was run when.

use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::workspace;

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
    date: String,
    commit: String,
    /// Whether the tree was the one of the commit, docs/evidence aside.
    clean: bool,
}

/// Where the result of a suite lies, from the root of the clone.
pub(super) fn path(suite: &str) -> String {
    format!("docs/evidence/test-{suite}.json")
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
        date: date().context("cannot tell the date")?,
        commit: commit().context("cannot tell the commit")?,
        clean: is_clean(),
    };
    let file = workspace::root().join(path(outcome.suite));
    std::fs::create_dir_all(workspace::root().join("docs/evidence"))?;
    let text = serde_json::to_string_pretty(&evidence)? + "\n";
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Whether the suite passed as a whole on the commit that is checked out, with nothing changed since.
pub(super) fn passed_here(suite: &str) -> bool {
    let text = std::fs::read_to_string(workspace::root().join(path(suite))).unwrap_or_default();
    let Ok(evidence) = serde_json::from_str::<Evidence>(&text) else { return false };
    evidence.whole && evidence.clean && is_clean() && commit().is_some_and(|commit| commit == evidence.commit)
}

fn git(args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(workspace::root()).args(args);
    command
}

fn commit() -> Option<String> {
    workspace::first_line(&mut git(&["rev-parse", "HEAD"]))
}

fn date() -> Option<String> {
    workspace::first_line(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))
}

fn is_clean() -> bool {
    let changes = git(&["status", "--porcelain", "--", ".", ":!docs/evidence"]).output();
    changes.is_ok_and(|told| told.status.success() && told.stdout.is_empty())
}
