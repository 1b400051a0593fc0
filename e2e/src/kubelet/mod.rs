//! A kubelet for tests: runs the pods of nodes that are annotated `ballast.dev/run-by: test-kubelet` as processes of this machine.
//!
//! ```text
//! API ──▶ mirror ──▶ Kubelet: a life for each pod ──▶ pod ──▶ container ──▶ process, in the sandbox of the pod
//!  ▲                                                   │          └─ probes, hooks
//!  └──────────────────── report ◀── status ◀── view ◀──┘
//! ```
//!
//! Where the machine allows it, each pod has network, process and mount namespaces of its own on a bridge of this kubelet's own;
//! else pods have addresses of loopback, and no volumes. There are no images: commands are those of the host, whose file
//! system a container sees below a layer of its own. What a pod asks for and is not done here makes it fail, by name.

mod addresses;
mod bridge;
mod container;
mod credentials;
mod door;
mod environment;
mod handlers;
mod hosts;
mod lookup;
mod mirror;
mod network;
mod node;
mod orders;
mod pod;
mod probes;
mod process;
mod report;
mod sandbox;
mod status;
mod supported;
mod view;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{Api, Client, ResourceExt};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};
use tokio::task::{self, JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::cluster::Cluster;
use ballast_live::kubernetes::Place;
use mirror::Objects;
use network::Network;

/// The longest that all pods together may take to be killed at the end.
const END_LONGEST: Duration = Duration::from_secs(20);

/// A kubelet at work on a cluster. All that it started ends with this value.
pub struct Kubelet {
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
    runtime: Option<Runtime>,
    _folder: TempDir,
}

/// What all pods of a kubelet have in common.
struct Shared {
    client: Client,
    web: reqwest::Client,
    network: Arc<Network>,
    folder: PathBuf,
    /// Where pods find the API.
    api: (String, u16),
    services: watch::Receiver<Objects<Service>>,
    slices: watch::Receiver<Objects<EndpointSlice>>,
}

impl Shared {
    fn log(&self, namespace: &str, pod: &str, container: &str) -> PathBuf {
        self.folder.join("logs").join(namespace).join(pod).join(format!("{container}.log"))
    }
}

impl Kubelet {
    /// Starts a kubelet with namespaces for its pods, where the machine allows them.
    ///
    /// # Errors
    ///
    /// When the cluster cannot be reached, or the network not be made.
    pub fn start(cluster: &Cluster) -> Result<Self> {
        Self::with(cluster, Network::best()?)
    }

    /// Starts a kubelet whose pods have addresses of loopback and no namespaces.
    ///
    /// # Errors
    ///
    /// When the cluster cannot be reached.
    pub fn on_loopback(cluster: &Cluster) -> Result<Self> {
        Self::with(cluster, Network::loopback())
    }

    fn with(cluster: &Cluster, network: Network) -> Result<Self> {
        ballast_live::install_crypto();
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let runtime = Runtime::new().context("cannot start a runtime")?;
        let shared = runtime.block_on(share(cluster, network, folder.path()))?;
        let (stop, stopped) = oneshot::channel();
        let serving = runtime.spawn(serve(shared.clone(), stopped));
        Ok(Self { shared, stop: Some(stop), serving: Some(serving), runtime: Some(runtime), _folder: folder })
    }

    /// Its pods have namespaces of their own.
    pub fn has_namespaces(&self) -> bool {
        self.shared.network.has_namespaces()
    }

    /// Makes a node of this kubelet with so much room.
    ///
    /// # Errors
    ///
    /// When the API refuses.
    pub fn register(&self, name: &str, cpu: &str, memory: &str) -> Result<()> {
        let runtime = self.runtime.as_ref().context("the kubelet has ended")?;
        runtime
            .block_on(node::register(&self.shared.client, name, cpu, memory))
            .with_context(|| format!("cannot register the node {name}"))
    }

    /// Everything that a container has said, through all of its starts; also of a pod that is gone.
    ///
    /// # Errors
    ///
    /// When it never started.
    pub fn log(&self, namespace: &str, pod: &str, container: &str) -> Result<String> {
        let path = self.shared.log(namespace, pod, container);
        std::fs::read_to_string(path).with_context(|| format!("no log of {namespace}/{pod}/{container}"))
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        // Whoever served may have ended already; then nobody listens.
        drop(self.stop.take());
        if let (Some(runtime), Some(serving)) = (self.runtime.take(), self.serving.take()) {
            let _ = runtime.block_on(async { timeout(END_LONGEST, serving).await });
            // What is still there dies with the threads that started it.
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
    }
}

async fn share(cluster: &Cluster, network: Network, folder: &Path) -> Result<Arc<Shared>> {
    let place = Place { kubeconfig: Some(cluster.kubeconfig("admin")), context: None };
    let client = place.connect().await.context("cannot reach the cluster")?.client;
    let api = cluster.address();
    let seen_by_pods = if network.has_namespaces() {
        door::open(network.gateway(), api).await?;
        (door::NAME.to_owned(), door::PORT)
    } else {
        (api.ip().to_string(), api.port())
    };
    Ok(Arc::new(Shared {
        web: handlers::web().context("cannot set up probes")?,
        network: Arc::new(network),
        folder: folder.to_owned(),
        api: seen_by_pods,
        services: mirror::follow(Api::all(client.clone())),
        slices: mirror::follow(Api::all(client.clone())),
        client,
    }))
}

/// Gives every pod on a node of ours its life, tells it of every change, and ends all of them at the end.
async fn serve(shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    let mut pods = mirror::follow::<Pod>(Api::all(shared.client.clone()));
    let mut nodes = mirror::follow::<Node>(Api::all(shared.client.clone()));
    let beats = tokio::spawn(node::keep(shared.client.clone(), nodes.clone(), shared.network.gateway()));
    let mut lives = JoinSet::new();
    let mut living: BTreeMap<task::Id, String> = BTreeMap::new();
    let mut told: BTreeMap<String, watch::Sender<Arc<Pod>>> = BTreeMap::new();
    loop {
        let ours = ours(&pods.borrow_and_update(), &nodes.borrow_and_update());
        let known: BTreeSet<String> = ours.iter().filter_map(|pod| pod.uid()).collect();
        // Nobody tells those any more: they end.
        told.retain(|uid, _| known.contains(uid));
        for pod in ours {
            let uid = pod.uid().unwrap_or_default();
            if let Some(changes) = told.get(&uid) {
                let is_new = changes.borrow().resource_version() != pod.resource_version();
                is_new.then(|| changes.send_replace(pod));
            } else if !living.values().any(|living| *living == uid) {
                // One whose node went and came again begins anew when all of its former life is cleared away.
                let (changes, heard) = watch::channel(pod);
                told.insert(uid.clone(), changes);
                living.insert(lives.spawn(pod::live(shared.clone(), heard)).id(), uid);
            }
        }
        tokio::select! {
            _ = pods.changed() => {}
            _ = nodes.changed() => {}
            Some(ended) = lives.join_next_with_id() => {
                let id = ended.map_or_else(|panicked| panicked.id(), |(id, ())| id);
                living.remove(&id);
            }
            _ = &mut stopped => break,
        }
    }
    beats.abort();
    drop(told);
    while lives.join_next().await.is_some() {}
}

/// The pods that are bound to nodes of this kubelet.
fn ours(pods: &Objects<Pod>, nodes: &Objects<Node>) -> Vec<Arc<Pod>> {
    let on_ours = |pod: &&Arc<Pod>| {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
        nodes.get(&(String::new(), node)).is_some_and(|node| node::is_ours(node))
    };
    pods.values().filter(on_ours).cloned().collect()
}
