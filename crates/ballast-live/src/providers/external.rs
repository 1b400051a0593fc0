//! `External`: any provider that speaks a small JSON protocol over HTTP.
//!
//! | request | answer |
//! |---|---|
//! | `GET /v1/pools/{pool}/instances` | `{"items": [instance …]}` |
//! | `GET /v1/pools/{pool}/instances?token=…` | the instance that a launch with this token made |
//! | `GET /v1/pools/{pool}/instances/{id}` | the instance |
//! | `POST /v1/pools/{pool}/instances` `{name, zone, token}` | the instance; a second call with the same token is the same |
//! | `POST /v1/pools/{pool}/instances/{id}/start` | anything |
//! | `POST /v1/pools/{pool}/instances/{id}/stop` `{mode}` | anything |
//!
//! An error is a status above 399 with `{"class", "message"}`, the class one of the documented ones.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Method, Url, redirect};
use serde::Deserialize;
use serde_json::json;

use ballast_core::kube::Name;
use ballast_core::observation::{ErrorClass, Instance, SourceError};
use ballast_core::procedure::{Reply, Request};

use super::hosts::Resolver;
use super::{AllowedHosts, error, stop_word};

/// No answer takes longer; a lease must outlast it.
const TIMEOUT: Duration = crate::kubernetes::REQUEST_TIMEOUT;
/// Bytes of an answer: a list of 10,000 instances has about 2 MB.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// A provider that speaks the protocol.
#[derive(Clone)]
pub(super) struct External {
    client: Client,
    endpoint: Url,
}

/// Why a call has no good answer.
enum Failure {
    /// The provider said so.
    Refused(SourceError),
    /// It may or may not have been applied.
    Unanswered(String),
}

#[derive(Deserialize)]
struct Items {
    items: Vec<Instance>,
}

impl External {
    pub(super) fn new(settings: &BTreeMap<Name, Name>, hosts: &AllowedHosts) -> Result<Self, SourceError> {
        let Some(endpoint) = settings.get("endpoint") else {
            return Err(error(ErrorClass::Invalid, "provider.settings.endpoint is missing".into()));
        };
        let endpoint = hosts.check(endpoint)?;
        let client = Client::builder()
            .timeout(TIMEOUT)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .dns_resolver(Resolver(Arc::new(hosts.clone())))
            .build()
            .map_err(|failure| error(ErrorClass::Invalid, failure.to_string()))?;
        Ok(Self { client, endpoint })
    }

    /// All instances of a pool.
    pub(super) async fn list(&self, pool: &Name) -> Result<Vec<Instance>, SourceError> {
        match self.call(Method::GET, &[pool, "instances"], &[], None).await {
            Ok(answer) => match serde_json::from_slice::<Items>(&answer) {
                Ok(list) => Ok(list.items),
                Err(failure) => {
                    Err(error(ErrorClass::Transient, format!("an answer that cannot be read: {failure}")))
                }
            },
            Err(Failure::Refused(refusal)) => Err(refusal),
            Err(Failure::Unanswered(why)) => Err(error(ErrorClass::Transient, why)),
        }
    }

    /// Sends a request.
    pub(super) async fn send(&self, request: &Request) -> Reply {
        let sent = match request {
            Request::StartInstance { pool, id } => {
                self.call(Method::POST, &[pool, "instances", id, "start"], &[], Some(json!({}))).await
            }
            Request::StopInstance { pool, id, mode } => {
                let body = json!({"mode": stop_word(*mode)});
                self.call(Method::POST, &[pool, "instances", id, "stop"], &[], Some(body)).await
            }
            Request::CreateInstance { pool, zone, name, token } => {
                let body = json!({"name": &**name, "zone": &**zone, "token": &**token});
                self.call(Method::POST, &[pool, "instances"], &[], Some(body)).await
            }
            Request::ReadInstance { pool, id, token } if id.is_empty() => {
                self.call(Method::GET, &[pool, "instances"], &[("token", token)], None).await
            }
            Request::ReadInstance { pool, id, .. } => {
                self.call(Method::GET, &[pool, "instances", id], &[], None).await
            }
            _ => return Reply::Failed(error(ErrorClass::Invalid, "not a request to a provider".into())),
        };
        let tells = matches!(request, Request::CreateInstance { .. } | Request::ReadInstance { .. });
        match sent {
            Ok(_) if !tells => Reply::Done,
            Ok(answer) => match serde_json::from_slice(&answer) {
                Ok(instance) => Reply::Instance(instance),
                // It answered, but what it did is not known.
                Err(_) => Reply::TimedOut,
            },
            Err(Failure::Refused(refusal)) => Reply::Failed(refusal),
            Err(Failure::Unanswered(_)) => Reply::TimedOut,
        }
    }

    async fn call(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<serde_json::Value>,
    ) -> Result<Vec<u8>, Failure> {
        let mut url = self.endpoint.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["v1", "pools"]).extend(path);
        }
        let mut request = self.client.request(method, url).query(query);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.map_err(unanswered)?;
        let status = answer.status();
        let bytes = bounded(answer).await?;
        if status.is_success() {
            return Ok(bytes);
        }
        Err(Failure::Refused(refusal(status.as_u16(), &bytes)))
    }
}

/// The body of an answer, up to a bound.
async fn bounded(mut answer: reqwest::Response) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) if bytes.len() + chunk.len() > ANSWER_BYTES_MAX => {
                return Err(Failure::Unanswered("an answer that is too long".into()));
            }
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return Ok(bytes),
            Err(failure) => return Err(unanswered(failure)),
        }
    }
}

/// Why a call has no answer, with the cause below all others: that is what a person can mend. The address is left out, it
/// may hold a password.
fn unanswered(failure: reqwest::Error) -> Failure {
    let failure = failure.without_url();
    let mut cause: &dyn Error = &failure;
    while let Some(below) = cause.source() {
        cause = below;
    }
    Failure::Unanswered(format!("{failure}: {cause}"))
}

/// What a provider said went wrong; where it does not say it in our words, by the status.
fn refusal(status: u16, body: &[u8]) -> SourceError {
    if let Ok(told) = serde_json::from_slice::<SourceError>(body) {
        return error(told.class, told.message);
    }
    let class = match status {
        401 | 403 => ErrorClass::Auth,
        // Only in our own words does a 404 say that an instance is gone; else there is no provider at this address.
        404 => ErrorClass::Transient,
        409 => ErrorClass::Conflict,
        429 => ErrorClass::Throttled,
        400..=499 => ErrorClass::Invalid,
        _ => ErrorClass::Transient,
    };
    error(class, format!("the provider answered {status}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_provider_says_has_no_secret_and_moves_no_cursor() {
        let body = br#"{"class": "Auth", "message": "denied\u001b[2J\nfor token eyJhbGciOi.canary"}"#;
        let told = refusal(403, body);
        assert_eq!((told.class, &*told.message), (ErrorClass::Auth, "denied\\u{1b}[2J\\nfor …"));
        let other = refusal(404, b"<html>canary</html>");
        assert_eq!((other.class, &*other.message), (ErrorClass::Transient, "the provider answered 404"));
    }
}
