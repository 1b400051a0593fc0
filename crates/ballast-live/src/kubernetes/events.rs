//! Events: what the herald of the core wants told is written into the API, once each.
//!
//! Nothing waits for an event. The runner hands them over without waiting; where the API is slow they are dropped and counted, and
//! where it refuses them they are left alone for a while. Only who leads hands any over.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use ballast_core::engine::{Engine, Eviction, Outcome, RequestId};
use ballast_core::kube::Name;
use ballast_core::observation::ErrorClass;
use ballast_core::policy::API_VERSION;
use ballast_core::procedure::Reply;
use ballast_core::publish::{DocumentRef, Event, Herald, Published, Regarding, RegardingKind};
use ballast_core::units::Time;

use super::publisher::word_on;
use super::seen::SeenDocument;
use super::{Leadership, REQUEST_TIMEOUT, Tally, plain};

/// Events that wait to be written: more than the herald lets go at once.
const WAITING_MAX: usize = 64;
/// Where the API refuses events, none is tried for so long.
const REFUSED_FOR: Duration = Duration::from_secs(60);
/// Who tells them.
const CONTROLLER: &str = "ballast.dev/ballast";
/// The annotation that names the decision.
const DECISION: &str = "ballast.dev/decision";
/// Bytes that the API takes: of the name of who tells, and of an object's name in front of what makes it unique.
const INSTANCE_MAX: usize = 128;
const NAME_MAX: usize = 200;

/// Documents as they stand in the API.
type Documents = BTreeMap<DocumentRef, SeenDocument>;

/// What happened and what is so, on its way to whoever writes it.
pub(crate) struct Events {
    herald: Herald,
    /// Evictions that are out.
    evictions: BTreeMap<RequestId, Eviction>,
    out: mpsc::Sender<(Time, Event)>,
    tally: Tally,
}

impl Events {
    pub(crate) fn new(tally: Tally) -> (Self, mpsc::Receiver<(Time, Event)>) {
        let (out, written) = mpsc::channel(WAITING_MAX);
        (Self { herald: Herald::default(), evictions: BTreeMap::new(), out, tally }, written)
    }

    /// The engine was told something; this came of it.
    pub(crate) fn heard(&mut self, now: Time, engine: &mut Engine, outcome: &Outcome) {
        let evictions = outcome.requests.iter();
        self.evictions
            .extend(evictions.filter_map(|(id, request)| Some((*id, engine.eviction(*id, request)?))));
        self.herald.happened(now, engine.events(outcome));
        // Pods for which nodes come are told at once: soon they wait no longer.
        if !outcome.begun.is_empty() {
            self.herald.pods(now, engine.pods_told());
        }
    }

    /// A request was answered.
    pub(crate) fn answered(&mut self, now: Time, engine: &mut Engine, id: RequestId, reply: &Reply) {
        let told = self.evictions.remove(&id).and_then(|eviction| engine.evicted(&eviction, reply));
        self.herald.happened(now, told);
    }

    /// This is so.
    pub(crate) fn stands(
        &mut self,
        now: Time,
        engine: &mut Engine,
        published: &Published,
        documents: &Documents,
    ) {
        for (reference, document) in documents {
            if let Some(said) = word_on(document, published) {
                self.herald.document(now, reference, &document.status, &said);
            }
        }
        self.herald.pods(now, engine.pods_told());
        self.herald.is_told(now);
    }

    /// Hands over what is to be told now. Where whoever writes does not keep up, it is dropped. Whether it is time to say what
    /// is so: something has lasted.
    pub(crate) fn tell(&mut self, now: Time) -> bool {
        while let Some(event) = self.herald.next(now) {
            if self.out.try_send((now, event)).is_err() {
                self.tally.drop_events(1);
            }
        }
        self.tally.drop_events(self.herald.take_dropped());
        self.herald.is_due(now)
    }

    /// Somebody else tells from now on.
    pub(crate) fn forget(&mut self) {
        self.herald = Herald::default();
        self.evictions.clear();
    }
}

/// Writes events.
pub(crate) struct EventWriter {
    pub(crate) client: Client,
    pub(crate) documents: watch::Receiver<Documents>,
    pub(crate) leadership: watch::Receiver<Leadership>,
    pub(crate) identity: String,
    pub(crate) tally: Tally,
}

