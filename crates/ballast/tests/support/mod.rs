//! What the tests of commands share.
#![allow(dead_code, reason = "each test file uses a part of it")]

use snapbox::cmd::{Command, cargo_bin};

/// The documents of a small cluster.
pub(crate) const CLUSTER: &str = "tests/documents/cluster.yaml";

/// The program, as people start it from the folder of this crate.
pub(crate) fn ballast(args: &[&str]) -> Command {
    Command::new(cargo_bin!("ballast"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
}

/// What it prints.
pub(crate) fn stdout(args: &[&str]) -> String {
    String::from_utf8(ballast(args).output().unwrap().stdout).unwrap()
}

/// The text of [`CLUSTER`].
pub(crate) fn cluster() -> String {
    std::fs::read_to_string(CLUSTER).unwrap()
}
