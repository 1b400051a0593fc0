//! Whether what was seen is what a page says.

/// A line that stands for any lines, also for none.
pub(super) const ANYTHING: &str = "...";

/// Compares line by line; [`ANYTHING`] stands for any lines and `[..]` for any text within one.
pub(super) fn matches(expected: &[&str], seen: &[&str]) -> bool {
    match expected.split_first() {
        None => seen.is_empty(),
        Some((&ANYTHING, rest)) => (0..=seen.len()).any(|skipped| matches(rest, &seen[skipped..])),
        Some((line, rest)) => seen
            .split_first()
            .is_some_and(|(first, others)| line_matches(line, first) && matches(rest, others)),
    }
}

/// A line that was seen, as a page shall say it: what the page leaves open in it stays open.
pub(super) fn kept(expected: &[&str], seen: &str) -> String {
    let open = expected.iter().find(|line| line.contains("[..]") && line_matches(line, seen));
    open.copied().unwrap_or(seen).trim_end().to_owned()
}

fn line_matches(expected: &str, seen: &str) -> bool {
    let (expected, seen) = (expected.trim_end(), seen.trim_end());
    let mut parts = expected.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = seen.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_be_left_open() {
        let cases = [
            ("plain", "plain", true),
            ("plain", "plain2", false),
            ("took [..] s", "took 1.5 s", true),
            ("[..] of [..] nodes", "3 of 10 nodes", true),
            ("[..] of [..] nodes", "3 of 10 pods", false),
            ("a[..]", "a", true),
            ("a[..]a", "a", false),
        ];
        for (expected, seen, holds) in cases {
            assert_eq!(line_matches(expected, seen), holds, "{expected} against {seen}");
        }
    }

    #[test]
    fn what_is_left_open_stays_open_when_output_is_accepted() {
        let expected = ["took [..] s", "3 nodes"];
        let seen = ["took 1.5 s", "4 nodes "].map(|line| kept(&expected, line));
        assert_eq!(seen, ["took [..] s", "4 nodes"]);
    }

    #[test]
    fn whole_lines_may_be_left_out() {
        assert!(matches(&["a", "...", "d"], &["a", "b", "c", "d"]));
        assert!(matches(&["a", "..."], &["a"]));
        assert!(!matches(&["a", "...", "d"], &["a", "b"]));
        assert!(!matches(&["a"], &["a", "b"]));
        assert!(matches(&["..."], &[]) && matches(&[], &[]) && !matches(&[], &["a"]));
    }
}
