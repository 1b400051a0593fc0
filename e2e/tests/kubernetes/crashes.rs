//! Ballast is killed in the middle of things; the next process goes on.

use std::time::Duration;

use anyhow::{Result, ensure};
use ballast_e2e::cluster::Daemon;

use crate::stage::Stage;

/// Kills so many milliseconds after a process began to lead. Where that falls is chance; growth and removal are both met.
const KILLS: &[u64] = &[50, 150, 300, 450, 600, 800, 1_000, 1_300, 1_600, 2_000];

#[test]
fn killed_at_ten_points_of_growth_and_removal_it_ends_as_if_it_had_not_been() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    for (round, after) in KILLS.iter().enumerate() {
        // Growth and removal by turns, each broken off at another point. Under one name, so that each leads at once.
        stage.deployment("web", if round % 2 == 0 { 3 } else { 0 }, "2")?;
        let ballast = stage.ballast("one")?;
        let led = |ballast: &Daemon| Ok(ballast.log()?.matches("this process leads").count() > round);
        stage.cluster.wait("it to lead", |_| led(&ballast))?;
        std::thread::sleep(Duration::from_millis(*after));
        kill(ballast)?;
    }
    ensure!(!stage.cloud.machines().asked.is_empty(), "nothing was ever under way when it was killed");
    let ballast = stage.ballast("one")?;
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
