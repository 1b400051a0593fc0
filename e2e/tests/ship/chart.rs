//! The chart, rendered by the real helm. `SNAPSHOTS=overwrite cargo xtask test ship` accepts what is rendered.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::clone;
use crate::helm::{Helm, golden};

/// What a namespace for Ballast is: the plain manifest brings it along.
const NAMESPACE: &str = "\
# Ballast as one file, made of the chart with its defaults: kubectl apply --server-side -f deploy/manifest.yaml
---
apiVersion: v1
kind: Namespace
metadata:
  name: ballast
  labels:
    pod-security.kubernetes.io/enforce: restricted
";

#[test]
fn it_renders_as_is_written_down() -> Result<()> {
    let helm = Helm::new()?;
    for case in ["default", "enforce", "everything"] {
        let values = format!("deploy/tests/{case}.values.yaml");
        let seen = helm.template(&["--values", &values])?;
        golden(&clone(&format!("deploy/tests/{case}.golden.yaml")), &seen)?;
    }
    Ok(())
}

#[test]
fn the_plain_manifest_is_the_charts() -> Result<()> {
    let rendered = Helm::new()?.template(&[])?;
    golden(&clone("deploy/manifest.yaml"), &format!("{NAMESPACE}{rendered}"))
}

#[test]
fn lint_finds_nothing() -> Result<()> {
    let told = Helm::new()?.run(&["lint", "--strict", "deploy/chart"])?;
    ensure!(told.success && told.text.contains("0 chart(s) failed"), "{}{}", told.text, told.error);
    Ok(())
}

#[test]
fn values_that_are_not_in_the_schema_are_refused_with_their_place() -> Result<()> {
    let helm = Helm::new()?;
    let cases = [
        ("replica=2", "'replica'"),
        ("mode=enforce", "/mode"),
        ("replicas=0", "/replicas"),
        ("image.digest=sha256:12", "/image/digest"),
        ("image.name=x", "/image"),
        ("networkPolicy.providers[0].cidr=10.0.0.0/8", "/networkPolicy/providers/0"),
        ("tolerations[0].effect=Never", "/tolerations/0/effect"),
        ("logFormat=xml", "/logFormat"),
    ];
    for (set, place) in cases {
        let told = helm.run(&["template", "ballast", "deploy/chart", "--set", set])?;
        ensure!(!told.success, "{set} is taken");
        ensure!(told.error.contains(place), "{set}: {place} is not told: {}", told.error);
    }
    Ok(())
}

#[test]
fn its_kinds_are_those_of_deploy_crds_and_stay_unless_they_are_to_go() -> Result<()> {
    let helm = Helm::new()?;
    let shown = |args: &[&str]| helm.template(&[&["--show-only", "templates/crds.yaml"], args].concat());
    let mut rendered = documents(&shown(&["--set", "crds.keep=false"])?)?;
    rendered.sort_by_key(name);
    let mut kept = Vec::new();
    for entry in std::fs::read_dir(clone("deploy/crds")).context("cannot list deploy/crds")? {
        kept.extend(documents(&std::fs::read_to_string(entry?.path())?)?);
    }
    kept.sort_by_key(name);
    ensure!(!kept.is_empty() && rendered == kept, "the kinds of the chart are not those of deploy/crds");
    for kind in documents(&shown(&[])?)? {
        let policy = &kind["metadata"]["annotations"]["helm.sh/resource-policy"];
        ensure!(policy == "keep", "{}: {policy}", name(&kind));
    }
    Ok(())
}

#[test]
fn its_version_is_the_programs() -> Result<()> {
    let chart = documents(&std::fs::read_to_string(clone("deploy/chart/Chart.yaml"))?)?.remove(0);
    let own = env!("CARGO_PKG_VERSION");
    ensure!(chart["version"] == own && chart["appVersion"] == own, "{chart} is not of {own}");
    Ok(())
}

fn documents(text: &str) -> Result<Vec<Value>> {
    let parts = text
        .split("---\n")
        .filter(|part| part.lines().any(|line| !line.is_empty() && !line.starts_with('#')));
    parts.map(|part| serde_saphyr::from_str(part).context("not YAML")).collect()
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}
