//! Programs that are built from released Go modules: a module of ours under `xtask/go` pins every version and checksum, and
//! what comes of it stays in the cache.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::Found;
use crate::workspace;

/// A module of ours and the programs that it builds.
pub(super) struct Module {
    /// Its folder under `xtask/go`.
    pub(super) folder: &'static str,
    /// The version of what is built, as its `go.mod` requires it.
    pub(super) version: &'static str,
    /// The programs: the name of the file and the package.
    pub(super) programs: &'static [(&'static str, &'static str)],
    /// Build tags, which may leave out what no test needs.
    pub(super) tags: &'static str,
    /// What the linker stamps in: variables of the program, each set to the version.
    pub(super) stamps: &'static [&'static str],
    /// Free space that a cold build takes, the module and build caches of Go included.
    pub(super) free_gib_min: u64,
}

impl Module {
    /// The folder of the programs, if all of them are built.
    pub(super) fn find(&self) -> Found {
        match self.built() {
            Ok(folder) if self.is_whole(&folder) => Found::here(self.version, folder),
            Ok(_) => {
                Found::Missing("not built yet: `cargo xtask test` builds it where go is installed".into())
            }
            Err(error) => Found::Missing(format!("{error:#}")),
        }
    }

    /// Whether a folder holds all of the programs.
    pub(super) fn is_whole(&self, folder: &Path) -> bool {
        self.programs.iter().all(|(name, _)| folder.join(name).is_file())
    }

    /// Builds all programs and puts them into the cache at once: a build that breaks off leaves nothing behind.
    pub(super) fn install(&self) -> Result<()> {
        let built = self.built()?;
        let free = workspace::free_gib(&built)?;
        ensure!(
            free >= self.free_gib_min,
            "{free} GiB free at {}, need {}",
            built.display(),
            self.free_gib_min
        );
        let parent = built.parent().context("the cache has a parent")?;
        std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        let fresh = tempfile::tempdir_in(parent).context("cannot make a folder in the cache")?;
        for (name, package) in self.programs {
            println!("== component {}: building {name}", self.folder);
            self.build(package, &fresh.path().join(name))?;
        }
        std::fs::rename(fresh.keep(), &built).with_context(|| format!("cannot make {}", built.display()))
    }

    fn build(&self, package: &str, file: &Path) -> Result<()> {
        let stamps: String =
            self.stamps.iter().map(|variable| format!(" -X {variable}={}", self.version)).collect();
        let status = Command::new("go")
            .args(["build", "-trimpath", "-mod=readonly", "-ldflags"])
            .arg(format!("-s -w{stamps}"))
            .args(["-tags", self.tags])
            .arg("-o")
            .arg(file)
            .arg(package)
            .current_dir(self.sources())
            .env("CGO_ENABLED", "0")
            .stdin(Stdio::null())
            .status()
            .context("cannot run go: install Go, or the package `golang`")?;
        ensure!(status.success(), "go build {package} ended with {status}");
        Ok(())
    }

    fn sources(&self) -> PathBuf {
        workspace::root().join("xtask").join("go").join(self.folder)
    }

    /// Where the programs lie: another one for other sums or stamps, so that nothing stale is ever run.
    fn built(&self) -> Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        for file in ["go.mod", "go.sum"] {
            let path = self.sources().join(file);
            std::fs::read(&path)
                .with_context(|| format!("cannot read {}", path.display()))?
                .hash(&mut hasher);
        }
        (self.programs, self.stamps).hash(&mut hasher);
        if !self.tags.is_empty() {
            self.tags.hash(&mut hasher);
        }
        let name = format!("{}-{}-{:08x}", self.folder, self.version, hasher.finish() as u32);
        Ok(workspace::cache()?.join("tools").join("go").join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{helm, kubernetes, kwok, prometheus};
    use super::*;

    /// The version that `go.mod` requires.
    fn required(module: &Module, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(module.sources().join("go.mod")).ok()?;
        let mut lines = text.lines().filter(|line| !line.starts_with("//"));
        let line = lines.find(|line| line.split_whitespace().any(|word| word == path))?;
        line.split_whitespace().find(|word| word.starts_with('v')).map(str::to_owned)
    }

    #[test]
    fn the_version_that_is_told_is_the_one_that_is_built() {
        for (module, path) in [
            (&kubernetes::MODULE, "k8s.io/kubernetes"),
            (&kwok::MODULE, "sigs.k8s.io/kwok"),
            (&helm::MODULE, "helm.sh/helm/v4"),
            (&prometheus::MODULE, "github.com/prometheus/prometheus"),
        ] {
            assert_eq!(required(module, path).as_deref(), Some(module.version), "{path}");
        }
    }
}
