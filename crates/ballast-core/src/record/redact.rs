//! What must not be recorded is taken off on the way.

use std::sync::Arc;

use crate::foreign::discreet;
use crate::kube::{Labels, Meta, is_read};
use crate::observation::{Object, SourceError};
use crate::snapshot::REQUEST_PARAMETERS;

/// Bytes of an error's words that are kept.
const WORDS_MAX: usize = 200;

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
        Object::PodTemplate(template) => {
            meta(&mut template.metadata);
            meta(&mut template.template.metadata);
        }
        Object::CapacityBuffer(buffer) => meta(&mut buffer.metadata),
        Object::ProvisioningRequest(request) => {
            meta(&mut request.metadata);
            // What a class is told may be anything; these two are read, in any letters.
            let is_read = |key: &str| REQUEST_PARAMETERS.iter().any(|own| own.eq_ignore_ascii_case(key));
            request.spec.parameters.retain(|key, _| is_read(key));
        }
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
    SourceError { class: error.class, message: discreet(&error.message, WORDS_MAX) }
}
