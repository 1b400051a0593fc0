//! Buffers and requests of `autoscaling.x-k8s.io`, as Kueue and people write them: room is made, held and answered for. The
//! kinds are written by us from their documented fields.

use anyhow::{Context, Result, ensure};
use ballast_e2e::cluster::Daemon;
use serde_json::{Value, json};

use crate::stage::Stage;

const ATOMIC: &str = "best-effort-atomic-scale-up";
const CHECK: &str = "check-capacity";

/// Tells the API of the kinds.
pub(crate) fn install(stage: &Stage) -> Result<()> {
    stage.cluster.apply(include_str!("asks.yaml"))?;
    let known = ["get", "capacitybuffers,provisioningrequests"];
    stage.cluster.wait("the kinds of others", |cluster| Ok(cluster.kubectl(&known)?.success))
}

/// A template of pods with so many cores, of which a machine has four.
pub(crate) fn template(stage: &Stage, name: &str, cpu: &str) -> Result<()> {
    stage.cluster.apply(&format!(
        "apiVersion: v1
kind: PodTemplate
metadata: {{name: {name}}}
template:
  spec:
    containers: [{{name: c, image: none, resources: {{requests: {{cpu: '{cpu}', memory: 1Gi}}}}}}]
"
    ))
}

pub(crate) fn buffer(stage: &Stage, template: &str, replicas: u32) -> Result<()> {
    stage.cluster.apply(&format!(
        "apiVersion: autoscaling.x-k8s.io/v1alpha1
kind: CapacityBuffer
metadata: {{name: spare}}
spec: {{podTemplateRef: {{name: {template}}}, replicas: {replicas}}}
"
    ))
}

pub(crate) fn request(stage: &Stage, name: &str, class: &str, count: u32, parameters: &str) -> Result<()> {
    stage.cluster.apply(&format!(
        "apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata: {{name: {name}}}
spec:
  provisioningClassName: {class}.autoscaling.x-k8s.io
  parameters: {{{parameters}}}
  podSets: [{{podTemplateRef: {{name: whole}}, count: {count}}}]
"
    ))
}

fn status(stage: &Stage, object: &str) -> Result<Value> {
    let object: Value = serde_json::from_str(&stage.cluster.get(&[object, "-o", "json"])?)?;
    Ok(object["status"].clone())
}

/// Waits until a condition of an object is so, for a reason.
fn says(stage: &Stage, object: &str, told: [&str; 3], ballast: &Daemon) -> Result<()> {
    let [kind, is, reason] = told;
    let holds = |status: &Value| {
        let all = status["conditions"].as_array().cloned().unwrap_or_default();
        all.iter().any(|own| own["type"] == kind && own["status"] == is && own["reason"] == reason)
    };
    let what = format!("{object} to say {kind}={is}/{reason}");
    let waited = stage.cluster.wait(&what, |_| Ok(holds(&status(stage, object)?)));
    waited.with_context(|| {
        format!(
            "{:#}\nballast said last:\n{}",
            status(stage, object).unwrap_or_default(),
            ballast.last_lines()
        )
    })
}

fn machines(stage: &Stage, count: usize, ballast: &Daemon) -> Result<()> {
    let waited = stage.cluster.wait(&format!("{count} machines"), |_| Ok(stage.cloud.running() == count));
    waited.with_context(|| format!("ballast said last:\n{}", ballast.last_lines()))
}

