//! Nodes without machines: kwok answers for those that carry its annotation.

use std::process::Command;

use anyhow::{Context, Result};

use super::{Cluster, Daemon};

/// What becomes of them.
const STAGES: &str = include_str!("stages.yaml");

/// kwok at work on a cluster.
pub struct Kwok {
    _daemon: Daemon,
}

impl Kwok {
    /// Starts kwok.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(cluster: &Cluster) -> Result<Self> {
        let programs = std::env::var_os("BALLAST_KWOK")
            .context("BALLAST_KWOK is not set\n\nhint: run the suite by `cargo xtask test`")?;
        let stages = cluster.path("stages.yaml");
        std::fs::write(&stages, STAGES).context("cannot write the stages")?;
        let mut command = Command::new(std::path::Path::new(&programs).join("kwok"));
        command
            .arg("--kubeconfig")
            .arg(cluster.kubeconfig("admin"))
            .arg("--config")
            .arg(&stages)
            .arg("--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake");
        Ok(Self { _daemon: Daemon::start("kwok", command, cluster.folder.path())? })
    }
}
