//! JSON text in, a tree with places out.
//!
//! serde_json tells no places of what it has read, and 100,000 objects of a large cluster should load in seconds: so the
//! two hundred lines of a reader are here. Tests hold it against serde_json, value by value.

use std::borrow::Cow;

use super::tree::{DEPTH_MAX, Entry, Node, Value};

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) at: u32,
    pub(crate) message: &'static str,
    /// The text ended too early.
    pub(crate) is_cut_off: bool,
}

/// A place in the text from which values are read one after the other.
pub(crate) struct Reader<'s> {
    text: &'s str,
    at: usize,
}

impl<'s> Reader<'s> {
    /// Begins to read at an offset.
    pub(crate) fn new(text: &'s str, at: usize) -> Self {
        Self { text, at }
    }

    /// Passes over blanks; the next byte, or none at the end.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Where the reader stands.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Reads one value with all its parts.
    pub(crate) fn value(&mut self, depth: usize) -> Result<Node<'s>, JsonError> {
        let next = self.peek();
        let at = self.at as u32;
        let value = match next {
            Some(b'{') => Value::Map(self.map(depth)?),
            Some(b'[') => Value::List(self.list(depth)?),
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'n') => self.word("null", Value::Null)?,
            _ => return Err(self.error(
                "expected a value: `{`, `[`, a text in double quotes, a number, `true`, `false` or `null`",
            )),
        };
        Ok(Node::new(at, value))
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry<'s>>, JsonError> {
        let mut entries = Vec::new();
        self.each_entry(depth, |reader, key, key_at| {
            entries.push(Entry { key, key_at, node: reader.value(depth + 1)? });
            Ok(())
        })?;
        Ok(entries)
    }

    /// Hands each key of a map to `take`, which reads its value.
    pub(crate) fn each_entry(
        &mut self,
        depth: usize,
        mut take: impl FnMut(&mut Self, Cow<'s, str>, u32) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.open(depth)?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key in double quotes"));
            }
            let key_at = self.at as u32;
            let key = self.string()?;
            if self.peek() != Some(b':') {
                return Err(self.error("expected `:` behind the key"));
            }
            self.at += 1;
            take(self, key, key_at)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.error("expected `,` or `}`")),
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node<'s>>, JsonError> {
        let mut nodes = Vec::new();
        self.each_item(depth, |reader| {
            nodes.push(reader.value(depth + 1)?);
            Ok(())
        })?;
        Ok(nodes)
    }

    /// Lets `take` read each element of a list.
    pub(crate) fn each_item(
        &mut self,
        depth: usize,
        mut take: impl FnMut(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.open(depth)?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            take(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.error("expected `,` or `]`")),
            }
        }
    }

    fn open(&mut self, depth: usize) -> Result<(), JsonError> {
        if depth >= DEPTH_MAX {
            return Err(self.error("nested too deeply: at most 64 levels are read"));
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &str, value: Value<'s>) -> Result<Value<'s>, JsonError> {
        let rest = &self.text.as_bytes()[self.at..];
        let goes_on = rest.get(word.len()).is_some_and(u8::is_ascii_alphanumeric);
        if !rest.starts_with(word.as_bytes()) || goes_on {
            return Err(self.error("expected `true`, `false` or `null`"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Value<'s>, JsonError> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut end = start;
        while matches!(bytes.get(end), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            end += 1;
        }
        let text = &self.text[start..end];
        let number = is_json_number(text).then(|| number_of(text)).flatten();
        let number =
            number.ok_or_else(|| self.error("not a number that JSON knows and that can be stored"))?;
        self.at = end;
        Ok(number)
    }

    fn string(&mut self) -> Result<Cow<'s, str>, JsonError> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut end = start;
        loop {
            match bytes.get(end) {
                Some(b'"') => {
                    self.at = end + 1;
                    return Ok(Cow::Borrowed(&self.text[start..end]));
                }
                Some(b'\\') => return self.escaped(start, end).map(Cow::Owned),
                Some(0..=0x1f) | None => return Err(self.unfinished(end)),
                Some(_) => end += 1,
            }
        }
    }

    /// Goes on with a string from its first escape.
    fn escaped(&mut self, start: usize, first: usize) -> Result<String, JsonError> {
        let bytes = self.text.as_bytes();
        let mut text = self.text[start..first].to_owned();
        let mut end = first;
        loop {
            match bytes.get(end) {
                Some(b'"') => {
                    self.at = end + 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    let (letter, length) = self.escape(end)?;
                    text.push(letter);
                    end += length;
                }
                Some(0..=0x1f) | None => return Err(self.unfinished(end)),
                Some(_) => {
                    let plain = bytes[end..].iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f));
                    let stop = plain.map_or(bytes.len(), |length| end + length);
                    text.push_str(&self.text[end..stop]);
                    end = stop;
                }
            }
        }
    }

    /// The letter that an escape stands for and the length of the escape.
    fn escape(&self, at: usize) -> Result<(char, usize), JsonError> {
        let bad = |message| JsonError { at: at as u32, message, is_cut_off: false };
        let simple = match self.text.as_bytes().get(at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let high =
                    self.hex(at + 2).ok_or_else(|| bad("expected four hexadecimal digits behind `\\u`"))?;
                if let Some(letter) = char::from_u32(high) {
                    return Ok((letter, 6));
                }
                // The first half of a letter beyond 16 bits; the second must follow.
                let is_escape = self.text.as_bytes().get(at + 6..at + 8) == Some(b"\\u");
                let low = is_escape.then(|| self.hex(at + 8)).flatten();
                let pair =
                    low.filter(|low| (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(low));
                let letter =
                    pair.and_then(|low| char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
                return letter
                    .map(|letter| (letter, 12))
                    .ok_or_else(|| bad("half of a letter: a surrogate stands alone"));
            }
            _ => return Err(bad("not an escape that JSON knows")),
        };
        Ok((simple, 2))
    }

    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.text.as_bytes().get(at..at + 4)?;
        digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
    }

    fn unfinished(&self, end: usize) -> JsonError {
        let is_cut_off = end >= self.text.len();
        let message = if is_cut_off {
            "the text in double quotes does not end"
        } else {
            "a line break or control character inside a text: write it as an escape"
        };
        JsonError { at: if is_cut_off { self.at } else { end } as u32, message, is_cut_off }
    }

    fn error(&self, message: &'static str) -> JsonError {
        let is_cut_off = self.at >= self.text.len();
        let message = if is_cut_off { "the file ends in the middle of a value" } else { message };
        JsonError { at: self.at as u32, message, is_cut_off }
    }
}

fn is_json_number(text: &str) -> bool {
    let body = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match body.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (body, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

/// The number; none where it is beyond what 64 bits can hold in any form.
fn number_of(text: &str) -> Option<Value<'static>> {
    if let Ok(value) = text.parse() {
        return Some(Value::Unsigned(value));
    }
    if let Ok(value) = text.parse::<i64>() {
        // `-0` is a number with a sign only as a float.
        return Some(if value == 0 { Value::Float(-0.0) } else { Value::Signed(value) });
    }
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Float)
}
