//! Pods in namespaces of their own. Each group has a control plane, each case a namespace of the cluster.

mod controllers;
mod ends;
mod inputs;
mod network;
mod restarts;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Result, ensure};
use ballast_e2e::kubelet::Kubelet;

use super::yard::{Case, PEER, Plot, Yard, runs};

#[test]
fn containers_see_what_their_pod_gives_them_and_find_each_other() -> Result<()> {
    let cases = [network::CASES, inputs::CASES].concat();
    Yard::open(Kubelet::start)?.run(&cases)
}

#[test]
fn pods_are_restarted_stopped_and_judged_as_a_kubelet_does() -> Result<()> {
    let cases = [ends::CASES, restarts::CASES, controllers::CASES].concat();
    let yard = Yard::open(Kubelet::start)?;
    yard.run(&cases)?;
    nothing_is_left(yard)
}

/// Also where a test panics: the bridge, what was tied to it, and the processes.
fn nothing_is_left(yard: Yard) -> Result<()> {
    let plot = Plot::fence(&yard, "left")?;
    plot.pod(
        "stays",
        &format!("containers: [{{name: c, image: none, command: ['{PEER}', serve, '80', x]}}]"),
    )?;
    plot.wait("pod/stays", "condition=Ready")?;
    let ip = plot.get("pod/stays", "{.status.podIP}")?;
    let subnet = ip.split('.').nth(2).unwrap_or_default().to_owned();
    let bridge = Path::new("/sys/class/net").join(format!("ballast{subnet}"));
    ensure!(bridge.exists(), "{} is not there", bridge.display());
    drop(plot);
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _yard = yard;
        panic!("a test that fails");
    }));
    ensure!(panicked.is_err());
    ensure!(!bridge.exists(), "{} is still there", bridge.display());
    let pods = std::fs::read_dir("/sys/class/net")?.flatten();
    let left: Vec<_> = pods
        .filter(|link| link.file_name().to_string_lossy().starts_with(&format!("ballast{subnet}-")))
        .collect();
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}
