//! What somebody may do, by the API's own word. To ask is a request that keeps nothing.

use std::time::Duration;

use futures::future::join_all;
use kube::Client;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use ballast_core::kube::Name;
use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::plan::ActionKind;
use ballast_core::policy::Mode;
use ballast_core::publish::PublishedPlan;

use super::access::{ACCESS, Access, Scope, Verb};
use super::{Asked, Tally, plain};

/// How often it is asked whether what was refused is for want of a right: a role that is missing is to be noticed within a
/// minute, and where all of them are it is some two questions a second.
const REVIEWED_EVERY: Duration = Duration::from_secs(15);

/// What a plan is carried out with.
const TOOLS: [&str; 3] = ["configmaps", "nodes", "pods/eviction"];

/// Something that is asked of the API.
#[derive(Clone, Copy, Debug)]
pub struct Right {
    /// For what.
    pub access: &'static Access,
    /// Which verb.
    pub verb: Verb,
    /// Which resource.
    pub resource: &'static str,
    /// Of which name; empty for any.
    pub name: &'static str,
}

impl Right {
    /// Everything that a mode asks for.
    pub fn of_mode(mode: Mode) -> Vec<Self> {
        let mut all = Vec::new();
        for access in ACCESS.iter().filter(|access| access.from <= mode) {
            for (&verb, &resource) in
                access.verbs.iter().flat_map(|verb| access.resources.iter().map(move |own| (verb, own)))
            {
                let right = |name| Self { access, verb, resource, name };
                all.extend(access.names.iter().copied().map(right));
                all.extend(access.names.is_empty().then(|| right("")));
            }
        }
        all
    }

    /// What it takes to ask for something: one for each name that it is granted for.
    fn of_asked(asked: Asked) -> Vec<Self> {
        let mut all = Self::of_mode(Mode::Enforce);
        all.retain(|right| (right.verb.word(), right.resource) == (asked.verb, asked.resource));
        all
    }

    /// Everything that actions are carried out with: a removal takes what `Enforce` does.
    fn of_actions(mut kinds: impl Iterator<Item = ActionKind>) -> Vec<Self> {
        const LAUNCHES: [ActionKind; 2] = [ActionKind::StartInstance, ActionKind::CreateInstance];
        let removes = kinds.any(|kind| !LAUNCHES.contains(&kind));
        let mut all = Self::of_mode(if removes { Mode::Enforce } else { Mode::Recommend });
        all.retain(|right| right.access.from > Mode::Observe && TOOLS.contains(&right.resource));
        all
    }

    /// Whether somebody has it: this process itself, where nobody is named.
    ///
    /// # Errors
    ///
    /// When the API does not say.
    pub async fn is_had(self, client: &Client, own: &str, whose: Option<&str>) -> Result<bool, SourceError> {
        let Self { access, verb, resource, name } = self;
        let (plural, sub) = resource.split_once('/').unwrap_or((resource, ""));
        let namespace = if access.scope == Scope::Own { own } else { "" };
        let mut spec = json!({"resourceAttributes": {
            "group": access.group, "resource": plural, "subresource": sub, "verb": verb.word(),
            "namespace": namespace, "name": name,
        }});
        let kind = match whose {
            Some(account) => {
                spec["user"] = json!(account);
                let of_own = format!("system:serviceaccounts:{own}");
                spec["groups"] = json!(["system:serviceaccounts", of_own, "system:authenticated"]);
                "SubjectAccessReview"
            }
            None => "SelfSubjectAccessReview",
        };
        let path = format!("/apis/authorization.k8s.io/v1/{}s", kind.to_lowercase());
        let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
        Ok(plain::post(client, &path, &body).await?["status"]["allowed"] == true)
    }
}

/// Asks of whatever was refused whether that is for want of a right, until it is told to stop. So a webhook that refuses, or a
/// namespace that is going, is not taken for one, and a right that is given back is noticed where nothing is left to ask for. Who
/// does not want to write does not ask: there is nothing that it would do with a right.
pub(crate) async fn review_refusals(
    client: Client,
    own: String,
    tally: Tally,
    writes: watch::Receiver<bool>,
    stop: CancellationToken,
) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(REVIEWED_EVERY) => {}
        }
        if !*writes.borrow() {
            continue;
        }
        for asked in tally.refused() {
            let all = Right::of_asked(asked).into_iter().map(|right| right.is_had(&client, &own, None));
            let answers = join_all(all).await;
            let is_denied = |answer: &Result<bool, SourceError>| match answer {
                Ok(had) => !had,
                Err(error) => error.class == ErrorClass::Auth,
            };
            if answers.iter().any(is_denied) {
                tally.reviewed(asked, true);
            } else if answers.iter().all(Result::is_ok) {
                tally.reviewed(asked, false);
            }
        }
    }
}

