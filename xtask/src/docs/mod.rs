//! The commands in our pages, run as a reader would run them.
//!
//! Pages are README.md and all of docs/ but the design notes. In a page
//!
//! - a fence `console` is a transcript: `$ ` begins a command, the lines below it are what it prints. A line `...`
//!   stands for any lines, `[..]` for any text in a line. No lines: it prints nothing. A command has to succeed
//!   unless the next one is `echo $?`, which then prints its exit code;
//! - a fence `sh` is a script that has to succeed, whatever it prints;
//! - a fence with `file=NAME` is written to that file first;
//! - `stop-after=5s` interrupts a command that would run on, `needs=COMPONENT` leaves it out where that is missing,
//!   and `not-run="REASON"` where it can never run here. Both are told of, never passed over in silence.
//!
//! `kubectl` stands for that of a reader, who has a cluster: here it prints a small one (`kubectl.json`).
//!
//! Each page gets a folder of its own in which the clone's files are in sight and where it may write. With
//! `SNAPSHOTS=overwrite` the output that was seen replaces the output that was written.

mod compare;
mod fence;
mod page;
mod sandbox;
mod transcript;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::test::{Counts, Surroundings};
use crate::workspace;
use sandbox::Programs;

/// Runs every command of every page; a command is a test.
pub(crate) fn run(surroundings: &Surroundings<'_>) -> Result<Counts> {
    let programs = Programs::build()?;
    let mut counts = Counts::default();
    for path in pages()? {
        counts += page::run(&path, &programs, surroundings)?;
    }
    Ok(counts)
}

/// The pages that hold commands, sorted, from the root of the clone.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![PathBuf::from("README.md")];
    collect(Path::new("docs"), &mut pages)?;
    pages.retain(|page| workspace::root().join(page).is_file() && !page.starts_with("docs/design"));
    pages.sort();
    ensure!(!pages.is_empty(), "there is no page");
    Ok(pages)
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) -> Result<()> {
    let there = workspace::root().join(folder);
    for entry in fs::read_dir(&there).with_context(|| format!("cannot list {}", there.display()))? {
        let path = folder.join(entry?.file_name());
        if workspace::root().join(&path).is_dir() {
            collect(&path, pages)?;
        } else if path.extension().is_some_and(|end| end == "md") {
            pages.push(path);
        }
    }
    Ok(())
}
