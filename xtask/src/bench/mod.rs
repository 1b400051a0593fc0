//! `cargo xtask bench`: cases in, one row a figure out, each held against its bar.
//!
//! The measured code lies in examples of the crates, built for release: each runs the cases that it is given and prints
//! a [`row::Row`] as JSON a line. This verb builds and runs them, refuses rows that contradict themselves, prints a table
//! and writes the JSON array. Another program that prints such rows is another line in the table of [`runner`].

mod instructions;
mod row;
mod runner;

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::evidence::{self, Stamp};
use crate::table;
use row::Row;
use runner::Measured;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Cases to measure; none named means all
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// Write the rows to this file as one JSON array
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Keep the rows in docs/evidence, with the date and the commit: for a run of all cases on a machine that does nothing else
    #[arg(long, conflicts_with = "cases")]
    keep: bool,
}

/// Rows that are kept.
#[derive(Serialize)]
struct Evidence<'a> {
    #[serde(flatten)]
    stamp: Stamp,
    /// Processors of the machine.
    processors: usize,
    rows: &'a [Row],
}

/// The verb: false when a bar is missed or something could not be measured. The rows are printed and written in any case; only
/// whole runs are kept.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let Measured { rows, failures } = runner::run(&args.cases)?;
    println!("{}", lay_out(&rows));
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&rows)? + "\n";
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    failures.iter().for_each(|failure| eprintln!("error: {failure:#}\n"));
    if args.keep && failures.is_empty() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        evidence::write("bench.json", &Evidence { stamp: Stamp::now()?, processors, rows: &rows })?;
    }
    let missed = rows.iter().filter(|row| row.holds == Some(false)).count();
    let held = rows.iter().filter(|row| row.holds == Some(true)).count();
    println!("{held} bars hold, {missed} are missed, {} rows have none", rows.len() - held - missed);
    Ok(missed == 0 && failures.is_empty())
}

fn lay_out(rows: &[Row]) -> String {
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    table::layout(&["case", "metric", "seen", "unit", "bar", "holds", "n", "spread", "peer"], &cells)
}
