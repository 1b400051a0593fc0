//! The plain manifest on a real API server: admitted at `restricted`, running, and gone without a trace.

use anyhow::{Context, Result, ensure};
use ballast_e2e::cluster::{Cluster, Kwok};
use serde_json::json;

use crate::clone;
use crate::dump::{differences, dump};

/// A pod as anyone writes it, with nothing said of its rights.
const CARELESS: &str = "{apiVersion: v1, kind: Pod, metadata: {name: careless, namespace: ballast}, \
                        spec: {containers: [{name: c, image: none}]}}";

#[test]
fn the_manifest_is_admitted_at_restricted_runs_and_goes_as_it_came() -> Result<()> {
    let cluster = Cluster::start()?;
    let _kwok = Kwok::start(&cluster)?;
    add_nodes(&cluster)?;
    let before = dump(&cluster)?;

    let manifest = std::fs::read_to_string(clone("deploy/manifest.yaml")).context("no manifest")?;
    let told = cluster.kubectl_with(&["apply", "--server-side", "-f", "-"], &manifest)?;
    ensure!(told.success && !told.error.contains("Warning"), "{}", told.error);
    is_there(&cluster)?;
    let refused = cluster.kubectl_with(&["apply", "-f", "-"], CARELESS)?.error;
    ensure!(refused.contains("violates PodSecurity \"restricted"), "a careless pod is admitted: {refused}");
    let nodes = cluster.get(&["pods", "-n", "ballast", "-o", "jsonpath={.items[*].spec.nodeName}"])?;
    let mut nodes: Vec<&str> = nodes.split_whitespace().collect();
    nodes.sort_unstable();
    ensure!(nodes == ["one", "two"], "the replicas are on {nodes:?}");

    let told = cluster.kubectl_with(&["delete", "--wait", "-f", "-"], &manifest)?;
    ensure!(told.success, "{}", told.error);
    cluster.wait("nothing to be left", |cluster| Ok(differences(&before, &dump(cluster)?).is_empty()))?;
    let left = differences(&before, &dump(&cluster)?);
    ensure!(left.is_empty(), "{left:#?}");
    Ok(())
}

/// Waits until Ballast is there: both replicas, and every kind has been asked for. The API server takes minutes to remove a kind
/// that is deleted while it is asked for the first time, as here where its life is seconds.
pub(crate) fn is_there(cluster: &Cluster) -> Result<()> {
    cluster.wait("both replicas", |cluster| Ok(available(cluster)? == "2"))?;
    cluster.wait("the kinds", |cluster| Ok(cluster.kubectl(&["get", "ballast", "--all-namespaces"])?.success))
}

/// How many replicas are ready.
fn available(cluster: &Cluster) -> Result<String> {
    cluster.get(&["deployment", "ballast", "-n", "ballast", "-o", "jsonpath={.status.availableReplicas}"])
}

/// Two nodes of no pool.
pub(crate) fn add_nodes(cluster: &Cluster) -> Result<()> {
    let amounts = json!({"cpu": "4", "memory": "16Gi", "pods": "110"});
    for name in ["one", "two"] {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        }, "status": {"allocatable": amounts, "capacity": amounts}});
        let told = cluster.kubectl_with(&["create", "-f", "-"], &node.to_string())?;
        ensure!(told.success, "{}", told.error);
    }
    cluster.wait("the nodes", |cluster| {
        let ready = "jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].status}";
        let taints = cluster.get(&["nodes", "-o", "jsonpath={.items[*].spec.taints[*].key}"])?;
        Ok(cluster.get(&["nodes", "-o", ready])? == "True True" && taints.is_empty())
    })
}
