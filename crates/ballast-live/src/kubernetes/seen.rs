//! Documents as they stand in the API, with what is said of them there: what the writer of statuses begins from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use ballast_core::documents::DocumentKind;
use ballast_core::kube::Name;
use ballast_core::publish::{DocumentRef, DocumentStatus, Fault};

use super::approval::APPROVED;

/// A document as it stands in the API.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenDocument {
    /// Which.
    pub reference: DocumentRef,
    /// Its identity.
    pub uid: Name,
    /// Counts the versions of what it demands.
    pub generation: i64,
    /// What is wrong with it.
    pub fault: Option<Fault>,
    /// What is said of it.
    pub status: DocumentStatus,
    /// The publication of a plan that a person approved, as they wrote it.
    pub approved: Option<Name>,
    /// The version of the object; a later one is a greater number.
    pub(super) version: u64,
}

impl SeenDocument {
    /// The document that an object of the API is; `None` where it is of no kind of ours.
    pub(super) fn of(object: &Value) -> Option<Self> {
        let meta = &object["metadata"];
        let text = |field: &str| meta[field].as_str().unwrap_or_default();
        let kind = DocumentKind::ALL.into_iter().find(|kind| object["kind"] == kind.name())?;
        let (namespace, name) = (text("namespace").into(), text("name").into());
        Some(Self {
            reference: DocumentRef { kind, namespace, name },
            uid: text("uid").into(),
            generation: meta["generation"].as_i64().unwrap_or(0),
            fault: None,
            status: DocumentStatus::read(object["status"].clone()),
            approved: meta["annotations"][APPROVED].as_str().map(Name::from),
            version: text("resourceVersion").parse().unwrap_or(0),
        })
    }

    /// The same, with what is wrong with it.
    pub(super) fn with_fault(self, fault: Option<Fault>) -> Self {
        Self { fault, ..self }
    }
}

/// All documents that are seen. Watches tell of them, whoever writes or heeds them is woken.
#[derive(Clone, Debug)]
pub struct SeenDocuments(Arc<watch::Sender<BTreeMap<DocumentRef, SeenDocument>>>);

impl Default for SeenDocuments {
    fn default() -> Self {
        Self(Arc::new(watch::channel(BTreeMap::new()).0))
    }
}

impl SeenDocuments {
    /// Whoever wants to know.
    pub fn subscribe(&self) -> watch::Receiver<BTreeMap<DocumentRef, SeenDocument>> {
        self.0.subscribe()
    }

    /// A document was seen. An older version of what is known says nothing: it was on its way while a newer one was written.
    pub(super) fn take(&self, document: SeenDocument) {
        self.0.send_if_modified(|known| {
            let last = known.get(&document.reference);
            let is_news = last.is_none_or(|last| {
                last.uid != document.uid || (document.version >= last.version && *last != document)
            });
            if is_news {
                known.insert(document.reference.clone(), document);
            }
            is_news
        });
    }

    /// What stands in the API of a document since we wrote it.
    pub(super) fn written(&self, object: &Value) {
        let Some(fresh) = SeenDocument::of(object) else { return };
        let fault = self.0.borrow().get(&fresh.reference).and_then(|known| known.fault.clone());
        self.take(fresh.with_fault(fault));
    }

    /// A document is gone.
    pub(super) fn gone(&self, reference: &DocumentRef) {
        self.0.send_if_modified(|known| known.remove(reference).is_some());
    }

    /// Of a kind there are only these.
    pub(super) fn only(&self, kind: DocumentKind, listed: &BTreeSet<DocumentRef>) {
        self.0.send_if_modified(|known| {
            let before = known.len();
            known.retain(|own, _| own.kind != kind || listed.contains(own));
            known.len() != before
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(version: &str, current: u32) -> SeenDocument {
        let object = serde_json::json!({
            "kind": "VmPool",
            "metadata": {"name": "web", "uid": "u", "resourceVersion": version, "generation": 3},
            "status": {"current": current},
        });
        SeenDocument::of(&object).expect("a pool")
    }

    #[test]
    fn an_older_version_does_not_take_the_place_of_a_newer_one() {
        let seen = SeenDocuments::default();
        let mut watching = seen.subscribe();
        seen.take(pool("7", 1));
        seen.take(pool("10", 2));
        assert!(watching.has_changed().expect("it is there"));
        let current = |watching: &mut watch::Receiver<BTreeMap<_, SeenDocument>>| {
            watching.borrow_and_update().values().map(|own| own.status.current).collect::<Vec<_>>()
        };
        assert_eq!(current(&mut watching), [Some(2)]);
        seen.take(pool("9", 1));
        seen.take(pool("10", 2));
        assert!(!watching.has_changed().expect("it is there"), "that is no news");
        seen.only(DocumentKind::VmPool, &BTreeSet::new());
        assert_eq!(current(&mut watching), []);
    }
}
