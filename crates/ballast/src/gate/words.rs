//! From text to words with their places.

use std::ops::Range;

use ballast_sim::score::{Amount, AmountError};

use super::{Comparison, Mistake};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    Number(Amount),
    Name(String),
    Sign(char),
    Comparison(Comparison),
    And,
    Or,
    Not,
    Open,
    Close,
}

pub(super) type Words = Vec<(Word, Range<usize>)>;

pub(super) fn split(text: &str) -> Result<Words, Mistake> {
    let mut words = Words::new();
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        if letter.is_whitespace() {
            at += letter.len_utf8();
            continue;
        }
        let (word, length) = match letter {
            '0'..='9' | '.' => number(text, at)?,
            'a'..='z' | 'A'..='Z' | '_' => name(&text[at..]),
            _ => sign(text, at, letter)?,
        };
        words.push((word, at..at + length));
        at += length;
    }
    Ok(words)
}

fn number(text: &str, at: usize) -> Result<(Word, usize), Mistake> {
    let rest = &text[at..];
    let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    // `1e3` is a number, `1h` a duration.
    let power = rest[digits..].strip_prefix(['e', 'E']).map(|rest| {
        let sign = usize::from(rest.starts_with(['+', '-']));
        let end = rest[sign..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - sign);
        if end == 0 { 0 } else { 1 + sign + end }
    });
    let digits = digits + power.unwrap_or(0);
    let is_unit = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '%' | '.');
    let unit = rest[digits..].find(|letter| !is_unit(letter)).unwrap_or(rest.len() - digits);
    let length = digits + unit;
    let amount = rest[..length].parse();
    let amount = amount.map_err(|why: AmountError| Mistake::new(text, at..at + length, why.to_string()))?;
    Ok((Word::Number(amount), length))
}

/// Letters, digits and `_`, in parts joined by `.`; a part after the first may hold `-`, as names of workloads do, where
/// a letter follows.
fn name(rest: &str) -> (Word, usize) {
    let bytes = rest.as_bytes();
    let mut length = 0;
    let mut parts = 0;
    while let Some(byte) = bytes.get(length) {
        let next_is_letter = bytes.get(length + 1).is_some_and(u8::is_ascii_alphanumeric);
        match byte {
            b'.' if next_is_letter => parts += 1,
            b'-' if parts > 0 && next_is_letter => {}
            b'_' => {}
            byte if byte.is_ascii_alphanumeric() => {}
            _ => break,
        }
        length += 1;
    }
    (Word::Name(rest[..length].to_owned()), length)
}

fn sign(text: &str, at: usize, letter: char) -> Result<(Word, usize), Mistake> {
    let double = |sign: &str| text[at..].starts_with(sign);
    let wrong = |message: String| Mistake::new(text, at..at + letter.len_utf8(), message);
    for (swapped, meant) in [("=>", ">="), ("=<", "<=")] {
        if double(swapped) {
            let message = format!("`{swapped}` is no comparison: did you mean `{meant}`?");
            return Err(Mistake::new(text, at..at + swapped.len(), message));
        }
    }
    Ok(match letter {
        '&' if double("&&") => (Word::And, 2),
        '|' if double("||") => (Word::Or, 2),
        '<' if double("<=") => (Word::Comparison(Comparison::LessOrEqual), 2),
        '>' if double(">=") => (Word::Comparison(Comparison::GreaterOrEqual), 2),
        '=' if double("==") => (Word::Comparison(Comparison::Equal), 2),
        '!' if double("!=") => (Word::Comparison(Comparison::NotEqual), 2),
        '<' => (Word::Comparison(Comparison::Less), 1),
        '>' => (Word::Comparison(Comparison::Greater), 1),
        '!' => (Word::Not, 1),
        '(' => (Word::Open, 1),
        ')' => (Word::Close, 1),
        '+' | '-' | '*' | '/' => (Word::Sign(letter), 1),
        '=' => return Err(wrong("`=` is no comparison: write `==`".to_owned())),
        '&' | '|' => return Err(wrong(format!("`{letter}` has no meaning here: write `{letter}{letter}`"))),
        _ => return Err(wrong(format!("`{letter}` has no meaning here"))),
    })
}
