//! A person's approval of a plan: what stands is read, and the annotation written, with that person's own rights.

use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::request::Request;
use serde_json::{Value, json};
use tokio::time::timeout;

use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::policy::{ClusterPolicySpec, Mode};
use ballast_core::publish::{DocumentStatus, PublishedPlan};

use super::error::classed;

/// The annotation by which a person approves a plan: `ID@MADE_AT`, the plan and since when it has stood.
pub(super) const APPROVED: &str = "ballast.dev/approved-plan";
/// A person waits for the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where the API has the policy of a cluster.
const POLICIES: &str = "/apis/ballast.dev/v1alpha1/clusterpolicies";
const POLICY: &str = ClusterPolicySpec::NAME;

/// The ClusterPolicy as it was read.
pub struct Policy {
    /// How far Ballast goes, as it is written there; none where nothing is.
    pub mode: Option<Mode>,
    /// What Ballast says there.
    pub status: DocumentStatus,
    version: Value,
}

impl Policy {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// When the API does not answer, or refuses.
    pub async fn read(client: &Client) -> Result<Self, SourceError> {
        let request = Request::new(POLICIES).get(POLICY, &Default::default());
        let object = answer(client, request.map_err(kube::Error::BuildRequest)).await?;
        Ok(Self {
            mode: serde_json::from_value(object["spec"]["mode"].clone()).ok(),
            status: DocumentStatus::read(object["status"].clone()),
            version: object["metadata"]["resourceVersion"].clone(),
        })
    }

    /// Approves the plan, unless the policy has changed in any way since it was read.
    ///
    /// # Errors
    ///
    /// When the API refuses; with `Conflict` where somebody wrote it meanwhile.
    pub async fn approve(&self, client: &Client, plan: &PublishedPlan) -> Result<(), SourceError> {
        let annotations = json!({APPROVED: plan.approval()});
        let body = json!({"metadata": {"resourceVersion": self.version, "annotations": annotations}});
        let request = Request::new(POLICIES).patch(POLICY, &PatchParams::default(), &Patch::Merge(&body));
        answer(client, request.map_err(kube::Error::BuildRequest)).await.map(drop)
    }
}

async fn answer(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::Error>,
) -> Result<Value, SourceError> {
    let request = request.map_err(|error| classed(&error))?;
    match timeout(PATIENCE, client.request(request)).await {
        Ok(answer) => answer.map_err(|error| classed(&error)),
        Err(_) => Err(SourceError { class: ErrorClass::Transient, message: "no answer in time".to_owned() }),
    }
}
