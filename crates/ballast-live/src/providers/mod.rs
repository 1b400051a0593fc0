//! Providers: who runs the machines of a pool.
//!
//! Each is a folder or file of its own with the same five calls, and says what went wrong in the classes of the core. A pool
//! names its provider; one that cannot be used is a source that fails, and holds up no other pool.

mod external;
mod hosts;
mod polling;

pub use hosts::AllowedHosts;
pub use polling::Polling;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};

use ballast_core::foreign::discreet;
use ballast_core::kube::Name;
use ballast_core::observation::{ErrorClass, Instance, SourceError};
use ballast_core::policy::{StopMode, VmPool};
use ballast_core::procedure::{Reply, Request};

use crate::kubernetes::Secrets;

use external::External;

/// Bytes of a provider's words that are told: enough to know what to look for in its own logs.
const WORDS_MAX: usize = 200;

/// A provider as a pool has set it up.
#[derive(Clone)]
enum Provider {
    External(External),
}

/// The providers of all pools.
#[derive(Clone)]
pub struct Providers {
    pools: Arc<RwLock<BTreeMap<Name, Pool>>>,
    /// What they are asked with.
    secrets: Secrets,
}

#[derive(Clone)]
struct Pool {
    document: VmPool,
    hosts: AllowedHosts,
    provider: Result<Provider, SourceError>,
}

impl Providers {
    /// Of no pool yet.
    pub fn new(secrets: Secrets) -> Self {
        Self { pools: Arc::default(), secrets }
    }

    /// Takes up the pools that there are; one that has not changed keeps its provider. Tells which were set up anew: what
    /// was seen through their provider of before says nothing of this one.
    pub fn set(&self, documents: &[VmPool], hosts: &AllowedHosts) -> BTreeSet<Name> {
        let mut pools = self.pools.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut before = std::mem::take(&mut *pools);
        let mut anew = BTreeSet::new();
        for document in documents {
            let kept = before
                .remove(&document.name)
                .filter(|pool| pool.document == *document && pool.hosts == *hosts);
            let pool = kept.unwrap_or_else(|| {
                anew.insert(document.name.clone());
                Pool {
                    document: document.clone(),
                    hosts: hosts.clone(),
                    provider: Provider::of(document, hosts, &self.secrets),
                }
            });
            pools.insert(document.name.clone(), pool);
        }
        anew
    }

    /// The names of the pools.
    pub fn names(&self) -> Vec<Name> {
        self.pools.read().unwrap_or_else(|poisoned| poisoned.into_inner()).keys().cloned().collect()
    }

    fn of(&self, pool: &Name) -> Result<Provider, SourceError> {
        let pools = self.pools.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        match pools.get(pool) {
            Some(pool) => pool.provider.clone(),
            // Not `NotFound`: that would say of an instance that it is gone.
            None => {
                Err(error(ErrorClass::Transient, format!("the pool `{pool}` is not known yet, or no more")))
            }
        }
    }

    /// All instances of a pool.
    pub async fn list(&self, pool: &Name) -> Result<Vec<Instance>, SourceError> {
        match self.of(pool)? {
            Provider::External(external) => external.list(pool).await,
        }
    }

    /// Sends a request about an instance.
    pub async fn send(&self, request: &Request) -> Reply {
        let Some(pool) = request.pool() else {
            return Reply::Failed(error(ErrorClass::Invalid, "not a request to a provider".into()));
        };
        match self.of(pool) {
            Ok(Provider::External(external)) => external.send(request).await,
            Err(error) => Reply::Failed(error),
        }
    }
}

impl Provider {
    fn of(pool: &VmPool, hosts: &AllowedHosts, secrets: &Secrets) -> Result<Self, SourceError> {
        let provider = &pool.spec.provider;
        match &*provider.kind {
            "External" => External::new(provider, hosts, secrets).map(Self::External),
            other => {
                let why = provider.without_adapter();
                let why = why.unwrap_or_else(|| format!("the provider `{other}` cannot be used live"));
                Err(error(ErrorClass::Invalid, why))
            }
        }
    }
}

/// An error in the words of a provider, or of ours about it. Whatever a provider says goes through here: into logs, onto
/// terminals and pages and into records, so it says no secret and moves no cursor.
fn error(class: ErrorClass, message: String) -> SourceError {
    SourceError { class, message: discreet(&message, WORDS_MAX) }
}

/// What *stop* means, on the wire.
fn stop_word(mode: StopMode) -> &'static str {
    match mode {
        StopMode::Deallocate => "Deallocate",
        StopMode::Delete => "Delete",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ballast_core::policy;
    use serde_json::json;

    /// Nobody is asked for anything.
    pub(super) async fn nobody(
        _: http::Request<kube::client::Body>,
    ) -> Result<http::Response<kube::client::Body>, std::convert::Infallible> {
        Ok(http::Response::new(kube::client::Body::empty()))
    }

    #[tokio::test]
    async fn every_kind_is_spoken_to_or_said_not_to_be() {
        for kind in policy::Provider::KINDS {
            let settings = json!({"endpoint": "https://machines.example"});
            let spec = json!({"provider": {"kind": kind, "settings": settings}, "max": 1,
                "template": {"allocatable": {"cpu": "1", "memory": "1Gi"}}});
            let spec = serde_json::from_value(spec).unwrap();
            let pool = VmPool { name: "a".into(), namespace: Name::default(), spec };
            let hosts = AllowedHosts::new(&["machines.example".into()]);
            let client = kube::Client::new(tower::service_fn(nobody), "default");
            let refused = Provider::of(&pool, &hosts, &Secrets::new(&client, "ballast")).err();
            let is_told = policy::Provider::WITHOUT_ADAPTER.contains(&kind) || kind == "Simulated";
            assert_eq!(refused.is_some(), is_told, "{kind}: {refused:?}");
            if let (Some(refused), Some(why)) = (refused, pool.spec.provider.without_adapter()) {
                assert_eq!(refused.message, why);
            }
        }
    }
}
