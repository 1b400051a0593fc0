//! Chores of this workspace, one verb a file: `cargo xtask --help`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool speaks by printing")]

mod bench;
mod component;
mod dashboard;
mod docs;
mod evidence;
mod generate;
mod image;
mod screenshots;
mod table;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tests, benchmarks and generated files of this workspace
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run the suites and close with a table of what ran and what was missing
    Test(test::Args),
    /// Measure the cases and hold them against their bars
    Bench(bench::Args),
    /// Write every derived file of the tree anew
    Generate(generate::Args),
    /// Make the container image as an OCI archive, with its bill of materials
    Image(image::Args),
    /// Take the pictures of the documentation anew, of the real demo
    Screenshots,
    /// Check the manners of the tree: lengths, words, links, dependencies
    Tidy,
}

fn main() -> ExitCode {
    let done = match Args::parse().verb {
        Verb::Test(args) => test::run(args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Generate(args) => generate::run(args),
        Verb::Image(args) => image::run(&args),
        Verb::Screenshots => screenshots::run(),
        Verb::Tidy => tidy::run(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
