//! A part of a document that somebody else gives a meaning to.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::check::Finding;
use super::problem::{Problem, Problems};
use super::read;
use super::source::Source;
use super::tree::{Node, Path};

/// A part of a document as it was written, with its places: whoever knows its form reads it and complains as precisely as the
/// rest of the documents do.
#[derive(Clone, Debug)]
pub struct Part {
    source: Arc<Source<'static>>,
    base: Path,
    node: Node<'static>,
}

impl Part {
    pub(crate) fn new(source: Arc<Source<'static>>, base: Path, node: Node<'static>) -> Self {
        Self { source, base, node }
    }

    /// Reads it as a type, or says all that stands in the way.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Problems> {
        let mut list = Vec::new();
        let mut node = self.node.clone();
        let value = read::read(&mut node, read::Manner::Strict, |node, path, what| {
            list.push(Problem::of_wrong(&self.source, &self.base, node, path, what));
        });
        value.ok_or(Problems { list, more: false })
    }

    /// A field of it, where there is one.
    pub fn field(&self, key: &str) -> Option<Self> {
        let node = self.node.get(key)?.clone();
        Some(Self::new(self.source.clone(), self.base.key(key), node))
    }

    /// A complaint about a field of it; the path of the finding begins here.
    pub fn problem(&self, finding: Finding) -> Problem {
        let at = self.node.place_of(&finding.path.0);
        Problem::of_finding(&self.source, at, &self.base, finding)
    }

    /// It as JSON, without its places.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::Value::deserialize(read::At::lenient(&self.node)).unwrap_or_default()
    }
}

impl PartialEq for Part {
    /// Equal where they say the same, wherever they say it.
    fn eq(&self, other: &Self) -> bool {
        self.to_json() == other.to_json()
    }
}
