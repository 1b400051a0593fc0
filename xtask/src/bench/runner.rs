//! Builds and runs the programs that measure, and collects the rows they print.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};

use super::instructions;
use super::row::Row;
use crate::test::{Size, Surroundings};
use crate::{component, workspace};

/// A program that measures: an example of a package. It takes the names of cases and prints rows as JSON lines.
struct Runner {
    package: &'static str,
    example: &'static str,
    /// The features that the example asks for.
    features: &'static str,
    /// What it can measure.
    cases: &'static [&'static str],
    /// The suite whose components it needs: they are found, or installed, as for that suite.
    needs: Option<&'static str>,
}

/// Every program that measures.
const RUNNERS: &[Runner] = &[
    Runner {
        package: "ballast-core",
        example: "plan-bench",
        features: "fixtures",
        cases: &["pack-51k", "plan-15k-cold", "plan-15k-incremental", "remove-2k", "types-400", "growth"],
        needs: None,
    },
    Runner {
        package: "ballast-sim",
        example: "bench",
        features: "",
        cases: &["sim-day", "sim-year"],
        needs: None,
    },
    Runner {
        package: "ballast-e2e",
        example: "live-bench",
        features: "kubernetes",
        cases: &["reaction", "scale"],
        needs: Some("kubernetes"),
    },
];

/// What was measured.
#[derive(Default)]
pub(super) struct Measured {
    /// The rows, in the order in which they were measured.
    pub(super) rows: Vec<Row>,
    /// What could not be measured, and why: it costs only itself.
    pub(super) failures: Vec<anyhow::Error>,
}

/// Runs the cases, or all of them.
pub(super) fn run(cases: &[String]) -> Result<Measured> {
    let known: Vec<&str> = RUNNERS.iter().flat_map(|runner| runner.cases).copied().collect();
    if let Some(case) = cases.iter().find(|case| !known.contains(&case.as_str())) {
        bail!("there is no case `{case}`\n\nhint: the cases are {}", known.join(", "));
    }
    let mut measured = Measured::default();
    for runner in RUNNERS {
        let wanted = |case: &&&str| cases.is_empty() || cases.iter().any(|named| named == **case);
        let mine: Vec<&str> = runner.cases.iter().filter(wanted).copied().collect();
        if mine.is_empty() {
            continue;
        }
        match runner.run(&mine) {
            Ok(rows) => measured.rows.extend(rows),
            Err(error) => {
                measured.failures.push(error.context(format!("cannot measure {}", mine.join(", "))))
            }
        }
    }
    Ok(measured)
}

impl Runner {
    fn run(&self, cases: &[&str]) -> Result<Vec<Row>> {
        let mut command = workspace::cargo();
        command.args(["run", "--quiet", "--release", "--package", self.package, "--example", self.example]);
        command.args(["--features", self.features, "--"]);
        command.args(cases).arg("--json").stdin(Stdio::null()).stdout(Stdio::piped());
        let components = self.needs.map(|suite| component::check_all(&[suite])).unwrap_or_default();
        Surroundings { size: Size::Ci, components: &components }.prepare(&mut command);
        let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        let output = child.stdout.take().context("the output was piped")?;
        let mut rows: Vec<Row> = Vec::new();
        for line in BufReader::new(output).lines() {
            let line = line.context("cannot read the rows")?;
            let row = Row::parse(&line).with_context(|| format!("not a row: {line}"))?;
            eprintln!("{}: {} {} {}", row.case, row.metric, row.seen, row.unit);
            rows.push(row);
        }
        let status = child.wait()?;
        ensure!(status.success(), "{command:?} ended with {status}");
        let silent = cases.iter().find(|case| rows.iter().all(|row| row.case != **case));
        ensure!(silent.is_none(), "{command:?} told nothing of {silent:?}");
        let program = workspace::target()?.join("release/examples").join(self.example);
        rows.extend(instructions::count(&program, cases)?);
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_case_is_refused_with_the_known_ones() {
        let error = run(&["pack".to_owned()]).err().expect("no such case").to_string();
        assert!(error.contains("no case `pack`") && error.contains("pack-51k, plan-15k-cold"), "{error}");
    }
}
