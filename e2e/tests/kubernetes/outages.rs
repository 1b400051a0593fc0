//! Parts of the control plane go down and come back.

use anyhow::{Result, ensure};

use crate::stage::Stage;

#[test]
fn an_api_server_and_an_etcd_that_restart_cost_no_machine_in_use() -> Result<()> {
    let mut stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 4, "2")?;
    stage.settles("web", 4, 2, &ballast)?;
    stage.cluster.restart_apiserver()?;
    stage.settles("web", 4, 2, &ballast)?;
    stage.cluster.restart_etcd()?;
    stage.settles("web", 4, 2, &ballast)?;
    // It sees and acts again: what is needed now comes, and nothing had gone.
    stage.deployment("web", 6, "2")?;
    stage.settles("web", 6, 3, &ballast)?;
    let stops = stage.cloud.machines().asked.iter().filter(|asked| asked.starts_with("stop")).count();
    ensure!(stops == 0, "{stops} machines were stopped: {:?}", stage.cloud.machines().asked);
    Ok(())
}
