//! What the tests of this suite have in common.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use ballast_e2e::cloud::{self, Cloud};
use ballast_e2e::cluster::{Cluster, Daemon, Kwok};

/// A cluster with a cloud and everything that Ballast needs but Ballast itself.
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    _kwok: Kwok,
    pub(crate) cloud: Cloud,
}

impl Stage {
    pub(crate) fn set() -> Result<Self> {
        let stage = Self::without_kinds()?;
        stage.install_kinds()?;
        Ok(stage)
    }

    /// The same with a Ballast that acts, and as many pods of two cores as fill some machines.
    pub(crate) fn at_work(machines: u32) -> Result<(Self, Daemon)> {
        let stage = Self::set()?;
        stage.cluster.apply(&stage.policies("Enforce"))?;
        let ballast = stage.ballast("one")?;
        stage.deployment("web", 2 * machines, "2")?;
        stage.settles("web", 2 * machines as usize, machines as usize, &ballast)?;
        Ok((stage, ballast))
    }

    /// A cluster where nobody has told the API of our kinds yet.
    pub(crate) fn without_kinds() -> Result<Self> {
        let cluster = Cluster::start()?;
        let kwok = Kwok::start(&cluster)?;
        let cloud = Cloud::start(&cluster, "4")?;
        cluster.apply(cloud::HOME)?;
        cluster.apply(cloud::SECRET)?;
        cloud.machines().demands = Some(cloud::TOKEN.to_owned());
        Ok(Self { cluster, _kwok: kwok, cloud })
    }

    pub(crate) fn install_kinds(&self) -> Result<()> {
        let definitions = Command::new(ballast()?).arg("crd").output().context("cannot run ballast crd")?;
        self.cluster.apply(&String::from_utf8_lossy(&definitions.stdout))?;
        self.cluster.wait("the kinds of ours", |cluster| Ok(cluster.kubectl(&["get", "vmpools"])?.success))
    }

    /// A policy, and a pool of machines with four cores that go when they have been idle for a moment.
    pub(crate) fn policies(&self, mode: &str) -> String {
        cloud::policies(mode, self.cloud.address())
    }

    pub(crate) fn ballast(&self, name: &str) -> Result<Daemon> {
        self.ballast_by(name, &self.cluster.kubeconfig("admin"))
    }

    /// The same, with the cluster reached by another way.
    pub(crate) fn ballast_by(&self, name: &str, kubeconfig: &Path) -> Result<Daemon> {
        self.ballast_with(name, kubeconfig, &[])
    }

    /// The same, with more arguments.
    pub(crate) fn ballast_with(&self, name: &str, kubeconfig: &Path, args: &[&str]) -> Result<Daemon> {
        let mut command = Command::new(ballast()?);
        command
            .args(["run", "--namespace", "ballast", "--identity", name])
            .args(["--lease-duration", "8s", "--lease-retry", "1s", "--instances-every", "1s"])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(args)
            .env("BALLAST_LOG", "debug,hyper=info,kube=info,tower=info,reqwest=info");
        Daemon::start(name, command, self.cluster.path("").as_path())
    }

    pub(crate) fn deployment(&self, name: &str, replicas: u32, cpu: &str) -> Result<()> {
        self.cluster.apply(&format!(
            "apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: c, image: none, resources: {{requests: {{cpu: '{cpu}', memory: 1Gi}}}}}}]
"
        ))
    }

    pub(crate) fn running(&self, app: &str) -> Result<usize> {
        let label = format!("app={app}");
        let pods = self.cluster.get(&[
            "pods",
            "-l",
            &label,
            "--field-selector=status.phase=Running",
            "-o",
            "name",
        ])?;
        Ok(pods.lines().count())
    }

    /// Waits until a number of pods runs and exactly these machines do; what Ballast said last is part of the error.
    pub(crate) fn settles(&self, app: &str, pods: usize, machines: usize, ballast: &Daemon) -> Result<()> {
        let what = format!("{pods} pods on {machines} machines");
        let settled =
            self.cluster.wait(&what, |_| Ok(self.running(app)? == pods && self.cloud.running() == machines));
        settled.with_context(|| format!("ballast said last:\n{}", ballast.last_lines()))
    }

    /// Names of nodes that are cordoned.
    pub(crate) fn cordoned(&self) -> Result<Vec<String>> {
        let path = "jsonpath={range .items[?(@.spec.unschedulable)]}{.metadata.name}{\"\\n\"}{end}";
        Ok(self.cluster.get(&["nodes", "-o", path])?.lines().map(str::to_owned).collect())
    }
}

pub(crate) fn ballast() -> Result<std::ffi::OsString> {
    std::env::var_os("BALLAST_BIN")
        .context("BALLAST_BIN is not set\n\nhint: run the suite by `cargo xtask test`")
}
