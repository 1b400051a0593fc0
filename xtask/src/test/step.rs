//! One step of a suite: a command or a function of ours, run with its output in sight and its tests counted.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::{Counts, Size};
use crate::component::{Checked, Found};
use crate::workspace;

/// Where tests are told by the environment what was found: the component, and the variable.
const VARIABLES: &[(&str, &str)] = &[
    ("Chromium", "BALLAST_CHROMIUM"),
    ("Kubernetes", "BALLAST_KUBERNETES"),
    ("kwok", "BALLAST_KWOK"),
    ("helm", "BALLAST_HELM"),
    ("Prometheus", "BALLAST_PROMETHEUS"),
];

/// Where property tests get the seed of their inputs from. At size `ci` it is always the same, so that one commit has one
/// result; at size `full` each run tries others.
const PROPTEST_SEED: &str = "PROPTEST_RNG_SEED";

/// What a step can see of the run it is part of.
pub(crate) struct Surroundings<'a> {
    /// How much to run.
    pub(crate) size: Size,
    /// What was found on the machine.
    pub(crate) components: &'a [Checked],
}

impl Surroundings<'_> {
    /// The component of this name, when it was found.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.checked(name).is_some_and(|checked| matches!(checked.found, Found::Here { .. }))
    }

    /// The program of this component.
    pub(crate) fn program(&self, name: &str) -> Option<&Path> {
        match &self.checked(name)?.found {
            Found::Here { path, .. } => path.as_deref(),
            Found::Missing(_) => None,
        }
    }

    fn checked(&self, name: &str) -> Option<&Checked> {
        self.components.iter().find(|checked| checked.component.name == name)
    }

    /// What every command of a suite sees in its environment. Whether the release build is there is the business of
    /// the suite that needs it.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command.env("BALLAST_TEST_SIZE", self.size.word()).stdin(Stdio::null());
        command.env("RUSTDOCFLAGS", "--deny=warnings");
        if self.size == Size::Ci && env::var_os(PROPTEST_SEED).is_none() {
            command.env(PROPTEST_SEED, "7");
        }
        for (component, variable) in VARIABLES {
            if let Some(path) = self.program(component) {
                command.env(variable, path);
            }
        }
        if let Ok(target) = workspace::target() {
            command.env("BALLAST_BIN", target.join("release").join("ballast"));
            command.env("BALLAST_IMAGE", target.join("image"));
        }
    }
}

/// A part of a suite.
pub(crate) struct Step {
    /// Its name within the suite.
    pub(crate) name: &'static str,
    /// The components without which it cannot run.
    pub(crate) needs: &'static [&'static str],
    /// What it does.
    pub(crate) work: Work,
}

/// How a step works.
pub(crate) enum Work {
    /// cargo with these arguments; success is one passed test.
    Check(&'static [&'static str]),
    /// cargo with these arguments; the test harness prints how many passed.
    Tests(&'static [&'static str]),
    /// A function of ours that counts for itself.
    Own(fn(&Surroundings<'_>) -> Result<Counts>),
}

/// What came of a step.
pub(crate) enum Ran {
    /// It ran, and this was counted.
    Counted(Counts),
    /// It could not run: the named component is missing.
    Without(&'static str),
}

impl Step {
    /// Runs the step; an error of the step itself is one failed test.
    pub(crate) fn run(&self, suite: &str, surroundings: &Surroundings<'_>) -> Ran {
        if let Some(component) = self.needs.iter().find(|name| !surroundings.has(name)) {
            println!("== {suite}: {}: not run, {component} is missing", self.name);
            return Ran::Without(component);
        }
        println!("== {suite}: {}", self.name);
        let counted = match &self.work {
            Work::Check(args) => check(workspace::cargo().args(*args), surroundings),
            Work::Tests(args) => tests(workspace::cargo().args(*args), surroundings),
            Work::Own(work) => work(surroundings),
        };
        Ran::Counted(counted.unwrap_or_else(|error| {
            println!("error: {error:#}");
            Counts::failed(1)
        }))
    }
}

/// A command that is one test: it succeeds or it does not.
pub(crate) fn check(command: &mut Command, surroundings: &Surroundings<'_>) -> Result<Counts> {
    surroundings.prepare(command);
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    Ok(if status.success() { Counts::passed(1) } else { Counts::failed(1) })
}

/// A command whose test harness prints its counts; its lines are passed on as they come.
pub(crate) fn tests(command: &mut Command, surroundings: &Surroundings<'_>) -> Result<Counts> {
    surroundings.prepare(command);
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot run {command:?}"))?;
    let output = child.stdout.take().context("the output was piped")?;
    let mut counts = Counts::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read the output of the tests")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        counts.read(&line);
    }
    let status = child.wait()?;
    if !status.success() && counts.failed == 0 {
        println!("error: {command:?} ended with {status}");
        counts.failed = 1;
    }
    if counts.ran_nothing() {
        println!("error: {command:?} ran no test");
        counts.failed = 1;
    }
    Ok(counts)
}
