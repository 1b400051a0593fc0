//! What Ballast says of its documents, read back from the real API: columns, conditions, and the plan.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use ballast_core::policy::Mode;
use ballast_core::publish::{DocumentStatus, PlanState};
use ballast_e2e::cluster::Asked;
use serde_json::{Value, json};

use crate::rbac;
use crate::stage::Stage;

/// The cells of the only row that `kubectl get` prints, by the heads of their columns.
fn cells(stage: &Stage, args: &[&str]) -> Result<BTreeMap<String, String>> {
    let text = stage.cluster.get(args)?;
    let mut lines = text.lines();
    let (head, row) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    // A head may have a space in it; columns are three apart.
    let names = head.split("   ").map(str::trim).filter(|name| !name.is_empty());
    let starts: Vec<usize> = names.clone().filter_map(|name| head.find(name)).collect();
    let ends = starts.iter().skip(1).copied().chain([row.len().max(head.len())]);
    let cell = |(start, end): (usize, usize)| row.get(start..end.min(row.len())).unwrap_or_default();
    let cells = starts.iter().copied().zip(ends).map(|span| cell(span).trim().to_owned());
    Ok(names.map(str::to_owned).zip(cells).collect())
}

/// The status of a document as the API has it.
fn status(stage: &Stage, document: &str) -> Result<Value> {
    let object: Value = serde_json::from_str(&stage.cluster.get(&[document, "-o", "json"])?)?;
    Ok(object["status"].clone())
}

fn condition(status: &Value, kind: &str) -> Value {
    let all = status["conditions"].as_array().cloned().unwrap_or_default();
    all.into_iter().find(|own| own["type"] == kind).unwrap_or_default()
}

#[test]
fn columns_answer_the_first_questions() -> Result<()> {
    let stage = Stage::set()?;
    let growth = "  growth: {startingMinimum: 10}\n  removal:";
    stage.cluster.apply(&stage.policies("Recommend").replacen("  removal:", growth, 1))?;
    let ballast = stage.ballast("one")?;
    // Six machines are needed, and the pool has five at the most.
    stage.deployment("web", 6, "4")?;
    let wide = ["vmpools", "workers", "-o", "wide"];
    stage.cluster.wait("the columns", |_| {
        let cells = cells(&stage, &wide)?;
        let told = ["MODE", "CURRENT", "DESIRED", "MAX", "LIMITED BY", "READY"].map(|name| &*cells[name]);
        Ok(told == ["Recommend", "0", "5", "5", "PoolMax", "True"])
    })?;
    let pool = cells(&stage, &wide)?;
    let told = ["PENDING", "COST/H", "PAUSED", "DEGRADED", "LAST ACTION"].map(|name| &*pool[name]);
    ensure!(told == ["5", "0.00", "False", "AllWell", ""], "{pool:?}");
    ensure!(!cells(&stage, &["vmpools"])?.contains_key("PENDING"), "that is for -o wide");
    let policy = cells(&stage, &["cpol"])?;
    let told = ["MODE", "CURRENT", "DESIRED", "PLAN", "READY"].map(|name| &*policy[name]);
    ensure!(told == ["Recommend", "0", "5", "Proposed", "True"], "{policy:?}");
    // What stands there is what was written: the API has dropped no field.
    for document in ["clusterpolicies/cluster", "vmpools/workers"] {
        let stands = status(&stage, document)?;
        let read: DocumentStatus = serde_json::from_value(stands.clone())?;
        ensure!(serde_json::to_value(&read)? == stands, "{stands}");
        ensure!(read.conditions.len() == 6 && read.observed_generation == Some(1), "{stands}");
        if let Some(plan) = read.plan {
            ensure!(plan.state == PlanState::Proposed && plan.actions.len() == 5, "{stands}");
        }
    }
    ensure!(stage.cloud.machines().asked.is_empty(), "Recommend asked the cloud: {}", ballast.last_lines());
    Ok(())
}

#[test]
fn an_invalid_document_says_so_and_keeps_its_last_good_form() -> Result<()> {
    let stage = Stage::set()?;
    let policies = stage.policies("Enforce");
    stage.cluster.apply(&policies)?;
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 2, "4")?;
    stage.settles("web", 2, 2, &ballast)?;
    let invalid = policies.replacen("max: 5", "max: 5\n  schedule: [{start: now and then, duration: 1h}]", 1);
    stage.cluster.apply(&invalid)?;
    stage.cluster.wait("the pool to say what is wrong", |_| {
        let status = status(&stage, "vmpools/workers")?;
        let ready = condition(&status, "Ready");
        let message = ready["message"].as_str().unwrap_or_default();
        let says = message.contains("schedule") && message.ends_with("its last good form holds");
        Ok(says && ready["status"] == "False" && ready["reason"] == "Invalid" && status["current"] == 2)
    })?;
    stage.deployment("web", 3, "4")?;
    stage.settles("web", 3, 3, &ballast)?;
    let last = status(&stage, "vmpools/workers")?["lastAction"].clone();
    ensure!(last["kind"] == "CreateInstance", "{last}");
    stage.cluster.apply(&policies)?;
    stage.cluster.wait("the pool to be well again", |_| {
        let ready = condition(&status(&stage, "vmpools/workers")?, "Ready");
        Ok(ready["status"] == "True" && ready["observedGeneration"] == 3)
    })
}

