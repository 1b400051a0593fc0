//! Files as they were given, and places in them.

use std::borrow::Cow;
use std::fmt;

use crate::kube::Name;

/// A file as it was read: its name is what messages show, its bytes may be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The name that messages show.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// Where something stands: a file and, from 1, a line and a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Name of the file.
    pub file: Name,
    /// Line, from 1.
    pub line: u32,
    /// Column in letters, from 1.
    pub column: u32,
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where its document begins.
    pub place: Place,
}

/// The line around a place, cut to a width that a terminal shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The line, or the part of it around the place; control characters are replaced.
    pub text: String,
    /// Letters of `text` before the place.
    pub before: usize,
    /// Letters that are meant.
    pub width: usize,
}

/// A file whose text is known to be UTF-8, with the beginning of every line.
#[derive(Clone, Debug)]
pub(crate) struct Source<'s> {
    pub(crate) name: Name,
    pub(crate) text: Cow<'s, str>,
    lines: Vec<u32>,
}

/// Letters of a line that a snippet shows.
const SNIPPET_WIDTH: usize = 100;
/// Bytes of a line on each side of a place that are looked at: a dump may be one line of many megabytes.
const LINE_LONG: usize = 4096;

impl<'s> Source<'s> {
    pub(crate) fn new(name: &str, text: impl Into<Cow<'s, str>>) -> Self {
        let text = text.into();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32 + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { name: super::printable(name, 200).into(), text, lines }
    }

    /// The same file, borrowing nothing.
    pub(crate) fn to_owned(&self) -> Source<'static> {
        let Self { name, text, lines } = self.clone();
        Source { name, text: Cow::Owned(text.into_owned()), lines }
    }

    /// The offset of a line and a column, both from 1.
    pub(crate) fn offset(text: &str, line: u64, column: u64) -> u32 {
        let lines = text.split_inclusive('\n').take((line as usize).saturating_sub(1));
        let start: usize = lines.map(str::len).sum();
        let letters = text[start..].chars().take((column as usize).saturating_sub(1));
        (start + letters.map(char::len_utf8).sum::<usize>()) as u32
    }

    /// The place of an offset in bytes.
    pub(crate) fn place(&self, at: u32) -> Place {
        let (line, start) = self.line_of(at);
        let before = self.before(at);
        // Nobody counts the letters of a line without end: there the column is told in bytes.
        let skipped = self.floor(at) - before.len() - start;
        let column = skipped + before.chars().count() + 1;
        Place { file: self.name.clone(), line: line as u32, column: column as u32 }
    }

    /// The line around an offset in bytes.
    pub(crate) fn snippet(&self, at: u32) -> Snippet {
        let before = self.before(at);
        let after = self.after(at);
        let length = before.chars().count();
        let fits = length + after.chars().take(SNIPPET_WIDTH).count() <= SNIPPET_WIDTH;
        // A long line is shown around the place.
        let skipped = if fits { 0 } else { length.saturating_sub(SNIPPET_WIDTH / 2) };
        let room = SNIPPET_WIDTH - (length - skipped);
        let mark = |is_cut: bool| if is_cut { "…" } else { "" };
        let shown = before.chars().skip(skipped).chain(after.chars().take(room)).map(visible);
        let text = format!(
            "{}{}{}",
            mark(skipped > 0),
            shown.collect::<String>(),
            mark(after.chars().nth(room).is_some())
        );
        Snippet {
            text,
            before: length - skipped + usize::from(skipped > 0),
            width: token_width(after).clamp(1, room.max(1)),
        }
    }

    /// What stands in the line before an offset, the last part of it where the line is long.
    fn before(&self, at: u32) -> &str {
        let end = self.floor(at);
        let (_, start) = self.line_of(at);
        let start = if end - start > LINE_LONG { self.floor((end - LINE_LONG) as u32) } else { start };
        &self.text[start..end]
    }

    /// What stands in the line from an offset on, the first part of it where the line is long.
    fn after(&self, at: u32) -> &str {
        let start = self.floor(at);
        let end = self.floor((start + LINE_LONG) as u32);
        self.text[start..end].split(['\n', '\r']).next().unwrap_or_default()
    }

    /// The number of a line, from 1, and where it begins.
    fn line_of(&self, at: u32) -> (usize, usize) {
        let at = self.floor(at);
        let line = self.lines.partition_point(|start| *start as usize <= at).max(1);
        (line, self.lines[line - 1] as usize)
    }

    /// The offset itself, or the last one before it that is not inside a letter.
    fn floor(&self, at: u32) -> usize {
        let mut at = (at as usize).min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// How many letters the word has that begins here.
fn token_width(text: &str) -> usize {
    let mut letters = text.chars();
    let ends = |count: Option<usize>| count.unwrap_or_else(|| text.trim_end().chars().count());
    match letters.next() {
        Some(quote @ ('"' | '\'')) => ends(letters.position(|letter| letter == quote).map(|n| n + 2)),
        Some('{' | '[') => 1,
        Some(_) => {
            let stop = text.find(": ").into_iter().chain(text.find([',', ']', '}', '#'])).min();
            let word = text[..stop.unwrap_or(text.len())].trim_end().trim_end_matches(':');
            word.chars().count()
        }
        None => 1,
    }
}

/// The letter, or what stands for one that would disturb a terminal.
fn visible(letter: char) -> char {
    match letter {
        '\t' => ' ',
        letter if letter.is_control() || is_direction(letter) => '\u{fffd}',
        letter => letter,
    }
}

/// Letters that change the direction of what follows and so could hide what is meant.
pub(crate) fn is_direction(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
