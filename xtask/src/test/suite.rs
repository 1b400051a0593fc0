//! The table of suites: what `cargo xtask test` knows how to run.
//!
//! A new suite is a new row here; what it needs from the machine is a row in the table of components.

use super::deny;
use super::step::{Step, Work};
use crate::{docs, generate, image, tidy};

/// A named part of the tests.
pub(crate) struct Suite {
    /// What is written on the command line.
    pub(crate) name: &'static str,
    /// What it proves, in a line.
    pub(crate) about: &'static str,
    /// What it runs, in order; one that fails does not stop the next.
    pub(crate) steps: &'static [Step],
}

/// Every suite of this release.
pub(crate) const SUITES: &[Suite] = &[UNIT, SIM, CLI, FUZZ, CONSOLE, DOCS, KUBERNETES, SHIP];

const UNIT: Suite = Suite {
    name: "unit",
    about: "form, lints, manners, dependencies, and the tests of the core and of the tools",
    steps: &[
        step("rustfmt", Work::Check(&["fmt", "--all", "--check"])),
        step("tidy", Work::Own(|_| tidy::count())),
        step("clippy", Work::Check(CLIPPY)),
        Step { name: "cargo-deny", needs: &["cargo-deny"], work: Work::Own(deny::run) },
        step("tests", Work::Tests(UNIT_TESTS)),
    ],
};
const CLIPPY: &[&str] =
    &["clippy", "--quiet", "--workspace", "--all-targets", "--all-features", "--", "--deny=warnings"];
const UNIT_TESTS: &[&str] = &[
    "test",
    "--no-fail-fast",
    "--all-features",
    "-pballast-core",
    "-pballast-live",
    "-pballast-fuzz",
    "-pxtask",
];

/// Of the release build: it is counted in simulated days.
const SIM: Suite = Suite {
    name: "sim",
    about: "the simulated cluster: scenarios, faults at every step, and recorded workloads of real clusters",
    steps: &[
        step(
            "tests",
            Work::Tests(&["test", "--no-fail-fast", "--release", "--features=schema", "-pballast-sim"]),
        ),
        Step { name: "recorded workloads", needs: &["traces"], work: Work::Tests(SIM_TRACES) },
    ],
};
const SIM_TRACES: &[&str] =
    &["test", "--no-fail-fast", "--release", "--features=schema,traces", "-pballast-sim", "--test=openb"];

/// Of the release build, which `docs` uses too.
const CLI: Suite = Suite {
    name: "cli",
    about: "the commands as people type them: exit codes, output, errors with their place",
    steps: &[step("tests", Work::Tests(&["test", "--no-fail-fast", "--release", "-pballast"]))],
};

const FUZZ: Suite = Suite {
    name: "fuzz",
    about: "mutated inputs against everything that reads bytes from outside, a minute a target",
    steps: &[step("targets", Work::Tests(&["run", "--profile=fuzz", "-pballast-fuzz"]))],
};

const CONSOLE: Suite = Suite {
    name: "console",
    about: "the page and the demo in a real browser",
    steps: &[
        step("build", Work::Check(&["build", "--quiet", "--release", "-pballast"])),
        Step { name: "browser", needs: &["Chromium"], work: Work::Tests(CONSOLE_TESTS) },
    ],
};
const CONSOLE_TESTS: &[&str] = &["test", "--no-fail-fast", "-pballast-e2e", "--features=console", "--tests"];

const DOCS: Suite = Suite {
    name: "docs",
    about: "no derived page is stale, and every command in a page does what the page says",
    steps: &[
        step("generated files", Work::Own(|_| generate::check())),
        step("commands", Work::Own(docs::run)),
        step("rustdoc", Work::Check(&["doc", "--quiet", "--workspace", "--no-deps", "--all-features"])),
    ],
};

/// Of the release build: it is what runs in a cluster.
const KUBERNETES: Suite = Suite {
    name: "kubernetes",
    about: "`ballast run` against a real control plane, with nodes of kwok and pods that run",
    steps: &[
        step("build", Work::Check(&["build", "--quiet", "--release", "-pballast"])),
        Step { name: "control plane", needs: &["Kubernetes", "kwok"], work: Work::Tests(KUBERNETES_TESTS) },
        Step {
            name: "pods in namespaces",
            needs: &["Kubernetes", "namespaces"],
            work: Work::Tests(NAMESPACES_TESTS),
        },
    ],
};
const KUBERNETES_TESTS: &[&str] = &[
    "test",
    "--no-fail-fast",
    "--release",
    "-pballast-e2e",
    "--features=kubernetes",
    "--lib",
    "--test=kubernetes",
    "--",
    "--skip=kubelet::namespaces::",
    // They wait most of their time: for leases, for the scheduler, for nodes that are idle for long enough.
    "--test-threads=4",
];
const NAMESPACES_TESTS: &[&str] = &[
    "test",
    "--no-fail-fast",
    "--release",
    "-pballast-e2e",
    "--features=kubernetes",
    "--test=kubernetes",
    "--",
    "kubelet::namespaces::",
];

/// What people get: the image and the chart. The program that is run here is the one in the image.
const SHIP: Suite = Suite {
    name: "ship",
    about: "the image, the chart and the manifest: built, rendered by the real helm, admitted by a real API server",
    steps: &[
        step("image", Work::Own(image::check)),
        Step {
            name: "image, chart and manifest",
            needs: &["Kubernetes", "kwok", "helm", "Prometheus"],
            work: Work::Tests(SHIP_TESTS),
        },
    ],
};
const SHIP_TESTS: &[&str] =
    &["test", "--no-fail-fast", "--release", "-pballast-e2e", "--features=kubernetes", "--test=ship"];

const fn step(name: &'static str, work: Work) -> Step {
    Step { name, needs: &[], work }
}

/// The table in words, for `--help`.
pub(super) fn long_help() -> String {
    let rows: Vec<String> =
        SUITES.iter().map(|suite| format!("  {:<11} {}", suite.name, suite.about)).collect();
    format!("Suites to run; none named means all:\n\n{}", rows.join("\n"))
}
