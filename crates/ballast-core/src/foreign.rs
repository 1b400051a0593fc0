//! Foreign words: text that others wrote, made safe to show, to log and to keep.

use std::borrow::Cow;

/// What follows one of these may be a secret, and is not told.
const TELLTALES: [&str; 16] = [
    "token",
    "bearer",
    "basic ",
    "authorization",
    "secret",
    "password",
    "passwd",
    "private key",
    "signature",
    "sig=",
    "credential",
    "accesskey",
    "apikey",
    "api_key",
    "api-key",
    // What a JSON web token begins with.
    "eyj",
];

/// Text without what would move a cursor, change colours, begin a line or turn the direction: that is escaped.
pub fn plain(text: &str) -> Cow<'_, str> {
    let is_wild = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_wild) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().flat_map(|letter| {
        let wild = is_wild(letter).then(|| letter.escape_default());
        let tame = wild.is_none().then_some(letter);
        wild.into_iter().flatten().chain(tame)
    });
    Cow::Owned(escaped.collect())
}

/// At most so many bytes of the beginning of a text, without what may be a secret, and plain.
pub fn discreet(text: &str, bytes_max: usize) -> String {
    let lower = text.to_ascii_lowercase();
    let telltale = TELLTALES.iter().filter_map(|telltale| lower.find(telltale));
    let safe = telltale.chain(login(&lower)).min().unwrap_or(text.len());
    let told = bounded(beginning(text, safe), bytes_max);
    let cut = if safe < text.len() && !told.ends_with('…') { "…" } else { "" };
    told + cut
}

/// At most so many bytes of the beginning of a text of our own, which names things that others have named, plain.
pub fn bounded(text: &str, bytes_max: usize) -> String {
    let told = plain(text);
    let kept = beginning(&told, bytes_max);
    let cut = if kept.len() < told.len() { "…" } else { "" };
    format!("{kept}{cut}")
}

/// At most so many bytes of a text, cut between letters.
fn beginning(text: &str, bytes_max: usize) -> &str {
    let end = (0..=bytes_max.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

/// Where the login of an address such as `https://user:password@host` begins.
fn login(text: &str) -> Option<usize> {
    let schemes = text.match_indices("://").map(|(at, mark)| at + mark.len());
    schemes.into_iter().find(|&at| {
        let host = text[at..].split(|letter: char| letter == '/' || letter.is_whitespace()).next();
        host.is_some_and(|host| host.contains('@'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_told() {
        for (said, told) in [
            ("GET https://a.b/c failed", "GET https://a.b/c failed"),
            ("GET https://user:hunter2@a.b/c failed", "GET https://…"),
            ("sent Authorization: Basic dXNlcjpwdw==", "sent …"),
            ("mail to a@b at https://a.b failed", "mail to a@b at https://a.b failed"),
            ("rejected: eyJhbGciOiJIUzI1NiJ9.e30.x", "rejected: …"),
            ("wrong API_KEY=hunter2", "wrong …"),
        ] {
            assert_eq!(discreet(said, 200), told);
        }
    }

    #[test]
    fn what_would_disturb_a_terminal_is_escaped() {
        assert_eq!(plain("fine – ✓"), "fine – ✓");
        assert_eq!(plain("a\u{1b}[31mred\nb\u{202e}"), "a\\u{1b}[31mred\\nb\\u{202e}");
    }

    #[test]
    fn a_text_is_cut_between_letters_and_says_so() {
        assert_eq!(discreet("größer", 3), "gr…");
        assert_eq!(discreet("größer", 4), "grö…");
        assert_eq!(discreet("größer", 8), "größer");
    }
}
