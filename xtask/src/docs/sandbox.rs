//! A folder in which a page runs: the files of the clone are in sight, and what a command writes stays there.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// A command that takes longer is ended and fails.
const COMMAND_SECONDS_MAX: u64 = 300;

/// What `kubectl get` prints for a page: a reader has a cluster of their own.
const CLUSTER: &str = "xtask/src/docs/kubectl.json";

/// The programs that pages call.
pub(super) struct Programs {
    /// Folders that come first on the path.
    path: OsString,
    /// The folder with `cargo` and `kubectl`, removed in the end.
    own: PathBuf,
}

impl Programs {
    /// Builds `ballast` for release and puts it on the path, with a `cargo` that works on the clone and a `kubectl` that has a
    /// small cluster to tell of.
    pub(super) fn build() -> Result<Self> {
        let status = workspace::cargo()
            .args(["build", "--quiet", "--release", "--package", "ballast"])
            .stdin(Stdio::null())
            .status()
            .context("cannot run cargo build")?;
        ensure!(status.success(), "cargo build ended with {status}");
        let own = std::env::temp_dir().join(format!("ballast-docs-{}", std::process::id()));
        fs::create_dir_all(&own).with_context(|| format!("cannot make {}", own.display()))?;
        let real = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let root = workspace::root().display();
        let shims = [
            ("cargo", format!("cd '{root}' && exec '{real}' \"$@\"")),
            ("kubectl", format!("exec cat '{root}/{CLUSTER}'")),
        ];
        for (name, script) in shims {
            let shim = own.join(name);
            fs::write(&shim, format!("#!/bin/sh\n{script}\n"))?;
            fs::set_permissions(&shim, fs::Permissions::from_mode(0o755))?;
        }
        let folders = [own.clone(), workspace::target()?.join("release")];
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&rest)))?;
        Ok(Self { path, own })
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        // Left over at worst: it lies in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.own);
    }
}

/// The folder of one page.
pub(super) struct Sandbox<'a> {
    folder: PathBuf,
    programs: &'a Programs,
    /// The exit code of the last command, for `echo $?`.
    last_code: i32,
}

/// What a command did.
pub(super) struct Seen {
    /// Its exit code; 124 when it was ended for taking too long.
    pub(super) code: i32,
    /// What a reader sees: both outputs, in the order in which they were written.
    pub(super) text: String,
}

impl<'a> Sandbox<'a> {
    /// A new folder with a link to every file of the clone's root.
    pub(super) fn new(programs: &'a Programs) -> Result<Self> {
        let folder = programs.own.join("page");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for entry in fs::read_dir(workspace::root())? {
            let name = entry?.file_name();
            if name != ".git" && name != "target" {
                symlink(workspace::root().join(&name), folder.join(&name))?;
            }
        }
        Ok(Self { folder, programs, last_code: 0 })
    }

    /// Writes a file that the page shows.
    pub(super) fn write(&self, name: &str, lines: &[&str]) -> Result<()> {
        let is_plain =
            Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let path = self.folder.join(name);
        ensure!(is_plain && !path.exists(), "`{name}` is no new file in the folder of the page");
        fs::write(&path, lines.join("\n") + "\n").with_context(|| format!("cannot write {name}"))
    }

    /// Runs a command; one that is to be stopped gets an interrupt after so many seconds.
    pub(super) fn run(&mut self, script: &str, stop_after: Option<u64>) -> Result<Seen> {
        let mut command = Command::new("timeout");
        command.args(["--signal=INT", "--kill-after=10"]);
        if stop_after.is_some() {
            command.arg("--preserve-status");
        }
        let seconds = stop_after.unwrap_or(COMMAND_SECONDS_MAX).to_string();
        let script = format!("exec 2>&1; set -o pipefail; (exit {}); {script}", self.last_code);
        let output = command
            .args([&seconds, "bash", "-c", &script])
            .current_dir(&self.folder)
            .env("PATH", &self.programs.path)
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .output()
            .context("cannot run bash under timeout")?;
        self.last_code = output.status.code().unwrap_or(1);
        Ok(Seen { code: self.last_code, text: String::from_utf8_lossy(&output.stdout).into_owned() })
    }
}
