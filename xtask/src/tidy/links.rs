//! Every link from one of our pages to a file of the tree leads somewhere.

use super::Finding;
use super::tree::{File, Tree};

pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let pages = tree.files.iter().filter(|file| file.extension() == "md");
    pages.flat_map(|page| dead_links(page, tree)).collect()
}

fn dead_links(page: &File, tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_fence = false;
    for (number, line) in (1..).zip(page.text.lines()) {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        for target in targets(line) {
            let leads_nowhere = resolve(&page.path, target).is_none_or(|path| !tree.paths.contains(&path));
            if leads_nowhere {
                let what = format!("the link to `{target}` leads nowhere");
                findings.push(Finding::new(format!("{}:{number}", page.path), what));
            }
        }
    }
    findings
}

/// The targets of the links in a line that point into the tree, without their fragment.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inside = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let paths = inside.map(|(target, _)| target.split(['#', ' ']).next().unwrap_or_default());
    paths.filter(|path| !path.is_empty() && !path.contains("://") && !path.starts_with("mailto:"))
}

/// The path from the root that a link on a page means; `None` when it leaves the tree.
fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_links_from_the_folder_of_the_page() {
        let page = "[a](../README.md#top) [b](guide/) [c](https://a.example/x) [d](#here)\n\
            [e](gone.md) and [f](../../out.md)\n```\n[g](in-a-fence.md)\n```\n";
        let tree = Tree::of(&[("docs/index.md", page), ("README.md", "# R\n"), ("docs/guide/x.md", "# X\n")]);
        let found: Vec<_> = find(&tree).into_iter().map(|found| found.what).collect();
        assert_eq!(
            found,
            ["the link to `gone.md` leads nowhere", "the link to `../../out.md` leads nowhere"]
        );
    }
}
