//! Words that do not belong in the tree, each with what to do instead.
//!
//! The words are put together from halves so that this file does not hold them.

use super::Finding;
use super::tree::{File, Tree};

struct Word {
    /// What is looked for.
    text: &'static str,
    /// Which files are looked at.
    among: fn(&File) -> bool,
    /// Whether it counts only where no path or name goes on: before it, and after it.
    alone: bool,
    /// What to do instead.
    instead: &'static str,
}

const MACHINE: &str =
    "a path of one machine: use a path from the root of the clone or an environment variable";
const REGISTRY: &str = "a host of a package registry: which one is used is the business of the machine";
const UNFINISHED: &str = "unfinished: finish it, or leave it out and open an issue";
const IGNORED: &str = "a test that does not run proves nothing: make it run or delete it";

const WORDS: &[Word] = &[
    Word { text: concat!("todo", "!("), among: is_rust, alone: false, instead: UNFINISHED },
    Word { text: concat!("unimplemented", "!("), among: is_rust, alone: false, instead: UNFINISHED },
    Word { text: concat!("#[", "ignore"), among: is_rust, alone: false, instead: IGNORED },
    Word { text: concat!("```", "ignore"), among: is_any, alone: false, instead: IGNORED },
    Word { text: concat!("/", "root"), among: is_any, alone: true, instead: MACHINE },
    Word { text: concat!("/", "work"), among: is_any, alone: true, instead: MACHINE },
    Word { text: concat!("/", "home/"), among: is_any, alone: false, instead: MACHINE },
    Word { text: concat!("artifact", "ory"), among: is_any, alone: false, instead: REGISTRY },
    Word { text: concat!("index.", "crates.io"), among: is_any, alone: false, instead: REGISTRY },
    Word { text: concat!("registry.", "npmjs"), among: is_any, alone: false, instead: REGISTRY },
    Word { text: concat!("files.", "pythonhosted"), among: is_any, alone: false, instead: REGISTRY },
    Word { text: concat!("proxy.", "golang.org"), among: is_any, alone: false, instead: REGISTRY },
];

fn is_rust(file: &File) -> bool {
    file.extension() == "rs"
}

/// Random bytes may spell anything.
fn is_any(file: &File) -> bool {
    !file.is_under("corpus")
}

impl Word {
    fn is_in(&self, line: &str) -> bool {
        let goes_on =
            |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '}' | ')');
        line.match_indices(self.text).any(|(at, _)| {
            let before = line[..at].chars().next_back().is_some_and(goes_on);
            let after = line[at + self.text.len()..].chars().next().is_some_and(goes_on);
            !self.alone || !(before || after)
        })
    }
}

pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for word in WORDS.iter().filter(|word| (word.among)(file)) {
            for (number, line) in (1..).zip(file.text.lines()) {
                if word.is_in(line) {
                    let what = format!("`{}`: {}", word.text, word.instead);
                    findings.push(Finding::new(format!("{}:{number}", file.path), what));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(path: &str, text: &str) -> Vec<String> {
        find(&Tree::of(&[(path, text)])).into_iter().map(|found| found.place).collect()
    }

    #[test]
    fn finds_what_is_unfinished_in_rust_only() {
        let text = concat!("fn a() {\n    todo", "!()\n}\n");
        assert_eq!(places("a.rs", text), ["a.rs:2"]);
        assert!(places("a.md", text).is_empty());
    }

    #[test]
    fn finds_paths_of_a_machine_but_not_words_that_contain_them() {
        assert_eq!(places("a.md", concat!("see `/", "root/x` and /", "work\n")).len(), 2);
        assert!(places("a.md", "api/roots, /workers, ../root and a/root, /root-less\n").is_empty());
    }
}
