//! Documents of ours as they stand in the API, whole.

use kube::Client;
use serde_json::Value;

use ballast_core::observation::{ErrorClass, SourceError};

use super::crd::Kind;
use super::plain;

/// All objects of a kind in all namespaces; none where the cluster does not know the kind.
///
/// # Errors
///
/// When they cannot be read.
pub async fn objects(client: &Client, kind: &Kind) -> Result<Vec<Value>, SourceError> {
    let mut list = match plain::get(client, &kind.path("")).await {
        Err(error) if error.class == ErrorClass::NotFound => return Ok(Vec::new()),
        answer => answer?,
    };
    let Value::Array(mut objects) = list["items"].take() else { return Ok(Vec::new()) };
    for object in &mut objects {
        // The items of a list do not name their kind themselves; who wrote which field is for the API alone.
        object["apiVersion"] = list["apiVersion"].clone();
        object["kind"] = kind.kind.into();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
    }
    Ok(objects)
}
