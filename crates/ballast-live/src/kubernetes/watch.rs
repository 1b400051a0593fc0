//! Watches: one for each kind, from a complete list on, told as observations.
//!
//! ```text
//! list (consistent, in pages) ──▶ Listed ──▶ watch from its version ──▶ Changed … ──▶ over: watch again from the last version
//!   ▲                                             │
//!   └── 410, an error (told, and waited out), or a list that shrank suddenly
//! ```
//!
//! Written by hand rather than with the watcher of `kube::runtime`, which keeps bookmarks and reconnections to itself: of a
//! quiet kind nobody could then tell whether nothing happens or nothing is heard. Here every bookmark and every new watch
//! that the API accepts is an observation without changes, so the age of each source is known.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use kube::Client;
use kube::core::WatchEvent;
use kube::core::params::{ListParams, WatchParams};
use kube::core::request::Request;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use ballast_core::kube::{
    DaemonSet, Name, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodDisruptionBudget, PriorityClass,
    Sharing,
};
use ballast_core::observation::{Body, Change, Object, ObjectKind, Observation, Source, SourceError};

use crate::clock::Clock;

use super::error::{classed, is_gone};
use super::wire::{Document, Wire, path};

/// The API ends a watch after so long, and we begin it anew: the proof that a quiet kind is still heard. Well below the age
/// at which nothing is removed any more.
const WATCH_SECS: u32 = 45;
/// A watch that says nothing for so long, not even that it ends, is dead.
const SILENT_LONGEST: Duration = Duration::from_secs(60);
/// No page of a list takes longer.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);
/// Objects of one page of a list.
const PAGE: u32 = 500;
/// The first and the longest wait before a failure is tried again.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_LONGEST: Duration = Duration::from_secs(30);
/// How long after a list that shrank suddenly the second look is.
const SECOND_LOOK: Duration = Duration::from_secs(2);
/// Changes that are told together at most.
const TOGETHER_MAX: usize = 1000;

/// Watches every kind that the engine reads, each on its own: one that fails does not hold up the others. They end when the
/// receiver is gone.
pub fn watch_all(client: &Client, clock: Clock, told: &mpsc::Sender<Observation>) {
    for kind in ObjectKind::ALL {
        let (client, told) = (client.clone(), told.clone());
        match kind {
            ObjectKind::Node => spawn::<Node>(kind, client, clock, told),
            ObjectKind::Pod => spawn::<Pod>(kind, client, clock, told),
            ObjectKind::PodDisruptionBudget => spawn::<PodDisruptionBudget>(kind, client, clock, told),
            ObjectKind::PersistentVolume => spawn::<PersistentVolume>(kind, client, clock, told),
            ObjectKind::PersistentVolumeClaim => spawn::<PersistentVolumeClaim>(kind, client, clock, told),
            ObjectKind::DaemonSet => spawn::<DaemonSet>(kind, client, clock, told),
            ObjectKind::PriorityClass => spawn::<PriorityClass>(kind, client, clock, told),
            ObjectKind::ClusterPolicy | ObjectKind::VmPool => spawn::<Document>(kind, client, clock, told),
        }
    }
}

fn spawn<T: Wire>(kind: ObjectKind, client: Client, clock: Clock, told: mpsc::Sender<Observation>) {
    let watch = Watch {
        client,
        clock,
        told,
        kind,
        path: path(kind),
        sharing: Sharing::default(),
        good: BTreeMap::new(),
        len: None,
        failures: 0,
    };
    tokio::spawn(watch.run::<T>());
}

/// One kind that is watched.
struct Watch {
    client: Client,
    clock: Clock,
    told: mpsc::Sender<Observation>,
    kind: ObjectKind,
    path: &'static str,
    sharing: Sharing,
    /// The last good form of documents of ours: an invalid new one does not take its place.
    good: BTreeMap<Name, Object>,
    /// How many objects the last list had.
    len: Option<usize>,
    failures: u32,
}

/// Nobody listens any more.
struct Closed;

/// How a watch came to its end.
enum End {
    /// The API ended it in good order: it goes on from the last version.
    Over,
    /// The version is too old: only a list helps.
    Gone,
    /// Something failed.
    Failed(SourceError),
}

#[derive(Deserialize)]
struct List<T> {
    metadata: ListMeta,
    items: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ListMeta {
    resource_version: String,
    r#continue: String,
}

impl Watch {
    async fn run<T: Wire>(mut self) {
        while self.follow::<T>().await.is_ok() {}
    }

    /// From a list to the next one.
    async fn follow<T: Wire>(&mut self) -> Result<(), Closed> {
        let mut version = match self.list::<T>().await {
            Ok((objects, version)) => {
                let suspicious = self.len.is_some_and(|before| objects.len() * 2 < before);
                self.len = Some(objects.len());
                self.tell(Ok(Body::Listed(objects))).await?;
                if suspicious {
                    sleep(SECOND_LOOK).await;
                    return Ok(());
                }
                version
            }
            Err(error) => return self.failed(error).await,
        };
        loop {
            match self.watch::<T>(&mut version).await? {
                End::Over => self.failures = 0,
                End::Gone => return Ok(()),
                // Whether something was missed nobody knows: only a list is believed after a failure.
                End::Failed(error) => return self.failed(error).await,
            }
        }
    }

