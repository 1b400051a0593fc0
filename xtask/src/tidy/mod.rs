//! `cargo xtask tidy`: the manners of the tree, each a rule from files to findings.
//!
//! What rustfmt and clippy cannot see is checked here: lengths of files, words that do not belong, links that
//! lead nowhere, trailing blanks, and what the pure crates depend on.

mod dependencies;
mod lengths;
mod links;
mod tree;
mod whitespace;
mod words;

use anyhow::Result;

use crate::test::Counts;
use tree::Tree;

/// Something that a rule does not like.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// Where: a path, with a line where there is one.
    place: String,
    /// What is wrong, and what to do instead.
    what: String,
    /// Only told of; the rule still holds.
    is_warning: bool,
}

impl Finding {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into(), is_warning: false }
    }

    fn warning(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::new(place, what) }
    }
}

/// A rule: its name, and what it finds in the tree.
struct Rule {
    name: &'static str,
    find: fn(&Tree) -> Result<Vec<Finding>>,
}

const RULES: &[Rule] = &[
    Rule { name: "lengths", find: |tree| Ok(lengths::find(tree)) },
    Rule { name: "words", find: |tree| Ok(words::find(tree)) },
    Rule { name: "whitespace", find: |tree| Ok(whitespace::find(tree)) },
    Rule { name: "links", find: |tree| Ok(links::find(tree)) },
    Rule { name: "dependencies", find: |_| dependencies::find() },
];

/// The verb: true when every rule holds.
pub(crate) fn run() -> Result<bool> {
    let counts = count()?;
    println!("{} rules hold, {} do not", counts.passed, counts.failed);
    Ok(counts.failed == 0)
}

/// Checks every rule, prints what it finds, and counts a rule as a test.
pub(crate) fn count() -> Result<Counts> {
    let tree = Tree::read()?;
    let mut counts = Counts::default();
    for rule in RULES {
        let findings = (rule.find)(&tree)?;
        for Finding { place, what, is_warning } in &findings {
            let level = if *is_warning { "warning" } else { "error" };
            println!("{level}: tidy {}: {place}: {what}", rule.name);
        }
        let holds = findings.iter().all(|finding| finding.is_warning);
        counts += if holds { Counts::passed(1) } else { Counts::failed(1) };
    }
    Ok(counts)
}
