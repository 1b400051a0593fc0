//! Watches: one for each kind, from a complete list on, told as observations.
//!
//! ```text
//! list (consistent, in pages) ──▶ Listed ──▶ watch from its version ──▶ Changed … ──▶ over: watch again from the last version
//!   ▲                                             │
//!   └── 410, an error (told, and waited out), a list that is shorter than what was known, or no proof for too long
//! ```
//!
//! Written by hand rather than with the watcher of `kube::runtime`, which keeps bookmarks and reconnections to itself: of a
//! quiet kind nobody could then tell whether nothing happens or nothing is heard. A watch is served from the API's cache, which
//! may be old; so with every watch the version of the kind is asked for past the caches. Once an event or a bookmark has reached
//! it, everything is known up to the moment of that question, and that moment is what observations are dated.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt};
use http::header::{ACCEPT_ENCODING, HeaderValue};
use kube::Client;
use kube::core::params::WatchParams;
use kube::core::request::Request;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use ballast_core::documents::DocumentKind;
use ballast_core::kube::{
    CapacityBuffer, DaemonSet, Name, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodDisruptionBudget,
    PodTemplate, PriorityClass, ProvisioningRequest, Sharing, StorageClass,
};
use ballast_core::observation::{
    Body, Change, ErrorClass, Object, ObjectKey, ObjectKind, Observation, Source, SourceError,
};
use ballast_core::publish::{DocumentRef, Fault};
use ballast_core::units::{Span, Time};

use crate::clock::Clock;

use super::documents::{Documents, Taken};
use super::error::{classed, is_gone};
use super::list::{LIST_TIMEOUT, List, Refusal, current_version};
use super::seen::SeenDocuments;
use super::sent::{Event, Sent};
use super::wire::{Document, Wire, paths};

/// The API ends a watch after so long, not without a bookmark just before, and we begin it anew with a new question for the
/// version. Well below the age at which nothing is removed any more.
const WATCH_SECS: u32 = 20;
/// A watch that says nothing for so long, not even that it ends, is dead.
const SILENT_LONGEST: Duration = Duration::from_secs(30);
/// After so long without proof that a watch tells everything, a list is asked for: also well below that age.
const PROOF_OVERDUE: Span = Span::from_secs(60);
/// The first and the longest wait before a failure is tried again.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_LONGEST: Duration = Duration::from_secs(30);
/// How long after a list that was shorter than what was known the next look is, at first; whether it is believed the core says.
const SECOND_LOOK: Duration = Duration::from_secs(2);
/// Looks of that kind before it watches all the same: where objects dwindle, each list is shorter than the last.
const LOOKS_AGAIN: u32 = 3;
/// How often it is looked whether a kind that the API did not know has been installed: well below the age at which what is known
/// of it is too old to remove anything on.
const UNKNOWN_KIND: Duration = Duration::from_secs(30);
/// How long it fails, rather than that there is nothing, where the API knew a kind and does not know it any more: definitions are
/// deleted and made anew by tools that bring them up to date, and what is held for such objects would go meanwhile.
const UNKNOWN_AGAIN: Span = Span::from_mins(10);
/// Lists of nothing that are told of a kind that the API does not know: the core believes a second look.
const NOTHING_TOLD: u32 = 2;
/// Changes that are told together at most.
const TOGETHER_MAX: usize = 1000;

/// Awaits what a watch does with the type that a kind is sent as.
macro_rules! as_its_type {
    ($kind:expr, $watch:expr, $does:ident) => {
        match $kind {
            ObjectKind::Node => $watch.$does::<Node>().await,
            ObjectKind::Pod => $watch.$does::<Pod>().await,
            ObjectKind::PodDisruptionBudget => $watch.$does::<PodDisruptionBudget>().await,
            ObjectKind::PersistentVolume => $watch.$does::<PersistentVolume>().await,
            ObjectKind::PersistentVolumeClaim => $watch.$does::<PersistentVolumeClaim>().await,
            ObjectKind::DaemonSet => $watch.$does::<DaemonSet>().await,
            ObjectKind::PriorityClass => $watch.$does::<PriorityClass>().await,
            ObjectKind::StorageClass => $watch.$does::<StorageClass>().await,
            ObjectKind::PodTemplate => $watch.$does::<PodTemplate>().await,
            ObjectKind::CapacityBuffer => $watch.$does::<CapacityBuffer>().await,
            ObjectKind::ProvisioningRequest => $watch.$does::<ProvisioningRequest>().await,
            ObjectKind::ClusterPolicy | ObjectKind::VmPool => $watch.$does::<Document>().await,
        }
    };
}

