//! What must not be recorded is taken off on the way.

use std::sync::Arc;

use crate::kube::{Labels, Meta};
use crate::observation::{Object, SourceError};

/// Beginnings of the annotations that decisions read. Others may hold anything: `kubectl apply` keeps whole objects there,
/// secrets in their environment included.
const READ: [&str; 9] = [
    "alibabacloud.com/gpu-",
    "ballast.dev/",
    "cluster-autoscaler.kubernetes.io/",
    "controller.kubernetes.io/pod-deletion-cost",
    "gpu-fraction",
    "karpenter.sh/",
    "kubernetes.io/config.mirror",
    "kueue.x-k8s.io/",
    "scheduling.",
];
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
        Object::ClusterPolicy(_) => {}
        Object::VmPool(pool) => {
            for value in pool.spec.provider.settings.values_mut() {
                *value = "".into();
            }
        }
    }
    object
}

fn meta(meta: &mut Meta) {
    let reads = |key: &str| READ.iter().any(|start| key.starts_with(start));
    if meta.annotations.keys().all(|key| reads(key)) {
        return;
    }
    let kept: Labels = meta
        .annotations
        .iter()
        .filter(|(key, _)| reads(key))
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
