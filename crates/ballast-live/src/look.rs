//! One look at a cluster, with the rights of whoever looks: every kind listed once, every provider asked once, and what the
//! leader has stored, where it may be read. Nothing is written.

use futures::future::join_all;
use tokio::time::timeout;

use ballast_core::observation::{Body, ErrorClass, Observation, Source, SourceError};
use ballast_core::publish::{DocumentRef, Fault};
use ballast_core::snapshot::Store;
use ballast_core::units::Time;

use crate::clock::Clock;
use crate::kubernetes::{
    Connection, Holder, Kubernetes, REQUEST_TIMEOUT, Secrets, SeenDocument, SeenDocuments, Stored, holder,
    look_at_all,
};
use crate::providers::{AllowedHosts, Providers};

/// One instant of a cluster.
#[derive(Debug)]
pub struct Look {
    /// When it was complete.
    pub taken_at: Time,
    /// What each source said.
    pub observations: Vec<Observation>,
    /// Documents that are invalid, and so are passed over.
    pub faults: Vec<(DocumentRef, Fault)>,
    /// What the leader has stored, or why that is not known.
    pub memory: Result<Stored, SourceError>,
    /// Who leads, or why that is not known.
    pub leader: Result<Option<Holder>, SourceError>,
}

/// Looks once. What fails is part of what was seen.
pub async fn look(connection: &Connection, namespace: &str) -> Look {
    let clock = Clock::start();
    let kubernetes = Kubernetes::new(connection.client.clone(), namespace);
    let documents = SeenDocuments::default();
    let (mut observations, memory, leader) = tokio::join!(
        look_at_all(&connection.client, clock, &documents),
        in_time(async { nothing_where_none(kubernetes.memory().read().await) }),
        in_time(holder(&connection.client, namespace)),
    );
    let providers = Providers::new(Secrets::new(&connection.client, namespace));
    observations.extend(instances(&observations, &providers, clock).await);
    let faults = documents.subscribe().borrow().values().filter_map(faulty).collect();
    Look { taken_at: clock.now(), observations, faults, memory, leader }
}

fn faulty(document: &SeenDocument) -> Option<(DocumentRef, Fault)> {
    Some((document.reference.clone(), document.fault.clone()?))
}

/// What the providers of all pools say.
async fn instances(seen: &[Observation], providers: &Providers, clock: Clock) -> Vec<Observation> {
    let mut store = Store::new();
    seen.iter().cloned().for_each(|observation| store.observe(observation));
    providers.set(&store.pools(), &AllowedHosts::new(&store.policy().allowed_hosts));
    let look = async |pool| {
        let taken_at = clock.now();
        let outcome = providers.list(&pool).await.map(|list| Body::Instances(list.into()));
        Observation { source: Source::instances(&pool), taken_at, outcome }
    };
    join_all(providers.names().into_iter().map(look)).await
}

/// Before Ballast is installed there is nothing that it remembers.
fn nothing_where_none(memory: Result<Stored, SourceError>) -> Result<Stored, SourceError> {
    match memory {
        Err(error) if error.class == ErrorClass::NotFound => Ok(Stored::default()),
        memory => memory,
    }
}

async fn in_time<T>(answer: impl Future<Output = Result<T, SourceError>>) -> Result<T, SourceError> {
    let late = |_| SourceError { class: ErrorClass::Transient, message: "no answer in time".to_owned() };
    timeout(REQUEST_TIMEOUT, answer).await.map_err(late)?
}