/// Watches every kind that the engine reads, each on its own: one that fails does not hold up the others. They end when the
/// receiver is gone. Documents of ours are handed on as they stand, too.
pub fn watch_all(client: &Client, clock: Clock, told: &mpsc::Sender<Observation>, seen: &SeenDocuments) {
    // Room may be held by what these ask for. They are named before anything is seen: a source that was heard of and has not
    // answered keeps every node.
    for kind in ObjectKind::ASKS {
        let (source, outcome) = (Source::kubernetes(kind), Ok(Body::Changed(Vec::new())));
        // There is room for them: nobody else has told anything yet.
        let _ = told.try_send(Observation { source, taken_at: clock.now(), outcome });
    }
    for kind in ObjectKind::ALL {
        let watch = Watch::new(kind, client.clone(), clock, told.clone(), seen.clone());
        tokio::spawn(async move { as_its_type!(kind, watch, run) });
    }
}

/// One look at every kind that the engine reads, as watches would begin with.
pub(crate) async fn look_at_all(client: &Client, clock: Clock, seen: &SeenDocuments) -> Vec<Observation> {
    // Nobody is told on the way: what was seen is the answer.
    let (told, _) = mpsc::channel(1);
    let look = async |kind| {
        let watch = Watch::new(kind, client.clone(), clock, told.clone(), seen.clone());
        as_its_type!(kind, watch, look)
    };
    futures::future::join_all(ObjectKind::ALL.map(look)).await
}

/// One kind that is watched.
struct Watch {
    client: Client,
    clock: Clock,
    told: mpsc::Sender<Observation>,
    kind: ObjectKind,
    path: &'static str,
    sharing: Sharing,
    /// Where the kind is one of ours.
    documents: Documents,
    /// …and as it stands in the API.
    seen: SeenDocuments,
    /// Objects of which something cannot be read, each named once.
    unread: BTreeSet<(Name, Name)>,
    /// The last good form of what room is asked for by: what is held for it does not go because a newer form cannot be read.
    good: BTreeMap<(Name, Name), Object>,
    /// Since when the API has not known the kind, and how often it was told that there is nothing of it.
    unknown: Option<(Time, u32)>,
    /// How many objects were handed on and are not gone since.
    handed_on: usize,
    /// Everything up to then was handed on.
    proven: Time,
    /// Lists in a row that were shorter than what was known.
    looks: u32,
    failures: u32,
    last_error: Option<SourceError>,
}

/// Nobody listens any more.
struct Closed;

/// How a watch came to its end.
enum End {
    /// The API ended it in good order: it goes on from the last version.
    Over,
    /// Only a list helps: the version is too old, or what was refused may be good now.
    Gone,
    /// Something failed.
    Failed(Refusal),
}

/// What proves that a watch tells everything.
struct Proof {
    /// Past all caches, this was the version of the kind…
    version: String,
    /// …at some moment after this one.
    asked: Time,
}

impl Proof {
    /// Whether who has heard of a version has heard of everything up to the question. Versions are numbers that only grow.
    fn is_reached(&self, version: &str) -> bool {
        let number = |version: &str| version.parse::<u64>().ok();
        match (number(version), number(&self.version)) {
            (Some(heard), Some(wanted)) => heard >= wanted,
            _ => version == self.version,
        }
    }
}

impl Watch {
    fn new(
        kind: ObjectKind,
        client: Client,
        clock: Clock,
        told: mpsc::Sender<Observation>,
        seen: SeenDocuments,
    ) -> Self {
        Self {
            client,
            clock,
            told,
            kind,
            path: paths(kind)[0],
            sharing: Sharing::default(),
            documents: Documents::default(),
            seen,
            unread: BTreeSet::new(),
            good: BTreeMap::new(),
            unknown: None,
            handed_on: 0,
            proven: clock.now(),
            looks: 0,
            failures: 0,
            last_error: None,
        }
    }

    async fn run<T: Wire>(mut self) {
        while self.follow::<T>().await.is_ok() {}
    }

    /// One look, and no more.
    async fn look<T: Wire>(mut self) -> Observation {
        let outcome = match self.list::<T>().await {
            Ok(Some(list)) => Ok(Body::Listed(self.take_list(list).0)),
            Ok(None) => Ok(Body::Listed(Vec::new())),
            Err(refusal) => Err(refusal.error),
        };
        Observation { source: Source::kubernetes(self.kind), taken_at: self.proven, outcome }
    }

