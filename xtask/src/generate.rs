//! `cargo xtask generate`: derived files of the tree, written by the programs that know best.
//!
//! With `--check` everything is written into a folder beside the tree and compared: a derived file that differs,
//! is missing, or should no longer be there fails the check.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::test::Counts;
use crate::{dashboard, workspace};

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
    writer: Writer,
}

/// Who fills it.
enum Writer {
    /// cargo with these arguments and the folder as the last one.
    Cargo(&'static [&'static str]),
    /// A function of ours.
    Own(fn(&Path) -> Result<()>),
}

const GENERATORS: &[Generator] = &[
    Generator { folder: "deploy/grafana", writer: Writer::Own(dashboard::write) },
    Generator {
        folder: "docs/reference",
        writer: Writer::Cargo(&["run", "--quiet", "--release", "-pballast", "--", "reference"]),
    },
    Generator {
        folder: "deploy/crds",
        writer: Writer::Cargo(&["run", "--quiet", "--release", "-pballast", "--", "crd", "--to"]),
    },
    Generator {
        folder: "deploy/rbac",
        writer: Writer::Cargo(&["run", "--quiet", "--release", "-pballast", "--", "roles", "--to"]),
    },
];

/// The verb: false when `--check` found a difference.
pub(crate) fn run(args: Args) -> Result<bool> {
    if args.check {
        let counts = check()?;
        return Ok(counts.failed == 0);
    }
    for generator in GENERATORS {
        // Filled beside the tree first: a program that does not build must not cost what there is.
        let fresh = tempfile::tempdir().context("cannot make a folder")?;
        generator.fill(fresh.path())?;
        let (folder, fresh) = (workspace::root().join(generator.folder), files(fresh.path())?);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        write(&folder, &fresh)?;
        println!("{}: {} files", generator.folder, fresh.len());
    }
    Ok(true)
}

/// Counts each generator as a test that its folder is fresh.
pub(crate) fn check() -> Result<Counts> {
    let mut counts = Counts::default();
    for generator in GENERATORS {
        let fresh = tempfile::tempdir().context("cannot make a folder")?;
        generator.fill(fresh.path())?;
        let stale = differences(&files(&workspace::root().join(generator.folder))?, &files(fresh.path())?);
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
        match &self.writer {
            Writer::Own(write) => write(folder)?,
            Writer::Cargo(args) => {
                let mut command = workspace::cargo();
                command.args(*args).arg(folder).stdin(Stdio::null());
                let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
                ensure!(
                    status.success(),
                    "the generator of {} ended with {status}: {command:?}",
                    self.folder
                );
            }
        }
        ensure!(!files(folder)?.is_empty(), "the generator of {} wrote nothing", self.folder);
        Ok(())
    }
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

fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    for (name, bytes) in files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
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
