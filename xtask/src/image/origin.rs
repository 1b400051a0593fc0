//! Where an image comes from: the version and the commit, whose time is the time of everything in it.

use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace;

/// Of which sources an image is.
pub(super) struct Origin {
    pub(super) version: &'static str,
    /// The commit, with `-dirty` where the tree holds more than it.
    pub(super) revision: String,
    /// Seconds since 1970: no later clock gets into the bytes.
    pub(super) seconds: u64,
}

impl Origin {
    /// Of the clone; `SOURCE_DATE_EPOCH` takes the place of the commit's time, as is the custom.
    pub(super) fn of_here() -> Result<Self> {
        let told = std::env::var("SOURCE_DATE_EPOCH").ok();
        let seconds =
            told.or_else(|| git(&["log", "-1", "--format=%ct"])).context("cannot tell the commit's time")?;
        let seconds = seconds.parse().with_context(|| format!("`{seconds}` is no number of seconds"))?;
        let commit = git(&["rev-parse", "HEAD"]).context("cannot tell the commit")?;
        let dirty = git(&["status", "--porcelain"]).is_some();
        let revision = if dirty { format!("{commit}-dirty") } else { commit };
        Ok(Self { version: env!("CARGO_PKG_VERSION"), revision, seconds })
    }

    /// The time as JSON documents write it.
    pub(super) fn time(&self) -> Result<String> {
        let at = format!("@{}", self.seconds);
        let mut date = Command::new("date");
        workspace::first_line(date.args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d", &at]))
            .context("cannot write a date")
    }
}

fn git(args: &[&str]) -> Option<String> {
    workspace::first_line(Command::new("git").current_dir(workspace::root()).args(args))
}