    /// The complete list, as of one version: a list without a version is read past the API's caches, so it never goes back in
    /// time.
    async fn list<T: Wire>(&mut self) -> Result<(Vec<Object>, String), SourceError> {
        let mut params = ListParams::default().limit(PAGE);
        let mut objects = Vec::new();
        loop {
            let page: List<T> = self.page(&params).await?;
            objects.extend(page.items.into_iter().filter_map(|item| self.take(item)));
            if page.metadata.r#continue.is_empty() {
                self.sharing.forget_unused();
                return Ok((objects, page.metadata.resource_version));
            }
            params = params.continue_token(&page.metadata.r#continue);
        }
    }

    async fn page<T: Wire>(&self, params: &ListParams) -> Result<List<T>, SourceError> {
        let request = Request::new(self.path).list(params).map_err(|error| invalid(&error))?;
        match timeout(LIST_TIMEOUT, self.client.request(request)).await {
            Ok(page) => page.map_err(|error| classed(&error)),
            Err(_) => Err(silent("a list")),
        }
    }

    /// Watches from a version on until the watch ends; the version goes along.
    async fn watch<T: Wire>(&mut self, version: &mut String) -> Result<End, Closed> {
        let params = WatchParams::default().timeout(WATCH_SECS);
        let request = match Request::new(self.path).watch(&params, version) {
            Ok(request) => request,
            Err(error) => return Ok(End::Failed(invalid(&error))),
        };
        let stream = match timeout(LIST_TIMEOUT, self.client.request_events::<T>(request)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if is_gone(&error) => return Ok(End::Gone),
            Ok(Err(error)) => return Ok(End::Failed(classed(&error))),
            Err(_) => return Ok(End::Failed(silent("a watch"))),
        };
        // Whoever is given a watch from the last version on has missed nothing until now.
        self.tell(Ok(Body::Changed(Vec::new()))).await?;
        let mut events = Box::pin(stream.ready_chunks(TOGETHER_MAX));
        loop {
            let Ok(events) = timeout(SILENT_LONGEST, events.next()).await else {
                return Ok(End::Failed(silent("a watch")));
            };
            let Some(events) = events else { return Ok(End::Over) };
            if let Some(end) = self.events(events, version).await? {
                return Ok(end);
            }
        }
    }

    async fn events<T: Wire>(
        &mut self,
        events: Vec<Result<WatchEvent<T>, kube::Error>>,
        version: &mut String,
    ) -> Result<Option<End>, Closed> {
        let mut changes = Vec::new();
        let mut end = None;
        for event in events {
            match event {
                Ok(WatchEvent::Added(item) | WatchEvent::Modified(item)) => {
                    *version = item.version();
                    changes.extend(self.take(item).map(Change::Applied));
                }
                Ok(WatchEvent::Deleted(item)) => {
                    *version = item.version();
                    self.good.remove(&item.key().name);
                    changes.push(Change::Deleted(item.key()));
                }
                Ok(WatchEvent::Bookmark(mark)) => *version = mark.metadata.resource_version,
                Ok(WatchEvent::Error(status)) => {
                    let error = kube::Error::Api(status);
                    end = Some(if is_gone(&error) { End::Gone } else { End::Failed(classed(&error)) });
                }
                Err(error) => end = Some(End::Failed(classed(&error))),
            }
            if end.is_some() {
                break;
            }
        }
        if end.is_none() || !changes.is_empty() {
            self.tell(Ok(Body::Changed(changes))).await?;
        }
        Ok(end)
    }

    /// The object that was sent; in place of an invalid document its last good form, if there is one.
    fn take<T: Wire>(&mut self, item: T) -> Option<Object> {
        let key = item.key();
        match item.object(&mut self.sharing) {
            Ok(object) => {
                if object.meta().is_none() {
                    self.good.insert(key.name, object.clone());
                }
                Some(object)
            }
            Err(error) => {
                tracing::warn!(kind = self.kind.name(), name = %key.name, %error, "an invalid document is passed over");
                self.good.get(&key.name).cloned()
            }
        }
    }

    async fn tell(&self, outcome: Result<Body, SourceError>) -> Result<(), Closed> {
        let source = Source::kubernetes(self.kind);
        let observation = Observation { source, taken_at: self.clock.now(), outcome };
        self.told.send(observation).await.map_err(|_| Closed)
    }

    /// Tells of a failure, and waits before the next try.
    async fn failed(&mut self, error: SourceError) -> Result<(), Closed> {
        tracing::warn!(kind = self.kind.name(), %error, "cannot see this kind");
        self.tell(Err(error)).await?;
        let wait = RETRY_FIRST.saturating_mul(1 << self.failures.min(10)).min(RETRY_LONGEST);
        self.failures = self.failures.saturating_add(1);
        sleep(wait).await;
        Ok(())
    }
}

fn invalid(error: &kube::core::request::Error) -> SourceError {
    use ballast_core::observation::ErrorClass;
    SourceError { class: ErrorClass::Invalid, message: error.to_string() }
}

fn silent(what: &str) -> SourceError {
    use ballast_core::observation::ErrorClass;
    SourceError { class: ErrorClass::Transient, message: format!("no answer to {what} in time") }
}
