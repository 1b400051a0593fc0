//! The image as a container engine unpacks it: its program runs with nothing else beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::variable;

/// Whom the image names.
const USER: &str = "65532:65532";

/// An unpacked image.
pub(crate) struct Unpacked {
    folder: TempDir,
    /// What an engine reads of how to run it.
    pub(crate) config: Value,
}

impl Unpacked {
    /// Unpacks the image that the suite has made, layer by layer, as its manifest names them.
    pub(crate) fn new() -> Result<Self> {
        let archive = variable("BALLAST_IMAGE")?.join("ballast.oci.tar");
        let (layout, folder) = (tempfile::tempdir()?, tempfile::tempdir()?);
        untar(&archive, layout.path())?;
        let read = |path: PathBuf| -> Result<Value> {
            let text = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok(serde_json::from_slice(&text)?)
        };
        let blob = |of: &Value| {
            let digest = of["digest"].as_str().unwrap_or_default().replacen(':', "/", 1);
            layout.path().join("blobs").join(digest)
        };
        let index = read(layout.path().join("index.json"))?;
        let manifest = read(blob(&index["manifests"][0]))?;
        for layer in manifest["layers"].as_array().into_iter().flatten() {
            untar(&blob(layer), folder.path())?;
        }
        // An engine's root can be entered by anyone; a folder for temporary files is its owner's.
        let open = Command::new("chmod").arg("755").arg(folder.path()).status()?;
        ensure!(open.success(), "chmod ended with {open}");
        let config = read(blob(&manifest["config"]))?["config"].clone();
        Ok(Self { folder, config })
    }

    /// A file below its root.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs its program as the image says: its root is all there is, and the user is nobody.
    pub(crate) fn command(&self, args: &[&str]) -> Result<Command> {
        let user = self.config["User"].as_str().context("the image names no user")?;
        let program = self.config["Entrypoint"][0].as_str().context("the image names no program")?;
        let is_root = Command::new("id").arg("-u").output()?.stdout == b"0\n";
        let mut command;
        if is_root {
            command = Command::new("chroot");
            command.arg(format!("--userspec={user}"));
        } else {
            // Who may not change the root may do so in a namespace of users, as the only user that it knows.
            command = Command::new("unshare");
            command.args(["--user", "--map-root-user", "chroot"]);
        }
        command.arg(self.folder.path()).arg(program).args(args);
        // Found by the path of this machine; the program itself has nobody to ask by it.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        Ok(command)
    }
}

fn untar(file: &Path, to: &Path) -> Result<()> {
    let status =
        Command::new("tar").arg("-xf").arg(file).arg("-C").arg(to).status().context("cannot run tar")?;
    ensure!(status.success(), "tar -xf {} ended with {status}", file.display());
    Ok(())
}

#[test]
fn it_unpacks_and_runs_with_nothing_beside_it() -> Result<()> {
    let image = Unpacked::new()?;
    let mut there: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(image.path(""))? {
        there.push(entry?.file_name().to_string_lossy().into_owned());
    }
    there.sort();
    ensure!(there == ["ballast", "etc"], "{there:?}");
    ensure!(image.config["User"] == USER, "{}", image.config);

    let version = image.command(&["--version"])?.output()?;
    let told = String::from_utf8_lossy(&version.stdout).into_owned();
    let error = String::from_utf8_lossy(&version.stderr).into_owned();
    ensure!(
        version.status.success() && told.trim() == format!("ballast {}", env!("CARGO_PKG_VERSION")),
        "{told}{error}"
    );
    let demo = image.command(&["demo", "--for", "2s"])?.output()?;
    ensure!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
    Ok(())
}

#[test]
fn its_bill_is_of_its_program() -> Result<()> {
    let image = Unpacked::new()?;
    let bill: Value =
        serde_json::from_slice(&std::fs::read(variable("BALLAST_IMAGE")?.join("ballast.cdx.json"))?)?;
    let sum = Command::new("sha256sum").arg(image.path("ballast")).output()?;
    let sum = String::from_utf8_lossy(&sum.stdout).split_whitespace().next().unwrap_or_default().to_owned();
    ensure!(
        bill["metadata"]["component"]["hashes"][0]["content"] == sum,
        "the bill is of another program than {sum}"
    );
    let parts = bill["components"].as_array().map_or(0, Vec::len);
    ensure!(parts > 100, "the bill names {parts} parts");
    Ok(())
}
