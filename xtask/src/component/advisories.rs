//! The RustSec advisory database, which cargo-deny clones where the network lets it.

use std::process::Command;

use super::{Component, Found, cargo_deny};
use crate::workspace;

/// Needed by no suite: where the database cannot be reached the table says so and nothing else changes.
pub(super) const COMPONENT: Component =
    Component { name: "advisory database", needed_by: &[], find, install: None };

fn find() -> Found {
    let Found::Here { path: Some(deny), .. } = cargo_deny::find() else {
        return Found::Missing("needs cargo-deny".into());
    };
    let fetched = Command::new(deny)
        .args(["--log-level", "error", "fetch", "db"])
        .current_dir(workspace::root())
        .stdin(std::process::Stdio::null())
        .output();
    match fetched {
        Ok(output) if output.status.success() => Found::Here { version: "fetched today".into(), path: None },
        Ok(output) => Found::Missing(reason(&String::from_utf8_lossy(&output.stderr))),
        Err(error) => Found::Missing(error.to_string()),
    }
}

/// The line in which git says what went wrong, or all that can be said without it.
fn reason(stderr: &str) -> String {
    let fatal = stderr.lines().filter_map(|line| line.split_once("fatal: ")).next_back();
    match fatal {
        Some((_, why)) => format!("cannot be reached: {why}"),
        None => "cannot be reached".into(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_the_reason_that_git_gives() {
        let said = "[ERROR] failed to fetch\nCloning into 'x'...\nfatal: Could not resolve host: a.example\n";
        assert_eq!(super::reason(said), "cannot be reached: Could not resolve host: a.example");
        assert_eq!(super::reason(""), "cannot be reached");
    }
}