impl EventWriter {
    /// Writes what it is handed until it is told to stop.
    pub(crate) async fn run(self, mut handed: mpsc::Receiver<(Time, Event)>, stop: CancellationToken) {
        let mut rests_until = Instant::now();
        let mut written = 0_u64;
        loop {
            let (at, event) = tokio::select! {
                () = stop.cancelled() => return,
                handed = handed.recv() => match handed {
                    Some(handed) => handed,
                    None => return,
                },
            };
            let may = self.leadership.borrow().outlasts(Instant::now(), REQUEST_TIMEOUT);
            if !may || Instant::now() < rests_until {
                self.tally.drop_events(1);
                continue;
            }
            written += 1;
            let object = self.object(&event, at, written);
            let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events", namespace(&event.regarding));
            match plain::send(&self.client, Method::POST, &path, "application/json", Some(&object)).await {
                Ok(_) => self.tally.event_told(event.reason),
                Err(error) => {
                    self.tally.drop_events(1);
                    tracing::warn!(reason = %event.reason, %error, "cannot tell an event");
                    if error.class == ErrorClass::Auth {
                        rests_until = Instant::now() + REFUSED_FOR;
                    }
                }
            }
        }
    }

    fn object(&self, event: &Event, at: Time, number: u64) -> Value {
        let Event { regarding, reason, note, decision } = event;
        let row = reason.row();
        let unique = format!("{:x}{number:04x}", at.as_millis());
        let mut object = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": format!("{}.{unique}", stem(&regarding.name)), "namespace": namespace(regarding)},
            "eventTime": micro_time(at),
            "reportingController": CONTROLLER,
            "reportingInstance": cut(&self.identity, INSTANCE_MAX),
            "action": row.action,
            "reason": reason.to_string(),
            "regarding": self.reference(regarding),
            "note": note,
            "type": if row.is_warning { "Warning" } else { "Normal" },
        });
        if let Some(decision) = decision {
            object["metadata"]["annotations"] = json!({DECISION: decision});
        }
        object
    }

    /// The object as the API refers to it. A document is found by its identity, which only the API knows.
    fn reference(&self, regarding: &Regarding) -> Value {
        let (version, kind) = match regarding.kind {
            RegardingKind::Pod => ("v1", "Pod"),
            RegardingKind::Node => ("v1", "Node"),
            RegardingKind::VmPool => (API_VERSION, "VmPool"),
            RegardingKind::ClusterPolicy => (API_VERSION, "ClusterPolicy"),
        };
        let document = regarding.as_document();
        let known = document.and_then(|own| Some(self.documents.borrow().get(&own)?.uid.clone()));
        let uid: Name = known.unwrap_or_else(|| regarding.uid.clone());
        let mut reference = json!({"apiVersion": version, "kind": kind, "name": regarding.name, "uid": uid});
        if !regarding.namespace.is_empty() {
            reference["namespace"] = json!(regarding.namespace);
        }
        reference
    }
}

/// Where events of an object are kept.
fn namespace(regarding: &Regarding) -> &str {
    if regarding.namespace.is_empty() { "default" } else { &regarding.namespace }
}

/// The beginning of a name, such as a name may begin.
fn stem(name: &str) -> &str {
    cut(name, NAME_MAX).trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric())
}

fn cut(text: &str, bytes_max: usize) -> &str {
    let end = (0..=bytes_max.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

/// A time with six digits of a second, without which the API does not read it.
fn micro_time(at: Time) -> String {
    let millis = at.as_millis();
    let second = Time::from_secs(millis.div_euclid(1000)).to_string();
    format!("{}.{:03}000Z", second.trim_end_matches('Z'), millis.rem_euclid(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_names_are_such_as_the_api_takes() {
        assert_eq!(micro_time(Time::from_millis(1_000_000_000_007)), "2001-09-09T01:46:40.007000Z");
        assert_eq!(micro_time(Time::from_secs(1_000_000_000)), "2001-09-09T01:46:40.000000Z");
        assert_eq!(stem("workers-1"), "workers-1");
        assert_eq!(stem(&format!("{}--b", "a".repeat(198))), "a".repeat(198));
    }
}
