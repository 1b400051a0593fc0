//! One file in, its documents out, each still untyped and with its places.

use std::borrow::Cow;
use std::ops::Range;

use super::json::{JsonError, Reader};
use super::tree::{Node, Value};

/// Whether a text is meant to be JSON: it opens a mapping and a key in double quotes, or it says so in its name.
pub(crate) fn is_json(name: &str, text: &str) -> bool {
    let body = text.trim_start();
    let quoted = |rest: &str| rest.trim_start().starts_with(['"', '}']);
    // `[{a: 1}]` is YAML: only the quote after the brace tells them apart.
    let listed = |rest: &str| {
        let rest = rest.trim_start();
        rest.starts_with(']') || rest.strip_prefix('{').is_some_and(quoted)
    };
    [".json", ".jsonl", ".ndjson"].iter().any(|end| name.ends_with(end))
        || body.strip_prefix('{').is_some_and(quoted)
        || body.strip_prefix('[').is_some_and(listed)
}

/// The documents of a YAML stream as ranges of the text. A line that begins with `---` or `...` ends a document wherever it
/// stands: YAML allows it inside nothing.
pub(crate) fn yaml_documents(text: &str) -> Vec<Range<usize>> {
    let mut documents = Vec::new();
    let (mut start, mut line_start) = (0, 0);
    let mut has_content = false;
    for line in text.split_inclusive('\n') {
        let line_end = line_start + line.len();
        let ends = is_mark(line, "...");
        if has_content && (ends || is_mark(line, "---")) {
            documents.push(start..line_start);
            has_content = false;
            start = line_start;
        }
        if ends {
            start = line_end;
        } else {
            has_content |= is_content(line);
        }
        line_start = line_end;
    }
    if has_content {
        documents.push(start..text.len());
    }
    documents
}

fn is_mark(line: &str, mark: &str) -> bool {
    line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Whether a line says anything: more than blanks, a comment, a directive or a mark.
fn is_content(line: &str) -> bool {
    let line = if is_mark(line, "---") { &line[3..] } else { line }.trim();
    !line.is_empty() && !line.starts_with('#') && !line.starts_with('%')
}

/// A JSON value of the outermost level: read, or, for a list of documents, with its items still to be read.
pub(crate) enum Outer<'s> {
    /// One document.
    Document(Node<'s>),
    /// A mapping with `items`: what else it holds, and where each item begins.
    Items(Node<'s>, Vec<u32>),
    /// A bare list: where each item begins.
    List(Vec<u32>),
}

/// Reads the next value of the outermost level. The items of a list are only counted, so that a large dump never stands in
/// memory as a whole.
pub(crate) fn json_outer<'s>(text: &'s str, reader: &mut Reader<'s>) -> Result<Outer<'s>, JsonError> {
    let next = reader.peek();
    let start = reader.position();
    match next {
        Some(b'[') => {
            let mut items = Vec::new();
            reader.each_item(0, |reader| {
                items.push(skim(text, reader));
                Ok(())
            })?;
            Ok(Outer::List(items))
        }
        Some(b'{') => {
            let mut rest = Vec::new();
            let mut items = None;
            reader.each_entry(0, |reader, key: Cow<'s, str>, key_at| {
                if key == "items" && items.is_none() && reader.peek() == Some(b'[') {
                    let found = items.insert(Vec::new());
                    return reader.each_item(1, |reader| {
                        found.push(skim(text, reader));
                        Ok(())
                    });
                }
                rest.push(super::tree::Entry { key, key_at, node: reader.value(1)? });
                Ok(())
            })?;
            let node = Node::new(start as u32, Value::Map(rest));
            let is_list = node.get("kind").and_then(Node::text).is_some_and(|kind| kind.ends_with("List"));
            match items {
                Some(items) if is_list => Ok(Outer::Items(node, items)),
                None => Ok(Outer::Document(node)),
                // Another kind that happens to have `items`: read it whole.
                Some(_) => Reader::new(text, start).value(0).map(Outer::Document),
            }
        }
        _ => reader.value(0).map(Outer::Document),
    }
}

/// Passes over one value without judging it and says where it began. What is wrong in it is found when it is read.
fn skim<'s>(text: &'s str, reader: &mut Reader<'s>) -> u32 {
    reader.peek();
    let start = reader.position();
    let bytes = text.as_bytes();
    let mut at = start;
    let mut depth = 0usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at),
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => break,
            _ => {}
        }
        at += 1;
    }
    *reader = Reader::new(text, at.min(bytes.len()));
    start as u32
}

/// The closing quote of the string that opens here, or the last byte.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
