//! Nodes of this kubelet: those that carry its annotation are ready, and their leases renewed, for as long as it runs.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::sync::watch;

use super::mirror::Objects;

/// The annotation that makes a node one of this kubelet.
pub(super) const RUN_BY: (&str, &str) = ("ballast.dev/run-by", "test-kubelet");
/// A quarter of the time after which controllers take a kubelet for dead.
const BEAT: Duration = Duration::from_secs(10);
/// In seconds, what a kubelet says of its lease.
const LEASE_SECONDS: i32 = 40;

/// Whether this kubelet runs the pods of a node.
pub(super) fn is_ours(node: &Node) -> bool {
    node.annotations().get(RUN_BY.0).is_some_and(|by| by == RUN_BY.1)
}

/// Makes a node of this kubelet.
pub(super) async fn register(client: &Client, name: &str, cpu: &str, memory: &str) -> kube::Result<()> {
    let amounts = json!({"cpu": cpu, "memory": memory, "pods": "110"});
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
            "annotations": {RUN_BY.0: RUN_BY.1},
        },
        "status": {"capacity": amounts, "allocatable": amounts},
    });
    let node: Node = serde_json::from_value(node).map_err(kube::Error::SerdeError)?;
    Api::all(client.clone()).create(&PostParams::default(), &node).await.map(drop)
}

/// Keeps the nodes alive: as soon as one appears, and at every beat.
pub(super) async fn keep(client: Client, mut nodes: watch::Receiver<Objects<Node>>, gateway: Ipv4Addr) {
    loop {
        let ours: Vec<Arc<Node>> =
            nodes.borrow_and_update().values().filter(|node| is_ours(node)).cloned().collect();
        for node in ours {
            // What fails now is tried again at the next beat.
            if !is_ready(&node) {
                let _ = make_ready(&client, &node.name_any(), gateway).await;
            }
            let _ = renew(&client, &node.name_any()).await;
        }
        tokio::select! {
            changed = wait_for_unready(&mut nodes) => if changed.is_err() { return },
            () = tokio::time::sleep(BEAT) => {}
        }
    }
}

async fn wait_for_unready(nodes: &mut watch::Receiver<Objects<Node>>) -> Result<(), watch::error::RecvError> {
    let unready = |nodes: &Objects<Node>| nodes.values().any(|node| is_ours(node) && !is_ready(node));
    nodes.changed().await?;
    nodes.wait_for(unready).await.map(drop)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

async fn make_ready(client: &Client, name: &str, gateway: Ipv4Addr) -> kube::Result<()> {
    let now = Timestamp::now();
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        })
    };
    let status = json!({"status": {
        "addresses": [
            {"type": "InternalIP", "address": gateway.to_string()},
            {"type": "Hostname", "address": name},
        ],
        "conditions": [
            condition("Ready", "True", "KubeletReady"),
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        ],
        "nodeInfo": {"kubeletVersion": "test", "operatingSystem": "linux"},
    }});
    let api: Api<Node> = Api::all(client.clone());
    api.patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await.map(drop)
}

async fn renew(client: &Client, name: &str) -> kube::Result<()> {
    let api: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_SECONDS,
            // The API wants microseconds.
            "renewTime": format!("{:.6}", Timestamp::now()),
        },
    });
    api.patch(name, &PatchParams::apply(RUN_BY.1).force(), &Patch::Apply(lease)).await.map(drop)
}
