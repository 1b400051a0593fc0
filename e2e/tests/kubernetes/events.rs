//! What Ballast tells on the objects that people look at, read back from the real API.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ballast_e2e::cluster::{Cluster, Daemon};
use ballast_e2e::relay::Relay;
use serde_json::Value;

use crate::stage::Stage;

/// None of these pods may be disrupted.
const BUDGET: &str = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, \
     spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}}";

/// An event of Ballast's.
#[derive(Debug)]
struct Told {
    reason: String,
    kind: String,
    name: String,
    note: String,
    decision: String,
}

/// Every event of Ballast's, the first told first.
fn told(stage: &Stage) -> Result<Vec<Told>> {
    let list = stage.cluster.get(&["events.events.k8s.io", "-A", "-o", "json"])?;
    let list: Value = serde_json::from_str(&list)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = list["items"].as_array().cloned().unwrap_or_default();
    let mut ours: Vec<Value> =
        all.into_iter().filter(|event| event["reportingController"] == "ballast.dev/ballast").collect();
    ours.sort_by_key(|event| (text(&event["eventTime"]), text(&event["metadata"]["name"])));
    let told = ours.iter().map(|event| Told {
        reason: text(&event["reason"]),
        kind: text(&event["regarding"]["kind"]),
        name: text(&event["regarding"]["name"]),
        note: text(&event["note"]),
        decision: text(&event["metadata"]["annotations"]["ballast.dev/decision"]),
    });
    Ok(told.collect())
}

/// The reasons that were told on an object, in order.
fn on(told: &[Told], kind: &str, name: &str) -> Vec<String> {
    let own = told.iter().filter(|event| event.kind == kind && event.name == name);
    own.map(|event| event.reason.clone()).collect()
}

/// Waits until a reason was told, and gives the last event with it.
fn hears(stage: &Stage, reason: &str, ballast: &Daemon) -> Result<Told> {
    let waited = stage.cluster.wait(reason, |_| Ok(told(stage)?.iter().any(|event| event.reason == reason)));
    waited.with_context(|| format!("{:#?}\nballast said last:\n{}", told(stage), ballast.last_lines()))?;
    told(stage)?.into_iter().rfind(|event| event.reason == reason).context("it was told")
}

/// Puts a budget in the way of a drain as soon as its node is cordoned: whoever decided on it saw none.
fn in_the_way(cluster: &Cluster) -> impl FnMut(&str) + Send + use<> {
    let (kubectl, kubeconfig): (PathBuf, PathBuf) = (cluster.program("kubectl"), cluster.kubeconfig("admin"));
    let budget = cluster.path("budget.yaml");
    let mut is_there = false;
    move |request| {
        if is_there || !(request.starts_with("PATCH") && request.contains("/nodes/")) {
            return;
        }
        is_there = true;
        std::fs::write(&budget, BUDGET).expect("the folder of the cluster is ours");
        let run = |args: &[&str]| {
            let mut command = Command::new(&kubectl);
            command.arg("--kubeconfig").arg(&kubeconfig).args(args).output().expect("kubectl runs")
        };
        run(&["apply", "-f", &budget.to_string_lossy()]);
        // The API lets pods go as long as nobody has counted them.
        run(&["wait", "--for=jsonpath={.status.observedGeneration}=1", "pdb/web", "--timeout=10s"]);
    }
}

#[test]
fn the_life_of_a_node_is_told_and_one_decision_is_found_everywhere() -> Result<()> {
    let stage = Stage::set()?;
    let relay = Relay::to_cluster(&stage.cluster.kubeconfig("admin"))?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let ballast = stage.ballast_by("one", &stage.cluster.kubeconfig_by(relay.address())?)?;
    stage.deployment("web", 3, "1900m")?;
    stage.settles("web", 3, 2, &ballast)?;
    relay.watch(in_the_way(&stage.cluster));
    // One pod is left on each machine, below half of it: one machine is drained, and a budget comes into its way.
    stage.deployment("web", 2, "1900m")?;
    let blocked = hears(&stage, "DrainBlocked", &ballast)?;
    one_decision_is_found_everywhere(&stage, &blocked, &ballast)?;
    ensure!(stage.cluster.kubectl(&["delete", "poddisruptionbudget", "web"])?.success);
    stage.settles("web", 2, 1, &ballast)?;
    hears(&stage, "MachineStopped", &ballast)?;
    let all = told(&stage)?;
    ensure!(on(&all, "VmPool", "workers") == ["Launching", "Launching", "MachineStopped"], "{all:#?}");
    ensure!(on(&all, "Node", &blocked.name) == ["NodeJoined", "Draining", "DrainBlocked"], "{all:#?}");
    let pods: Vec<&str> =
        all.iter().filter(|event| event.kind == "Pod").map(|event| &*event.reason).collect();
    ensure!(pods == ["NodeComing", "NodeComing", "NodeComing", "AskedToLeave"], "{all:#?}");
    let drained = all.iter().filter(|event| event.decision == blocked.decision);
    let drained: Vec<&str> = drained.map(|event| &*event.reason).collect();
    ensure!(drained == ["Draining", "DrainBlocked", "AskedToLeave", "MachineStopped"], "{all:#?}");
    at_rest_nothing_is_told(&stage, &ballast)
}

