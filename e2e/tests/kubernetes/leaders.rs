//! Several replicas: one writes.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ballast_e2e::cluster::Asked;

use crate::stage::Stage;

/// Who they are to the API.
const FIRST: &str = "ballast";
const SECOND: &str = "system:serviceaccount:ballast:ballast";

#[test]
fn a_leader_that_was_stopped_for_longer_than_its_lease_writes_nothing_late() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    // Each goes by a name of its own, so that the API server's account tells them apart.
    stage.cluster.apply(include_str!("../../../deploy/rbac/enforce.yaml"))?;
    for binding in [
        &["clusterrolebinding", "first", "--clusterrole=ballast"][..],
        &["rolebinding", "first", "--role=ballast", "-n", "ballast"],
    ] {
        let told = stage.cluster.kubectl(&[&["create"], binding, &["--user=ballast"]].concat())?;
        ensure!(told.success, "{}", told.error);
    }
    let first = stage.ballast_by("first", &stage.cluster.kubeconfig(FIRST))?;
    stage.cluster.wait("a leader", |_| Ok(holder(&stage)? == "first"))?;
    let second = stage.ballast_by("second", &stage.cluster.service_account("ballast")?)?;
    stage.deployment("web", 3, "2")?;
    stage.cluster.wait("a machine", |_| Ok(stage.cloud.running() > 0))?;
    first.signal("STOP")?;
    stage.cluster.wait("the second to lead", |_| Ok(holder(&stage)? == "second"))?;
    stage.settles("web", 3, 2, &second)?;
    let asked = stage.cloud.machines().asked.len();
    first.signal("CONT")?;
    stage.cluster.wait("the first to notice", |_| Ok(first.log()?.contains("leads no longer")))?;
    // Whatever it had in hand when it was stopped would be sent by now.
    std::thread::sleep(Duration::from_secs(2));
    ensure!(stage.cloud.machines().asked.len() == asked, "asked late: {:?}", stage.cloud.machines().asked);
    let creates = stage.cloud.machines().asked.iter().filter(|asked| asked.starts_with("create")).count();
    ensure!(creates == 2, "created {creates} machines for what two hold: {:?}", stage.cloud.machines().asked);
    nothing_of_the_first_after_the_second_led(&stage)
}

/// By the API server's own account: what the first one wrote it wrote before the second one led.
fn nothing_of_the_first_after_the_second_led(stage: &Stage) -> Result<()> {
    let asked = stage.cluster.asked()?;
    let written = |asked: &&Asked| asked.writes() && asked.is_accepted();
    let led = asked
        .iter()
        .position(|asked| asked.by() == SECOND && written(&asked) && asked.to.resource() == "leases");
    let led = led.context("the second never took the lease")?;
    let of_first = |asked: &&Asked| asked.by() == FIRST && written(asked);
    ensure!(asked[..led].iter().any(|asked| of_first(&asked)), "the first one never wrote");
    let late: Vec<&Asked> = asked[led..].iter().filter(of_first).collect();
    ensure!(late.is_empty(), "accepted late: {late:#?}");
    let said = |asked: &Asked| asked.by() == SECOND && asked.to.resource().ends_with("/status");
    ensure!(asked[led..].iter().any(said), "the second one says nothing of its documents");
    Ok(())
}

#[test]
fn a_leader_that_ends_in_good_order_hands_over_at_once() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let first = stage.ballast("first")?;
    stage.cluster.wait("a leader", |_| Ok(holder(&stage)? == "first"))?;
    first.signal("TERM")?;
    stage.cluster.wait("its end", |_| Ok(first.ended().is_some()))?;
    ensure!(holder(&stage)?.is_empty(), "the lease was not given back");
    Ok(())
}

fn holder(stage: &Stage) -> Result<String> {
    stage.cluster.get(&[
        "lease",
        "ballast",
        "-n",
        "ballast",
        "-o",
        "jsonpath={.spec.holderIdentity}",
        "--ignore-not-found",
    ])
}
