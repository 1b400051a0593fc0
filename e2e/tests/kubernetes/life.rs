//! The life of a node: pods wait, it comes; it is idle, it goes.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::stage::{Stage, ballast};

#[test]
fn pods_that_wait_get_nodes_and_idle_nodes_go() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let ballast = stage.ballast("one")?;
    // Three pods of two cores fit on two machines of four.
    stage.deployment("web", 3, "2")?;
    stage.settles("web", 3, 2, &ballast)?;
    stage.deployment("web", 0, "2")?;
    stage.settles("web", 0, 0, &ballast)
}

/// A whole life of the process that leads is recorded: what it saw, decided, asked for and was answered; and the same comes out of
/// it again. Its segments are bounded, and to begin another costs nobody anything.
#[test]
fn a_life_is_recorded_and_replays() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let folder = stage.cluster.path("kept");
    let folder = folder.to_str().context("the path is no text")?;
    let kept = ["--record", folder, "--record-size", "1", "--record-least", "20s"];
    let process = stage.ballast_with("one", &stage.cluster.kubeconfig("admin"), &kept)?;
    stage.deployment("web", 3, "2")?;
    stage.settles("web", 3, 2, &process)?;
    stage.deployment("web", 0, "2")?;
    stage.settles("web", 0, 0, &process)?;
    // More than a segment holds.
    stage.deployment("crowd", 400, "300")?;
    let segments = || -> Result<usize> { Ok(std::fs::read_dir(folder)?.count()) };
    stage
        .cluster
        .wait("another segment", |_| {
            Ok(segments()? > 1 && process.log()?.matches("this process leads").count() > 1)
        })
        .with_context(|| process.last_lines())?;
    stage.deployment("crowd", 0, "300")?;
    stage.deployment("web", 1, "2")?;
    stage.settles("web", 1, 1, &process)?;
    process.signal("TERM")?;
    stage.cluster.wait("the end", |_| Ok(process.ended().is_some()))?;
    let replay = Command::new(ballast()?).args(["replay", folder]).output().context("cannot replay")?;
    let text = String::from_utf8_lossy(&replay.stdout).into_owned();
    ensure!(replay.status.success() && text.contains("all as they were"), "{text}");
    ensure!(segments()? < 6, "{} segments: it begins anew over and over", segments()?);
    let record = std::fs::read_to_string(std::path::Path::new(folder).join("ballast-00000001.jsonl"))?;
    for part in [
        "\"entry\":\"Requested\"",
        "\"entry\":\"Settled\"",
        "\"receipt\":\"joined\"",
        "\"receipt\":\"stopped\"",
    ] {
        ensure!(record.contains(part), "no {part} in the record");
    }
    Ok(())
}

#[test]
fn a_stopped_machine_is_started_before_one_is_made_and_asked_again_where_the_cloud_stumbles() -> Result<()> {
    let stage = Stage::set()?;
    stage.cloud.add_stopped("workers", &["workers-old"]);
    stage.cloud.machines().refuse.push(json!({"class": "Transient", "message": "said the test"}));
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 2, "2")?;
    stage.settles("web", 2, 1, &ballast)?;
    let asked = stage.cloud.machines().asked.clone();
    ensure!(asked == ["start scripted://workers-old"; 2], "{asked:?}");
    Ok(())
}

#[test]
fn two_policies_or_pools_that_share_nodes_do_not_come_to_be() -> Result<()> {
    let stage = Stage::set()?;
    let policies = stage.policies("Enforce");
    let second = policies.replacen("name: cluster", "name: second", 1);
    let refused = stage.cluster.apply(&second).expect_err("the API refuses it").to_string();
    ensure!(refused.contains("its name is `cluster`"), "{refused}");
    stage.cluster.apply(&policies)?;
    let pool = policies.split("---").nth(1).unwrap_or_default();
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 2, "2")?;
    stage.settles("web", 2, 1, &ballast)?;
    stage.cluster.apply(&pool.replacen("{name: workers}", "{name: a-second}", 1))?;
    stage.cluster.wait("the second to be refused", |_| {
        Ok(ballast.log()?.contains("names that begin so are also members of the pool `workers`"))
    })?;
    stage.deployment("web", 4, "2")?;
    stage.settles("web", 4, 2, &ballast)
}

#[test]
fn what_a_person_cordoned_stays_and_stays_cordoned() -> Result<()> {
    let (stage, ballast) = Stage::at_work(2)?;
    let nodes = stage.cluster.get(&["nodes", "-o", "name"])?;
    let node = nodes.lines().next().unwrap_or_default();
    ensure!(stage.cluster.kubectl(&["cordon", node])?.success, "cannot cordon {node}");
    stage.deployment("web", 0, "2")?;
    stage.settles("web", 0, 1, &ballast)?;
    let name = node.trim_start_matches("node/");
    ensure!(stage.cordoned()? == [name], "{name} is not cordoned any more, or others are");
    Ok(())
}

#[test]
fn observe_and_recommend_change_nothing_but_what_is_ballasts_own() -> Result<()> {
    let stage = Stage::set()?;
    for mode in ["Observe", "Recommend"] {
        stage.cluster.apply(&stage.policies(mode))?;
        let ballast = stage.ballast(mode)?;
        stage.deployment("web", 1, "2")?;
        stage.cluster.wait("a plan", |_| Ok(ballast.log()?.contains("would=CreateInstance")))?;
        ensure!(stage.cloud.machines().asked.is_empty(), "{mode}: the cloud was asked for something");
        let own = ["-n", "ballast", "-o", "jsonpath={.spec.holderIdentity}{.data}"];
        let holder = stage.cluster.get(&[&["lease", "ballast"], &own[..]].concat())?;
        ensure!(holder.is_empty() == (mode == "Observe"), "{mode}: the lease is held by {holder:?}");
        let ledger = stage.cluster.get(&[&["configmap", "ballast-ledger"], &own[..]].concat())?;
        ensure!(ledger.is_empty(), "{mode}: a ledger was written: {ledger}");
    }
    Ok(())
}
