//! What `ballast doctor` judges by, gathered with the rights of whoever asks. Nothing is written: to ask whether something would
//! be allowed is a request that keeps nothing.

use futures::future::join_all;
use jiff::Timestamp;
use kube::Client;
use serde_json::Value;

use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::policy::Mode;

use crate::kubernetes::crd::{KINDS, Kind};
use crate::kubernetes::{Connection, Right, plain};
use crate::look::{Look, look};

/// Everything that checks read.
pub struct Facts {
    /// The address of the API.
    pub server: String,
    /// What it says of itself.
    pub version: Result<Value, SourceError>,
    /// By how many seconds its clock is ahead of ours, as far as whole seconds tell.
    pub ahead_secs: Option<i64>,
    /// One look at the cluster.
    pub look: Look,
    /// Our kinds, as the API knows them.
    pub kinds: Vec<(&'static Kind, Result<Value, SourceError>)>,
    /// What may be done.
    pub rights: Rights,
    /// Disruption budgets in full.
    pub budgets: Result<Value, SourceError>,
    /// Services, for those that show a Ray dashboard to others.
    pub services: Result<Value, SourceError>,
}

/// Who may do what of all that a mode asks for.
#[derive(Debug)]
pub struct Rights {
    /// Whose rights were looked at: the service account's, or those of whoever asks.
    pub whose: String,
    /// For which mode.
    pub mode: Mode,
    /// What was refused, or could not be told.
    pub missing: Vec<Missing>,
}

/// A right that is missing.
#[derive(Debug)]
pub struct Missing {
    /// Which.
    pub right: Right,
    /// Why that could not be told, if it could not.
    pub error: Option<SourceError>,
}

/// Gathers everything. What fails is part of the facts.
pub async fn gather(connection: &Connection, namespace: &str, mode: Option<Mode>) -> Facts {
    let client = &connection.client;
    let look = look(connection, namespace).await;
    let mode = mode.unwrap_or_else(|| mode_of(&look));
    let kind = async |kind: &'static Kind| {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}", kind.name());
        (kind, plain::get(client, &path).await)
    };
    let (version, ahead_secs, kinds, rights, budgets, services) = tokio::join!(
        plain::get(client, "/version"),
        ahead(client),
        join_all(KINDS.iter().map(kind)),
        rights(client, namespace, mode),
        plain::get(client, "/apis/policy/v1/poddisruptionbudgets"),
        plain::get(client, "/api/v1/services"),
    );
    Facts { server: connection.server.clone(), version, ahead_secs, look, kinds, rights, budgets, services }
}

/// The mode that the cluster's policy says.
fn mode_of(look: &Look) -> Mode {
    let mut store = ballast_core::snapshot::Store::new();
    look.observations.iter().cloned().for_each(|observation| store.observe(observation));
    store.policy().mode
}

/// By how many seconds the API's clock is ahead.
async fn ahead(client: &Client) -> Option<i64> {
    let request = http::Request::get("/version").body(kube::client::Body::empty()).ok()?;
    let response = client.send(request).await.ok()?;
    let date = response.headers().get(http::header::DATE)?.to_str().ok()?;
    let date = jiff::fmt::rfc2822::parse(date).ok()?.timestamp();
    Some(date.as_second() - Timestamp::now().as_second())
}

/// Asks for each right of a mode, of the service account where the asker may ask for others.
async fn rights(client: &Client, namespace: &str, mode: Mode) -> Rights {
    let account = format!("system:serviceaccount:{namespace}:ballast");
    let ask = async |whose: Option<&str>| {
        let review = async |right: Right| match right.is_had(client, namespace, whose).await {
            Ok(true) => None,
            Ok(false) => Some(Missing { right, error: None }),
            Err(error) => Some(Missing { right, error: Some(error) }),
        };
        join_all(Right::of_mode(mode).into_iter().map(review)).await.into_iter().flatten().collect::<Vec<_>>()
    };
    let missing = ask(Some(&account)).await;
    let is_refused =
        |missing: &Missing| missing.error.as_ref().is_some_and(|error| error.class == ErrorClass::Auth);
    if missing.iter().any(is_refused) {
        return Rights { whose: "you".to_owned(), mode, missing: ask(None).await };
    }
    Rights { whose: account, mode, missing }
}
