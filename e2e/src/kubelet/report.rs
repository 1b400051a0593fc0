//! What the API is told of a pod, and what it is asked.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use kube::core::ApiResource;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::pod::Life;
use super::status;

/// After a request that failed: long enough not to storm an API server that starts again.
const TRY_AGAIN: Duration = Duration::from_millis(300);
/// No request takes longer.
const LONGEST: Duration = Duration::from_secs(5);

/// Keeps the status of a pod true until it is over, or gone.
pub(super) async fn keep(life: &Life, mut changes: watch::Receiver<Arc<Pod>>) {
    let mut views = life.view.subscribe();
    let mut before: Option<PodStatus> = None;
    // A pod that is gone, or whose node is, is not told of any more: how it ended is nobody's to say.
    while !is_gone(&changes) {
        let view = views.borrow_and_update().clone();
        let pod = changes.borrow_and_update().clone();
        let status =
            status::of(&pod, &view, life.shared.network.gateway(), before.as_ref(), Timestamp::now());
        if before.as_ref() != Some(&status) {
            write(&life.shared.client, &pod, &status, &changes).await;
            before = Some(status);
        }
        if view.is_over {
            return;
        }
        tokio::select! {
            _ = views.changed() => {}
            _ = changes.changed() => {}
        }
    }
}

/// Confirms that a pod which was deleted has ended.
pub(super) async fn delete(client: &Client, pod: &Pod, changes: &watch::Receiver<Arc<Pod>>) {
    let preconditions = Preconditions { uid: pod.uid(), resource_version: None };
    let params = DeleteParams::default().grace_period(0).preconditions(preconditions);
    loop {
        let deleted = timeout(LONGEST, api(client, pod).delete(&pod.name_any(), &params)).await;
        if is_settled(deleted) || is_gone(changes) {
            return;
        }
        sleep(TRY_AGAIN).await;
    }
}

/// The spec of a pod as the API has it, with fields that our types do not know.
pub(super) async fn raw_spec(client: &Client, pod: &Pod) -> Value {
    let kind = ApiResource::erase::<Pod>(&());
    let namespace = pod.namespace().unwrap_or_default();
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind);
    loop {
        match timeout(LONGEST, api.get(&pod.name_any())).await {
            Ok(Ok(object)) => return object.data["spec"].clone(),
            _ => sleep(TRY_AGAIN).await,
        }
    }
}

async fn write(client: &Client, pod: &Pod, status: &PodStatus, changes: &watch::Receiver<Arc<Pod>>) {
    let mut status = json!(status);
    if let Some(addresses) = status["podIPs"].as_array_mut() {
        // One of a life before this one goes; lists of addresses are otherwise merged.
        addresses.insert(0, json!({"$patch": "replace"}));
    }
    let patch = Patch::Strategic(json!({"metadata": {"uid": pod.uid()}, "status": status}));
    loop {
        let (api, params) = (api(client, pod), PatchParams::default());
        let written = timeout(LONGEST, api.patch_status(&pod.name_any(), &params, &patch)).await;
        if is_settled(written) || is_gone(changes) {
            return;
        }
        sleep(TRY_AGAIN).await;
    }
}

fn api(client: &Client, pod: &Pod) -> Api<Pod> {
    Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default())
}

#[expect(clippy::print_stderr, reason = "a slip of this kubelet is else found by nobody")]
fn complain(message: &str) {
    eprintln!("test kubelet: the API does not take what it is told: {message}");
}

/// Whether nothing would come of asking again: it is done, or the pod is another's or no more.
fn is_settled<T>(answer: Result<kube::Result<T>, tokio::time::error::Elapsed>) -> bool {
    match answer {
        Ok(Ok(_)) => true,
        Ok(Err(kube::Error::Api(status))) if status.code == 422 => {
            complain(&status.message);
            true
        }
        Ok(Err(kube::Error::Api(status))) => matches!(status.code, 404 | 409),
        _ => false,
    }
}

fn is_gone(changes: &watch::Receiver<Arc<Pod>>) -> bool {
    changes.has_changed().is_err()
}
