//! Valgrind, which counts instructions for the benches: a figure that a noisy machine does not move.

use std::process::Command;

use super::{Component, Found};
use crate::workspace;

/// Needed by no suite, only of use to `cargo xtask bench`.
pub(super) const COMPONENT: Component = Component { name: "valgrind", needed_by: &[], find, install: None };

fn find() -> Found {
    match workspace::first_line(Command::new("valgrind").arg("--version")) {
        Some(line) => Found::here(line.trim_start_matches("valgrind-"), "valgrind"),
        None => Found::Missing("not on the path: install the package `valgrind`".into()),
    }
}
