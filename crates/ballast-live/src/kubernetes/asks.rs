//! The writer of answers to buffers and requests: each is brought to stand in the API.
//!
//! As with documents, a write is a server-side apply to the very version that was seen; that it comes back through the watch is
//! how one knows that it stands. Until then the same version is not written again.

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

/// Writes answers.
pub(super) struct AskWriter {
    client: Client,
    /// Versions that were written or refused, and when they may be tried again.
    tried: BTreeMap<AskRef, (Name, Time)>,
    /// What was last complained of, so that it is not told again with every try.
    complaint: String,
}

impl AskWriter {
    pub(super) fn new(client: Client) -> Self {
        Self { client, tried: BTreeMap::new(), complaint: String::new() }
    }

    /// The next that is to be written now.
    pub(super) fn due(&mut self, said: Option<&Published>, now: Time) -> Option<(AskRef, AskSaid)> {
        let asks = &said?.asks;
        self.tried.retain(|own, _| asks.contains_key(own));
        let is_due = |(own, said): &(&AskRef, &AskSaid)| match self.tried.get(*own) {
            Some((version, again_at)) => *version != said.resource_version || now >= *again_at,
            None => true,
        };
        asks.iter().find(is_due).map(|(own, said)| (own.clone(), said.clone()))
    }

    /// Not before then.
    pub(super) fn postpone(&mut self, ask: &AskRef, said: &AskSaid, until: Time) {
        self.tried.insert(ask.clone(), (said.resource_version.clone(), until));
    }

    pub(super) async fn write(&mut self, ask: &AskRef, said: &AskSaid, now: Time) {
        self.postpone(ask, said, now + AGAIN);
        let why = match timeout(REQUEST_TIMEOUT, self.apply(ask, said)).await {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(version: &str) -> AskSaid {
        let resource_version = version.into();
        AskSaid { api_version: "".into(), uid: "u".into(), resource_version, status: Value::Null }
    }

    #[tokio::test]
    async fn a_version_is_answered_once_a_minute_and_a_newer_one_at_once() {
        let config = kube::Config::new("http://127.0.0.1:1".parse().expect("an address"));
        let mut writer = AskWriter::new(Client::try_from(config).expect("a client"));
        let ask = AskRef { kind: AskKind::CapacityBuffer, namespace: "web".into(), name: "spare".into() };
        let mut published = Published::default();
        published.asks.insert(ask.clone(), said("7"));
        let at = Time::from_secs;
        assert_eq!(writer.due(None, at(0)), None, "who does not lead says nothing");
        let (due, answer) = writer.due(Some(&published), at(0)).expect("it is due");
        writer.postpone(&due, &answer, at(0) + AGAIN);
        assert_eq!(writer.due(Some(&published), at(59)), None);
        assert!(writer.due(Some(&published), at(60)).is_some());
        published.asks.insert(ask, said("8"));
        assert!(writer.due(Some(&published), at(1)).is_some());
    }
}
