//! cargo-deny over every dependency, with advisories only where their database could be fetched.

use std::process::Command;

use anyhow::{Context, Result};

use super::Counts;
use super::step::{Surroundings, check};
use crate::workspace;

/// One test for each kind of check.
pub(super) fn run(surroundings: &Surroundings<'_>) -> Result<Counts> {
    let program = surroundings.program("cargo-deny").context("cargo-deny was found without a place")?;
    let mut kinds = vec!["bans", "licenses", "sources"];
    if surroundings.has("advisory database") {
        kinds.push("advisories");
    }
    let mut counts = Counts::default();
    for kind in kinds {
        let mut command = Command::new(program);
        command.current_dir(workspace::root()).args(["--all-features", "--log-level", "warn", "check"]);
        if kind == "advisories" {
            command.arg("--disable-fetch");
        }
        counts += check(command.arg(kind), surroundings)?;
    }
    Ok(counts)
}