    /// From a list to the next one.
    async fn follow<T: Wire>(&mut self) -> Result<(), Closed> {
        // What is on a later page may have changed while the first was on its way.
        let asked = self.clock.now();
        let (objects, mut version) = match self.list::<T>().await {
            Ok(Some(list)) => {
                self.unknown = None;
                self.take_list(list)
            }
            Ok(None) => return self.nothing(asked).await,
            Err(refusal) => return self.failed(refusal).await,
        };
        let is_shorter = objects.len() < std::mem::replace(&mut self.handed_on, objects.len());
        self.proven = asked;
        self.tell(Ok(Body::Listed(objects))).await?;
        if is_shorter && self.looks < LOOKS_AGAIN {
            let wait = SECOND_LOOK * (1 << self.looks);
            self.looks += 1;
            sleep(wait).await;
            return Ok(());
        }
        self.looks = 0;
        loop {
            match self.watch::<T>(&mut version).await? {
                End::Over => self.heard_well(),
                End::Gone => return Ok(()),
                // Whether something was missed nobody knows: only a list is believed after a failure.
                End::Failed(refusal) => return self.failed(refusal).await,
            }
            if self.clock.now().since(self.proven) > PROOF_OVERDUE {
                tracing::debug!(
                    kind = self.kind.name(),
                    "nothing proves that everything is heard: lists anew"
                );
                return Ok(());
            }
        }
    }

    /// The complete list, in the newest version that the API knows; none where it need not know the kind and does not.
    async fn list<T: Wire>(&mut self) -> Result<Option<List<T>>, Refusal> {
        for path in paths(self.kind) {
            self.path = path;
            match List::<T>::whole(&self.client, path).await {
                Err(refusal) if self.kind.is_optional() && refusal.error.class == ErrorClass::NotFound => {}
                answer => return answer.map(Some),
            }
        }
        Ok(None)
    }

    /// The API does not know the kind, so that there is nothing of it. It may yet be installed.
    async fn nothing(&mut self, asked: Time) -> Result<(), Closed> {
        let (since, told) = self.unknown.unwrap_or((asked, 0));
        if self.handed_on > 0 && asked.since(since) < UNKNOWN_AGAIN {
            self.unknown = Some((since, 0));
            let message = "the API does not know this kind any more".to_owned();
            return self.failed(failure(ErrorClass::NotFound, message)).await;
        }
        (self.proven, self.handed_on) = (asked, 0);
        self.good.clear();
        self.heard_well();
        self.unknown = Some((since, (told + 1).min(NOTHING_TOLD)));
        // That there still is nothing is no news, and nobody has to plan for it.
        let still = if told < NOTHING_TOLD { Body::Listed(Vec::new()) } else { Body::Changed(Vec::new()) };
        self.tell(Ok(still)).await?;
        sleep(UNKNOWN_KIND).await;
        Ok(())
    }

    /// Watches from a version on until the watch ends; the version goes along.
    async fn watch<T: Wire>(&mut self, version: &mut String) -> Result<End, Closed> {
        let params = WatchParams::default().timeout(WATCH_SECS);
        let mut request = match Request::new(self.path).watch(&params, version) {
            Ok(request) => request,
            Err(error) => return Ok(End::Failed(failure(ErrorClass::Invalid, error.to_string()))),
        };
        // Newer servers compress event by event, which the client's decompression does not follow.
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let asked = self.clock.now();
        let (stream, current) = tokio::join!(
            timeout(LIST_TIMEOUT, self.client.request_stream(request)),
            current_version(&self.client, self.path),
        );
        let stream = match stream {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if is_gone(&error) => return Ok(End::Gone),
            Ok(Err(error)) => return Ok(End::Failed(classed(&error).into())),
            Err(_) => return Ok(End::Failed(silent())),
        };
        let proof = match current {
            Ok(version) => Proof { version, asked },
            Err(refusal) => return Ok(End::Failed(refusal)),
        };
        self.prove(&proof, version);
        self.tell(Ok(Body::Changed(Vec::new()))).await?;
        let mut lines = Box::pin(stream.lines().ready_chunks(TOGETHER_MAX));
        loop {
            let Ok(lines) = timeout(SILENT_LONGEST, lines.next()).await else {
                return Ok(End::Failed(silent()));
            };
            let Some(lines) = lines else { return Ok(End::Over) };
            if let Some(end) = self.events::<T>(lines, version, &proof).await? {
                return Ok(end);
            }
        }
    }

