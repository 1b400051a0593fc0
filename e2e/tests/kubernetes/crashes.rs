//! Ballast is killed in the middle of things; the next process goes on.

use std::time::Duration;

use anyhow::{Result, ensure};
use ballast_e2e::cluster::Daemon;

use crate::stage::Stage;

/// Kills at these times after a start. Where they fall is chance; that all of a scale-down and a scale-up is met is not.
const KILLS: &[u64] = &[300, 700, 1_100, 1_500, 1_900, 2_300, 2_700, 3_100, 3_500, 3_900];

#[test]
fn killed_at_ten_points_of_growth_and_removal_it_ends_as_if_it_had_not_been() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    for (round, after) in KILLS.iter().enumerate() {
        // Growth and removal by turns, each broken off at another point.
        let replicas = if round % 2 == 0 { 3 } else { 0 };
        let ballast = stage.ballast(&format!("killed-{round}"))?;
        stage.deployment("web", replicas, "2")?;
        std::thread::sleep(Duration::from_millis(*after));
        kill(ballast)?;
    }
    let ballast = stage.ballast("last")?;
    stage.deployment("web", 3, "2")?;
    stage.settles("web", 3, 2, &ballast)?;
    stage.cluster.wait("no cordon to be left", |_| Ok(stage.cordoned()?.is_empty()))?;
    stage.deployment("web", 0, "2")?;
    stage.settles("web", 0, 0, &ballast)?;
    let nodes = stage.cluster.get(&["nodes", "-o", "name"])?;
    ensure!(nodes.is_empty(), "nodes are left: {nodes}");
    Ok(())
}

fn kill(ballast: Daemon) -> Result<()> {
    ballast.signal("KILL")?;
    drop(ballast);
    Ok(())
}
