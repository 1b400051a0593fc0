//! One page: its fences in order, each command run and held against what the page says.

use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};

use super::compare;
use super::fence::{self, Fence};
use super::sandbox::{Programs, Sandbox, Seen};
use super::transcript::{self, Command};
use crate::test::{Counts, Surroundings};
use crate::workspace;

/// An interrupt ends a command well with either of these.
const INTERRUPTED: [i32; 2] = [0, 130];

/// Runs a page.
pub(super) fn run(path: &Path, programs: &Programs, surroundings: &Surroundings<'_>) -> Result<Counts> {
    let file = workspace::root().join(path);
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let fences = fence::find(&text).with_context(|| path.display().to_string())?;
    let mut sandbox = Sandbox::new(programs)?;
    let mut counts = Counts::default();
    let mut accepted = Vec::new();
    for fence in &fences {
        if let Some(name) = fence.asks.file {
            sandbox
                .write(name, &fence.lines)
                .with_context(|| format!("{}:{}", path.display(), fence.start))?;
        }
        let commands = transcript::read(fence);
        if let Some(why) = left_out(fence, surroundings).filter(|_| !commands.is_empty()) {
            println!("{}:{}: not run: {why}", path.display(), fence.start);
            continue;
        }
        for command in commands {
            let seen = sandbox.run(&command.script, fence.asks.stop_after)?;
            counts += judge(path, fence, &command, &seen, &mut accepted);
        }
    }
    if !accepted.is_empty() {
        fs::write(&file, rewrite(&text, accepted))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if counts.passed > 0 {
        println!("{}: {} commands as written", path.display(), counts.passed);
    }
    Ok(counts)
}

/// Why a fence is not run here.
fn left_out(fence: &Fence<'_>, surroundings: &Surroundings<'_>) -> Option<String> {
    let missing = fence.asks.needs.filter(|name| !surroundings.has(name));
    fence.asks.not_run.map(str::to_owned).or_else(|| missing.map(|name| format!("{name} is missing")))
}

/// New lines in the place of old ones.
type Accepted = (Range<usize>, Vec<String>);

/// Counts a command; where output is accepted, notes what replaces the old one.
fn judge(
    path: &Path,
    fence: &Fence<'_>,
    command: &Command<'_>,
    seen: &Seen,
    accepted: &mut Vec<Accepted>,
) -> Counts {
    let place = format!("{}:{}", path.display(), command.line + 1);
    let ended_well = match fence.asks.stop_after {
        Some(_) => INTERRUPTED.contains(&seen.code),
        None => command.may_fail || seen.code == 0,
    };
    if !ended_well {
        println!("error: {place}: exit code {}: {}\n{}", seen.code, command.script, seen.text);
        return Counts::failed(1);
    }
    let lines: Vec<&str> = seen.text.lines().collect();
    if compare::matches(&command.output, &lines) {
        return Counts::passed(1);
    }
    if std::env::var("SNAPSHOTS").is_ok_and(|mode| mode == "overwrite") {
        println!("{place}: output accepted");
        let old = command.output_start..command.output_start + command.output.len();
        accepted.push((old, lines.into_iter().map(|line| compare::kept(&command.output, line)).collect()));
        return Counts::passed(1);
    }
    println!(
        "error: {place}: {}\n--- the page says\n{}\n--- seen",
        command.script,
        command.output.join("\n")
    );
    println!(
        "{}\n---\nhint: SNAPSHOTS=overwrite cargo xtask test docs accepts what is seen",
        lines.join("\n")
    );
    Counts::failed(1)
}

/// The page with the accepted lines in place of the old ones.
fn rewrite(text: &str, mut accepted: Vec<Accepted>) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    accepted.sort_by_key(|(old, _)| std::cmp::Reverse(old.start));
    for (old, new) in accepted {
        lines.splice(old, new);
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_output_takes_the_place_of_the_old() {
        let text = "a\n$ x\nold\nold\n$ y\nolder\nz\n";
        let accepted = vec![(2..4, vec!["new".to_owned()]), (5..6, vec!["1".to_owned(), "2".to_owned()])];
        assert_eq!(rewrite(text, accepted), "a\n$ x\nnew\n$ y\n1\n2\nz\n");
    }
}
