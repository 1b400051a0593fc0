//! Requests without types, one at a time: an address and JSON in, JSON out.

use http::header::CONTENT_TYPE;
use http::{Method, Request};
use kube::Client;
use serde_json::Value;
use tokio::time::timeout;

use ballast_core::observation::{ErrorClass, SourceError};

use super::REQUEST_TIMEOUT;
use super::error::classed;

/// What is at an address.
pub(crate) async fn get(client: &Client, path: &str) -> Result<Value, SourceError> {
    send(client, Method::GET, path, "application/json", None).await
}

/// Makes something.
pub(crate) async fn post(client: &Client, path: &str, body: &Value) -> Result<Value, SourceError> {
    send(client, Method::POST, path, "application/json", Some(body)).await
}

/// Puts fields into what is there.
pub(crate) async fn merge(client: &Client, path: &str, body: &Value) -> Result<Value, SourceError> {
    send(client, Method::PATCH, path, "application/merge-patch+json", Some(body)).await
}

/// Sends a request, and waits no longer than for any other.
pub(crate) async fn send(
    client: &Client,
    method: Method,
    path: &str,
    content: &str,
    body: Option<&Value>,
) -> Result<Value, SourceError> {
    let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, content).body(body);
    let failed = |class, message| SourceError { class, message };
    let request = request.map_err(|error| failed(ErrorClass::Invalid, error.to_string()))?;
    match timeout(REQUEST_TIMEOUT, client.request(request)).await {
        Ok(answer) => answer.map_err(|error| classed(&error)),
        Err(_) => Err(failed(ErrorClass::Transient, "no answer in time".to_owned())),
    }
}
