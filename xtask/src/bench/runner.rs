//! Builds and runs the programs that measure, and collects the rows they print.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::row::Row;
use crate::workspace;

/// A program that measures: an example of a package.
pub(super) struct Runner {
    /// The package.
    package: &'static str,
    /// The example; it takes the names of cases, none meaning all, and prints rows as JSON lines.
    example: &'static str,
    /// The cases it knows.
    cases: &'static [&'static str],
    /// Features that the example needs.
    features: &'static str,
    /// Where its source begins, to say so when it is not there.
    source: &'static str,
}

/// Every program that measures.
pub(super) const RUNNERS: &[Runner] = &[
    Runner {
        package: "ballast-core",
        example: "plan-bench",
        cases: &["pack-51k", "plan-15k-cold", "plan-15k-incremental", "remove-2k", "types-400", "growth"],
        features: "fixtures",
        source: "crates/ballast-core/examples/plan-bench",
    },
    Runner {
        package: "ballast-sim",
        example: "bench",
        cases: &["sim-day", "sim-year"],
        features: "",
        source: "crates/ballast-sim/examples/bench",
    },
];

/// Runs the cases, or all of them, and returns the rows in the order in which they were measured.
pub(super) fn run(cases: &[String]) -> Result<Vec<Row>> {
    let known: Vec<&str> = RUNNERS.iter().flat_map(|runner| runner.cases).copied().collect();
    for case in cases {
        ensure!(known.contains(&case.as_str()), "no case `{case}`; there are {}", known.join(", "));
    }
    let mut rows = Vec::new();
    for runner in RUNNERS {
        let own: Vec<&str> = runner.cases.iter().copied().filter(|name| named(cases, name)).collect();
        if !own.is_empty() {
            rows.extend(runner.run(&own)?);
        }
    }
    ensure!(!rows.is_empty(), "no case was measured");
    Ok(rows)
}

/// Whether a case is meant: by name, or because none is named.
fn named(cases: &[String], name: &str) -> bool {
    cases.is_empty() || cases.iter().any(|case| case == name)
}

impl Runner {
    fn run(&self, cases: &[&str]) -> Result<Vec<Row>> {
        let source = workspace::root().join(self.source);
        let there = source.is_dir() || source.with_extension("rs").is_file();
        ensure!(there, "there is nothing to measure yet: no {}", self.source);
        let mut command = workspace::cargo();
        command.args([
            "run",
            "--quiet",
            "--release",
            "--package",
            self.package,
            "--example",
            self.example,
            "--features",
            self.features,
            "--",
        ]);
        command.args(cases).arg("--json").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        let output = child.stdout.take().context("the output was piped")?;
        let mut rows = Vec::new();
        for line in BufReader::new(output).lines() {
            let line = line.context("cannot read the rows")?;
            let row = Row::parse(&line).with_context(|| format!("not a row: {line}"))?;
            eprintln!("{}: {} {} {}", row.case, row.metric, row.seen, row.unit);
            rows.push(row);
        }
        let status = child.wait()?;
        ensure!(status.success(), "{command:?} ended with {status}");
        Ok(rows)
    }
}
