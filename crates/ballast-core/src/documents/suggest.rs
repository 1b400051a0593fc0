//! What was probably meant: the nearest of the words that would have been right.

/// The candidate that is nearest to a word, where one is near enough to be a slip of the finger.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = word.chars().take(80).flat_map(char::to_lowercase).collect();
    let near = candidates.into_iter().filter_map(|candidate| {
        let other: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
        let distance = distance(&letters, &other);
        // A third of the letters may be wrong: `mx` is `max`, `foo` is nothing.
        (distance <= (other.len().max(letters.len()) / 3).max(1) && distance < other.len())
            .then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// Letters to insert, delete, replace or swap with their neighbour until one word is the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut rows = vec![vec![0; width]; 3];
    rows[0] = (0..width).collect();
    for i in 1..=a.len() {
        let (now, last, before) = (i % 3, (i + 2) % 3, (i + 1) % 3);
        rows[now][0] = i;
        for j in 1..width {
            let replace = rows[last][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[last][j] + 1).min(rows[now][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[before][j - 2] + 1);
            }
            rows[now][j] = best;
        }
    }
    rows[a.len() % 3][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_leaves_strangers_alone() {
        let fields = ["idleAfter", "unreadyAfter", "max", "min", "coolDown"];
        for (word, meant) in [
            ("idelAfter", Some("idleAfter")),
            ("idle_after", Some("idleAfter")),
            ("IdleAfter", Some("idleAfter")),
            ("mx", Some("max")),
            ("cooldown", Some("coolDown")),
            ("replicas", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, fields), meant, "{word}");
        }
    }

    #[test]
    fn counts_letters() {
        let count =
            |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", ""), 3);
        assert_eq!(count("ab", "ba"), 1);
        assert_eq!(count("kitten", "sitting"), 3);
    }
}