/// What this process may not do though a plan takes it, as `patch nodes`. What the API does not say is not denied.
pub(super) async fn lacking(client: &Client, own: &str, plan: &PublishedPlan) -> Vec<Name> {
    let is_denied =
        async |right: Right| right.is_had(client, own, None).await.is_ok_and(|had| !had).then_some(right);
    let denied =
        join_all(Right::of_actions(plan.actions.iter().map(|action| action.kind)).into_iter().map(is_denied))
            .await;
    let mut words: Vec<Name> = Vec::new();
    for right in denied.into_iter().flatten() {
        let said: Name = format!("{} {}", right.verb.word(), right.resource).into();
        if !words.contains(&said) {
            words.push(said);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// What is counted as denied after a while, where the API refuses a request, and answers a review so; and how many reviews
    /// were asked for.
    async fn reviewed(answer: Option<bool>, writes: bool) -> (Vec<Asked>, u32) {
        let reviews = Arc::new(AtomicU32::new(0));
        let counted = reviews.clone();
        let tally = Tally::default();
        let serve = move |request: http::Request<kube::client::Body>| {
            let is_review = request.uri().path().ends_with("/selfsubjectaccessreviews");
            counted.fetch_add(u32::from(is_review), Ordering::Relaxed);
            let (code, body) = match answer.filter(|_| is_review) {
                Some(allowed) => (201, json!({"status": {"allowed": allowed}})),
                None => (
                    403,
                    json!({"kind": "Status", "status": "Failure", "code": 403, "message": "no", "reason": ""}),
                ),
            };
            let body = kube::client::Body::from(body.to_string().into_bytes());
            std::future::ready(http::Response::builder().status(code).body(body))
        };
        let service = tower::Layer::layer(&tally, tower::service_fn(serve));
        let client = Client::new(service, "default");
        plain::merge(&client, "/api/v1/nodes/n1", &json!({})).await.expect_err("it is refused");
        assert_eq!(tally.denied(), [], "why, nobody knows yet");
        let (_mode, writes) = watch::channel(writes);
        let stop = CancellationToken::new();
        let reviewer =
            tokio::spawn(review_refusals(client, "ballast".to_owned(), tally.clone(), writes, stop.clone()));
        sleep(REVIEWED_EVERY * 2).await;
        stop.cancel();
        reviewer.await.expect("it ends");
        let denied = tally.denied().into_iter().filter(|asked| asked.resource == "nodes").collect();
        (denied, reviews.load(Ordering::Relaxed))
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_refused_is_denied_where_a_review_says_so() {
        let patch = Asked { verb: "patch", resource: "nodes" };
        assert_eq!(reviewed(Some(false), true).await.0, [patch]);
        assert_eq!(reviewed(Some(true), true).await.0, [], "it was a webhook's");
        assert_eq!(reviewed(None, true).await.0, [patch], "also the review is refused");
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_write_asks_for_no_review() {
        assert_eq!(reviewed(Some(false), false).await, (vec![], 0));
        assert!(reviewed(Some(false), true).await.1 > 0);
    }

    #[test]
    fn a_removal_takes_more_than_a_launch() {
        let takes = |kind: ActionKind| {
            let told = |right: &Right| format!("{} {} {}", right.verb.word(), right.resource, right.name);
            Right::of_actions([kind].into_iter()).iter().map(told).collect::<Vec<_>>()
        };
        let launch = takes(ActionKind::CreateInstance);
        let ledger = [
            "get configmaps ballast-ledger",
            "get configmaps ballast-history",
            "update configmaps ballast-ledger",
        ];
        assert_eq!(launch[..3], ledger);
        assert_eq!(launch[3..], ["patch configmaps ballast-history", "get nodes "]);
        let removal = takes(ActionKind::StopInstance);
        assert_eq!(removal[..5], launch);
        assert_eq!(removal[5..], ["patch nodes ", "create pods/eviction "]);
    }
}