    async fn events<T: Wire>(
        &mut self,
        lines: Vec<std::io::Result<String>>,
        version: &mut String,
        proof: &Proof,
    ) -> Result<Option<End>, Closed> {
        let mut changes = Vec::new();
        let mut end = None;
        for line in lines {
            end = match line {
                Ok(line) => self.event::<T>(&line, version, &mut changes),
                Err(error) => Some(broken_off(&error)),
            };
            if end.is_some() {
                break;
            }
        }
        self.prove(proof, version);
        if end.is_none() || !changes.is_empty() {
            self.tell(Ok(Body::Changed(changes))).await?;
        }
        Ok(end)
    }

    /// Takes in one event, unless it is the end.
    fn event<T: Wire>(&mut self, line: &str, version: &mut String, changes: &mut Vec<Change>) -> Option<End> {
        match Event::<T>::read(line) {
            Ok(Event::Added(sent)) => {
                self.handed_on += 1;
                self.change(sent, version, changes)
            }
            Ok(Event::Modified(sent)) => self.change(sent, version, changes),
            Ok(Event::Deleted(Sent { object, .. })) => {
                *version = object.version();
                self.handed_on = self.handed_on.saturating_sub(1);
                changes.push(Change::Deleted(object.key()));
                self.forget(&object.key())
            }
            Ok(Event::Bookmark(reached)) => {
                *version = reached;
                None
            }
            Ok(Event::Failed(status)) => {
                let error = kube::Error::Api(status);
                Some(if is_gone(&error) { End::Gone } else { End::Failed(classed(&error).into()) })
            }
            Ok(Event::Other) => None,
            // Cut off in the middle of a line: it is told again from the last version on.
            Err(error) if error.is_eof() => Some(End::Over),
            Err(error) => Some(End::Failed(failure(ErrorClass::Transient, format!("no event: {error}")))),
        }
    }

    /// An object was made or changed.
    fn change<T: Wire>(
        &mut self,
        sent: Sent<T>,
        version: &mut String,
        changes: &mut Vec<Change>,
    ) -> Option<End> {
        *version = sent.object.version();
        let name = sent.object.key().name;
        // What only says otherwise of a document than before, as after a write of ours, is no change of it.
        let Taken { holds, is_same: false, .. } = self.take(sent) else { return None };
        changes.extend(holds.map(Change::Applied));
        self.documents.has_refused_another(&name).then_some(End::Gone)
    }

    /// An object is gone.
    fn forget(&mut self, key: &ObjectKey) -> Option<End> {
        let own = named(key);
        self.unread.remove(&own);
        self.good.remove(&own);
        self.documents.delete(&key.name);
        if let Some(kind) = self.document_kind() {
            self.seen.gone(&reference(kind, key));
        }
        self.documents.has_refused_another(&key.name).then_some(End::Gone)
    }

    fn prove(&mut self, proof: &Proof, version: &str) {
        if proof.is_reached(version) {
            self.proven = proof.asked;
        }
    }

    /// The objects of a list, and its version.
    fn take_list<T: Wire>(&mut self, mut list: List<T>) -> (Vec<Object>, String) {
        let version = list.version().to_owned();
        self.documents.list();
        self.unread.clear();
        // Of two documents that do not go together the older one holds, whoever lists them.
        list.items.sort_by_cached_key(|sent| sent.object.created());
        self.see_only(&list);
        let listed: BTreeSet<(Name, Name)> =
            list.items.iter().map(|sent| named(&sent.object.key())).collect();
        self.good.retain(|own, _| listed.contains(own));
        let objects = list.items.into_iter().filter_map(|sent| self.take(sent).holds).collect();
        self.sharing.forget_unused();
        (objects, version)
    }

