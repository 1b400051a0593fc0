//! The files of the tree as git sees them: tracked, or new and not ignored.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// A file that is text.
pub(super) struct File {
    /// Its path from the root of the clone, with `/` between the parts.
    pub(super) path: String,
    /// Its text.
    pub(super) text: String,
}

impl File {
    /// The end of the name, without the dot; empty when there is none.
    pub(super) fn extension(&self) -> &str {
        Path::new(&self.path).extension().and_then(|end| end.to_str()).unwrap_or_default()
    }

    /// Whether the file lies in a folder of this name.
    pub(super) fn is_under(&self, folder: &str) -> bool {
        self.path.split('/').rev().skip(1).any(|part| part == folder)
    }
}

/// All files of the clone.
#[derive(Default)]
pub(super) struct Tree {
    /// Those that are text.
    pub(super) files: Vec<File>,
    /// The path of every file, text or not, and of every folder that holds one.
    pub(super) paths: BTreeSet<String>,
}

impl Tree {
    /// Reads the clone.
    pub(super) fn read() -> Result<Self> {
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(workspace::root())
            .output()
            .context("cannot run git")?;
        ensure!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
        let mut tree = Self::default();
        for path in String::from_utf8_lossy(&listed.stdout).split_terminator('\0') {
            // A file that was deleted but not yet committed is still listed.
            if let Ok(bytes) = std::fs::read(workspace::root().join(path)) {
                tree.add(path, String::from_utf8(bytes).ok());
            }
        }
        Ok(tree)
    }

    /// Adds a file, with its text when it has one.
    pub(super) fn add(&mut self, path: &str, text: Option<String>) {
        let folders = Path::new(path).ancestors().filter_map(Path::to_str);
        self.paths.extend(folders.map(str::to_owned));
        if let Some(text) = text {
            self.files.push(File { path: path.to_owned(), text });
        }
    }
}

#[cfg(test)]
impl Tree {
    /// A tree of these files.
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        files.iter().for_each(|(path, text)| tree.add(path, Some((*text).to_owned())));
        tree
    }
}
