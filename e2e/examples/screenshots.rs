//! The pictures of the documentation, taken of the real demo: `cargo xtask screenshots`.
//!
//! The story is the same in every run; the instant of a picture is not, by some seconds of the cluster.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ballast_e2e::browser::{Browser, Page};
use ballast_e2e::program::Program;

/// A picture in a page is looked at, not zoomed into; above this a clone grows for nothing.
const BYTES_MAX: u64 = 300 * 1024;

/// As wide as a page is on most screens.
const WIDTH: u32 = 1280;

/// The burst of the morning has begun, and nodes for it are starting.
const BUSY: &str = "document.querySelectorAll('.cell.starting').length >= 8
    && document.querySelectorAll('#pending a.row-link').length >= 2
    && document.querySelector('#pending a.row-link[href^=\"/pending/research\"]')";

fn main() -> Result<()> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).context("name the folder for the pictures")?;
    let mut demo = Program::start(&["demo", "--speed", "60", "--for", "2m"])?;
    let address = demo.line()?;
    let mut browser = Browser::launch()?;
    let mut page = browser.open(&address)?;
    page.wait_for("document.querySelector('#connection.live')")?;
    page.wait_for(BUSY)?;
    for (name, dark) in [("overview", false), ("overview-dark", true)] {
        take(&mut page, &folder.join(name).with_extension("png"), 1120, dark)?;
    }
    page.resize(WIDTH, 900)?;
    page.click("#pending a.row-link[href^='/pending/research']")?;
    page.wait_for("document.querySelector('.verdict-words')")?;
    take(&mut page, &folder.join("why.png"), 760, false)?;
    demo.interrupt()?;
    Ok(())
}

fn take(page: &mut Page<'_>, file: &Path, height: u32, dark: bool) -> Result<()> {
    page.prefer_dark(dark)?;
    page.resize(WIDTH, height)?;
    page.screenshot_of_screen(file)?;
    let bytes = std::fs::metadata(file)?.len();
    ensure!(bytes <= BYTES_MAX, "{} has {bytes} bytes, at most {BYTES_MAX} are good", file.display());
    Ok(())
}
