//! Documents of kinds that this release does not act on: each is told so once a generation, and nothing else is kept of them.
//!
//! A watch on a slim type tells which of them say something else in their status; only those are remembered, until they were
//! written. So ten thousand of them at rest cost a watch a kind, and no write. Nothing is decided by them, so that a watch which
//! fails is simply begun anew after a while.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt};
use http::header::{ACCEPT_ENCODING, HeaderValue};
use kube::Client;
use kube::core::params::WatchParams;
use kube::core::request::Request;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep, timeout};

use ballast_core::documents::DocumentKind;
use ballast_core::kube::Name;
use ballast_core::observation::SourceError;
use ballast_core::publish::{DocumentRef, DocumentStatus, Said};
use ballast_core::units::{Span, Time};

use super::crd::KINDS;
use super::error::{classed, is_gone};
use super::list::{LIST_TIMEOUT, List};
use super::sent::{Event, Sent};

/// The API ends a watch after so long; nobody waits for what it tells.
const WATCH_SECS: u32 = 290;
/// A watch that says nothing for so long, not even that it ends, is dead.
const SILENT_LONGEST: Duration = Duration::from_secs(310);
/// How long it is waited after a failure, and after a write that was refused.
const AGAIN: Span = Span::from_secs(60);
/// From the beginning of a list or watch to that of the next at least: whatever ends at once is not asked for at once.
const PACE: Duration = Duration::from_secs(1);

/// A document that has to be told that nothing is done by it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Untold {
    pub(super) reference: DocumentRef,
    pub(super) uid: Name,
    pub(super) version: u64,
    pub(super) generation: i64,
    pub(super) status: DocumentStatus,
}

/// What is kept of documents, as long as there are such.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Those that have to be told.
    untold: BTreeMap<DocumentRef, Untold>,
    /// The identity and the generation that was told: it is told once, whatever others write.
    told: BTreeMap<DocumentRef, (Name, i64)>,
}

impl Queue {
    /// A document does not say what it should, or does; whether that is news.
    fn note(&mut self, reference: &DocumentRef, untold: Option<Untold>) -> bool {
        match untold.filter(|own| !self.was_told(own)) {
            Some(untold) => self.untold.insert(reference.clone(), untold.clone()) != Some(untold),
            None => self.untold.remove(reference).is_some(),
        }
    }

    /// All documents of a kind that there are.
    fn list(&mut self, kind: DocumentKind, documents: Vec<(DocumentRef, Option<Untold>)>) {
        let told = documents.iter().filter_map(|(own, _)| self.told.remove_entry(own)).collect::<Vec<_>>();
        self.told.retain(|own, _| own.kind != kind);
        self.told.extend(told);
        self.untold.retain(|own, _| own.kind != kind);
        for (reference, untold) in documents {
            self.note(&reference, untold);
        }
    }

    /// There is no such document any more; whether it was to be told.
    fn forget(&mut self, reference: &DocumentRef) -> bool {
        self.told.remove(reference);
        self.untold.remove(reference).is_some()
    }

    /// A document was told, also where it was written by somebody else meanwhile.
    fn tell(&mut self, own: &Untold) -> bool {
        self.told.insert(own.reference.clone(), (own.uid.clone(), own.generation));
        let is_told = self.untold.get(&own.reference).is_some_and(|queued| self.was_told(queued));
        is_told && self.untold.remove(&own.reference).is_some()
    }

    fn was_told(&self, own: &Untold) -> bool {
        let told = self.told.get(&own.reference);
        told.is_some_and(|(uid, generation)| (uid, *generation) == (&own.uid, own.generation))
    }
}

/// All documents that have to be told.
pub(super) struct Unserved {
    client: Client,
    queue: Arc<watch::Sender<Queue>>,
    /// Those that could not be written, and when they may be again.
    rests: BTreeMap<DocumentRef, Time>,
    /// A watch for each kind, while this process is the one that writes.
    watches: JoinSet<()>,
}

impl Unserved {
    pub(super) fn new(client: Client) -> Self {
        let queue = Arc::new(watch::channel(Queue::default()).0);
        Self { client, queue, rests: BTreeMap::new(), watches: JoinSet::new() }
    }

    /// Whoever wants to know when there is something to write.
    pub(super) fn subscribe(&self) -> watch::Receiver<Queue> {
        self.queue.subscribe()
    }

