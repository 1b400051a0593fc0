//! The writer of statuses: what the engine says of each document is brought to stand in the API.
//!
//! It is told the newest word by a channel that holds no other: nothing queues up, and what was overtaken is never written.
//! Only who leads is told anything, so that only one writes. A write is a server-side apply of all fields of ours to the very
//! version of the document that was seen: what somebody else wrote meanwhile, another leader or a person who approves, is never
//! written over unseen. That it comes back through the watch is how one knows that it stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::request::Request;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use ballast_core::kube::Name;
use ballast_core::policy::API_VERSION;
use ballast_core::publish::{DocumentRef, DocumentStatus, Pace, Published, Said};
use ballast_core::units::{Span, Time};

use crate::clock::Clock;

use super::asks::AskWriter;
use super::crd::KINDS;
use super::error::chain;
use super::seen::{SeenDocument, SeenDocuments};
use super::unserved::{Unserved, Untold};
use super::{FIELD_MANAGER, Leadership, REQUEST_TIMEOUT};

/// How often it is looked whether time alone changes something: a proposal is renewed, a refusal is told for a while.
const LOOK_EVERY: Span = Span::from_secs(10);

/// How long it is waited where the lease does not outlast a request: it is renewed more often than that.
const LEASE_SHORT: Span = Span::from_secs(2);

/// How soon it is looked again whether something that nobody waits for may be written.
const SPARE_LOOK: Span = Span::from_millis(500);

/// What it means where less stands in the API than was written.
const PRUNED: &str =
    "the API does not keep all of it: its kind is of another release, bring it up to date with `ballast crd`";

/// The newest word on all documents; nothing while this process does not lead or may not write.
pub type Word = Option<Arc<Published>>;

/// Writes statuses.
pub struct Publisher {
    client: Client,
    clock: Clock,
    documents: SeenDocuments,
    leadership: watch::Receiver<Leadership>,
    pace: Pace,
    asks: AskWriter,
    /// Documents that this release does not act on.
    unserved: Unserved,
    /// Versions that are not the newest any more, or not there: the watch tells what is.
    outdated: BTreeMap<DocumentRef, u64>,
    /// What was last complained of, so that it is not told again with every try.
    complaint: String,
}

/// What is to stand in the API of a document.
struct Draft {
    reference: DocumentRef,
    uid: Name,
    version: u64,
    status: DocumentStatus,
}

impl Publisher {
    /// One that writes about these documents while this process leads.
    pub fn new(
        client: Client,
        clock: Clock,
        documents: SeenDocuments,
        leadership: watch::Receiver<Leadership>,
    ) -> Self {
        Self {
            pace: Pace::default(),
            asks: AskWriter::new(client.clone()),
            unserved: Unserved::new(client.clone()),
            outdated: BTreeMap::new(),
            complaint: String::new(),
            client,
            clock,
            documents,
            leadership,
        }
    }

    /// Writes what it is told until it is told to stop.
    pub async fn run(mut self, mut word: watch::Receiver<Word>, stop: CancellationToken) {
        let (mut seen, mut unserved) = (self.documents.subscribe(), self.unserved.subscribe());
        loop {
            let said = word.borrow_and_update().clone();
            self.unserved.heed(said.is_some());
            unserved.mark_unchanged();
            let drafts = self.drafts(said.as_deref(), &seen.borrow_and_update(), self.clock.now());
            if let Some(reference) = self.pace.next(self.clock.now()) {
                if let Some(draft) = drafts.get(&reference).filter(|_| !stop.is_cancelled()) {
                    self.write(draft).await;
                }
                continue;
            }
            if let Some((ask, answer)) = self.asks.due(said.as_deref(), self.clock.now()) {
                match self.may_write() && !stop.is_cancelled() {
                    true => self.asks.write(&ask, &answer, self.clock.now()).await,
                    false => self.asks.postpone(&ask, &answer, self.clock.now() + LEASE_SHORT),
                }
                continue;
            }
            let mut wake_at = self.pace.wake_at().min(self.clock.now() + LOOK_EVERY);
            if let Some(untold) = self.unserved.next(self.clock.now()) {
                if !stop.is_cancelled() && self.may_write() && self.pace.spare(self.clock.now()) {
                    self.tell(&untold).await;
                    continue;
                }
                wake_at = wake_at.min(self.pace.spare_at().max(self.clock.now() + SPARE_LOOK));
            }
            tokio::select! {
                () = stop.cancelled() => return,
                Ok(()) = word.changed() => {}
                Ok(()) = seen.changed() => {}
                Ok(()) = unserved.changed() => {}
                () = sleep_until(self.clock.instant(wake_at)) => {}
            }
        }
    }

