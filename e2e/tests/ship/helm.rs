//! The real helm, with nothing of this machine's own settings.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ballast_e2e::cluster::Cluster;
use tempfile::TempDir;

use crate::{clone, variable};

/// helm, with a folder for what it keeps.
pub(crate) struct Helm {
    folder: TempDir,
}

/// What helm said.
pub(crate) struct Told {
    pub(crate) success: bool,
    pub(crate) text: String,
    pub(crate) error: String,
}

impl Helm {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { folder: tempfile::tempdir().context("cannot make a folder")? })
    }

    /// Runs helm in the root of the clone.
    pub(crate) fn run(&self, args: &[&str]) -> Result<Told> {
        let mut command = Command::new(variable("BALLAST_HELM")?.join("helm"));
        command.args(args).current_dir(clone("")).env_remove("KUBECONFIG");
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, self.folder.path());
        }
        let output = command.output().context("cannot run helm")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Told { success: output.status.success(), text: text(&output.stdout), error: text(&output.stderr) })
    }

    /// The chart as it is rendered with these arguments.
    pub(crate) fn template(&self, args: &[&str]) -> Result<String> {
        let told =
            self.run(&[&["template", "ballast", "deploy/chart", "--namespace", "ballast"], args].concat())?;
        ensure!(told.success, "helm template {args:?}: {}", told.error);
        Ok(told.text)
    }

    /// Runs helm against a cluster as its admin; what it refuses is an error.
    pub(crate) fn on(&self, cluster: &Cluster, args: &[&str]) -> Result<String> {
        let kubeconfig = cluster.kubeconfig("admin");
        let kubeconfig = kubeconfig.to_str().context("the path of the kubeconfig is no text")?;
        let told = self.run(&[&["--kubeconfig", kubeconfig, "--namespace", "ballast"], args].concat())?;
        ensure!(told.success, "helm {args:?}: {}", told.error);
        Ok(told.text)
    }
}

/// Holds a text against a file of the clone; with `SNAPSHOTS=overwrite` it becomes the file.
pub(crate) fn golden(file: &Path, seen: &str) -> Result<()> {
    if std::env::var("SNAPSHOTS").is_ok_and(|mode| mode == "overwrite") {
        return std::fs::write(file, seen).with_context(|| format!("cannot write {}", file.display()));
    }
    let kept = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = (1..).zip(kept.lines().map(Some).chain(std::iter::repeat(None)));
    let differs = lines.zip(seen.lines()).find(|((_, kept), seen)| *kept != Some(*seen));
    if let Some(((number, kept), seen)) = differs {
        anyhow::bail!(
            "{}:{number}: is `{}`, rendered is `{seen}`",
            file.display(),
            kept.unwrap_or("(its end)")
        );
    }
    ensure!(
        kept == seen,
        "{}: it has more than is rendered, or its last line ends otherwise",
        file.display()
    );
    Ok(())
}