    /// Watches while this process is the one that writes, and forgets all of it when it is not.
    pub(super) fn heed(&mut self, writes: bool) {
        if !writes && !self.watches.is_empty() {
            self.watches = JoinSet::new();
            self.queue.send_replace(Queue::default());
            self.rests.clear();
        }
        if writes && self.watches.is_empty() {
            for kind in DocumentKind::UNSERVED {
                let watch = Watch { client: self.client.clone(), kind, queue: self.queue.clone() };
                self.watches.spawn(watch.run());
            }
        }
    }

    /// The next one to be written.
    pub(super) fn next(&self, now: Time) -> Option<Untold> {
        let rests = |own: &DocumentRef| self.rests.get(own).is_some_and(|until| now < *until);
        self.queue.borrow().untold.values().find(|own| !rests(&own.reference)).cloned()
    }

    /// It was written.
    pub(super) fn written(&mut self, own: &Untold) {
        self.queue.send_if_modified(|queue| queue.tell(own));
        self.rests.remove(&own.reference);
    }

    /// The version that was seen is not the newest any more, or the document is gone: what is so the watch says.
    pub(super) fn drop(&mut self, own: &Untold) {
        self.queue.send_if_modified(|queue| {
            let queued = queue.untold.get(&own.reference);
            let is_it = queued.is_some_and(|queued| queued.version == own.version);
            is_it && queue.untold.remove(&own.reference).is_some()
        });
        self.rests.remove(&own.reference);
    }

    /// It could not be written.
    pub(super) fn refused(&mut self, own: &Untold, now: Time) {
        self.rests.retain(|_, until| now < *until);
        self.rests.insert(own.reference.clone(), now + AGAIN);
    }
}

/// What of a document is read.
#[derive(Clone, Debug, Deserialize)]
struct Slim {
    metadata: Meta,
    #[serde(default)]
    status: Value,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Meta {
    namespace: Name,
    name: Name,
    uid: Name,
    generation: i64,
    resource_version: String,
}

impl Slim {
    fn reference(&self, kind: DocumentKind) -> DocumentRef {
        DocumentRef { kind, namespace: self.metadata.namespace.clone(), name: self.metadata.name.clone() }
    }

    /// The document, where it does not say what it should.
    fn untold(&self, kind: DocumentKind) -> Option<Untold> {
        let Meta { uid, generation, resource_version, .. } = &self.metadata;
        let status = DocumentStatus::read(self.status.clone());
        // At the same time, so that only what is said can differ.
        let right = status.merge(&Said::not_in_this_release(), *generation, None, Time::ZERO);
        let version = resource_version.parse().unwrap_or(0);
        let reference = self.reference(kind);
        let untold = Untold { reference, uid: uid.clone(), version, generation: *generation, status };
        (right != untold.status).then_some(untold)
    }
}

/// One kind that is watched.
struct Watch {
    client: Client,
    kind: DocumentKind,
    queue: Arc<watch::Sender<Queue>>,
}

impl Watch {
    async fn run(self) {
        let path = KINDS.iter().find(|kind| kind.kind == self.kind.name()).map(|kind| kind.path(""));
        let path = path.unwrap_or_default();
        let mut complaint = String::new();
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let Err(error) = self.follow(&path, &mut pace).await else { continue };
            let why = error.to_string();
            if why != complaint {
                tracing::warn!(kind = self.kind.name(), error = %why, "cannot see this kind, by which nothing is done yet");
                complaint = why;
            }
            sleep(Duration::from_millis(AGAIN.as_millis().unsigned_abs())).await;
        }
    }

    /// From a list to the next one.
    async fn follow(&self, path: &str, pace: &mut Interval) -> Result<(), SourceError> {
        pace.tick().await;
        let list = List::<Slim>::whole(&self.client, path).await.map_err(|refusal| refusal.error)?;
        let mut version = list.version().to_owned();
        let seen = list
            .items
            .iter()
            .map(|Sent { object, .. }| (object.reference(self.kind), object.untold(self.kind)));
        let documents = seen.collect();
        self.queue.send_modify(|queue| queue.list(self.kind, documents));
        loop {
            pace.tick().await;
            if !self.watch(path, &mut version).await? {
                return Ok(());
            }
        }
    }