    /// What is to be written, and how urgent that is.
    fn drafts(
        &mut self,
        said: Option<&Published>,
        seen: &BTreeMap<DocumentRef, SeenDocument>,
        now: Time,
    ) -> BTreeMap<DocumentRef, Draft> {
        let mut drafts = BTreeMap::new();
        self.pace.keep(|reference| seen.contains_key(reference));
        self.outdated
            .retain(|own, version| seen.get(own).is_some_and(|document| document.version == *version));
        for (reference, document) in seen {
            let is_newest = !self.outdated.contains_key(reference);
            let said = said.filter(|_| is_newest).and_then(|published| word_on(document, published));
            let approved = document.approved.as_deref();
            let status = said.map(|said| document.status.merge(&said, document.generation, approved, now));
            let urgency = status.as_ref().and_then(|status| document.status.urgency(status));
            match (status, urgency) {
                (Some(status), Some(urgency)) => {
                    self.pace.want(reference, urgency, now);
                    let (uid, version) = (document.uid.clone(), document.version);
                    let draft = Draft { reference: reference.clone(), uid, version, status };
                    drafts.insert(reference.clone(), draft);
                }
                _ => self.pace.settle(reference),
            }
        }
        drafts
    }

    /// Whether the lease outlasts a request.
    fn may_write(&self) -> bool {
        self.leadership.borrow().outlasts(Instant::now(), REQUEST_TIMEOUT)
    }

    /// Tells a document that this release does not act on it.
    async fn tell(&mut self, untold: &Untold) {
        let Untold { reference, uid, version, generation, status } = untold;
        let said = Said::not_in_this_release();
        let status = status.merge(&said, *generation, None, self.clock.now());
        let draft = Draft { reference: reference.clone(), uid: uid.clone(), version: *version, status };
        match timeout(REQUEST_TIMEOUT, self.apply(&draft)).await {
            Ok(Ok(_)) => self.unserved.written(untold),
            Ok(Err(kube::Error::Api(status))) if [404, 409].contains(&status.code) => {
                self.unserved.drop(untold)
            }
            Ok(Err(error)) => self.untold(untold, chain(&error)),
            Err(_) => self.untold(untold, "no answer in time".to_owned()),
        }
    }

    fn untold(&mut self, untold: &Untold, why: String) {
        self.unserved.refused(untold, self.clock.now());
        self.warn(&untold.reference, why);
    }

    async fn write(&mut self, draft: &Draft) {
        if !self.may_write() {
            return self.pace.postpone(&draft.reference, self.clock.now() + LEASE_SHORT);
        }
        match timeout(REQUEST_TIMEOUT, self.apply(draft)).await {
            Ok(Ok(object)) => {
                let stands = DocumentStatus::read(object["status"].clone());
                self.documents.written(&object);
                match stands == draft.status {
                    true => self.complaint.clear(),
                    // Else it would be written again at once, and for ever.
                    false => self.complain(&draft.reference, PRUNED.to_owned()),
                }
            }
            // It is gone, or another wrote it: what is so the watch says.
            Ok(Err(kube::Error::Api(status))) if [404, 409].contains(&status.code) => {
                self.outdated.insert(draft.reference.clone(), draft.version);
            }
            Ok(Err(error)) => self.complain(&draft.reference, chain(&error)),
            Err(_) => self.complain(&draft.reference, "no answer in time".to_owned()),
        }
    }

    async fn apply(&self, draft: &Draft) -> Result<Value, kube::Error> {
        let Draft { reference, uid, version, status } = draft;
        let mut object = json!({
            "apiVersion": API_VERSION,
            "kind": reference.kind.name(),
            "metadata": {"name": reference.name, "uid": uid, "resourceVersion": version.to_string()},
            "status": status,
        });
        if reference.kind.is_namespaced() {
            object["metadata"]["namespace"] = json!(reference.namespace);
        }
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let path = path(reference);
        let request =
            Request::new(path).patch_subresource("status", &reference.name, &params, &Patch::Apply(&object));
        self.client.request(request.map_err(kube::Error::BuildRequest)?).await
    }

    fn complain(&mut self, reference: &DocumentRef, why: String) {
        self.pace.refused(reference, self.clock.now());
        self.warn(reference, why);
    }

    fn warn(&mut self, reference: &DocumentRef, why: String) {
        if self.complaint != why {
            tracing::warn!(document = %reference, error = %why, "the status is not as it should be: tried again in a minute");
            self.complaint = why;
        }
    }
}

/// What is said of a document, with what is wrong with it. Nothing where the engine has not heard of it yet.
pub(super) fn word_on(document: &SeenDocument, published: &Published) -> Option<Said> {
    let said = published.documents.get(&document.reference);
    match (said, &document.fault) {
        (said, None) => said.cloned(),
        (Some(said), Some(fault)) if fault.holds => Some(said.clone().with_fault(fault)),
        (_, Some(fault)) => Some(Said::passed_over(fault)),
    }
}

/// Where the API has the documents of a kind and namespace.
fn path(reference: &DocumentRef) -> String {
    let kind = KINDS.iter().find(|kind| kind.kind == reference.kind.name());
    kind.map(|kind| kind.path(&reference.namespace)).unwrap_or_default()
}
