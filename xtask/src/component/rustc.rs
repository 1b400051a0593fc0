//! The compiler that builds the suites.

use std::process::Command;

use super::{Component, Found};
use crate::workspace;

pub(super) const COMPONENT: Component = Component {
    name: "rustc",
    needed_by: &["unit", "sim", "cli", "console", "docs", "fuzz", "kubernetes", "ship"],
    find,
    install: None,
};

fn find() -> Found {
    let mut ask = Command::new("rustc");
    match workspace::first_line(ask.arg("--version").current_dir(workspace::root())) {
        Some(line) => {
            Found::Here { version: line.strip_prefix("rustc ").unwrap_or(&line).to_owned(), path: None }
        }
        None => Found::Missing("`rustc --version` fails: install Rust with rustup".into()),
    }
}
