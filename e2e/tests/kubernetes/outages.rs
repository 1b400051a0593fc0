//! Parts of the control plane go down and come back.

use anyhow::{Result, ensure};
use ballast_e2e::relay::Relay;

use crate::stage::Stage;

#[test]
fn an_api_server_and_an_etcd_that_restart_cost_no_machine_in_use() -> Result<()> {
    let (mut stage, ballast) = Stage::at_work(2)?;
    stage.cluster.restart_apiserver()?;
    stage.settles("web", 4, 2, &ballast)?;
    stage.cluster.restart_etcd()?;
    stage.settles("web", 4, 2, &ballast)?;
    // It sees and acts again: what is needed now comes, and nothing had gone.
    stage.deployment("web", 6, "2")?;
    stage.settles("web", 6, 3, &ballast)?;
    ensure!(stops(&stage) == 0, "machines were stopped: {:?}", stage.cloud.machines().asked);
    stage.deployment("web", 0, "2")?;
    stage.settles("web", 0, 0, &ballast)
}

#[test]
fn connections_that_break_again_and_again_cost_no_machine_in_use() -> Result<()> {
    let stage = Stage::set()?;
    let relay = Relay::to_cluster(&stage.cluster.kubeconfig("admin"))?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let ballast = stage.ballast_by("one", &stage.cluster.kubeconfig_by(relay.address())?)?;
    for (pods, machines) in [(2, 1), (4, 2), (6, 3)] {
        stage.deployment("web", pods, "2")?;
        relay.break_connections();
        stage.settles("web", pods as usize, machines, &ballast)?;
    }
    ensure!(stops(&stage) == 0, "machines were stopped: {:?}", stage.cloud.machines().asked);
    // Not all of them: a list that is suddenly empty would be no reason to remove anything for an hour.
    stage.deployment("web", 4, "2")?;
    relay.break_connections();
    stage.settles("web", 4, 2, &ballast)
}

fn stops(stage: &Stage) -> usize {
    stage.cloud.machines().asked.iter().filter(|asked| asked.starts_with("stop")).count()
}
