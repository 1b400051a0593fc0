//! Everything that a cluster holds, as far as somebody wrote it: what is the same before and after was left as it was found.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use ballast_e2e::cluster::Cluster;
use serde_json::Value;

/// Objects by kind, namespace and name, each with its labels, annotations and what was asked for.
pub(crate) type Dump = BTreeMap<String, Value>;

/// What comes and goes by itself, or is no object that is kept.
const RESTLESS: &[&str] = &["events", "componentstatuses"];

/// Reads every kind that can be listed.
pub(crate) fn dump(cluster: &Cluster) -> Result<Dump> {
    let told = cluster.kubectl(&["api-resources", "--verbs=list", "-o", "name"])?;
    let kinds: Vec<&str> = told
        .text
        .lines()
        .filter(|kind| !RESTLESS.iter().any(|restless| kind.starts_with(restless)))
        .collect();
    let text = cluster.get(&[&kinds.join(","), "--all-namespaces", "-o", "json"])?;
    let all: Value = serde_json::from_str(&text).context("kubectl prints no JSON")?;
    let mut dump = Dump::new();
    for object in all["items"].as_array().into_iter().flatten() {
        let meta = &object["metadata"];
        let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = format!("{} {}/{}", part(&object["kind"]), part(&meta["namespace"]), part(&meta["name"]));
        // The heartbeats of nodes and of the control plane itself.
        if name.starts_with("Lease kube-") {
            continue;
        }
        let mut kept = object.clone();
        if let Some(map) = kept.as_object_mut() {
            map.remove("status");
        }
        if let Some(meta) = kept["metadata"].as_object_mut() {
            for moves in ["resourceVersion", "generation", "managedFields", "uid", "creationTimestamp"] {
                meta.remove(moves);
            }
        }
        dump.insert(name, kept);
    }
    Ok(dump)
}

/// What is in one of two dumps only, or differs: one line each.
pub(crate) fn differences(before: &Dump, after: &Dump) -> Vec<String> {
    let gone = before.keys().filter(|name| !after.contains_key(*name)).map(|name| format!("{name} is gone"));
    let others = after.iter().filter_map(|(name, object)| match before.get(name) {
        None => Some(format!("{name} is left")),
        Some(old) if old != object => Some(format!("{name} was {old} and is {object}")),
        Some(_) => None,
    });
    gone.chain(others).collect()
}
