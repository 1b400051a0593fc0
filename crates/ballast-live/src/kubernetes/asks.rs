//! The writer of answers to buffers and requests: each is brought to stand in the API.
//!
//! As with documents, a write is a server-side apply to the very version that was seen; that it comes back through the watch is
//! how one knows that it stands. Until then the same version is not written again. Where another controller answers too and
//! each undoes what the other wrote, it rests, and says so.

use std::collections::BTreeMap;

use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::request::Request;
use serde_json::{Value, json};
use tokio::time::timeout;

use ballast_core::kube::Name;
use ballast_core::publish::{AskSaid, Published};
use ballast_core::snapshot::{AskKind, AskRef};
use ballast_core::units::{Span, Time};

use super::error::chain;
use super::{FIELD_MANAGER, REQUEST_TIMEOUT};

/// How long a write has to come back through the watch before it is tried again, and how long it is waited after a refusal.
const AGAIN: Span = Span::from_secs(60);

/// The shortest distance of two writes to one object.
const NOT_SOONER: Span = Span::from_secs(10);

/// Writes in a row that somebody took back before it is complained of and rested.
const UNDONE_MAX: u32 = 3;

/// Writes answers.
pub(super) struct AskWriter {
    client: Client,
    /// What was written or refused of late.
    tried: BTreeMap<AskRef, Tried>,
    /// What was last complained of, so that it is not told again with every try.
    complaint: String,
}

/// A write of one object.
struct Tried {
    /// The version that was written to, or was to be…
    version: Name,
    /// …and when it may be tried again.
    again_at: Time,
    /// When another version may be written to.
    other_at: Time,
    /// What stood last.
    meaning: Option<Value>,
    /// How often in a row the same had to be said anew.
    undone: u32,
}

impl AskWriter {
    pub(super) fn new(client: Client) -> Self {
        Self { client, tried: BTreeMap::new(), complaint: String::new() }
    }

    /// The next that is to be written now.
    pub(super) fn due(&mut self, said: Option<&Published>, now: Time) -> Option<(AskRef, AskSaid)> {
        let asks = &said?.asks;
        self.tried.retain(|own, tried| asks.contains_key(own) || now < tried.again_at);
        let is_due = |(own, said): &(&AskRef, &AskSaid)| match self.tried.get(*own) {
            Some(tried) if tried.version == said.resource_version => now >= tried.again_at,
            Some(tried) => now >= tried.other_at,
            None => true,
        };
        asks.iter().find(is_due).map(|(own, said)| (own.clone(), said.clone()))
    }

    /// Not before then.
    pub(super) fn postpone(&mut self, ask: &AskRef, said: &AskSaid, until: Time) {
        let version = said.resource_version.clone();
        let tried = Tried { version, again_at: until, other_at: until, meaning: None, undone: 0 };
        self.tried.insert(ask.clone(), tried);
    }

    /// Notes a write. What stood and has to be said anew of another version, though nothing else is to be said, somebody has taken
    /// back; of one that did not stand nobody knows.
    fn note(&mut self, ask: &AskRef, said: &AskSaid, has_stood: bool, now: Time) {
        let version = said.resource_version.clone();
        let last = self.tried.get(ask);
        let (meaning, undone) = if has_stood {
            let meaning = Some(meaning(&said.status));
            let same = last.filter(|last| last.version != version && last.meaning == meaning);
            (meaning, same.map_or(0, |last| last.undone + 1))
        } else {
            last.map(|last| (last.meaning.clone(), last.undone)).unwrap_or_default()
        };
        let rests = undone >= UNDONE_MAX;
        if has_stood && undone == UNDONE_MAX {
            let AskRef { kind, namespace, name } = ask;
            let kind = kind.name();
            tracing::warn!(kind, %namespace, %name, "what is answered is taken back each time: another controller answers too, let only one");
        }
        let other_at = now + if rests { AGAIN } else { NOT_SOONER };
        self.tried.insert(ask.clone(), Tried { version, again_at: now + AGAIN, other_at, meaning, undone });
    }

    pub(super) async fn write(&mut self, ask: &AskRef, said: &AskSaid, now: Time) {
        let answer = timeout(REQUEST_TIMEOUT, self.apply(ask, said)).await;
        self.note(ask, said, matches!(answer, Ok(Ok(_))), now);
        let why = match answer {
            Ok(Ok(_)) => return self.complaint.clear(),
            // It is gone, or another wrote it: what is so the watch says.
            Ok(Err(kube::Error::Api(status))) if [404, 409].contains(&status.code) => return,
            Ok(Err(error)) => chain(&error),
            Err(_) => "no answer in time".to_owned(),
        };
        if self.complaint != why {
            let AskRef { kind, namespace, name } = ask;
            tracing::warn!(kind = kind.name(), %namespace, %name, error = %why, "cannot answer: tried again in a minute");
            self.complaint = why;
        }
    }

