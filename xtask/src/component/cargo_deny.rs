//! cargo-deny: licences, banned crates and sources of every dependency.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::{Component, Found};
use crate::workspace;

pub(super) const COMPONENT: Component =
    Component { name: "cargo-deny", needed_by: &["unit"], find, install: Some(install) };

/// The release whose checks and configuration `deny.toml` is written for.
const VERSION: &str = "0.20.2";
/// Its cold build fills a bit less than 1 GiB; refuse before the disk is full, not after.
const FREE_GIB_MIN: u64 = 3;

fn tools() -> Result<PathBuf> {
    Ok(workspace::cache()?.join("tools"))
}

/// Ours in the cache first, since its version is known; then any on the path.
pub(super) fn find() -> Found {
    let ours = tools().map(|tools| tools.join("bin").join("cargo-deny"));
    let candidates = ours.into_iter().chain([PathBuf::from("cargo-deny")]);
    for path in candidates {
        if let Some(line) = workspace::first_line(Command::new(&path).arg("--version")) {
            return Found::here(line.strip_prefix("cargo-deny ").unwrap_or(&line), path);
        }
    }
    Found::Missing(format!("not in the cache: cargo install --locked cargo-deny --version {VERSION}"))
}

/// Measured on two busy cores: 129 s cold (158 s of CPU).
fn install() -> Result<()> {
    let tools = tools()?;
    let free = workspace::free_gib(&tools)?;
    ensure!(free >= FREE_GIB_MIN, "{free} GiB free at {}, need {FREE_GIB_MIN}", tools.display());
    let build = tools.join("build");
    let status = workspace::cargo()
        .args(["install", "--quiet", "--locked", "cargo-deny", "--version", VERSION, "--root"])
        .arg(&tools)
        .env("CARGO_TARGET_DIR", &build)
        .stdin(Stdio::null())
        .status()
        .context("cannot run cargo install")?;
    if build.exists() {
        std::fs::remove_dir_all(&build).with_context(|| format!("cannot remove {}", build.display()))?;
    }
    ensure!(status.success(), "cargo install cargo-deny ended with {status}");
    Ok(())
}
