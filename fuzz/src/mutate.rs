//! Inputs made from the corpus: the same seed, corpus and number give the same bytes, whatever came before.
//!
//! There is no feedback from coverage, since that needs a nightly compiler; instead the mutations know that
//! most inputs are lines of YAML or JSON, and what people and programs get wrong in them.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// No input grows beyond this.
const INPUT_BYTES_MAX: usize = 1 << 20;
/// Mutations of one input.
const MUTATIONS_MAX: u32 = 8;

/// What is worth trying anywhere: extreme numbers, words that YAML takes for something else, bytes that break text.
const TOKENS: &[&str] = &[
    "0",
    "-1",
    "-0",
    "1e309",
    "1e-400",
    "NaN",
    ".nan",
    ".inf",
    "-.inf",
    "2147483648",
    "-2147483649",
    "9223372036854775808",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "0x7f",
    "0o17",
    "1_000",
    "0.30000000000000004",
    "1Ei",
    "1m",
    "1u",
    "1n",
    "9999999999Ei",
    "null",
    "~",
    "true",
    "no",
    "\"\"",
    "''",
    "{}",
    "[]",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ":",
    ": ",
    "- ",
    "? ",
    "|",
    ">",
    "|-\n",
    "#",
    "%",
    "@",
    "`",
    "&a ",
    "*a",
    "<<: *a",
    "!!binary ",
    "!!set ",
    "---\n",
    "...\n",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\u{feff}",
    "\u{2028}",
    "\u{1f4a5}",
    "\\u0000",
    "\\ud800",
    "apiVersion: v1\n",
    "kind: ",
    "metadata: ",
    "spec: ",
    "name: ",
    "2026-02-30T25:61:00Z",
    "9999-12-31T23:59:60Z",
    "-292277022657-01-27T08:29:52Z",
    "P1Y",
    "1h",
    "99999999999999h",
    "-5s",
];

/// Makes inputs.
pub(crate) struct Mutator {
    seed: u64,
    corpus: Vec<Vec<u8>>,
    tokens: Vec<&'static str>,
}

impl Mutator {
    /// A maker of inputs from a corpus that is not empty, with the tokens of the target beside the common ones.
    pub(crate) fn new(seed: u64, corpus: Vec<Vec<u8>>, tokens: &[&'static str]) -> Self {
        assert!(!corpus.is_empty(), "there is something to mutate");
        // The target's own tokens twice: they are the ones that open doors.
        let tokens = tokens.iter().chain(tokens).chain(TOKENS).copied().collect();
        Self { seed, corpus, tokens }
    }

    /// The input of this number: first the corpus as it is, then mutations of it.
    pub(crate) fn input(&self, number: u64) -> Vec<u8> {
        if let Some(entry) = usize::try_from(number).ok().and_then(|number| self.corpus.get(number)) {
            return entry.clone();
        }
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(number);
        let mut input = self.any(&mut random).to_vec();
        for _ in 0..random.random_range(1..=MUTATIONS_MAX) {
            if random.random_bool(0.5) {
                self.change_bytes(&mut input, &mut random);
            } else {
                self.change_lines(&mut input, &mut random);
            }
            input.truncate(INPUT_BYTES_MAX);
        }
        input
    }

    fn any(&self, random: &mut impl Rng) -> &[u8] {
        &self.corpus[random.random_range(0..self.corpus.len())]
    }

    fn token(&self, random: &mut impl Rng) -> &'static [u8] {
        self.tokens[random.random_range(0..self.tokens.len())].as_bytes()
    }

