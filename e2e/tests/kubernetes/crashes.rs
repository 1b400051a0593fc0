//! Ballast is killed in the middle of things; the next process goes on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ballast_e2e::cloud;
use ballast_e2e::cluster::Daemon;
use ballast_e2e::relay::Relay;

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
    goes_down_to_nothing(&stage, &ballast)
}

/// The longest that a scale-down with a crash at each step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// The requests that change something, as they come in a scale-down; someone is killed after each. Between any two of them the
/// world is as the first left it, whatever was read meanwhile.
const STEPS: [&str; 6] = ["ledger", "cordon", "evict", "ledger", "stop", "ledger"];

/// The step that a request is, if it is one.
fn step(request: &str) -> Option<&'static str> {
    let (method, path) = request.split_once(' ')?;
    let path = path.split('?').next()?;
    match method {
        "PUT" | "POST" if path.contains("/configmaps") => Some("ledger"),
        "PATCH" if path.contains("/nodes/") => Some("cordon"),
        "POST" if path.ends_with("/eviction") => Some("evict"),
        "POST" if path.ends_with("/stop") => Some("stop"),
        _ => None,
    }
}

/// Kills the process that is at work after each step in turn.
#[derive(Clone, Default)]
struct Killer(Arc<Mutex<Hand>>);

#[derive(Default)]
struct Hand {
    /// Whom to kill; nobody while it is none.
    id: Option<u32>,
    /// How many steps someone was killed after.
    killed: usize,
}

impl Killer {
    fn hand<T>(&self, act: impl FnOnce(&mut Hand) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn watch(&self, relay: &Relay) {
        let killer = self.clone();
        relay.watch(move |request| killer.hand(|hand| hand.see(request)));
    }
}

impl Hand {
    /// The answer to a request waits until this is done: whoever asked never hears it.
    fn see(&mut self, request: &str) {
        let is_next = STEPS.get(self.killed).is_some_and(|next| step(request) == Some(next));
        let Some(id) = self.id.filter(|_| is_next) else { return };
        let killed = std::process::Command::new("kill").args(["-KILL", &id.to_string()]).status();
        if killed.is_ok_and(|status| status.success()) {
            (self.id, self.killed) = (None, self.killed + 1);
        }
    }
}

#[test]
fn killed_after_every_request_of_a_scale_down_it_ends_as_if_it_had_not_been() -> Result<()> {
    let stage = Stage::set()?;
    let api = Relay::to_cluster(&stage.cluster.kubeconfig("admin"))?;
    let way = Relay::to_address(&format!("http://{}", stage.cloud.address()))?;
    let killer = Killer::default();
    [&api, &way].into_iter().for_each(|relay| killer.watch(relay));
    let kubeconfig = stage.cluster.kubeconfig_by(api.address())?;
    let host = way.address().trim_start_matches("http://");
    stage.cluster.apply(&cloud::policies("Enforce", host))?;
    let mut ballast = stage.ballast_by("one", &kubeconfig)?;
    stage.deployment("web", 3, "1900m")?;
    stage.settles("web", 3, 2, &ballast)?;
    // One pod is left on each machine, below half of it: one machine is emptied and goes.
    stage.deployment("web", 2, "1900m")?;
    stage.cluster.wait("a pod to go", |_| Ok(stage.running("web")? == 2))?;
    let until = Instant::now() + PATIENCE;
    for (number, after) in STEPS.iter().enumerate() {
        killer.hand(|hand| hand.id = Some(ballast.id()));
        while ballast.ended().is_none() {
            let said =
                || format!("nobody was killed after step {number}, {after}:\n{}", ballast.last_lines());
            ensure!(Instant::now() < until, "{}", said());
            std::thread::sleep(Duration::from_millis(50));
        }
        ballast = stage.ballast_by("one", &kubeconfig)?;
    }
    stage.settles("web", 2, 1, &ballast)?;
    ensure!(stage.cordoned()?.is_empty(), "a cordon is left: {:?}", stage.cordoned()?);
    let stops = stage.cloud.machines().asked.iter().filter(|asked| asked.starts_with("stop")).count();
    ensure!(stops == 1, "one machine went: {:?}", stage.cloud.machines().asked);
    goes_down_to_nothing(&stage, &ballast)
}

fn goes_down_to_nothing(stage: &Stage, ballast: &Daemon) -> Result<()> {
    stage.deployment("web", 0, "2")?;
    stage.settles("web", 0, 0, ballast)?;
    let nodes = stage.cluster.get(&["nodes", "-o", "name"])?;
    ensure!(nodes.is_empty(), "nodes are left: {nodes}");
    Ok(())
}

fn kill(ballast: Daemon) -> Result<()> {
    ballast.signal("KILL")?;
    drop(ballast);
    Ok(())
}