    /// Watches from a version on until the watch ends; whether another goes on from there.
    async fn watch(&self, path: &str, version: &mut String) -> Result<bool, SourceError> {
        let silent = |_| SourceError {
            class: ballast_core::observation::ErrorClass::Transient,
            message: "no answer to a watch in time".to_owned(),
        };
        let request = Request::new(path).watch(&WatchParams::default().timeout(WATCH_SECS), version);
        let mut request = request.map_err(|error| classed(&kube::Error::BuildRequest(error)))?;
        // Newer servers compress event by event, which the client's decompression does not follow.
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let stream = match timeout(LIST_TIMEOUT, self.client.request_stream(request)).await.map_err(silent)? {
            Err(error) if is_gone(&error) => return Ok(false),
            stream => stream.map_err(|error| classed(&error))?,
        };
        let mut lines = Box::pin(stream.lines());
        loop {
            let Some(line) = timeout(SILENT_LONGEST, lines.next()).await.map_err(silent)? else {
                return Ok(true);
            };
            // Whatever is torn is told again from the last version on, or by a list.
            let Ok(event) = line.map_err(drop).and_then(|line| Event::<Slim>::read(&line).map_err(drop))
            else {
                return Ok(false);
            };
            if !self.event(event, version)? {
                return Ok(false);
            }
        }
    }

    /// Takes in one event; whether the watch goes on.
    fn event(&self, event: Event<Slim>, version: &mut String) -> Result<bool, SourceError> {
        match event {
            Event::Added(Sent { object, .. }) | Event::Modified(Sent { object, .. }) => {
                version.clone_from(&object.metadata.resource_version);
                let (reference, untold) = (object.reference(self.kind), object.untold(self.kind));
                self.queue.send_if_modified(|queue| queue.note(&reference, untold));
            }
            Event::Deleted(Sent { object, .. }) => {
                version.clone_from(&object.metadata.resource_version);
                self.queue.send_if_modified(|queue| queue.forget(&object.reference(self.kind)));
            }
            Event::Bookmark(reached) => *version = reached,
            Event::Failed(status) => {
                let error = kube::Error::Api(status);
                return if is_gone(&error) { Ok(false) } else { Err(classed(&error)) };
            }
            Event::Other => {}
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    const KIND: DocumentKind = DocumentKind::UNSERVED[0];

    fn untold(name: &str, version: u64, generation: i64) -> Untold {
        let reference = DocumentRef { kind: KIND, namespace: "web".into(), name: name.into() };
        Untold { reference, uid: "u".into(), version, generation, status: DocumentStatus::read(Value::Null) }
    }

    #[test]
    fn a_generation_is_told_once_and_nothing_is_kept_of_what_is_gone() {
        let mut queue = Queue::default();
        let [first, rewritten, changed] =
            [(7, 1), (8, 1), (9, 2)].map(|(version, of)| untold("a", version, of));
        let own = &first.reference;
        assert!(queue.note(own, Some(first.clone())) && !queue.note(own, Some(first.clone())));
        queue.note(own, Some(rewritten.clone()));
        assert!(queue.tell(&first), "it was told, whoever wrote it meanwhile");
        assert!(!queue.note(own, Some(rewritten)) && queue.untold.is_empty());
        assert!(queue.note(own, Some(changed.clone())), "another generation");
        queue.tell(&changed);
        let other = untold("b", 3, 1);
        queue.list(KIND, vec![(own.clone(), Some(changed)), (other.reference.clone(), Some(other.clone()))]);
        assert_eq!((queue.untold.len(), queue.told.len()), (1, 1), "a list makes nothing be told again");
        queue.tell(&other);
        queue.forget(own);
        assert_eq!(queue.told.keys().collect::<Vec<_>>(), [&other.reference]);
        queue.list(KIND, Vec::new());
        assert!(queue.told.is_empty() && queue.untold.is_empty());
    }

    /// A proxy that does not stream ends every watch at once; a server that has forgotten all versions makes every watch a list.
    #[tokio::test(start_paused = true)]
    async fn what_ends_at_once_is_begun_once_a_second() {
        let gone = r#"{"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "code": 410}}"#;
        for watched in ["", gone, "{torn"] {
            let asked = Arc::new(Mutex::new(0));
            let count = asked.clone();
            let serve = move |request: http::Request<kube::client::Body>| {
                *count.lock().expect("nobody panicked") += 1;
                let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
                let list = r#"{"metadata": {"resourceVersion": "1"}, "items": []}"#;
                let body = if is_watch { watched } else { list }.to_owned();
                let body = kube::client::Body::from(body.into_bytes());
                std::future::ready(http::Response::builder().body(body))
            };
            let client = Client::new(tower::service_fn(serve), "default");
            let queue = Arc::new(watch::channel(Queue::default()).0);
            let watch = Watch { client, kind: KIND, queue };
            let _ = timeout(Duration::from_millis(30_500), watch.run()).await;
            assert_eq!(*asked.lock().expect("nobody panicked"), 31, "{watched}");
        }
    }
}
