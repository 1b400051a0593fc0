//! A plan that a person approves is carried out as it was published, or not at all.

use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::stage::{Stage, ballast};

/// The plan that the policy shows.
pub(crate) fn plan(stage: &Stage) -> Result<Value> {
    let policy: Value = serde_json::from_str(&stage.cluster.get(&["cpol", "cluster", "-o", "json"])?)?;
    Ok(policy["status"]["plan"].clone())
}

/// What the policy says has become of a plan that was approved.
fn approval(stage: &Stage, plan: &Value) -> Result<Value> {
    let policy: Value = serde_json::from_str(&stage.cluster.get(&["cpol", "cluster", "-o", "json"])?)?;
    let all = policy["status"]["approvals"].as_array().cloned().unwrap_or_default();
    let own = all.into_iter().find(|own| own["plan"] == plan["id"] && own["madeAt"] == plan["madeAt"]);
    Ok(own.unwrap_or_default())
}

/// Waits until a plan of so many actions of a kind is proposed.
pub(crate) fn proposed(stage: &Stage, count: usize, kind: &str) -> Result<Value> {
    stage.cluster.wait("a plan to be proposed", |_| {
        let plan = plan(stage)?;
        let actions = plan["actions"].as_array().cloned().unwrap_or_default();
        Ok(plan["state"] == "Proposed"
            && actions.len() == count
            && actions.iter().all(|action| action["kind"] == kind))
    })?;
    plan(stage)
}

pub(crate) fn approve(stage: &Stage, args: &[&str]) -> Result<Output> {
    let mut command = Command::new(ballast()?);
    command.arg("approve").args(args).arg("--kubeconfig").arg(stage.cluster.kubeconfig("admin"));
    command.output().context("cannot run ballast approve")
}

#[test]
fn an_approved_plan_is_carried_out_and_only_it() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Recommend"))?;
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 2, "4")?;
    let first = proposed(&stage, 2, "CreateInstance")?;
    let id = first["id"].as_str().unwrap_or_default();
    let other = approve(&stage, &["00000000"])?;
    let said = String::from_utf8_lossy(&other.stderr);
    ensure!(
        !other.status.success() && said.contains(&format!("is not the one that stands now ({id})")),
        "{said}"
    );
    ensure!(stage.cloud.machines().asked.is_empty(), "nothing is done before it is approved");
    let told = approve(&stage, &[&id[..8], "--wait", "100s"])?;
    let (out, error) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    ensure!(told.status.success(), "{out}{error}{}", ballast.last_lines());
    ensure!(out.contains(&format!("approved {id}: 2 actions\n")) && out.ends_with("done\n"), "{out}");
    ensure!(approval(&stage, &first)?["state"] == "Done", "{:#}", approval(&stage, &first)?);
    stage.settles("web", 2, 2, &ballast)?;
    // What comes later waits for another approval, though the annotation still stands there.
    stage.deployment("late", 1, "4")?;
    proposed(&stage, 1, "CreateInstance")?;
    ensure!(stage.cloud.running() == 2 && stage.running("late")? == 0, "only what was approved is done");
    let log = ballast.log()?;
    ensure!(
        log.contains(&format!("decision={id}/a1")) || log.contains(&format!("{id}/a1")),
        "the log names it"
    );
    Ok(())
}

#[test]
fn a_plan_whose_node_was_replaced_is_refused() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 1, "4")?;
    stage.settles("web", 1, 1, &ballast)?;
    stage.cluster.apply(&stage.policies("Recommend"))?;
    stage.deployment("web", 0, "4")?;
    let plan = proposed(&stage, 1, "StopInstance")?;
    let name = plan["actions"][0]["target"]["name"].as_str().unwrap_or_default();
    // While nobody looks, the node is made anew under the same name, and the old plan is approved.
    drop(ballast);
    let mut node: Value = serde_json::from_str(&stage.cluster.get(&["node", name, "-o", "json"])?)?;
    let metadata = node["metadata"].as_object_mut().context("a node has metadata")?;
    metadata.retain(|field, _| ["name", "labels", "annotations"].contains(&&**field));
    ensure!(stage.cluster.kubectl(&["delete", "node", name])?.success, "cannot delete {name}");
    stage.cluster.apply(&node.to_string())?;
    let approved = approve(&stage, &[plan["id"].as_str().unwrap_or_default(), "--no-wait"])?;
    ensure!(approved.status.success(), "{}", String::from_utf8_lossy(&approved.stderr));
    let ballast = stage.ballast("two")?;
    stage.cluster.wait("the plan to be refused", |_| {
        let approval = approval(&stage, &plan)?;
        let why = format!("{name} is another node of the same name; nothing of it was done");
        Ok(approval["state"] == "Refused" && approval["message"] == *why)
    })?;
    ensure!(stage.cloud.running() == 1 && stage.cordoned()?.is_empty(), "{}", ballast.last_lines());
    Ok(())
}

#[test]
fn what_is_under_way_does_not_stop_what_is_proposed_next_and_what_fails_is_told() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Recommend"))?;
    let ballast = stage.ballast("one")?;
    let refuse = |class: &str, times: usize| {
        stage.cloud.machines().refuse = vec![json!({"class": class, "message": "said the test"}); times];
    };
    // The cloud stumbles for as long as the test wants.
    refuse("Transient", 1000);
    stage.deployment("web", 1, "4")?;
    let first = proposed(&stage, 1, "CreateInstance")?;
    let told = approve(&stage, &[first["id"].as_str().unwrap_or_default(), "--wait", "5s"])?;
    let out = String::from_utf8_lossy(&told.stdout).into_owned();
    ensure!(told.status.success() && out.ends_with("under way\n"), "{out}{}", ballast.last_lines());
    stage.deployment("late", 1, "4")?;
    stage.cluster.wait("the next plan", |_| {
        let plan = plan(&stage)?;
        Ok(plan["state"] == "Proposed" && plan["id"] != first["id"])
    })?;
    ensure!(approval(&stage, &first)?["state"] == "UnderWay", "{:#}", approval(&stage, &first)?);
    refuse("Transient", 0);
    stage.cluster.wait("the first to be done", |_| Ok(approval(&stage, &first)?["state"] == "Done"))?;
    let second = proposed(&stage, 1, "CreateInstance")?;
    refuse("StockOut", 1);
    let told = approve(&stage, &[second["id"].as_str().unwrap_or_default(), "--wait", "60s"])?;
    let error = String::from_utf8_lossy(&told.stderr).into_owned();
    ensure!(!told.status.success() && error.contains("1 of 1 action came to nothing: a1"), "{error}");
    ensure!(stage.cloud.running() == 1, "{}", ballast.last_lines());
    Ok(())
}
