//! What somebody may do, by the API's own word. To ask is a request that keeps nothing.

use futures::future::join_all;
use kube::Client;
use serde_json::json;

use ballast_core::kube::Name;
use ballast_core::observation::SourceError;
use ballast_core::plan::ActionKind;
use ballast_core::policy::Mode;
use ballast_core::publish::PublishedPlan;

use super::access::{ACCESS, Access, Scope, Verb};
use super::plain;

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
    use super::*;

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
