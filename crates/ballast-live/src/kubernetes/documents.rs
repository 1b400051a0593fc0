//! Documents of ours as they are watched: an invalid new one does not take the place of its last good form, and a pool that
//! claims the nodes of another is invalid.

use std::collections::BTreeMap;

use ballast_core::documents::{POOLS_MAX, overlap};
use ballast_core::kube::Name;
use ballast_core::observation::{ErrorClass, Object, ObjectKey, SourceError};

/// The documents of one kind.
#[derive(Debug, Default)]
pub(super) struct Documents {
    good: BTreeMap<Name, Good>,
    /// Those as of before the list that is being taken in.
    before: BTreeMap<Name, Good>,
    refused: BTreeMap<Name, SourceError>,
}

/// What came of a document that was sent.
#[derive(Debug)]
pub(super) struct Taken {
    /// The document that holds from now on, if one does.
    pub(super) holds: Option<Object>,
    /// Why that is not the one that was sent, if it is not.
    pub(super) error: Option<SourceError>,
    /// All of it was so before: only what is said of the document has changed, or what nobody here reads.
    pub(super) is_same: bool,
}

/// The last good form of a document, with the identity of what it was a form of.
#[derive(Clone, Debug, PartialEq)]
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

    /// Takes a document in.
    pub(super) fn take(&mut self, key: &ObjectKey, read: Result<Object, SourceError>) -> Taken {
        let error = match read.and_then(|object| self.alone(key, object)) {
            Ok(object) => {
                let was_refused = self.refused.remove(&key.name).is_some();
                let good = Good { uid: key.uid.clone(), object: object.clone() };
                let last = self.good.insert(key.name.clone(), good.clone());
                let is_same = !was_refused && last == Some(good);
                return Taken { holds: Some(object), error: None, is_same };
            }
            Err(error) => error,
        };
        let is_same = self.refused.insert(key.name.clone(), error.clone()) == Some(error.clone());
        let last = self.good.get(&key.name).or_else(|| self.before.get(&key.name)).cloned();
        let last = last.filter(|last| last.uid == key.uid && self.alone(key, last.object.clone()).is_ok());
        if let Some(last) = &last {
            self.good.insert(key.name.clone(), last.clone());
        }
        Taken { holds: last.map(|last| last.object), error: Some(error), is_same }
    }

    /// A document is gone.
    pub(super) fn delete(&mut self, name: &Name) {
        self.good.remove(name);
        self.refused.remove(name);
    }

    /// Whether one that was refused may be good now that another has changed: only a list tells.
    pub(super) fn has_refused_another(&self, name: &Name) -> bool {
        self.refused.keys().any(|refused| refused != name)
    }

    /// The document, unless it is a pool that claims nodes of another.
    fn alone(&self, key: &ObjectKey, object: Object) -> Result<Object, SourceError> {
        let Object::VmPool(pool) = &object else { return Ok(object) };
        if self.good.len() >= POOLS_MAX && !self.good.contains_key(&key.name) {
            let message = format!("a cluster has {POOLS_MAX} pools at most");
            return Err(SourceError { class: ErrorClass::Invalid, message });
        }
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
    fn a_pool_too_many_is_refused() {
        let mut documents = Documents::default();
        documents.list();
        for number in 0..POOLS_MAX {
            let (key, object) = pool(&format!("p{number}"), &format!("p{number}-"));
            assert_eq!(documents.take(&key, object).error, None);
        }
        let (key, object) = pool("late", "late-");
        let error = documents.take(&key, object).error.expect("refused");
        assert_eq!(error.message, "a cluster has 2000 pools at most");
        let (key, object) = pool("p7", "p7-");
        assert_eq!(documents.take(&key, object).error, None, "one that is known may change");
    }

    #[test]
    fn a_pool_that_claims_the_nodes_of_another_is_refused_and_named() {
        let mut documents = Documents::default();
        documents.list();
        let (key, first) = pool("web", "web-");
        assert_eq!(documents.take(&key, first.clone()).holds, first.ok());
        let (key, second) = pool("web-large", "web-large-");
        let Taken { holds, error, .. } = documents.take(&key, second);
        assert_eq!(holds, None);
        assert!(error.expect("refused").message.ends_with("of the pool `web`"));
        assert!(documents.has_refused_another(&"web".into()), "should `web` go, it is looked at again");
        documents.delete(&"web".into());
        let (key, second) = pool("web-large", "web-large-");
        assert!(documents.take(&key, second).holds.is_some());
        assert!(!documents.has_refused_another(&"web".into()));
    }

    #[test]
    fn an_invalid_document_does_not_take_the_place_of_its_last_good_form() {
        let invalid = || Err(SourceError { class: ErrorClass::Invalid, message: "said the test".into() });
        let mut documents = Documents::default();
        let (key, good) = pool("web", "web-");
        let good = good.expect("a pool");
        assert!(documents.take(&key, Ok(good.clone())).holds.is_some());
        assert_eq!(documents.take(&key, invalid()).holds, Some(good.clone()));
        documents.list();
        assert_eq!(documents.take(&key, invalid()).holds, Some(good), "nor where it is listed anew");
        let another = ObjectKey { uid: "made anew".into(), ..key };
        assert_eq!(documents.take(&another, invalid()).holds, None, "one of the same name is another");
    }

    #[test]
    fn what_is_said_again_is_the_same() {
        let invalid = || Err(SourceError { class: ErrorClass::Invalid, message: "said the test".into() });
        let mut documents = Documents::default();
        let (key, good) = pool("web", "web-");
        let mut sames = |read: &Result<Object, SourceError>| documents.take(&key, read.clone()).is_same;
        assert_eq!(
            [&good, &good, &invalid(), &invalid(), &good, &good].map(&mut sames),
            [false, true, false, true, false, true]
        );
    }
}