    async fn apply(&self, ask: &AskRef, said: &AskSaid) -> Result<Value, kube::Error> {
        let AskSaid { api_version, uid, resource_version, status } = said;
        let AskRef { kind, namespace, name } = ask;
        let object = json!({
            "apiVersion": api_version,
            "kind": kind.name(),
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": resource_version},
            "status": status,
        });
        let resource = match kind {
            AskKind::CapacityBuffer => "capacitybuffers",
            AskKind::ProvisioningRequest => "provisioningrequests",
        };
        let path = format!("/apis/{api_version}/namespaces/{namespace}/{resource}");
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let request = Request::new(path).patch_subresource("status", name, &params, &Patch::Apply(&object));
        self.client.request(request.map_err(kube::Error::BuildRequest)?).await
    }
}

/// What is said, without the words and times of conditions.
fn meaning(status: &Value) -> Value {
    let mut meaning = status.clone();
    let conditions = meaning.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.retain(|field, _| !["lastTransitionTime", "message"].contains(&&**field));
    }
    meaning
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(version: &str) -> AskSaid {
        let resource_version = version.into();
        AskSaid { api_version: "".into(), uid: "u".into(), resource_version, status: Value::Null }
    }

    fn ask() -> AskRef {
        AskRef { kind: AskKind::CapacityBuffer, namespace: "web".into(), name: "spare".into() }
    }

    fn writer() -> (AskWriter, AskRef) {
        let config = kube::Config::new("http://127.0.0.1:1".parse().expect("an address"));
        (AskWriter::new(Client::try_from(config).expect("a client")), ask())
    }

    #[tokio::test]
    async fn a_version_is_answered_once_a_minute_and_a_newer_one_after_ten_seconds() {
        let (mut writer, ask) = writer();
        let mut published = Published::default();
        published.asks.insert(ask.clone(), said("7"));
        let at = Time::from_secs;
        assert_eq!(writer.due(None, at(0)), None, "who does not lead says nothing");
        let (due, answer) = writer.due(Some(&published), at(0)).expect("it is due");
        writer.note(&due, &answer, true, at(0));
        assert_eq!(writer.due(Some(&published), at(59)), None);
        assert!(writer.due(Some(&published), at(60)).is_some());
        published.asks.insert(ask, said("8"));
        assert_eq!(writer.due(Some(&published), at(9)), None);
        assert!(writer.due(Some(&published), at(10)).is_some());
    }

    /// Two controllers that answer one object undo each other as fast as they hear of it.
    #[tokio::test]
    async fn what_is_taken_back_each_time_is_written_ever_less_often() {
        let (mut writer, ask) = writer();
        let mut writes = 0;
        for second in 0..600 {
            let mut published = Published::default();
            published.asks.insert(ask.clone(), said(&second.to_string()));
            let now = Time::from_secs(second);
            if let Some((ask, answer)) = writer.due(Some(&published), now) {
                writer.note(&ask, &answer, true, now);
                writes += 1;
                // It stands for a moment.
                assert_eq!(writer.due(Some(&Published::default()), now), None);
            }
        }
        assert_eq!(writes, 4 + 9, "four in the first half minute, then one a minute");
    }

    #[tokio::test]
    async fn what_changes_and_what_did_not_stand_was_taken_back_by_nobody() {
        let (mut writer, ask) = writer();
        let answer = |version: i64, replicas: i64, time: i64| AskSaid {
            status: json!({"replicas": replicas, "conditions":
                [{"type": "Provisioning", "status": "True", "lastTransitionTime": time, "message": time}]}),
            ..said(&version.to_string())
        };
        for turn in 0..9 {
            writer.note(&ask, &answer(turn, turn, turn), true, Time::from_secs(20 * turn));
            assert_eq!(writer.tried[&ask].undone, 0, "a workload scales, turn {turn}");
        }
        for turn in 9..18 {
            writer.note(&ask, &answer(turn, 8, turn), false, Time::from_secs(20 * turn));
            assert_eq!(writer.tried[&ask].undone, 0, "others write at the same moment, turn {turn}");
        }
        writer.note(&ask, &answer(18, 8, 18), true, Time::from_secs(360));
        assert_eq!(writer.tried[&ask].undone, 1, "the same stood already");
    }

    /// Whether a write stood is known from its answer.
    #[tokio::test]
    async fn a_write_that_meets_another_counts_as_none_of_ours() {
        let conflict = r#"{"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409}"#;
        for (code, body, stood) in [(409, conflict, false), (200, "{}", true)] {
            let serve = move |_: http::Request<kube::client::Body>| {
                let body = kube::client::Body::from(body.as_bytes().to_vec());
                std::future::ready(http::Response::builder().status(code).body(body))
            };
            let mut writer = AskWriter::new(Client::new(tower::service_fn(serve), "default"));
            writer.write(&ask(), &said("7"), Time::ZERO).await;
            assert_eq!(writer.tried[&ask()].meaning.is_some(), stood, "{code}");
        }
    }
}
