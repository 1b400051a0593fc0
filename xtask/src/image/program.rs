//! The program as it is shipped: the release build, linked once more with the C library inside.
//!
//! Only the last link differs from `cargo build --release`, so it costs seconds and everything that the tests of the release build
//! showed holds for it. cargo gives the two links names of their own: neither makes the other stale.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::elf;
use crate::workspace;

/// For the last link alone: the C library goes in, and no random build id.
const LINK: &[&str] = &["-Ctarget-feature=+crt-static", "-Clink-arg=-Wl,--build-id=none"];

/// Builds it below a folder of build results and returns its bytes.
pub(super) fn build(target: &Path) -> Result<Vec<u8>> {
    let status = workspace::cargo()
        .args([
            "rustc",
            "--quiet",
            "--release",
            "--locked",
            "--package=ballast",
            "--bin=ballast",
            "--target-dir",
        ])
        .arg(target)
        .arg("--")
        .args(LINK)
        .stdin(Stdio::null())
        .status()
        .context("cannot run cargo rustc")?;
    ensure!(status.success(), "cargo rustc ended with {status}");
    let file = target.join("release/ballast");
    let program = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    ensure!(!elf::needs_a_loader(&program)?, "{} needs shared libraries: it would not start", file.display());
    Ok(program)
}