    /// Changes that know nothing of what the bytes mean.
    fn change_bytes(&self, input: &mut Vec<u8>, random: &mut impl Rng) {
        let at = random.random_range(0..=input.len());
        let some = range(input, random);
        match random.random_range(0..8) {
            0 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << random.random_range(0..8);
                }
            }
            1 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = random.random();
                }
            }
            2 => drop(input.drain(some)),
            3 => {
                let piece = input[some].to_vec();
                insert(input, at, &piece);
            }
            4 => input.truncate(at),
            5 => {
                let other = self.any(random);
                let piece = other[range(other, random)].to_vec();
                input.splice(some, piece);
            }
            6 => insert(input, at, self.token(random)),
            _ => {
                // Now and then very many: depth and length are where readers break, but they cost time.
                let times = if random.random_bool(0.05) { 10_000 } else { 16 };
                let times = (INPUT_BYTES_MAX / some.len().max(1)).clamp(1, times);
                let piece = input[some].repeat(random.random_range(1..=times));
                insert(input, at, &piece);
            }
        }
    }

    /// Changes that know of lines, keys, values, numbers and indentation.
    fn change_lines(&self, input: &mut Vec<u8>, random: &mut impl Rng) {
        let mut lines: Vec<Vec<u8>> =
            input.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        if lines.is_empty() {
            return input.extend_from_slice(self.token(random));
        }
        let at = random.random_range(0..lines.len());
        let other = random.random_range(0..lines.len());
        match random.random_range(0..7) {
            0 => lines.insert(other, lines[at].clone()),
            1 => drop(lines.remove(at)),
            2 => lines.swap(at, other),
            3 => lines[at].splice(0..0, vec![b' '; random.random_range(1..5)]).for_each(drop),
            4 => {
                let indent = lines[at].iter().take_while(|&&byte| byte == b' ').count();
                lines[at].drain(..random.random_range(0..=indent));
            }
            5 => replace(&mut lines[at], value, self.token(random)),
            _ => replace(&mut lines[at], digits, self.token(random)),
        }
        *input = lines.concat();
    }
}

/// A piece of the bytes, most often a short one.
fn range(bytes: &[u8], random: &mut impl Rng) -> std::ops::Range<usize> {
    let start = random.random_range(0..=bytes.len());
    let rest = bytes.len() - start;
    let length = if random.random_bool(0.8) { rest.min(16) } else { rest };
    start..start + random.random_range(0..=length)
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

/// Replaces the part of a line that `find` names.
fn replace(line: &mut Vec<u8>, find: fn(&[u8]) -> Option<std::ops::Range<usize>>, piece: &[u8]) {
    if let Some(part) = find(line) {
        line.splice(part, piece.iter().copied());
    }
}

/// What follows the first colon, up to the end of the line.
fn value(line: &[u8]) -> Option<std::ops::Range<usize>> {
    let colon = line.windows(2).position(|pair| pair == b": ")?;
    let end = if line.ends_with(b"\n") { line.len() - 1 } else { line.len() };
    Some(colon + 2..end.max(colon + 2))
}

/// The first run of digits.
fn digits(line: &[u8]) -> Option<std::ops::Range<usize>> {
    let start = line.iter().position(u8::is_ascii_digit)?;
    let length = line[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    Some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutator(seed: u64) -> Mutator {
        Mutator::new(
            seed,
            vec![b"a: 1\nb:\n  - c: 20\n".to_vec(), b"{\"x\": [1, 2]}".to_vec(), Vec::new()],
            &["zz"],
        )
    }

    #[test]
    fn an_input_depends_on_seed_and_number_alone() {
        let (first, second) = (mutator(7), mutator(7));
        let forward: Vec<_> = (0..500).map(|number| first.input(number)).collect();
        let backward: Vec<_> = (0..500).rev().map(|number| second.input(number)).collect();
        assert!(forward.iter().eq(backward.iter().rev()));
        assert!((0..500).any(|number| mutator(8).input(number) != forward[number as usize]));
    }

    #[test]
    fn the_corpus_comes_first_and_inputs_stay_bounded() {
        let mutator = mutator(1);
        assert_eq!(mutator.input(0), b"a: 1\nb:\n  - c: 20\n");
        assert_eq!(mutator.input(2), b"");
        assert!((0..5_000).all(|number| mutator.input(number).len() <= INPUT_BYTES_MAX));
    }

    #[test]
    fn finds_values_and_numbers_in_a_line() {
        assert_eq!(value(b"  min: 10\n"), Some(7..9));
        assert_eq!(value(b"min: \n"), Some(5..5));
        assert_eq!(value(b"- x\n"), None);
        assert_eq!(digits(b"cpu: 250m\n"), Some(5..8));
        assert_eq!(digits(b"cpu\n"), None);
    }
}
