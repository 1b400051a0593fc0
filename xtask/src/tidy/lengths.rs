//! A file that no longer fits in a head is two files.

use super::Finding;
use super::tree::{File, Tree};

/// From here on a file is told of.
const LINES_GOOD: usize = 600;
/// From here on it has to be split.
const LINES_MAX: usize = 800;

/// What people write and read; data, generated pages and recorded output may be long.
fn is_written_by_hand(file: &File) -> bool {
    matches!(file.extension(), "rs" | "md" | "js" | "css" | "sh" | "toml") && !file.is_under("reference")
}

pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| is_written_by_hand(file)) {
        let lines = file.text.lines().count();
        let what = format!("{lines} lines, split it (good up to {LINES_GOOD}, refused above {LINES_MAX})");
        if lines > LINES_MAX {
            findings.push(Finding::new(&file.path, what));
        } else if lines > LINES_GOOD {
            findings.push(Finding::warning(&file.path, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warns_first_and_refuses_later() {
        let (good, long, too_long) = ("x\n".repeat(600), "x\n".repeat(601), "x\n".repeat(801));
        let tree = Tree::of(&[
            ("a.rs", &good),
            ("b.rs", &long),
            ("c.rs", &too_long),
            ("d.csv", &too_long),
            ("docs/reference/e.md", &too_long),
        ]);
        let seen: Vec<_> = find(&tree).into_iter().map(|found| (found.place, found.is_warning)).collect();
        assert_eq!(seen, [("b.rs".to_owned(), true), ("c.rs".to_owned(), false)]);
    }
}
