//! `cargo xtask generate`: derived files of the tree, written by the programs that know best.
//!
//! With `--check` everything is written into a folder beside the tree and compared: a derived file that differs,
//! is missing, or should no longer be there fails the check.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::test::Counts;
use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when a derived file is not what it would be
    #[arg(long)]
    check: bool,
}

/// A program that fills a folder, which holds nothing else.
struct Generator {
    /// The folder, from the root of the clone.
    folder: &'static str,
    /// cargo with these arguments and the folder as the last one.
    command: &'static [&'static str],
}

const GENERATORS: &[Generator] = &[Generator {
    folder: "docs/reference",
    command: &["run", "--quiet", "--release", "-pballast", "--", "reference"],
}];

/// The verb: false when `--check` found a difference.
pub(crate) fn run(args: Args) -> Result<bool> {
    if args.check {
        let counts = check()?;
        return Ok(counts.failed == 0);
    }
    for generator in GENERATORS {
        let folder = workspace::root().join(generator.folder);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        generator.fill(&folder)?;
        println!("{}: {} files", generator.folder, files(&folder)?.len());
    }
    Ok(true)
}

/// Counts each generator as a test that its folder is fresh.
pub(crate) fn check() -> Result<Counts> {
    let mut counts = Counts::default();
    for generator in GENERATORS {
        let fresh = scratch()?;
        let stale = generator.fill(&fresh).and_then(|()| {
            Ok(differences(&files(&workspace::root().join(generator.folder))?, &files(&fresh)?))
        });
        fs::remove_dir_all(&fresh).with_context(|| format!("cannot remove {}", fresh.display()))?;
        let stale = stale?;
        for difference in &stale {
            println!("stale: {}/{difference}", generator.folder);
        }
        if stale.is_empty() {
            counts += Counts::passed(1);
        } else {
            println!("\nhint: run `cargo xtask generate` and commit what it changes");
            counts += Counts::failed(1);
        }
    }
    Ok(counts)
}

impl Generator {
    fn fill(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut command = workspace::cargo();
        command.args(self.command).arg(folder).stdin(Stdio::null());
        let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
        ensure!(status.success(), "the generator of {} ended with {status}: {command:?}", self.folder);
        ensure!(!files(folder)?.is_empty(), "the generator of {} wrote nothing: {command:?}", self.folder);
        Ok(())
    }
}

fn scratch() -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("ballast-generate-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Every file under a folder with its bytes; a folder that is not there holds none.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop().filter(|next| next.exists()) {
        for entry in fs::read_dir(&next).with_context(|| format!("cannot list {}", next.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
                found.insert(name, fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

/// What changed between the tree and what was generated, one line a file.
fn differences(tree: &BTreeMap<String, Vec<u8>>, fresh: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let gone =
        tree.keys().filter(|name| !fresh.contains_key(*name)).map(|name| format!("{name} is not generated"));
    let changed = fresh.iter().filter_map(|(name, bytes)| match tree.get(name) {
        None => Some(format!("{name} is missing")),
        Some(old) if old != bytes => Some(format!("{name} differs")),
        Some(_) => None,
    });
    gone.chain(changed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn names_what_differs_is_missing_or_is_left_over() {
        let tree = folder(&[("same", "1"), ("old", "1"), ("changed", "1")]);
        let fresh = folder(&[("same", "1"), ("changed", "2"), ("new", "1")]);
        assert_eq!(differences(&tree, &fresh), ["old is not generated", "changed differs", "new is missing"]);
        assert!(differences(&tree, &tree).is_empty());
    }
}
