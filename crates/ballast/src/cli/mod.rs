//! The commands, a file each: arguments in, data on stdout, all else on stderr, one [`Outcome`] out.

#[cfg(feature = "live")]
mod approve;
mod check;
mod completions;
#[cfg(feature = "live")]
mod crd;
mod demo;
mod diff;
#[cfg(feature = "live")]
mod doctor;
#[cfg(feature = "live")]
mod get;
mod import;
mod input;
mod load;
mod outcome;
#[cfg(feature = "live")]
mod pause;
mod plan;
mod policy_file;
#[cfg(feature = "live")]
mod record;
mod reference;
mod replay;
#[cfg(feature = "live")]
mod roles;
#[cfg(feature = "live")]
mod run;
mod sight;
mod simulate;
mod status;
#[cfg(feature = "live")]
mod top;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::present::{Failure, Screen};
pub use outcome::Outcome;

/// What every command returns.
pub type Result<T = Outcome, E = Failure> = std::result::Result<T, E>;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const CODES: &str = "\
Exit codes: 0 done, nothing to change · 1 any error · 2 `plan`, `diff`: something would change · \
3 `simulate`, `replay`: a gate held, a range was missed or a promise broke · 130 interrupted";

/// Keeps an ML and data cluster the right size: one plan for all of it, with its reasons.
#[derive(Parser)]
#[command(name = "ballast", version, styles = STYLES, after_help = CODES, max_term_width = 100)]
#[command(arg_required_else_help = true)]
pub struct Cli {
    /// When to use colours; NO_COLOR is honoured
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global options")]
    color: clap::ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Simulate(simulate::Args),
    Plan(plan::Args),
    Diff(diff::Args),
    Status(status::Args),
    #[cfg(feature = "live")]
    Get(get::Args),
    #[cfg(feature = "live")]
    Top(top::Args),
    #[cfg(feature = "live")]
    Doctor(doctor::Args),
    #[cfg(feature = "live")]
    Pause(pause::PauseArgs),
    #[cfg(feature = "live")]
    Resume(pause::ResumeArgs),
    Check(check::Args),
    Import(import::Args),
    #[cfg(feature = "live")]
    Record(record::Args),
    Replay(replay::Args),
    #[cfg(feature = "live")]
    Run(run::Args),
    #[cfg(feature = "live")]
    Approve(approve::Args),
    #[cfg(feature = "live")]
    Crd(crd::Args),
    #[cfg(feature = "live")]
    Roles(roles::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    Reference(reference::Args),
}

impl Command {
    fn run(self, screen: &mut Screen) -> Result {
        match self {
            Self::Demo(args) => demo::run(&args, screen),
            Self::Simulate(args) => simulate::run(&args, screen),
            Self::Plan(args) => plan::run(&args, screen),
            Self::Diff(args) => diff::run(&args, screen),
            Self::Status(args) => status::run(&args, screen),
            #[cfg(feature = "live")]
            Self::Get(args) => get::run(&args, screen),
            #[cfg(feature = "live")]
            Self::Top(args) => top::run(&args, screen),
            #[cfg(feature = "live")]
            Self::Doctor(args) => doctor::run(&args, screen),
            #[cfg(feature = "live")]
            Self::Pause(args) => pause::pause(&args, screen),
            #[cfg(feature = "live")]
            Self::Resume(args) => pause::resume(&args, screen),
            Self::Check(args) => check::run(&args, screen),
            Self::Import(args) => import::run(&args, screen),
            #[cfg(feature = "live")]
            Self::Record(args) => record::run(&args, screen),
            Self::Replay(args) => replay::run(&args, screen),
            #[cfg(feature = "live")]
            Self::Run(args) => run::run(&args, screen),
            #[cfg(feature = "live")]
            Self::Approve(args) => approve::run(&args, screen),
            #[cfg(feature = "live")]
            Self::Crd(args) => crd::run(&args, screen),
            #[cfg(feature = "live")]
            Self::Roles(args) => roles::run(&args, screen),
            Self::Completions(args) => completions::run(&args, screen),
            Self::Reference(args) => reference::run(&args),
        }
    }
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    run(std::env::args_os()).into()
}

fn run(args: impl IntoIterator<Item = OsString>) -> Outcome {
    let args: Vec<OsString> = args.into_iter().collect();
    let parsed = command(args.first()).try_get_matches_from(args);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(told) => {
            // Help and version are answers; anything else is an error like any other, and a reader that went away is none.
            let is_answer = !told.use_stderr();
            let _ = told.print();
            return if is_answer { Outcome::Done } else { Outcome::Error };
        }
    };
    set_color(cli.color);
    let mut screen = Screen::new();
    match cli.command.run(&mut screen).and_then(|outcome| screen.finish().map(|()| outcome)) {
        Ok(outcome) => outcome,
        Err(failure) if failure.is_closed_pipe() => Outcome::Done,
        Err(failure) => {
            screen.complain(&failure);
            Outcome::Error
        }
    }
}

/// The command line as it is called: by its own name, or as a plugin of kubectl.
fn command(called: Option<&OsString>) -> clap::Command {
    let called = called.map(Path::new).and_then(Path::file_stem).unwrap_or_default();
    match called.to_str() {
        Some("kubectl-ballast") => Cli::command().bin_name("kubectl ballast"),
        _ => Cli::command(),
    }
}

fn set_color(choice: clap::ColorChoice) {
    match choice {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::AlwaysAnsi,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_a_plugin_of_kubectl_it_says_so() {
        let usage = |called: &str| {
            let mut command = command(Some(&called.into()));
            let help =
                command.try_get_matches_from_mut([called, "plan", "--help"]).expect_err("help is told");
            help.to_string().lines().find(|line| line.starts_with("Usage:")).unwrap_or_default().to_owned()
        };
        assert!(usage("/usr/bin/kubectl-ballast").starts_with("Usage: kubectl ballast plan"));
        assert!(usage("./ballast").starts_with("Usage: ballast plan"));
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_visible_command_says_what_it_does_and_gives_an_example() {
        let mut open: Vec<clap::Command> = Cli::command().get_subcommands().cloned().collect();
        while let Some(command) = open.pop().filter(|command| !command.is_hide_set()) {
            let name = command.get_name().to_owned();
            assert!(command.get_about().is_some(), "{name} does not say what it does");
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let has_parts = command.has_subcommands();
            assert!(has_parts || after.contains("Examples:"), "{name} has no example");
            open.extend(command.get_subcommands().cloned());
        }
    }
}
