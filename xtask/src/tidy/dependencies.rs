//! What the pure crates may depend on, read from `cargo metadata`.
//!
//! The core decides and the simulator invents; neither may reach the world. What they depend on is therefore a
//! short list, and a longer one is a decision that belongs into a design note.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Finding;
use crate::workspace;

/// A crate that has to stay pure, and all it may depend on outside its tests.
struct Pure {
    name: &'static str,
    may_use: &'static [&'static str],
    /// Allowed too, but only behind a feature.
    may_offer: &'static [&'static str],
}

const PURE: &[Pure] = &[
    Pure {
        name: "ballast-core",
        may_use: &["indexmap", "jiff", "rustc-hash", "serde", "serde-saphyr", "serde_json", "thiserror"],
        may_offer: &["schemars"],
    },
    Pure {
        name: "ballast-sim",
        may_use: &[
            "ballast-core",
            "indexmap",
            "jiff",
            "rand",
            "rand_chacha",
            "rand_distr",
            "rustc-hash",
            "serde",
            "serde-saphyr",
            "serde_json",
            "thiserror",
        ],
        may_offer: &["schemars"],
    },
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev`, `build`, or none for the ordinary kind.
    kind: Option<String>,
    optional: bool,
}

pub(super) fn find() -> Result<Vec<Finding>> {
    let told = workspace::cargo()
        .args(["metadata", "--format-version=1", "--no-deps"])
        .output()
        .context("cannot run cargo metadata")?;
    ensure!(told.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&told.stderr));
    let metadata: Metadata = serde_json::from_slice(&told.stdout).context("cannot read cargo metadata")?;
    Ok(PURE.iter().flat_map(|pure| judge(pure, &metadata)).collect())
}

fn judge(pure: &Pure, metadata: &Metadata) -> Vec<Finding> {
    let Some(package) = metadata.packages.iter().find(|package| package.name == pure.name) else {
        return vec![Finding::new(pure.name, "no such package in the workspace")];
    };
    let counted = package.dependencies.iter().filter(|used| used.kind.as_deref() != Some("dev"));
    counted.filter_map(|used| Some(Finding::new(pure.name, complaint(pure, used)?))).collect()
}

fn complaint(pure: &Pure, used: &Dependency) -> Option<String> {
    let Dependency { name, kind, optional } = used;
    if kind.is_some() {
        return Some(format!("`{name}` is a build dependency, and a pure crate has no build script"));
    }
    if pure.may_use.contains(&name.as_str()) {
        return None;
    }
    match (pure.may_offer.contains(&name.as_str()), optional) {
        (true, true) => None,
        (true, false) => Some(format!("`{name}` is allowed only as an optional dependency")),
        (false, _) => Some(format!("`{name}` is not among what a pure crate may use, see ARCHITECTURE.md")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(dependencies: &str) -> Vec<String> {
        let text =
            format!(r#"{{"packages": [{{"name": "ballast-core", "dependencies": [{dependencies}]}}]}}"#);
        let metadata = serde_json::from_str(&text).expect("well formed");
        judge(&PURE[0], &metadata).into_iter().map(|found| found.what).collect()
    }

    #[test]
    fn tests_may_use_anything_and_the_list_is_the_limit_for_the_rest() {
        let fine = r#"{"name": "serde", "kind": null, "optional": false},
            {"name": "schemars", "kind": null, "optional": true},
            {"name": "proptest", "kind": "dev", "optional": false}"#;
        assert!(complaints(fine).is_empty());

        let rand = complaints(r#"{"name": "rand", "kind": null, "optional": false}"#);
        assert!(rand[0].starts_with("`rand` is not among"), "{rand:?}");
        let schemars = complaints(r#"{"name": "schemars", "kind": null, "optional": false}"#);
        assert!(schemars[0].contains("only as an optional"), "{schemars:?}");
        let build = complaints(r#"{"name": "serde", "kind": "build", "optional": false}"#);
        assert!(build[0].contains("build script"), "{build:?}");
    }
}
