//! What `-f` names: files, folders, or standard input. Paths in, names and bytes out.

use std::fs;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use ballast_core::documents::{FILE_BYTES_MAX, File};

use super::Result;
use crate::present::{Doing, Failure};

/// Ends of names that are read from a folder.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];
/// Deeper folders are a loop of links or a mistake.
const DEPTH_MAX: u32 = 16;

/// Reads every path: a file, the documents below a folder in the order of their names, or `-` for standard input.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<File>> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.push(standard_input()?);
        } else if path.is_dir() {
            let before = inputs.len();
            folder(path, 0, &mut inputs)?;
            if inputs.len() == before {
                return Err(Failure::new(format!("no document in {}", path.display()))
                    .hint("files that end with .yaml, .yml or .json are read from a folder"));
            }
        } else {
            inputs.push(not_empty(file(path)?)?);
        }
    }
    Ok(inputs)
}

fn standard_input() -> Result<File> {
    let mut stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        return Err(Failure::new("standard input is a terminal").hint(
            "pipe something into it, such as `kubectl get nodes,pods -A -o json | ballast plan -f -`",
        ));
    }
    let bytes = bounded(&mut stdin, FILE_BYTES_MAX).doing(|| "cannot read standard input")?;
    not_empty(File { name: "-".to_owned(), bytes })
}

/// What a command that failed has left behind is no cluster without nodes.
fn not_empty(file: File) -> Result<File> {
    if file.bytes.iter().any(|byte| !byte.is_ascii_whitespace()) {
        return Ok(file);
    }
    let name = if file.name == "-" { "standard input" } else { &*file.name };
    Err(Failure::new(format!("{name} is empty")).hint("did the command that should have written it fail?"))
}

fn file(path: &Path) -> Result<File> {
    let read = || bounded(&mut fs::File::open(path)?, FILE_BYTES_MAX);
    let bytes = read().doing(|| format!("cannot read {}", path.display()))?;
    Ok(File { name: path.display().to_string(), bytes })
}

/// Reads no more than shows that there is too much, which is told with the documents: a pipe may have no end.
fn bounded(from: &mut impl Read, bytes_max: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn folder(path: &Path, depth: u32, inputs: &mut Vec<File>) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(Failure::new(format!("{} is more than {DEPTH_MAX} folders deep", path.display())));
    }
    let doing = || format!("cannot list {}", path.display());
    let entries: std::io::Result<Vec<_>> = fs::read_dir(path).doing(doing)?.collect();
    let mut entries: Vec<PathBuf> = entries.doing(doing)?.into_iter().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        let extension = entry.extension().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') {
            continue;
        } else if entry.is_dir() {
            folder(&entry, depth + 1, inputs)?;
        } else if EXTENSIONS.contains(&&*extension) {
            inputs.push(file(&entry)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_read_as_far_as_shows_that_it_is_too_much() {
        assert_eq!(bounded(&mut std::io::repeat(b'a'), 10).unwrap().len(), 11);
        assert_eq!(bounded(&mut &b"a: 1"[..], 10).unwrap(), b"a: 1");
    }
}
