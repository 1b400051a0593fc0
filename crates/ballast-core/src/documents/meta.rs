//! The metadata of a document of ours, and names.

use serde::Deserialize;

use crate::kube::Name;

/// What is read of the metadata of a document of ours. Whatever else the API server writes there is passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DocumentMeta {
    pub(crate) name: Name,
    pub(crate) namespace: Name,
}

/// What is wrong with a name, where it is not what Kubernetes calls a DNS subdomain.
pub fn name_trouble(name: &str) -> Option<String> {
    trouble("name", name, 253, is_subdomain(name))
}

/// Whether a text is a DNS subdomain, its length aside.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// What is wrong with a namespace, where it is not what Kubernetes calls a DNS label.
pub(crate) fn namespace_trouble(namespace: &str) -> Option<String> {
    trouble("namespace", namespace, 63, is_label(namespace))
}

fn trouble(what: &str, text: &str, length_max: usize, is_well_formed: bool) -> Option<String> {
    let shown = super::printable(text, 80);
    match text.len() {
        0 => Some(format!("the {what} is empty")),
        length if length > length_max => Some(format!("the {what} `{shown}` has {length} letters")),
        _ => (!is_well_formed).then(|| format!("`{shown}` is not a {what} that Kubernetes allows")),
    }
}

fn is_label(text: &str) -> bool {
    let is_end =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let bytes = text.as_bytes();
    is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
}

/// What names may look like.
pub const NAME_ALLOWED: &str = "lower-case letters, digits, `-` and `.`, at most 253 in all, a letter or digit at each end of every part";
/// What namespaces may look like.
pub(crate) const NAMESPACE_ALLOWED: &str =
    "lower-case letters, digits and `-`, at most 63 in all, a letter or digit at each end";