#[test]
fn a_buffer_keeps_room_and_pods_start_at_once() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let ballast = stage.ballast("one")?;
    // Nothing is missed where the kinds are not there, and they are found once they are.
    stage.deployment("web", 1, "2")?;
    stage.settles("web", 1, 1, &ballast)?;
    ensure!(!ballast.log()?.contains("cannot see this kind"), "{}", ballast.last_lines());
    install(&stage)?;
    template(&stage, "half", "2")?;
    buffer(&stage, "half", 2)?;
    machines(&stage, 2, &ballast)?;
    let spare = "capacitybuffers/spare";
    says(&stage, spare, ["Provisioning", "True", "CapacityIsHeld"], &ballast)?;
    says(&stage, spare, ["ReadyForProvisioning", "True", "Resolved"], &ballast)?;
    let stands = status(&stage, spare)?;
    ensure!(stands["replicas"] == 2 && stands["podTemplateRef"]["name"] == "half", "{stands}");
    // The buffer is more than the room beside the pod, so that the next finds its place on a machine that is there already.
    stage.deployment("web", 2, "2")?;
    stage.settles("web", 2, 2, &ballast)?;
    // Three halves are in use, one is free: the buffer is filled up again.
    stage.deployment("web", 3, "2")?;
    stage.settles("web", 3, 3, &ballast)?;
    stage.cluster.kubectl(&["delete", "capacitybuffers", "spare"])?;
    stage.settles("web", 3, 2, &ballast)
}

#[test]
fn a_request_goes_as_kueue_has_it() -> Result<()> {
    let stage = Stage::set()?;
    install(&stage)?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let ballast = stage.ballast("one")?;
    template(&stage, "whole", "4")?;
    // More than the pool may have: all or nothing is nothing.
    request(&stage, "large", ATOMIC, 6, "")?;
    says(&stage, "provisioningrequests/large", ["Provisioned", "False", "CapacityIsNotFound"], &ballast)?;
    // Nothing is started for a question.
    request(&stage, "once", CHECK, 1, "noRetry: 'true'")?;
    says(&stage, "provisioningrequests/once", ["Failed", "True", "CapacityIsNotFound"], &ballast)?;
    ensure!(stage.cloud.machines().asked.is_empty(), "{}", ballast.last_lines());
    request(&stage, "train", ATOMIC, 3, "")?;
    says(&stage, "provisioningrequests/train", ["Accepted", "True", "Accepted"], &ballast)?;
    says(&stage, "provisioningrequests/train", ["Provisioned", "True", "CapacityIsProvisioned"], &ballast)?;
    machines(&stage, 3, &ballast)?;
    // What is held for one is nothing for another.
    request(&stage, "second", CHECK, 1, "")?;
    says(&stage, "provisioningrequests/second", ["Provisioned", "False", "CapacityIsNotFound"], &ballast)?;
    // The pods come and take the room: no machine more.
    let pods = "apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 3
  completions: 3
  template:
    metadata:
      labels: {app: train}
      annotations: {autoscaling.x-k8s.io/consume-provisioning-request: train}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: none, resources: {requests: {cpu: '4', memory: 1Gi}}}]
";
    let made = || stage.cloud.machines().asked.iter().filter(|asked| asked.starts_with("create")).count();
    let before = made();
    stage.cluster.apply(pods)?;
    stage.settles("train", 3, 3, &ballast)?;
    let asked = stage.cloud.machines().asked.clone();
    ensure!(made() == before, "{asked:?}\nballast said last:\n{}", ballast.last_lines());
    // Time is over: it was ten minutes ago that room was found.
    let at =
        stage.cluster.get(&["provisioningrequests/train", "-o", "jsonpath={.metadata.creationTimestamp}"])?;
    let long_ago = at.replacen("20", "19", 1);
    let mut stands = status(&stage, "provisioningrequests/train")?;
    for own in stands["conditions"].as_array_mut().into_iter().flatten() {
        own["lastTransitionTime"] = json!(long_ago);
    }
    let patch = json!({ "status": stands }).to_string();
    let told = stage.cluster.kubectl(&[
        "patch",
        "provisioningrequests",
        "train",
        "--subresource=status",
        "--type=merge",
        "-p",
        &patch,
    ])?;
    ensure!(told.success, "{patch} is refused: {}", told.error);
    let over = ["BookingExpired", "True", "CapacityReservationTimeExpired"];
    says(&stage, "provisioningrequests/train", over, &ballast)
}