    /// The object that was sent, as far as it can be read; in place of an invalid document its last good form, if there is one.
    fn take<T: Wire>(&mut self, sent: Sent<T>) -> Taken {
        let new = |holds: Option<Object>| Taken { holds, error: None, is_same: false };
        let Sent { mut object, unread } = sent;
        let key = object.key();
        if !unread.is_empty() {
            let stays = !key.name.is_empty() && object.freeze(&unread);
            let good =
                self.good.get(&named(&key)).filter(|good| good.meta().is_some_and(|own| own.uid == key.uid));
            let good = good.cloned();
            if self.unread.insert(named(&key)) {
                let (kind, namespace, name) = (self.kind.name(), &key.namespace, &key.name);
                let instead = match (stays, &good) {
                    (true, _) => "it stays as it is, where it is",
                    (false, Some(_)) => "its last good form holds",
                    (false, None) => "it is passed over",
                };
                tracing::warn!(kind, %namespace, %name, %unread, "cannot be read in full: {instead}");
            }
            if !stays {
                return new(good);
            }
        }
        let document = object.document();
        let read = object.object(&mut self.sharing);
        if read.as_ref().is_ok_and(|object| object.meta().is_some()) {
            if let Some(object) = read.as_ref().ok().filter(|_| ObjectKind::ASKS.contains(&self.kind)) {
                self.good.insert(named(&key), object.clone());
            }
            return new(read.ok());
        }
        let taken = self.documents.take(&key, read);
        let holds = taken.holds.is_some();
        if let Some(error) = taken.error.as_ref().filter(|_| !taken.is_same) {
            let instead = if holds { "its last good form holds" } else { "it is passed over" };
            tracing::warn!(kind = self.kind.name(), name = %key.name, %error, "an invalid document: {instead}");
        }
        let fault = taken.error.as_ref().map(|error| Fault { problem: error.message.clone(), holds });
        if let Some(document) = document {
            self.seen.take(document.with_fault(fault));
        }
        taken
    }

    /// The kind, where it is one of ours.
    fn document_kind(&self) -> Option<DocumentKind> {
        DocumentKind::ALL.into_iter().find(|kind| kind.name() == self.kind.name())
    }

    /// Of documents of ours only those of a list are there.
    fn see_only<T: Wire>(&self, list: &List<T>) {
        if let Some(kind) = self.document_kind() {
            let listed = list.items.iter().map(|sent| reference(kind, &sent.object.key())).collect();
            self.seen.only(kind, &listed);
        }
    }

    /// Tells what was seen, as of when everything is known.
    async fn tell(&self, outcome: Result<Body, SourceError>) -> Result<(), Closed> {
        let source = Source::kubernetes(self.kind);
        let observation = Observation { source, taken_at: self.proven, outcome };
        self.told.send(observation).await.map_err(|_| Closed)
    }

    fn heard_well(&mut self) {
        self.failures = 0;
        if self.last_error.take().is_some() {
            tracing::info!(kind = self.kind.name(), "sees this kind again");
        }
    }

    /// Tells of a failure, and waits before the next try.
    async fn failed(&mut self, refusal: Refusal) -> Result<(), Closed> {
        let Refusal { error, retry_after } = refusal;
        // Only lists make a kind good again that failed.
        self.unknown = self.unknown.map(|(since, _)| (since, 0));
        if self.last_error.as_ref() != Some(&error) {
            self.complain(&error);
            self.last_error = Some(error.clone());
        }
        self.tell(Err(error)).await?;
        let wait = RETRY_FIRST.saturating_mul(1 << self.failures.min(10)).min(RETRY_LONGEST);
        self.failures = self.failures.saturating_add(1);
        sleep(wait.max(retry_after.unwrap_or_default())).await;
        Ok(())
    }

    fn complain(&self, error: &SourceError) {
        let kind = self.kind.name();
        let is_ours = matches!(self.kind, ObjectKind::ClusterPolicy | ObjectKind::VmPool);
        if is_ours && error.class == ErrorClass::NotFound {
            let hint = "ballast crd | kubectl apply -f -";
            return tracing::warn!(
                kind,
                hint,
                "the cluster does not know this kind: install it as the hint says"
            );
        }
        tracing::warn!(kind, %error, "cannot see this kind");
    }
}

fn reference(kind: DocumentKind, key: &ObjectKey) -> DocumentRef {
    DocumentRef { kind, namespace: key.namespace.clone(), name: key.name.clone() }
}

fn named(key: &ObjectKey) -> (Name, Name) {
    (key.namespace.clone(), key.name.clone())
}

fn failure(class: ErrorClass, message: String) -> Refusal {
    SourceError { class, message }.into()
}

/// How a watch ends whose connection broke: in good order where only its end is missing, as after a time-out on the way.
fn broken_off(error: &std::io::Error) -> End {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => End::Over,
        _ => End::Failed(failure(ErrorClass::Transient, format!("the watch broke off: {error}"))),
    }
}

fn silent() -> Refusal {
    failure(ErrorClass::Transient, "no answer to a watch in time".to_owned())
}
