//! Results that are kept in docs/evidence, each with its date and commit, so that anyone can see what was run when.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::workspace;

/// The folder, from the root of the clone.
pub(crate) const FOLDER: &str = "docs/evidence";

/// When and of what something was seen.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stamp {
    date: String,
    commit: String,
    /// Whether the tree was the one of the commit, docs/evidence aside.
    clean: bool,
}

impl Stamp {
    /// Of now and here.
    pub(crate) fn now() -> Result<Self> {
        let date = workspace::first_line(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]));
        Ok(Self {
            date: date.context("cannot tell the date")?,
            commit: commit().context("cannot tell the commit")?,
            clean: is_clean(),
        })
    }

    /// Whether it is of the commit that is checked out, with nothing changed then or since.
    pub(crate) fn is_of_here(&self) -> bool {
        self.clean && is_clean() && commit().is_some_and(|commit| commit == self.commit)
    }
}

/// Where evidence of a name lies.
pub(crate) fn file(name: &str) -> PathBuf {
    workspace::root().join(FOLDER).join(name)
}

/// Writes evidence as JSON.
pub(crate) fn write(name: &str, evidence: &impl Serialize) -> Result<()> {
    let file = file(name);
    std::fs::create_dir_all(workspace::root().join(FOLDER))?;
    let text = serde_json::to_string_pretty(evidence)? + "\n";
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}

fn git(args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(workspace::root()).args(args);
    command
}

fn commit() -> Option<String> {
    workspace::first_line(&mut git(&["rev-parse", "HEAD"]))
}

fn is_clean() -> bool {
    let changes = git(&["status", "--porcelain", "--", ".", ":!docs/evidence"]).output();
    changes.is_ok_and(|told| told.status.success() && told.stdout.is_empty())
}
