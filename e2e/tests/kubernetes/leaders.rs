//! Several replicas: one writes.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::stage::Stage;

#[test]
fn a_leader_that_was_stopped_for_longer_than_its_lease_writes_nothing_late() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let first = stage.ballast("first")?;
    stage.cluster.wait("a leader", |_| Ok(holder(&stage)? == "first"))?;
    let second = stage.ballast("second")?;
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