#[test]
fn a_status_write_makes_no_plan_and_observe_writes_none() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Observe"))?;
    stage.deployment("web", 1, "2")?;
    let ballast = stage.ballast("one")?;
    stage.cluster.wait("a plan", |_| Ok(ballast.log()?.contains("would=CreateInstance")))?;
    for document in ["clusterpolicies/cluster", "vmpools/workers"] {
        ensure!(status(&stage, document)? == Value::Null, "Observe wrote the status of {document}");
    }
    stage.cluster.apply(&stage.policies("Recommend"))?;
    stage.cluster.wait("the pool to be spoken of", |_| {
        Ok(condition(&status(&stage, "vmpools/workers")?, "Ready")["status"] == "True")
    })?;
    // Somebody else meddles with what is said; each time the truth is written again.
    let planned = || -> Result<usize> { Ok(ballast.log()?.matches("planned").count()) };
    let before = planned()?;
    const TIMES: usize = 20;
    for at in 0..TIMES {
        let wrong = json!({"status": {"conditions": [], "mode": "Enforce", "current": at + 100}}).to_string();
        let patch = ["patch", "vmpools", "workers", "--subresource=status", "--type=merge", "-p", &wrong];
        let told = stage.cluster.kubectl(&patch)?;
        ensure!(told.success, "{}", told.error);
    }
    stage.cluster.wait("the truth", |_| {
        let status = status(&stage, "vmpools/workers")?;
        Ok(status["mode"] == "Recommend" && condition(&status, "Ready")["status"] == "True")
    })?;
    let after = planned().context("the log")?;
    ensure!(after - before < TIMES / 2, "{} plans for {TIMES} writes", after - before);
    Ok(())
}

/// Examples of every kind that this release does not act on.
pub(crate) const UNSERVED: [(&str, &str); 4] = [
    ("elasticjobpolicies", include_str!("../../../docs/reference/examples/elastic-job-policy.yaml")),
    ("metricscalers", include_str!("../../../docs/reference/examples/metric-scaler.yaml")),
    ("rayscalers", include_str!("../../../docs/reference/examples/ray-scaler.yaml")),
    ("sparkpools", include_str!("../../../docs/reference/examples/spark-pool.yaml")),
];

pub(crate) fn apply_unserved(stage: &Stage) -> Result<()> {
    for namespace in ["research", "data", "ray", "spark"] {
        stage
            .cluster
            .apply(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}"))?;
    }
    UNSERVED.iter().try_for_each(|(_, document)| stage.cluster.apply(document))
}

#[test]
fn documents_of_a_later_release_are_told_so_once_a_generation() -> Result<()> {
    let stage = Stage::set()?;
    apply_unserved(&stage)?;
    let ballast = rbac::run(&stage, Mode::Recommend)?;
    let of = |resource: &str| -> Result<Value> {
        let list: Value = serde_json::from_str(&stage.cluster.get(&[resource, "-A", "-o", "json"])?)?;
        Ok(list["items"][0].clone())
    };
    let is_told = |document: &Value, generation: i64| {
        let ready = condition(&document["status"], "Ready");
        ready["status"] == "False"
            && ready["reason"] == "NotInThisRelease"
            && ready["observedGeneration"] == generation
            && document["status"]["observedGeneration"] == generation
            && document["status"]["conditions"].as_array().is_some_and(|all| all.len() == 6)
    };
    for (resource, _) in UNSERVED {
        let told = stage.cluster.wait(resource, |_| Ok(is_told(&of(resource)?, 1)));
        told.with_context(|| format!("{}{}", of(resource).unwrap_or_default(), ballast.last_lines()))?;
    }
    // What it demands changes: that is another generation. What others write into its status is theirs.
    let patch = |what: &[&str]| -> Result<()> {
        let told = stage.cluster.kubectl(
            &[&["patch", "metricscaler", "cache", "-n", "data", "--type=merge", "-p"], what].concat(),
        )?;
        ensure!(told.success, "{}", told.error);
        Ok(())
    };
    patch(&["{\"spec\": {\"maxReplicas\": 77}}"])?;
    stage.cluster.wait("the next generation", |_| Ok(is_told(&of("metricscalers")?, 2)))?;
    patch(&["{\"status\": {\"conditions\": []}}", "--subresource=status"])?;
    let late = UNSERVED[1].1.replacen("name: cache", "name: late", 1);
    stage.cluster.apply(&late)?;
    stage.cluster.wait("one that came later", |_| {
        let late = stage.cluster.get(&["metricscaler", "late", "-n", "data", "-o", "json"])?;
        Ok(is_told(&serde_json::from_str(&late)?, 1))
    })?;
    let writes = stage.cluster.asked_by(rbac::ACCOUNT)?;
    let is_one = |asked: &&Asked| {
        UNSERVED.iter().any(|(resource, _)| asked.to.resource() == format!("{resource}/status"))
    };
    let written = writes.iter().filter(is_one).count();
    ensure!(written == 4 + 1 + 1, "{written} writes: {writes:#?}");
    Ok(())
}
