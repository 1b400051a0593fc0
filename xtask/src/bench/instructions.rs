//! Instructions that one plan takes, counted by valgrind: a figure that a noisy machine does not move.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::row::Row;
use crate::workspace;

/// Cases that are small enough to be counted in seconds.
const COUNTED: [&str; 3] = ["pack-51k", "plan-15k-incremental", "remove-2k"];

/// Counts the cases that can be counted; none where valgrind is not there. `program` is one that was built and has run.
pub(super) fn count(program: &Path, cases: &[&str]) -> Result<Vec<Row>> {
    let has_valgrind = workspace::first_line(Command::new("valgrind").arg("--version")).is_some();
    let counted = COUNTED.iter().filter(|case| has_valgrind && cases.contains(case));
    counted.map(|case| row(program, case)).collect()
}

/// What one more plan takes: all else is the same in both runs.
fn row(program: &Path, case: &str) -> Result<Row> {
    let one_more = refs(program, case, 2)?.saturating_sub(refs(program, case, 1)?);
    let size = if case == "plan-15k-incremental" { " at 1000 nodes" } else { "" };
    Ok(Row::told(case, &format!("instructions of one plan{size}"), one_more as f64, "instructions"))
}

fn refs(program: &Path, case: &str, plans: u32) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    command.arg(program).args(["--plans", &plans.to_string(), case]).stdin(Stdio::null());
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    parse(&text).with_context(|| format!("{command:?} told no count: {text}"))
}

/// The number after `I refs:`, or `I   refs:` as older versions write it.
fn parse(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("refs:"))?;
    line.rsplit(':').next()?.trim().replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_valgrind_tells() {
        let text =
            "==7== Cachegrind, a high-precision tracing profiler\n==7== \n==7== I refs:        1,234,567\n";
        assert_eq!(parse(text), Some(1_234_567));
        assert_eq!(parse("==7== I   refs:      89\n"), Some(89));
        assert_eq!(parse("valgrind: not found"), None);
    }
}
