//! No blanks at the end of a line, and a newline at the end of a file.

use super::Finding;
use super::tree::{File, Tree};

/// Input that is wrong on purpose and output that is compared byte for byte keep what they have.
fn is_ours_to_trim(file: &File) -> bool {
    let kind = matches!(file.extension(), "rs" | "toml" | "md" | "yaml" | "yml" | "css" | "js" | "sh" | "");
    let is_input = file.is_under("corpus") || file.is_under("tests") && file.extension() != "rs";
    kind && !is_input
}

pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| is_ours_to_trim(file)) {
        for (number, line) in (1..).zip(file.text.lines()) {
            if line.ends_with([' ', '\t', '\r']) {
                findings
                    .push(Finding::new(format!("{}:{number}", file.path), "blanks at the end of the line"));
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            findings.push(Finding::new(&file.path, "no newline at the end of the file"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_trailing_blanks_and_a_missing_newline() {
        let tree = Tree::of(&[
            ("a.rs", "ok\nbad \n"),
            ("b.md", "x"),
            ("corpus/c.yaml", "x "),
            ("tests/d.yaml", "x"),
            ("e.yaml", ""),
        ]);
        let places: Vec<_> = find(&tree).into_iter().map(|found| found.place).collect();
        assert_eq!(places, ["a.rs:2", "b.md"]);
    }
}
