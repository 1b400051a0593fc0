//! Chromium, in which the tests of the console look at the page as a person would.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::{Component, Found};
use crate::workspace;

pub(super) const COMPONENT: Component =
    Component { name: "Chromium", needed_by: &["console"], find, install: Some(install) };

/// Names under which distributions ship it.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome"];
/// The Debian package and what it pulls in take about 0.5 GiB unpacked.
const FREE_GIB_MIN: u64 = 2;

fn find() -> Found {
    for name in NAMES {
        if let Some(line) = workspace::first_line(Command::new(name).arg("--version")) {
            return Found::here(line.trim_start_matches("Chromium ").to_owned(), name);
        }
    }
    Found::Missing(format!("none of {} is on the path: install the package `chromium`", NAMES.join(", ")))
}

/// From the Debian package, which needs root; anyone else is told what to install.
fn install() -> Result<()> {
    let user = workspace::first_line(Command::new("id").arg("-u"));
    ensure!(user.as_deref() == Some("0"), "not root: install the package `chromium`");
    let free = workspace::free_gib("/usr".as_ref())?;
    ensure!(free >= FREE_GIB_MIN, "{free} GiB free at /usr, need {FREE_GIB_MIN}");
    apt(&["update"])?;
    apt(&["install", "--yes", "--no-install-recommends", "chromium"])
}

fn apt(args: &[&str]) -> Result<()> {
    let output = Command::new("apt-get")
        .arg("--quiet=2")
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .context("cannot run apt-get: install the package `chromium`")?;
    let told = String::from_utf8_lossy(&output.stderr);
    let last = told.lines().last().unwrap_or_default();
    ensure!(output.status.success(), "apt-get {} failed: {last}", args.join(" "));
    Ok(())
}
