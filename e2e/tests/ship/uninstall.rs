//! `helm install`, a life in `Enforce` with the program of the image under the roles of the chart, and `helm uninstall`: the
//! cluster is as it was found, but for the machines that its pods were rightly given.

use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use ballast_e2e::cloud::{self, Cloud};
use ballast_e2e::cluster::{Cluster, Daemon, Kwok};
use serde_json::{Value, json};

use crate::admission::{add_nodes, is_there};
use crate::clone;
use crate::dump::{Dump, differences, dump};
use crate::helm::Helm;
use crate::image::Unpacked;

#[test]
fn it_leaves_the_cluster_as_it_was_found_also_from_the_middle_of_a_drain() -> Result<()> {
    let cluster = Cluster::start()?;
    let _kwok = Kwok::start(&cluster)?;
    let cloud = Cloud::start(&cluster, "4")?;
    add_nodes(&cluster)?;
    // helm makes a namespace and leaves it; here it is part of what is found.
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata":
        {"name": "ballast", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    cluster.apply(&namespace.to_string())?;
    let known = |cluster: &Cluster| {
        Ok(cluster.kubectl(&["get", "serviceaccount", "default", "-n", "ballast"])?.success)
    };
    cluster.wait("the namespace", known)?;
    cluster.apply(cloud::SECRET)?;
    let before = dump(&cluster)?;

    let (helm, image) = (Helm::new()?, Unpacked::new()?);
    helm.on(&cluster, &["install", "ballast", "deploy/chart", "--set", "mode=Enforce"])?;
    is_there(&cluster)?;
    cluster.apply(&cloud::policies("Enforce", cloud.address()))?;
    let ballast = start(&cluster, &image)?;
    drained_to_the_middle(&cluster, &cloud)
        .with_context(|| format!("ballast said last:\n{}", ballast.last_lines()))?;

    // Somebody holds growth still, without an end.
    pause(&cluster, json!({"up": true, "reason": "incident 42"}))?;
    uninstall(&cluster, &helm, &image)
        .with_context(|| format!("ballast said last:\n{}", ballast.last_lines()))?;
    let cordoned = cordoned(&cluster)?;
    ensure!(cordoned.is_empty(), "{cordoned:?} are cordoned still");
    drop(ballast);
    // The kinds stay with what people wrote, until they are told to go.
    let told = cluster.get(&["clusterpolicy", "cluster", "-o", "jsonpath={.spec.pause}"])?;
    let told: Value = serde_json::from_str(&told)?;
    ensure!(told == json!({"up": true, "down": true, "reason": "incident 42; uninstall"}), "{told}");
    let kinds = clone("deploy/crds");
    let told = cluster.kubectl(&["delete", "-f", &kinds.to_string_lossy()])?;
    ensure!(told.success, "{}", told.error);
    let told = cluster.kubectl(&["delete", "deployment", "web", "--cascade=foreground", "--wait=false"])?;
    ensure!(told.success, "{}", told.error);
    cluster
        .wait("nothing to be left", |cluster| {
            let_go(cluster)?;
            Ok(left(&before, &dump(cluster)?).is_empty())
        })
        .with_context(|| format!("{:#?}", dump(&cluster).map(|after| left(&before, &after))))
}

/// `helm uninstall`, and nothing else. Its hook is a pod that nobody here runs: what it would do is done in its place, with the program
/// of the image, its arguments and its account.
fn uninstall(cluster: &Cluster, helm: &Helm, image: &Unpacked) -> Result<()> {
    std::thread::scope(|scope| {
        let uninstalls = scope.spawn(|| helm.on(cluster, &["uninstall", "ballast", "--wait"]));
        hook(cluster, image)?;
        uninstalls.join().map_err(|_| anyhow!("the thread of helm ended"))?.map(drop)
    })
}

fn hook(cluster: &Cluster, image: &Unpacked) -> Result<()> {
    let own = ["pods", "-n", "ballast", "-l", "app.kubernetes.io/name=ballast-uninstall"];
    cluster.wait("the pod of the hook", |cluster| Ok(!names(cluster, &own, ".items[*]")?.is_empty()))?;
    let pods: Value = serde_json::from_str(&cluster.get(&[&own[..], &["-o", "json"]].concat())?)?;
    let (spec, name) = (&pods["items"][0]["spec"], &pods["items"][0]["metadata"]["name"]);
    let account = spec["serviceAccountName"].as_str().unwrap_or_default();
    let kubeconfig = log_in(cluster, image, account)?;
    let args = spec["containers"][0]["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let args: Vec<&str> = args.chain(["--kubeconfig", &*kubeconfig]).collect();
    let output = image.command(&args)?.output().context("cannot run the hook")?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ensure!(output.status.success(), "{args:?}: {}{}", said(&output.stdout), said(&output.stderr));
    let (name, ended) = (name.as_str().unwrap_or_default(), "{\"status\": {\"phase\": \"Succeeded\"}}");
    let patch = ["patch", "pod", name, "-n", "ballast", "--subresource=status", "--type=merge", "-p", ended];
    let told = cluster.kubectl(&patch)?;
    ensure!(told.success, "{}", told.error);
    Ok(())
}

/// The differences that are not machines; and machines are as they came.
fn left(before: &Dump, after: &Dump) -> Vec<String> {
    let (machines, rest): (Dump, Dump) =
        after.clone().into_iter().partition(|(name, _)| name.starts_with("Node /workers-"));
    let mut left =
        differences(before, &rest.into_iter().filter(|(name, _)| !name.contains(" /workers-")).collect());
    let marked = machines.iter().filter(|(_, node)| {
        let text = node.to_string();
        text.contains("ballast.dev")
            || !node["spec"]["unschedulable"].is_null()
            || !node["spec"]["taints"].is_null()
    });
    left.extend(marked.map(|(name, node)| format!("{name} is marked: {node}")));
    left
}

/// Three pods get two machines, and one pod goes; while removals are held still the others are made such that they do not end.
/// Then a machine is drained of one, and is cordoned for as long as it takes.
fn drained_to_the_middle(cluster: &Cluster, cloud: &Cloud) -> Result<()> {
    pause(cluster, json!({"down": true, "reason": "the test gets ready"}))?;
    web(cluster, 3)?;
    cluster
        .wait("three pods on two machines", |cluster| Ok(running(cluster)? == 3 && cloud.running() == 2))?;
    web(cluster, 2)?;
    cluster.wait("one to go", |cluster| Ok(pods(cluster, ".items[*]")?.len() == 2))?;
    for pod in pods(cluster, ".items[*]")? {
        finalizers(cluster, &pod, "[\"test.ballast.dev/stays\"]")?;
    }
    pause(cluster, json!(null))?;
    cluster.wait("a drain", |cluster| Ok(!cordoned(cluster)?.is_empty() && !leaving(cluster)?.is_empty()))
}

/// Holds still, or no more.
fn pause(cluster: &Cluster, pause: serde_json::Value) -> Result<()> {
    let patch = json!({"spec": {"pause": pause}}).to_string();
    let told = cluster.kubectl(&["patch", "clusterpolicy", "cluster", "--type=merge", "--patch", &patch])?;
    ensure!(told.success, "{}", told.error);
    Ok(())
}

/// The program of the image in `Enforce`, as the service account of the chart, with its image as its root.
fn start(cluster: &Cluster, image: &Unpacked) -> Result<Daemon> {
    let kubeconfig = log_in(cluster, image, "ballast")?;
    let mut command = image.command(&[
        "run",
        "--kubeconfig",
        &kubeconfig,
        "--namespace",
        "ballast",
        "--identity",
        "one",
    ])?;
    command.args(["--lease-duration", "8s", "--lease-retry", "1s", "--instances-every", "1s"]);
    Daemon::start("ballast", command, &cluster.path(""))
}

/// The kubeconfig of an account of the namespace, where the program of the image finds it.
fn log_in(cluster: &Cluster, image: &Unpacked, account: &str) -> Result<String> {
    let told = cluster.kubectl(&["create", "token", account, "-n", "ballast", "--duration=1h"])?;
    ensure!(told.success, "{}", told.error);
    let file = format!("{account}.kubeconfig");
    let admin = std::fs::read_to_string(cluster.kubeconfig("admin"))?;
    let authority = cluster.path("certs/apiserver.crt");
    let own =
        admin.replace("admin-token", told.text.trim()).replace(&*authority.to_string_lossy(), "/ca.crt");
    std::fs::write(image.path(&file), own)?;
    std::fs::copy(&authority, image.path("ca.crt")).context("no certificate of the API server")?;
    let open = Command::new("chmod").arg("644").args([image.path(&file), image.path("ca.crt")]).status()?;
    ensure!(open.success(), "chmod ended with {open}");
    Ok(format!("/{file}"))
}

/// Pods that run on the machines of the pool alone.
pub(crate) fn web(cluster: &Cluster, replicas: u32) -> Result<()> {
    cluster.apply(&format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      nodeSelector: {{pool: workers}}
      containers: [{{name: c, image: none, resources: {{requests: {{cpu: 1900m, memory: 1Gi}}}}}}]
"
    ))
}

/// Lets pods end that are asked to.
fn let_go(cluster: &Cluster) -> Result<()> {
    leaving(cluster)?.iter().try_for_each(|pod| finalizers(cluster, pod, "null"))
}

fn finalizers(cluster: &Cluster, pod: &str, finalizers: &str) -> Result<()> {
    let patch = format!("{{\"metadata\": {{\"finalizers\": {finalizers}}}}}");
    let told = cluster.kubectl(&["patch", "pod", pod, "--type=merge", "--patch", &patch])?;
    ensure!(told.success || told.error.contains("not found"), "{}", told.error);
    Ok(())
}

fn leaving(cluster: &Cluster) -> Result<Vec<String>> {
    pods(cluster, ".items[?(@.metadata.deletionTimestamp)]")
}

pub(crate) fn running(cluster: &Cluster) -> Result<usize> {
    Ok(pods(cluster, ".items[?(@.status.phase==\"Running\")]")?.len())
}

fn pods(cluster: &Cluster, which: &str) -> Result<Vec<String>> {
    names(cluster, &["pods", "-l", "app=web"], which)
}

fn cordoned(cluster: &Cluster) -> Result<Vec<String>> {
    names(cluster, &["nodes"], ".items[?(@.spec.unschedulable)]")
}

fn names(cluster: &Cluster, of: &[&str], which: &str) -> Result<Vec<String>> {
    let path = format!("jsonpath={{range {which}}}{{.metadata.name}}{{\"\\n\"}}{{end}}");
    Ok(cluster.get(&[of, &["-o", &path]].concat())?.lines().map(str::to_owned).collect())
}
