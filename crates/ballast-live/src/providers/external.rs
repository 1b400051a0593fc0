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
//! Where the pool names a bearer token, each request carries it, and none is sent without it. An error is a status above 399 with `{"class", "message"}`, the class one of the documented ones.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Url, redirect};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use ballast_core::kube::Name;
use ballast_core::observation::{ErrorClass, Instance, SourceError};
use ballast_core::policy::{Provider, SecretKey};
use ballast_core::procedure::{Reply, Request};

use crate::kubernetes::Secrets;

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
    /// What it is asked with, if with anything.
    bearer: Option<SecretKey>,
    secrets: Secrets,
}

/// A good answer.
struct Answer {
    body: Vec<u8>,
    /// What it was asked with, which it may repeat.
    bearer: Option<HeaderValue>,
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
    pub(super) fn new(
        provider: &Provider,
        hosts: &AllowedHosts,
        secrets: &Secrets,
    ) -> Result<Self, SourceError> {
        let Some(endpoint) = provider.settings.get("endpoint") else {
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
        Ok(Self { client, endpoint, bearer: provider.bearer.clone(), secrets: secrets.clone() })
    }

    /// All instances of a pool.
    pub(super) async fn list(&self, pool: &Name) -> Result<Vec<Instance>, SourceError> {
        match self.call(Method::GET, &[pool, "instances"], &[], None).await {
            Ok(Answer { body, bearer }) => match serde_json::from_slice::<Items>(&body) {
                Ok(list) => Ok(list.items),
                Err(failure) => {
                    let why = without(bearer.as_ref(), &failure.to_string());
                    Err(error(ErrorClass::Transient, format!("an answer that cannot be read: {why}")))
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
            Ok(answer) => match serde_json::from_slice(&answer.body) {
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
    ) -> Result<Answer, Failure> {
        let mut url = self.endpoint.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["v1", "pools"]).extend(path);
        }
        let mut request = self.client.request(method, url).query(query);
        if let Some(body) = body {
            request = request.json(&body);
        }
        // With what it is asked with, which is read first, it takes no longer than a lease outlasts.
        let answer = timeout(TIMEOUT, self.send_with_bearer(request)).await;
        answer.unwrap_or_else(|_| Err(Failure::Unanswered("no answer in time".into())))
    }

    async fn send_with_bearer(&self, mut request: RequestBuilder) -> Result<Answer, Failure> {
        let mut bearer = None;
        if let Some(entry) = &self.bearer {
            let value = self.secrets.bearer(entry).await.map_err(Failure::Refused)?;
            request = request.header(AUTHORIZATION, value.clone());
            bearer = Some(value);
        }
        let answer = request.send().await.map_err(unanswered)?;
        let status = answer.status();
        let body = bounded(answer).await?;
        if status.is_success() {
            return Ok(Answer { body, bearer });
        }
        let refusal = refusal(status.as_u16(), &body, bearer.as_ref());
        if let (ErrorClass::Auth, Some(entry)) = (refusal.class, &self.bearer) {
            self.secrets.forget(entry);
        }
        Err(Failure::Refused(refusal))
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

/// Words about an answer, without what it was asked with.
fn without(bearer: Option<&HeaderValue>, words: &str) -> String {
    let value = bearer.and_then(|bearer| bearer.to_str().ok()?.strip_prefix("Bearer "));
    value.map_or_else(|| words.to_owned(), |value| words.replace(value, "…"))
}

/// What a provider said went wrong; where it does not say it in our words, by the status.
fn refusal(status: u16, body: &[u8], bearer: Option<&HeaderValue>) -> SourceError {
    if let Ok(told) = serde_json::from_slice::<SourceError>(body) {
        return error(told.class, without(bearer, &told.message));
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
    use kube::client::Body;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    #[test]
    fn what_a_provider_says_has_no_secret_and_moves_no_cursor() {
        let body = br#"{"class": "Auth", "message": "denied\u001b[2J\nfor token eyJhbGciOi.canary"}"#;
        let told = refusal(403, body, None);
        assert_eq!((told.class, &*told.message), (ErrorClass::Auth, "denied\\u{1b}[2J\\nfor …"));
        let other = refusal(404, b"<html>canary</html>", None);
        assert_eq!((other.class, &*other.message), (ErrorClass::Transient, "the provider answered 404"));
        let sent = HeaderValue::from_static("Bearer canary");
        let told = refusal(403, br#"{"class": "Auth", "message": "who is canary?"}"#, Some(&sent));
        assert_eq!(told.message, "who is …?");
    }

    /// Something that gives everyone the same answer, and tells what it was asked.
    async fn listener(answer: String) -> (String, mpsc::UnboundedReceiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (tell, told) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut asked = vec![0; 4096];
                let length = stream.read(&mut asked).await.unwrap_or(0);
                let _ = tell.send(String::from_utf8_lossy(&asked[..length]).to_lowercase());
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        (address, told)
    }

    fn answer(status: &str, headers: &str, body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
    }

    /// A provider at an address that is asked with an entry of a Secret, of which the API says this.
    fn external(address: &str, bearer: Option<SecretKey>, code: u16, secret: &str) -> External {
        crate::install_crypto();
        let secret = secret.to_owned();
        let serve = move |request: http::Request<Body>| {
            let own = "/api/v1/namespaces/ballast/secrets/ballast-providers";
            assert_eq!(request.uri().path(), own, "no other is read");
            let body = Body::from(secret.clone().into_bytes());
            std::future::ready(http::Response::builder().status(code).body(body))
        };
        let client = kube::Client::new(tower::service_fn(serve), "default");
        let endpoint = ("endpoint".into(), format!("http://{address}").into());
        let provider = Provider { kind: "External".into(), settings: [endpoint].into(), bearer };
        let hosts = AllowedHosts::new(&["127.0.0.1".into()]);
        External::new(&provider, &hosts, &Secrets::new(&client, "ballast")).expect("it may be called")
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed() {
        let (elsewhere, mut told_elsewhere) = listener(answer("200 OK", "", r#"{"items": []}"#)).await;
        let to = format!("location: http://{elsewhere}/v1\r\n");
        let (address, mut told) = listener(answer("307 Temporary Redirect", &to, "")).await;
        let refused = external(&address, None, 404, "{}").list(&"w".into()).await.expect_err("no list");
        assert_eq!(refused.message, "the provider answered 307");
        assert!(told.try_recv().is_ok_and(|asked| asked.starts_with("get /v1/pools/w/instances")));
        assert!(told_elsewhere.try_recv().is_err(), "another was asked");
    }

    #[tokio::test]
    async fn nothing_is_sent_without_what_it_is_to_be_sent_with() {
        let (address, mut told) = listener(answer("200 OK", "", r#"{"items": []}"#)).await;
        let entry = SecretKey { name: Provider::SECRET.into(), key: "rack".into() };
        let status = |code| format!(r#"{{"kind": "Status", "status": "Failure", "code": {code}}}"#);
        let cases = [
            (
                404,
                status(404),
                ErrorClass::Auth,
                "there is no `ballast-providers` in the namespace `ballast`",
            ),
            (403, status(403), ErrorClass::Auth, "may not read `ballast-providers`"),
            (503, status(503), ErrorClass::Transient, "cannot be read"),
            (200, r#"{"data": {"other": "Y2FuYXJ5"}}"#.into(), ErrorClass::Auth, "has no key `rack`"),
            (200, r#"{"data": {"rack": "Cg=="}}"#.into(), ErrorClass::Auth, "can be no header"),
            (200, r#"{"data": {"rack": "Y2FuYXJ5w7w="}}"#.into(), ErrorClass::Auth, "can be no header"),
        ];
        for (code, secret, class, words) in cases {
            let external = external(&address, Some(entry.clone()), code, &secret);
            let refused = external.list(&"w".into()).await.expect_err("no list");
            assert!(refused.class == class && refused.message.contains(words), "{refused}");
            assert!(told.try_recv().is_err(), "{words}: it was asked");
        }
        let external = external(&address, Some(entry), 200, r#"{"data": {"rack": "Y2FuYXJ5Cg=="}}"#);
        assert_eq!(external.list(&"w".into()).await.map(|list| list.len()), Ok(0));
        assert!(told.try_recv().is_ok_and(|asked| asked.contains("authorization: bearer canary\r\n")));
    }

    #[tokio::test]
    async fn an_answer_that_repeats_what_it_was_asked_with_is_not_told() {
        let entry = SecretKey { name: Provider::SECRET.into(), key: "rack".into() };
        for (code, body) in
            [("200 OK", r#"{"items": "canary"}"#), ("403 No", r#"{"class": "Auth", "message": "no canary"}"#)]
        {
            let (address, mut told) = listener(answer(code, "", body)).await;
            let secret = r#"{"data": {"rack": "Y2FuYXJ5"}}"#;
            let external = external(&address, Some(entry.clone()), 200, secret);
            let refused = external.list(&"w".into()).await.expect_err("no list");
            assert!(refused.message.contains('…') && !refused.message.contains("canary"), "{refused}");
            assert!(told.try_recv().is_ok_and(|asked| asked.contains("bearer canary")));
        }
    }
}
