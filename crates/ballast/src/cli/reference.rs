//! `ballast reference` (hidden): writes the generated pages of `docs/reference` into a folder.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use clap::CommandFactory;

use super::{Cli, Outcome, Result};
use crate::present::Doing;

/// Write the pages of the reference into a folder.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The folder
    folder: PathBuf,
}

pub(super) fn run(args: &Args) -> Result {
    fs::create_dir_all(&args.folder).doing(|| format!("cannot make {}", args.folder.display()))?;
    let path = args.folder.join("commands.md");
    fs::write(&path, commands()).doing(|| format!("cannot write {}", path.display()))?;
    Ok(Outcome::Done)
}

/// Every command with its help, as `--help` prints it.
fn commands() -> String {
    let mut page = String::from(
        "# Commands\n\nWritten by `cargo xtask generate` from the program itself.\n\n\
         Data goes to stdout, all else to stderr. `NO_COLOR` is honoured.\n",
    );
    let mut root = Cli::command().term_width(100);
    root.build();
    describe(&mut page, &root, "");
    page
}

fn describe(page: &mut String, command: &clap::Command, parents: &str) {
    let name = format!("{parents}{}", command.get_name());
    let help = command.clone().bin_name(&name).term_width(100).render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        describe(page, part, &format!("{name} "));
    }
}
