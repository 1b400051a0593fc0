//! `ballast reference` (hidden): writes the generated pages of `docs/reference` into a folder.

use std::fs;
use std::path::PathBuf;

use clap::CommandFactory;

use super::{Cli, Outcome, Result};
use crate::present::Doing;
use crate::reference::pages;

/// Write the pages of the reference into a folder.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The folder
    folder: PathBuf,
}

pub(super) fn run(args: &Args) -> Result {
    for (name, text) in pages(Cli::command()) {
        let path = args.folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).doing(|| format!("cannot make {}", folder.display()))?;
        }
        fs::write(&path, text).doing(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Outcome::Done)
}
