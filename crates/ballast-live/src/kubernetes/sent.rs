//! Objects as the API sends them, read one by one. What this release cannot read costs only itself: the fields that can be read
//! are kept and the others are named, so that neither a newer server nor one tenant's object blinds us for all the rest.

use kube::core::Status;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// An object that was sent.
#[derive(Clone, Debug)]
pub(super) struct Sent<T> {
    /// What could be read of it.
    pub(super) object: T,
    /// Where something stands that could not, such as `spec.tolerations`, and why; empty for nearly every object.
    pub(super) unread: String,
}

impl<T: DeserializeOwned> Sent<T> {
    fn read(text: &str) -> Result<Self, serde_json::Error> {
        match serde_json::from_str(text) {
            Ok(object) => Ok(Self { object, unread: String::new() }),
            Err(error) => salvage(text, &error),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Sent<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sent = Box::<RawValue>::deserialize(deserializer)?;
        Self::read(sent.get()).map_err(D::Error::custom)
    }
}

/// What a watch tells, a line each.
pub(super) enum Event<T> {
    /// An object was made.
    Added(Sent<T>),
    /// An object was changed.
    Modified(Sent<T>),
    /// An object is gone; this is how it was last.
    Deleted(Sent<T>),
    /// Everything up to this version was told.
    Bookmark(String),
    /// The watch has failed.
    Failed(Box<Status>),
    /// Something that this release does not know.
    Other,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Bare {
    metadata: BareMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BareMeta {
    resource_version: String,
}

impl<T: DeserializeOwned> Event<T> {
    /// Reads a line.
    pub(super) fn read(line: &str) -> Result<Self, serde_json::Error> {
        let Line { kind, object } = serde_json::from_str(line)?;
        Ok(match kind {
            "ADDED" => Self::Added(Sent::read(object.get())?),
            "MODIFIED" => Self::Modified(Sent::read(object.get())?),
            "DELETED" => Self::Deleted(Sent::read(object.get())?),
            "BOOKMARK" => {
                Self::Bookmark(serde_json::from_str::<Bare>(object.get())?.metadata.resource_version)
            }
            "ERROR" => Self::Failed(serde_json::from_str(object.get())?),
            _ => Self::Other,
        })
    }
}

/// Reads field by field what cannot be read as a whole. The fields of slim objects stand two deep: `spec.tolerations`.
fn salvage<T: DeserializeOwned>(text: &str, why: &serde_json::Error) -> Result<Sent<T>, serde_json::Error> {
    let parts: Map<String, Value> = serde_json::from_str(text)?;
    let is_read = |alone: Value| serde_json::from_value::<T>(alone).is_ok();
    let (mut kept, mut unread) = (Map::new(), Vec::new());
    for (part, content) in parts {
        let Value::Object(fields) = content else {
            if is_read(json!({&part: &content})) {
                kept.insert(part, content);
            } else {
                unread.push(part);
            }
            continue;
        };
        let (good, bad): (Map<_, _>, Map<_, _>) =
            fields.into_iter().partition(|(field, value)| is_read(json!({&part: {field: value}})));
        unread.extend(bad.keys().map(|field| format!("{part}.{field}")));
        kept.insert(part, Value::Object(good));
    }
    let object = serde_json::from_value(Value::Object(kept))?;
    Ok(Sent { object, unread: format!("{} ({why})", unread.join(", ")) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ballast_core::kube::Pod;

    #[test]
    fn what_cannot_be_read_costs_only_itself() {
        let text = r#"[
            {"metadata": {"name": "a"}, "spec": {"nodeName": "n1"}},
            {"metadata": {"name": "b", "uid": "u"}, "spec": {"nodeName": "n2", "priority": 7,
                "tolerations": [{"key": "k", "operator": "Gt", "value": "5"}]}, "status": {"phase": "Running"}}
        ]"#;
        let sent: Vec<Sent<Pod>> = serde_json::from_str(text).expect("each alone");
        assert_eq!((&*sent[0].object.metadata.name, &*sent[0].unread), ("a", ""));
        let Sent { object, unread } = &sent[1];
        assert_eq!(
            (&*object.metadata.name, &*object.metadata.uid, &*object.spec.node_name),
            ("b", "u", "n2")
        );
        assert_eq!(object.spec.priority, Some(7), "what can be read is kept");
        assert!(unread.starts_with("spec.tolerations (") && unread.contains("Gt"), "{unread}");
    }

    #[test]
    fn what_is_no_object_at_all_is_an_error() {
        assert!(serde_json::from_str::<Sent<Pod>>("[1]").is_err());
    }
}
