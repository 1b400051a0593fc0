//! What must not be recorded is taken off on the way.

use std::sync::Arc;

use crate::kube::{Labels, Meta, is_read};
use crate::observation::{Object, SourceError};

/// Letters of an error's words that are kept.
const WORDS_MAX: usize = 200;
/// What follows one of these is not kept.
const TELLTALES: [&str; 10] = [
    "token",
    "bearer",
    "basic ",
    "authorization",
    "secret",
    "password",
    "signature",
    "sig=",
    "credential",
    "accesskey",
];

/// An object without what must not be recorded.
pub(super) fn object(object: &Object) -> Object {
    let mut object = object.clone();
    match &mut object {
        Object::Node(node) => meta(&mut node.metadata),
        Object::Pod(pod) => meta(&mut pod.metadata),
        Object::PodDisruptionBudget(budget) => meta(&mut budget.metadata),
        Object::PersistentVolume(volume) => meta(&mut volume.metadata),
        Object::PersistentVolumeClaim(claim) => meta(&mut claim.metadata),
        Object::DaemonSet(daemon) => {
            meta(&mut daemon.metadata);
            meta(&mut daemon.spec.template.metadata);
        }
        Object::PriorityClass(class) => meta(&mut class.metadata),
        Object::StorageClass(class) => meta(&mut class.metadata),
        Object::ClusterPolicy(_) => {}
        Object::VmPool(pool) => {
            for value in pool.spec.provider.settings.values_mut() {
                *value = "".into();
            }
        }
    }
    object
}

/// What nobody reads may hold anything.
fn meta(meta: &mut Meta) {
    if meta.annotations.keys().all(|key| is_read(key)) {
        return;
    }
    let kept: Labels = meta
        .annotations
        .iter()
        .filter(|(key, _)| is_read(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    meta.annotations = Arc::new(kept);
}

/// An error without what may be a secret in its words.
pub(super) fn error(error: &SourceError) -> SourceError {
    let lower = error.message.to_ascii_lowercase();
    let telltale = TELLTALES.iter().filter_map(|telltale| lower.find(telltale));
    let safe = telltale.chain(login(&lower)).min();
    let end = safe.unwrap_or(error.message.len()).min(WORDS_MAX);
    let end = (0..=end).rev().find(|&at| error.message.is_char_boundary(at)).unwrap_or(0);
    let cut = if end < error.message.len() { "…" } else { "" };
    SourceError { class: error.class, message: format!("{}{cut}", &error.message[..end]) }
}

/// Where the login of an address such as `https://user:password@host` begins.
fn login(text: &str) -> Option<usize> {
    let schemes = text.match_indices("://").map(|(at, mark)| at + mark.len());
    schemes.into_iter().find(|&at| {
        let host = text[at..].split(|letter: char| letter == '/' || letter.is_whitespace()).next();
        host.is_some_and(|host| host.contains('@'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::ErrorClass;

    #[test]
    fn no_login_is_kept() {
        for (said, kept) in [
            ("GET https://a.b/c failed", "GET https://a.b/c failed"),
            ("GET https://user:hunter2@a.b/c failed", "GET https://…"),
            ("sent Authorization: Basic dXNlcjpwdw==", "sent …"),
            ("mail to a@b at https://a.b failed", "mail to a@b at https://a.b failed"),
        ] {
            let told = error(&SourceError { class: ErrorClass::Transient, message: said.into() });
            assert_eq!(told.message, kept);
        }
    }
}
