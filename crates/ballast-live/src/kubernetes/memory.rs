//! Memory in the cluster: the ledger and the history, a ConfigMap each in Ballast's own namespace.
//!
//! The ledger's version is the precondition of its writes, as the procedures ask for it; the resourceVersion is what makes
//! the precondition hold between our look and our write. Two processes that both believe to lead meet here: the second
//! write of one version is refused, and nothing is requested for an action before its ledger is stored.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};

use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::procedure::Reply;

use super::FIELD_MANAGER;
use super::error::{classed, not_installed, reply};

/// Names of the two objects.
pub(super) const LEDGER: &str = "ballast-ledger";
pub(super) const HISTORY: &str = "ballast-history";
/// Keys in them.
const BODY: &str = "body";
const VERSION: &str = "version";

/// Where memory is stored.
#[derive(Clone)]
pub struct MemoryStore {
    objects: Api<ConfigMap>,
}

/// What was stored by whoever led before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The ledger as JSON.
    pub ledger: Option<String>,
    /// The history as JSON.
    pub history: Option<String>,
}

impl MemoryStore {
    /// The memory in a namespace.
    pub fn new(client: &Client, namespace: &str) -> Self {
        Self { objects: Api::namespaced(client.clone(), namespace) }
    }

    /// Everything that is stored.
    pub async fn read(&self) -> Result<Stored, SourceError> {
        let ledger = self.body(LEDGER).await?;
        Ok(Stored { ledger, history: self.body(HISTORY).await? })
    }

    async fn body(&self, name: &str) -> Result<Option<String>, SourceError> {
        Ok(self.object(name).await?.data.and_then(|mut data| data.remove(BODY)))
    }

    /// It is made together with Ballast: where it is missing nothing can be remembered.
    async fn object(&self, name: &str) -> Result<ConfigMap, SourceError> {
        let object = self.objects.get_opt(name).await.map_err(|error| classed(&error))?;
        object.ok_or_else(|| not_installed("ConfigMap", name))
    }

    /// Reads the ledger.
    pub(super) async fn read_ledger(&self) -> Reply {
        match self.body(LEDGER).await {
            Ok(body) => Reply::Ledger(body),
            Err(error) => Reply::Failed(error),
        }
    }

    /// Writes a version of the ledger where the version before it is stored.
    pub(super) async fn write_ledger(&self, version: u64, body: &str) -> Reply {
        let stored = match self.object(LEDGER).await {
            Ok(stored) => stored,
            Err(error) => return Reply::Failed(error),
        };
        let data = [(VERSION.to_owned(), version.to_string()), (BODY.to_owned(), body.to_owned())].into();
        let text = |key: &str| stored.data.as_ref()?.get(key);
        let known: u64 = text(VERSION).and_then(|text| text.parse().ok()).unwrap_or(0);
        if known == version && text(BODY).is_some_and(|stored| stored == body) {
            return Reply::Done;
        }
        if known + 1 != version {
            let message = format!("version {known} of the ledger is stored");
            return Reply::Failed(SourceError { class: ErrorClass::Conflict, message });
        }
        let object = ConfigMap { data: Some(data), ..stored };
        settled(self.objects.replace(LEDGER, &params(), &object).await)
    }

    /// Writes the history over whatever is stored.
    pub(super) async fn write_history(&self, body: &str) -> Reply {
        // Not by server-side apply: that would make the object where it is missing, which nobody has the right to.
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let object = serde_json::json!({"data": {BODY: body}});
        settled(self.objects.patch(HISTORY, &params, &Patch::Merge(&object)).await)
    }
}

fn params() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

fn settled(written: Result<ConfigMap, kube::Error>) -> Reply {
    match written {
        Ok(_) => Reply::Done,
        Err(error) => reply(&error),
    }
}
