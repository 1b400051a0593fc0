//! Files that people and `kubectl` write.

use ballast_core::documents::{File, PROBLEMS_MAX, load};

pub(super) const TOKENS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    "name",
    "items",
    "List",
    "ballast.dev/v1alpha1",
    "v1",
    "VmPool",
    "ClusterPolicy",
    "Observation",
    "Scenario",
    "MetricScaler",
    "RayScaler",
    "SparkPool",
    "ElasticJobPolicy",
    "Pod",
    "Node",
    "---\n",
    "...\n",
    "&a ",
    "*a",
    "<<: *a",
    ".nan",
    ".inf",
    "!!str ",
    "? ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "\\ud800",
    "\\u0000",
    "\u{feff}",
    "|\n",
    ">-\n",
    "\"",
    "'",
    "null",
    "~",
    "1e308",
    "9223372036854775808",
];

/// Reads the input as YAML and as JSON. Either nothing is wrong, or every problem can be shown.
pub(super) fn run(input: &[u8]) {
    for name in ["input.yaml", "input.json"] {
        if let Err(problems) = load(&[File { name: name.into(), bytes: input.to_vec() }]) {
            assert!((1..=PROBLEMS_MAX).contains(&problems.list.len()), "{} problems", problems.list.len());
            let told = problems.to_string();
            let is_clean = told.chars().all(|letter| letter == '\n' || !letter.is_control());
            assert!(is_clean, "a message could disturb a terminal: {told:?}");
        }
    }
}
