//! The inputs from which the mutations start: every file in the folders of a target.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};

use crate::targets::Target;

/// Files above this size are left out: mutations of a large file seldom hit what matters.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// The root of the clone from which cargo runs us; it may not be the one in which we were built when clones share
/// their build results.
pub(crate) fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        PathBuf::from(package).parent().expect("this package lies in the root of the workspace").to_owned()
    });
    &ROOT
}

/// Reads the corpus of a target, in the order of the paths, so that an input has the same number everywhere.
pub(crate) fn load(target: &Target) -> Result<Vec<Vec<u8>>> {
    let mut files = Vec::new();
    for folder in target.corpus {
        collect(&root().join(folder), &mut files)?;
    }
    ensure!(!files.is_empty(), "the corpus of {} is empty: {}", target.name, target.corpus.join(", "));
    files
        .iter()
        .map(|path| fs::read(path).with_context(|| format!("cannot read {}", path.display())))
        .collect()
}

/// Every small file under a folder, sorted.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    paths.sort();
    for path in paths {
        let about = fs::metadata(&path).with_context(|| format!("cannot look at {}", path.display()))?;
        // Tests keep what they expect beside what they feed.
        let is_output = path.extension().is_some_and(|end| end == "told");
        if about.is_dir() {
            collect(&path, files)?;
        } else if !is_output && about.len() <= FILE_BYTES_MAX {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::targets::TARGETS;

    /// What once failed and was put into the corpus never fails again; this test finds it in seconds.
    #[test]
    fn every_target_takes_its_corpus() {
        for target in TARGETS {
            for input in super::load(target).expect("there is a corpus") {
                (target.run)(&input);
            }
        }
    }
}
