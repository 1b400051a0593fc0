//! `ballast completions`: a script that completes commands and options in a shell.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::{Cli, Outcome, Result};
use crate::present::Screen;

/// Print a script that completes commands and options in your shell.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  ballast completions bash > ~/.local/share/bash-completion/completions/ballast
  ballast completions zsh > ~/.zfunc/_ballast
  ballast completions fish > ~/.config/fish/completions/ballast.fish";

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "ballast", &mut script);
    screen.write(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
