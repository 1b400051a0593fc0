//! A document as it was written: values with their places, before they have a type.

use std::borrow::Cow;
use std::fmt;

use rustc_hash::FxHashSet;

/// Nesting beyond this is refused: no document of ours or of Kubernetes comes near it, and every walk over a tree is
/// recursive, so that this bounds the stack.
pub(crate) const DEPTH_MAX: usize = 64;

/// A value and where it begins, as an offset in bytes into its file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node<'s> {
    pub(crate) at: u32,
    pub(crate) value: Value<'s>,
}

/// What stands in a place. Text that needs no unescaping is borrowed from the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'s> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(Cow<'s, str>),
    List(Vec<Node<'s>>),
    Map(Vec<Entry<'s>>),
    /// Already complained about: read as if it were not there, so that the rest can be judged.
    Cut,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry<'s> {
    pub(crate) key: Cow<'s, str>,
    pub(crate) key_at: u32,
    pub(crate) node: Node<'s>,
}

/// One step of a path into a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// The value of a key.
    Key(String),
    /// An element of a list, from 0.
    Index(usize),
}

/// A path into a document, from its root: `spec.headroom[2].count`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub Vec<Segment>);

impl Path {
    /// The path that goes on with a key.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.with(Segment::Key(key.to_owned()))
    }

    /// The path that goes on with an element of a list.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    /// The path that goes on with another path.
    #[must_use]
    pub fn join(&self, rest: &Self) -> Self {
        Self(self.0.iter().chain(&rest.0).cloned().collect())
    }

    fn with(&self, segment: Segment) -> Self {
        let mut path = self.clone();
        path.0.push(segment);
        path
    }
}

impl Path {
    /// It in words, behind the words of what it begins at: `pools[0].max`, `requests["nvidia.com/gpu"]`.
    pub fn behind(&self, place: &str) -> String {
        let path = self.to_string();
        let point = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        format!("{place}{point}{path}")
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if is_plain(key) && number == 0 => f.write_str(key)?,
                Segment::Key(key) if is_plain(key) => write!(f, ".{key}")?,
                Segment::Key(key) => write!(f, "[\"{}\"]", super::printable(key, 60))?,
            }
        }
        Ok(())
    }
}

/// Whether a key reads well behind a point.
fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= 60
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

impl<'s> Node<'s> {
    pub(crate) fn new(at: u32, value: Value<'s>) -> Self {
        Self { at, value }
    }

    /// The value of a key, where this is a map that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// A key with its value, where this is a map that has it.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry<'s>> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The text, where it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Where a path leads; where the document does not go so far, the last place on the way.
    pub(crate) fn place_of(&self, path: &[Segment]) -> u32 {
        let mut node = self;
        let mut at = self.at;
        for segment in path {
            let next = match (segment, &node.value) {
                (Segment::Key(key), Value::Map(entries)) => {
                    entries.iter().find(|entry| entry.key == key.as_str()).map(|entry| {
                        // A scalar is shown itself; a block is shown by its key.
                        let inside = matches!(entry.node.value, Value::Map(_) | Value::List(_));
                        (if inside { entry.key_at } else { entry.node.at }, &entry.node)
                    })
                }
                (Segment::Index(index), Value::List(nodes)) => nodes.get(*index).map(|node| (node.at, node)),
                _ => None,
            };
            match next {
                Some((place, inner)) => (at, node) = (place, inner),
                None => break,
            }
        }
        at
    }

    /// Where the key of a path stands.
    pub(crate) fn key_place_of(&self, path: &[Segment]) -> u32 {
        let Some((Segment::Key(key), way)) = path.split_last() else { return self.place_of(path) };
        let holder = way.iter().try_fold(self, |node, segment| match (segment, &node.value) {
            (Segment::Key(key), _) => node.get(key),
            (Segment::Index(index), Value::List(nodes)) => nodes.get(*index),
            _ => None,
        });
        let entry = holder.and_then(|holder| holder.entry(key));
        entry.map_or_else(|| self.place_of(path), |entry| entry.key_at)
    }

    /// What a path leads to.
    pub(crate) fn find_mut(&mut self, path: &[Segment]) -> Option<&mut Self> {
        path.iter().try_fold(self, |node, segment| node.child(segment))
    }

    /// Where the first number stands that JSON could not write.
    pub(crate) fn first_not_finite(&self) -> Option<u32> {
        match &self.value {
            Value::Float(value) if !value.is_finite() => Some(self.at),
            Value::List(nodes) => nodes.iter().find_map(Self::first_not_finite),
            Value::Map(entries) => entries.iter().find_map(|entry| entry.node.first_not_finite()),
            _ => None,
        }
    }

    /// Where keys stand twice, leaves the last of each.
    pub(crate) fn keep_last_of_each_key(&mut self) {
        match &mut self.value {
            Value::Map(entries) => {
                let mut known = FxHashSet::default();
                entries.reverse();
                entries.retain(|entry| known.insert(entry.key.clone()));
                entries.reverse();
                entries.iter_mut().for_each(|entry| entry.node.keep_last_of_each_key());
            }
            Value::List(nodes) => nodes.iter_mut().for_each(Self::keep_last_of_each_key),
            _ => {}
        }
    }

    /// Takes what a path leads to out of further reading; false where it leads nowhere or to the root.
    pub(crate) fn cut(&mut self, path: &[Segment]) -> bool {
        match self.find_mut(path) {
            Some(found) if !path.is_empty() && found.value != Value::Cut => {
                found.value = Value::Cut;
                true
            }
            _ => false,
        }
    }

    fn child(&mut self, segment: &Segment) -> Option<&mut Self> {
        match (segment, &mut self.value) {
            (Segment::Key(key), Value::Map(entries)) => {
                entries.iter_mut().find(|entry| entry.key == key.as_str()).map(|entry| &mut entry.node)
            }
            (Segment::Index(index), Value::List(nodes)) => nodes.get_mut(*index),
            _ => None,
        }
    }

    /// The same value that borrows nothing.
    pub(crate) fn into_owned(self) -> Node<'static> {
        let value = match self.value {
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(value),
            Value::Unsigned(value) => Value::Unsigned(value),
            Value::Signed(value) => Value::Signed(value),
            Value::Float(value) => Value::Float(value),
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::List(nodes) => Value::List(nodes.into_iter().map(Node::into_owned).collect()),
            Value::Map(entries) => Value::Map(entries.into_iter().map(Entry::into_owned).collect()),
            Value::Cut => Value::Cut,
        };
        Node { at: self.at, value }
    }
}

impl Entry<'_> {
    fn into_owned(self) -> Entry<'static> {
        Entry { key: Cow::Owned(self.key.into_owned()), key_at: self.key_at, node: self.node.into_owned() }
    }
}
