//! Where things are: the root of the clone, the cache outside it, and the space left on a disk.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use anyhow::{Context, Result, bail};

/// The root of the clone from which cargo runs us; it may not be the one in which we were built when clones share
/// their build results.
pub(crate) fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        PathBuf::from(package).parent().expect("xtask lies in the root of the workspace").to_owned()
    });
    &ROOT
}

/// A folder outside the clone for what is worth keeping between clones: tools and build results.
pub(crate) fn cache() -> Result<PathBuf> {
    let base = match (non_empty("XDG_CACHE_HOME"), non_empty("HOME")) {
        (Some(cache), _) => PathBuf::from(cache),
        (None, Some(home)) => PathBuf::from(home).join(".cache"),
        (None, None) => bail!("neither XDG_CACHE_HOME nor HOME is set: no place for the cache"),
    };
    Ok(base.join("ballast"))
}

fn non_empty(name: &str) -> Option<std::ffi::OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The cargo that started us, run in the root of the clone.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The folder of build results, which the environment or cargo's configuration may put anywhere.
pub(crate) fn target() -> Result<PathBuf> {
    #[derive(serde::Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let told = cargo().args(["metadata", "--format-version=1", "--no-deps"]).output();
    let told = told.context("cannot run cargo metadata")?;
    let metadata: Metadata = serde_json::from_slice(&told.stdout).context("cannot read cargo metadata")?;
    Ok(metadata.target_directory)
}

/// Free space in GiB on the disk that holds `path`, or that will hold it once it is made.
pub(crate) fn free_gib(path: &Path) -> Result<u64> {
    let there = path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let told = Command::new("df").arg("-Pk").arg(there).output().context("cannot run df")?;
    let text = String::from_utf8_lossy(&told.stdout);
    parse_df(&text).with_context(|| format!("df said nothing readable of {}", there.display()))
}

/// The fourth column of the last line of `df -Pk` is the number of free KiB.
fn parse_df(text: &str) -> Option<u64> {
    let kib: u64 = text.lines().last()?.split_whitespace().nth(3)?.parse().ok()?;
    Some(kib >> 20)
}

/// The first line that a program prints, or `None` when it cannot be run or fails.
pub(crate) fn first_line(command: &mut Command) -> Option<String> {
    let output = command.stdin(std::process::Stdio::null()).output().ok()?;
    if !output.status.success() {
        return None;
    }
    let line = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_free_space_from_df() {
        let text = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/a 100 10 7340032 15% /\n";
        assert_eq!(parse_df(text), Some(7));
        assert_eq!(parse_df(""), None);
    }
}
