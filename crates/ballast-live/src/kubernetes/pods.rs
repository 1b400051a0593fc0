//! The one door by which pods are made, and deleted again. What may not be made is not asked for.

use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use tokio::time::timeout;

use ballast_core::kube::Name;
use ballast_core::made_pod::MadePod;
use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::policy::ClusterPolicySpec;
use ballast_core::procedure::Reply;

use super::error::reply;
use super::{FIELD_MANAGER, REQUEST_TIMEOUT};

/// Makes and deletes pods that belong to documents.
#[derive(Clone)]
pub struct Pods {
    client: Client,
}

/// A pod that Ballast made, as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenPod {
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// Its identity.
    pub uid: Name,
    /// The version that was seen.
    pub resource_version: Name,
}

impl Pods {
    /// By a client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Makes a pod in the namespace of its document, where the policy lets it be made.
    pub async fn make(&self, pod: &MadePod, policy: &ClusterPolicySpec) -> Reply {
        let refusals = pod.refusals(policy);
        if !refusals.is_empty() {
            let why: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            let message = format!("the pod `{}` is not made: {}", pod.name, why.join("; "));
            return Reply::Failed(SourceError { class: ErrorClass::Invalid, message });
        }
        let made: Pod = match serde_json::from_value(pod.manifest()) {
            Ok(made) => made,
            Err(error) => {
                let message = format!("the pod `{}` cannot be read: {error}", pod.name);
                return Reply::Failed(SourceError { class: ErrorClass::Invalid, message });
            }
        };
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &pod.owner.namespace);
        match timeout(REQUEST_TIMEOUT, pods.create(&params, &made)).await {
            Ok(Ok(_)) => Reply::Done,
            Ok(Err(error)) => reply(&error),
            Err(_) => Reply::TimedOut,
        }
    }

    /// Deletes a pod, if it still is the very one that was seen, and as it was seen.
    pub async fn delete(&self, pod: &SeenPod) -> Reply {
        let preconditions = Preconditions {
            uid: Some(pod.uid.to_string()),
            resource_version: Some(pod.resource_version.to_string()),
        };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
        match timeout(REQUEST_TIMEOUT, pods.delete(&pod.name, &params)).await {
            Ok(Ok(_)) => Reply::Done,
            Ok(Err(error)) => reply(&error),
            Err(_) => Reply::TimedOut,
        }
    }
}