/// The decision of a drain that goes on: in the event, in the log, in the ledger and in the status of its pool.
fn one_decision_is_found_everywhere(stage: &Stage, blocked: &Told, ballast: &Daemon) -> Result<()> {
    let decision = &blocked.decision;
    ensure!(blocked.note.ends_with(&format!("(decision {decision})")), "{blocked:?}");
    ensure!(ballast.log()?.contains(&format!("decision={decision}")), "the log does not name {decision}");
    let ledger = stage.cluster.get(&["configmap", "ballast-ledger", "-n", "ballast", "-o", "json"])?;
    let ledger: Value = serde_json::from_str(&ledger)?;
    let ledger: Value = serde_json::from_str(ledger["data"]["body"].as_str().unwrap_or_default())?;
    ensure!(ledger["removals"][&blocked.name]["decision"] == **decision, "{ledger}");
    stage.cluster.wait("the status to name it", |cluster| {
        let pool: Value = serde_json::from_str(&cluster.get(&["vmpool", "workers", "-o", "json"])?)?;
        Ok(pool["status"]["lastAction"]["decision"] == **decision)
    })?;
    // Where people look.
    let described = stage.cluster.kubectl(&["describe", "node", &blocked.name])?;
    ensure!(
        described.text.contains("DrainBlocked") && described.text.contains(decision),
        "{}",
        described.text
    );
    Ok(())
}

/// It goes on planning, and tells nothing.
fn at_rest_nothing_is_told(stage: &Stage, ballast: &Daemon) -> Result<()> {
    let planned = || -> Result<usize> { Ok(ballast.log()?.matches(" planned ").count()) };
    let (before, told_before) = (planned()?, told(stage)?.len());
    stage.cluster.wait("two more plans", |_| Ok(planned()? >= before + 2))?;
    let all = told(stage)?;
    ensure!(all.len() == told_before, "{told_before}: {all:#?}");
    Ok(())
}

#[test]
fn proposals_pauses_and_pods_that_nobody_can_serve_are_told() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Recommend"))?;
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 1, "2")?;
    let proposed = hears(&stage, "PlanProposed", &ballast)?;
    ensure!((&*proposed.kind, &*proposed.name) == ("ClusterPolicy", "cluster"), "{proposed:?}");
    ensure!(proposed.note.contains(&format!("ballast approve {}", proposed.decision)), "{proposed:?}");
    stage.deployment("huge", 1, "40")?;
    let unserved = hears(&stage, "NoNodeFits", &ballast)?;
    ensure!(unserved.kind == "Pod" && unserved.name.starts_with("huge-"), "{unserved:?}");
    // What a person writes is told, but neither what moves a cursor nor what looks like a secret.
    let pause = "{\"spec\":{\"pause\":{\"up\":true,\"reason\":\"wait\\u001b[31m for password=hunter2\"}}}";
    let told = stage.cluster.kubectl(&["patch", "cpol", "cluster", "--type=merge", "-p", pause])?;
    ensure!(told.success, "{}", told.error);
    let paused = hears(&stage, "Paused", &ballast)?;
    ensure!(
        paused.note.contains("growth held still: wait") && !paused.note.contains("hunter2"),
        "{paused:?}"
    );
    ensure!(!paused.note.contains(char::is_control), "{paused:?}");
    let lift = "{\"spec\":{\"pause\":null}}";
    ensure!(stage.cluster.kubectl(&["patch", "cpol", "cluster", "--type=merge", "-p", lift])?.success);
    let resumed = hears(&stage, "Resumed", &ballast)?;
    ensure!(["ClusterPolicy", "VmPool"].contains(&&*resumed.kind), "{resumed:?}");
    ensure!(stage.cloud.machines().asked.is_empty(), "Recommend asked the cloud for something");
    Ok(())
}
