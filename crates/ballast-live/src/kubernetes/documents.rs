//! Documents of ours as they are watched: an invalid new one does not take the place of its last good form, and a pool that
//! claims the nodes of another is invalid.

use std::collections::{BTreeMap, BTreeSet};

use ballast_core::documents::overlap;
use ballast_core::kube::Name;
use ballast_core::observation::{ErrorClass, Object, ObjectKey, SourceError};

/// The documents of one kind.
#[derive(Debug, Default)]
pub(super) struct Documents {
    good: BTreeMap<Name, Good>,
    /// Those as of before the list that is being taken in.
    before: BTreeMap<Name, Good>,
    refused: BTreeSet<Name>,
}

/// The last good form of a document, with the identity of what it was a form of.
#[derive(Clone, Debug)]
struct Good {
    uid: Name,
    object: Object,
}

impl Documents {
    /// A complete list is taken in from now on: what is not in it is not there.
    pub(super) fn list(&mut self) {
        self.before = std::mem::take(&mut self.good);
        self.refused.clear();
    }

    /// The document that holds from now on, if one does, and why it is not the one that was sent, if it is not.
    pub(super) fn take(
        &mut self,
        key: &ObjectKey,
        read: Result<Object, SourceError>,
    ) -> (Option<Object>, Option<SourceError>) {
        let error = match read.and_then(|object| self.alone(key, object)) {
            Ok(object) => {
                self.refused.remove(&key.name);
                self.good.insert(key.name.clone(), Good { uid: key.uid.clone(), object: object.clone() });
                return (Some(object), None);
            }
            Err(error) => error,
        };
        self.refused.insert(key.name.clone());
        let last = self.good.get(&key.name).or_else(|| self.before.get(&key.name)).cloned();
        let last = last.filter(|last| last.uid == key.uid && self.alone(key, last.object.clone()).is_ok());
        if let Some(last) = &last {
            self.good.insert(key.name.clone(), last.clone());
        }
        (last.map(|last| last.object), Some(error))
    }

    /// A document is gone.
    pub(super) fn delete(&mut self, name: &Name) {
        self.good.remove(name);
        self.refused.remove(name);
    }

    /// Whether one that was refused may be good now that another has changed: only a list tells.
    pub(super) fn has_refused_another(&self, name: &Name) -> bool {
        self.refused.iter().any(|refused| refused != name)
    }

    /// The document, unless it is a pool that claims nodes of another.
    fn alone(&self, key: &ObjectKey, object: Object) -> Result<Object, SourceError> {
        let Object::VmPool(pool) = &object else { return Ok(object) };
        for (name, good) in self.good.iter().filter(|(name, _)| **name != key.name) {
            let Object::VmPool(other) = &good.object else { continue };
            if let Some((field, why)) = overlap(&other.spec, &pool.spec) {
                let message = format!("spec.members.{field}: {why} of the pool `{name}`");
                return Err(SourceError { class: ErrorClass::Invalid, message });
            }
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ballast_core::policy::VmPool;

    fn pool(name: &str, prefix: &str) -> (ObjectKey, Result<Object, SourceError>) {
        let spec = serde_json::json!({
            "provider": {"kind": "Simulated"},
            "members": {"namePrefix": prefix},
            "template": {},
            "max": 3,
        });
        let spec = serde_json::from_value(spec).expect("a pool");
        let key = ObjectKey { namespace: "".into(), name: name.into(), uid: format!("uid-{name}").into() };
        (key, Ok(Object::VmPool(VmPool { name: name.into(), namespace: "".into(), spec })))
    }

    #[test]
    fn a_pool_that_claims_the_nodes_of_another_is_refused_and_named() {
        let mut documents = Documents::default();
        documents.list();
        let (key, first) = pool("web", "web-");
        assert_eq!(documents.take(&key, first.clone()).0, first.ok());
        let (key, second) = pool("web-large", "web-large-");
        let (none, error) = documents.take(&key, second);
        assert_eq!(none, None);
        assert!(error.expect("refused").message.ends_with("of the pool `web`"));
        assert!(documents.has_refused_another(&"web".into()), "should `web` go, it is looked at again");
        documents.delete(&"web".into());
        let (key, second) = pool("web-large", "web-large-");
        assert!(documents.take(&key, second).0.is_some());
        assert!(!documents.has_refused_another(&"web".into()));
    }

    #[test]
    fn an_invalid_document_does_not_take_the_place_of_its_last_good_form() {
        let invalid = || Err(SourceError { class: ErrorClass::Invalid, message: "said the test".into() });
        let mut documents = Documents::default();
        let (key, good) = pool("web", "web-");
        let good = good.expect("a pool");
        assert!(documents.take(&key, Ok(good.clone())).0.is_some());
        assert_eq!(documents.take(&key, invalid()).0, Some(good.clone()));
        documents.list();
        assert_eq!(documents.take(&key, invalid()).0, Some(good), "nor where it is listed anew");
        let another = ObjectKey { uid: "made anew".into(), ..key };
        assert_eq!(documents.take(&another, invalid()).0, None, "one of the same name is another");
    }
}
