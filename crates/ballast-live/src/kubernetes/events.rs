//! Events: what the herald of the core wants told is written into the API, once each.
//!
//! Nothing waits for an event. The runner hands them over without waiting; where the API is slow they are dropped and counted, and
//! where it refuses them, those of the same namespace are left alone for a while. Only who leads hands any over.

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
/// Where the API refuses an event, none is tried in its namespace for so long: it may be going, or closed to us.
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
        let mut rests: BTreeMap<String, Instant> = BTreeMap::new();
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
            rests.retain(|_, until| Instant::now() < *until);
            let namespace = namespace(&event.regarding);
            if !may || rests.contains_key(namespace) {
                self.tally.drop_events(1);
                continue;
            }
            written += 1;
            let object = self.object(&event, at, written);
            let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
            match plain::send(&self.client, Method::POST, &path, "application/json", Some(&object)).await {
                Ok(_) => self.tally.event_told(event.reason),
                Err(error) => {
                    self.tally.drop_events(1);
                    tracing::warn!(reason = %event.reason, %error, "cannot tell an event");
                    if error.class == ErrorClass::Auth {
                        rests.insert(namespace.to_owned(), Instant::now() + REFUSED_FOR);
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
    use std::sync::{Arc, Mutex};

    use ballast_core::publish::EventReason;

    use super::*;

    fn event(namespace: &str, name: &str) -> (Time, Event) {
        let regarding = Regarding {
            kind: RegardingKind::Pod,
            namespace: namespace.into(),
            name: name.into(),
            uid: "u".into(),
        };
        let event =
            Event { regarding, reason: EventReason::AskedToLeave, note: String::new(), decision: None };
        (Time::ZERO, event)
    }

    /// What is asked of an API that refuses every event in the namespace `going`, where these are handed over.
    async fn asked(leadership: Leadership, handed: Vec<(Time, Event)>) -> (Vec<String>, Tally) {
        let paths = Arc::new(Mutex::new(Vec::new()));
        let noted = paths.clone();
        let serve = move |request: http::Request<kube::client::Body>| {
            let path = request.uri().path().to_owned();
            let code = if path.contains("/going/") { 403 } else { 201 };
            noted.lock().expect("it is whole").push(path);
            let body =
                json!({"kind": "Status", "status": "Failure", "code": code, "message": "so", "reason": ""});
            let answer = http::Response::builder()
                .status(code)
                .body(kube::client::Body::from(body.to_string().into_bytes()));
            std::future::ready(answer)
        };
        let (out, written) = mpsc::channel(handed.len());
        for event in handed {
            out.try_send(event).expect("there is room");
        }
        drop(out);
        let tally = Tally::default();
        let writer = EventWriter {
            client: Client::new(tower::service_fn(serve), "default"),
            documents: watch::channel(BTreeMap::new()).1,
            leadership: watch::channel(leadership).1,
            identity: "me".to_owned(),
            tally: tally.clone(),
        };
        writer.run(written, CancellationToken::new()).await;
        let paths = paths.lock().expect("it is whole").clone();
        (paths, tally)
    }

    #[tokio::test]
    async fn a_namespace_that_refuses_events_silences_no_other() {
        let leads = Leadership::until_then(Instant::now() + Duration::from_secs(60));
        let handed = vec![event("going", "a"), event("going", "b"), event("web", "c")];
        let (paths, tally) = asked(leads, handed).await;
        let of = |namespace: &str| format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        assert_eq!(paths, [of("going"), of("web")]);
        let told: u64 = tally.events().map(|(_, count)| count).sum();
        assert_eq!((told, tally.events_dropped()), (1, 2));
    }

    #[tokio::test]
    async fn who_leads_no_longer_tells_nothing() {
        let (paths, tally) = asked(Leadership::default(), vec![event("web", "a")]).await;
        assert_eq!((paths.len(), tally.events_dropped()), (0, 1));
        let short = Leadership::until_then(Instant::now() + Duration::from_millis(10));
        assert_eq!(asked(short, vec![event("web", "a")]).await.0.len(), 0, "it may be another's by then");
    }

    #[test]
    fn times_and_names_are_such_as_the_api_takes() {
        assert_eq!(micro_time(Time::from_millis(1_000_000_000_007)), "2001-09-09T01:46:40.007000Z");
        assert_eq!(micro_time(Time::from_secs(1_000_000_000)), "2001-09-09T01:46:40.000000Z");
        assert_eq!(stem("workers-1"), "workers-1");
        assert_eq!(stem(&format!("{}--b", "a".repeat(198))), "a".repeat(198));
    }
}
