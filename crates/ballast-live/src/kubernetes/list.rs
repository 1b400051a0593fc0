//! Lists, page by page, past the API's caches, with what a refusal says of when to ask again.

use std::time::Duration;

use http::header::RETRY_AFTER;
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use kube::core::params::ListParams;
use kube::core::request::Request;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use ballast_core::observation::{ErrorClass, SourceError};

use super::error::classed;
use super::sent::Sent;

/// No page of a list takes longer.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_secs(60);
/// Objects of one page of a list.
const PAGE: u32 = 500;
/// An API that asks for more patience than this has lost its mind: it is asked again nevertheless.
const RETRY_AFTER_LONGEST: Duration = Duration::from_secs(60);

/// A list of one kind, as of one version.
#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
pub(super) struct List<T> {
    #[serde(default)]
    metadata: ListMeta,
    /// The objects.
    pub(super) items: Vec<Sent<T>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMeta {
    resource_version: String,
    r#continue: String,
}

/// Why there is no answer, and how long the API wants to be left alone.
pub(super) struct Refusal {
    /// Why.
    pub(super) error: SourceError,
    /// Not before then.
    pub(super) retry_after: Option<Duration>,
}

impl From<SourceError> for Refusal {
    fn from(error: SourceError) -> Self {
        Self { error, retry_after: None }
    }
}

impl<T: DeserializeOwned> List<T> {
    /// Its version.
    pub(super) fn version(&self) -> &str {
        &self.metadata.resource_version
    }

    /// The complete list: one without a version is read past the API's caches, so what is seen never goes back in time.
    pub(super) async fn whole(client: &Client, path: &str) -> Result<Self, Refusal> {
        let mut params = ListParams::default().limit(PAGE);
        let mut items = Vec::new();
        loop {
            let page: Self = page(client, path, &params).await?;
            items.extend(page.items);
            if page.metadata.r#continue.is_empty() {
                return Ok(Self { metadata: page.metadata, items });
            }
            params = params.continue_token(&page.metadata.r#continue);
        }
    }
}

/// The version of a kind as it is now, past the API's caches. An API that is cut off from its store has no answer.
pub(super) async fn current_version(client: &Client, path: &str) -> Result<String, Refusal> {
    let list: List<serde_json::Value> = page(client, path, &ListParams::default().limit(1)).await?;
    Ok(list.metadata.resource_version)
}

async fn page<T: DeserializeOwned>(client: &Client, path: &str, params: &ListParams) -> Result<T, Refusal> {
    let request = Request::new(path).list(params);
    let request = request.map_err(|error| failed(ErrorClass::Invalid, error.to_string()))?;
    match timeout(LIST_TIMEOUT, get(client, request)).await {
        Ok(page) => page,
        Err(_) => Err(failed(ErrorClass::Transient, "no answer to a list in time".to_owned())),
    }
}

/// As the client's own `request`, but for the header that it keeps to itself.
async fn get<T: DeserializeOwned>(client: &Client, request: http::Request<Vec<u8>>) -> Result<T, Refusal> {
    let passed_on = |error: kube::Error| Refusal::from(classed(&error));
    let response = client.send(request.map(Body::from)).await.map_err(passed_on)?;
    let status = response.status();
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let body = response.into_body().collect_bytes().await.map_err(passed_on)?;
    if status.is_success() {
        let parsed = serde_json::from_slice(&body);
        return parsed.map_err(|error| failed(ErrorClass::Transient, format!("no list: {error}")));
    }
    let told = serde_json::from_slice::<Status>(&body).ok().filter(|told| told.code != 0);
    let told = told.unwrap_or_else(|| {
        let text = String::from_utf8_lossy(&body);
        Status::failure(text.trim(), "").with_code(status.as_u16())
    });
    let retry_after = seconds.map(|seconds| Duration::from_secs(seconds).min(RETRY_AFTER_LONGEST));
    Err(Refusal { error: classed(&kube::Error::Api(told.boxed())), retry_after })
}

fn failed(class: ErrorClass, message: String) -> Refusal {
    SourceError { class, message }.into()
}
