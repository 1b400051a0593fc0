//! Requests to the Kubernetes API, each answered once. A read goes past every cache; a write names an identity and is refused
//! by the API itself when what it was meant for has changed.

use std::time::Duration;

use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, Preconditions};
use kube::Client;
use kube::api::{Api, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::request;
use serde_json::json;
use tokio::time::timeout;

use ballast_core::kube::{self as slim, Meta, Name};
use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::procedure::{LiveNode, LivePod, Reply, Request};
use ballast_core::publish::PublishedPlan;
use ballast_core::snapshot::CORDON_MARK;
use ballast_core::units::Span;

use super::FIELD_MANAGER;
use super::error::{classed, reply};
use super::list::List;
use super::memory::MemoryStore;
use super::rights::lacking;
use super::sent::Sent;
use super::wire::Wire;

/// No answer is waited for longer. Whoever leads sends only while its lease outlasts this.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);

/// The grace of a pod that does not say: Kubernetes' own default.
const GRACE_SECS: i64 = 30;

/// The Kubernetes side of requests.
#[derive(Clone)]
pub struct Kubernetes {
    client: Client,
    /// That Ballast lives in.
    namespace: String,
    memory: MemoryStore,
}

/// What came back: a reply, or a node of which only the engine can say whether it is all that its pool promises.
pub enum Answer {
    /// A reply.
    Reply(Reply),
    /// A node.
    Node(Box<ReadNode>),
}

/// A node with its pods, read past every cache.
pub struct ReadNode {
    node: slim::Node,
    /// The pods on it that are neither daemons, mirrors nor ended.
    pods: Vec<LivePod>,
}

impl Answer {
    /// The reply, with the word of whoever knows the pools on whether a node is usable.
    pub fn reply(self, usable: impl Fn(&slim::Node) -> bool) -> Reply {
        match self {
            Self::Reply(reply) => reply,
            Self::Node(read) => Reply::Node(live(*read, usable)),
        }
    }
}

impl Kubernetes {
    /// A client, and the namespace that Ballast lives in.
    pub fn new(client: Client, namespace: &str) -> Self {
        let memory = MemoryStore::new(&client, namespace);
        Self { client, namespace: namespace.to_owned(), memory }
    }

    /// What is stored of memory.
    pub fn memory(&self) -> &MemoryStore {
        &self.memory
    }

    /// What this process may not do though a plan takes it.
    pub async fn lacks(&self, plan: &PublishedPlan) -> Vec<Name> {
        lacking(&self.client, &self.namespace, plan).await
    }

    /// Sends a request that is not about an instance.
    pub async fn send(&self, request: &Request) -> Answer {
        let answer = timeout(REQUEST_TIMEOUT, self.answer(request)).await;
        answer.unwrap_or(Answer::Reply(Reply::TimedOut))
    }

    async fn answer(&self, request: &Request) -> Answer {
        if let Request::ReadNode { name, provider_id } = request {
            return match self.read_node(name, provider_id).await {
                Ok(Some(read)) => Answer::Node(Box::new(read)),
                Ok(None) => Answer::Reply(failed(ErrorClass::NotFound, format!("no node `{name}`"))),
                Err(error) => Answer::Reply(Reply::Failed(classed(&error))),
            };
        }
        Answer::Reply(self.reply(request).await)
    }

    async fn reply(&self, request: &Request) -> Reply {
        match request {
            Request::WriteLedger { version, body } => self.memory.write_ledger(*version, body).await,
            Request::ReadLedger => self.memory.read_ledger().await,
            Request::WriteHistory { body } => self.memory.write_history(body).await,
            Request::Cordon { name, uid, mark } => self.cordon(name, uid, mark).await,
            Request::Uncordon { name, uid, mark } => self.uncordon(name, uid, mark).await,
            Request::Evict { namespace, name, uid } => self.evict(namespace, name, uid).await,
            Request::StartInstance { .. }
            | Request::CreateInstance { .. }
            | Request::StopInstance { .. }
            | Request::ReadInstance { .. }
            | Request::ReadNode { .. } => failed(ErrorClass::Invalid, "not a request to Kubernetes".into()),
        }
    }

    async fn node(&self, name: &str) -> Result<Option<slim::Node>, kube::Error> {
        let request = request::Request::new("/api/v1/nodes").get(name, &Default::default());
        match self.client.request(request.map_err(kube::Error::BuildRequest)?).await {
            Ok(node) => Ok(Some(readable(node))),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn list<T: Wire>(&self, path: &str, params: &ListParams) -> Result<Vec<T>, kube::Error> {
        let request = request::Request::new(path).list(params).map_err(kube::Error::BuildRequest)?;
        let list: List<T> = self.client.request(request).await?;
        Ok(list.items.into_iter().map(readable).collect())
    }

    /// The node that bears the provider's identity; where none does, the one of the name, unless it bears another.
    async fn read_node(&self, name: &Name, provider_id: &Name) -> Result<Option<ReadNode>, kube::Error> {
        let named = self.node(name).await?;
        let bears = |node: &slim::Node| !provider_id.is_empty() && node.spec.provider_id == *provider_id;
        let node = match named {
            Some(node) if provider_id.is_empty() || bears(&node) => Some(node),
            named => {
                let nodes: Vec<slim::Node> = match provider_id.is_empty() {
                    true => Vec::new(),
                    false => self.list("/api/v1/nodes", &ListParams::default()).await?,
                };
                let nameless = named.filter(|node| node.spec.provider_id.is_empty());
                nodes.into_iter().find(bears).or(nameless)
            }
        };
        let Some(node) = node else { return Ok(None) };
        let on_it = ListParams::default().fields(&format!("spec.nodeName={}", node.metadata.name));
        let pods: Vec<slim::Pod> = self.list("/api/v1/pods", &on_it).await?;
        let pods = pods.iter().filter(|pod| pod.is_guest()).map(live_pod).collect();
        Ok(Some(ReadNode { node, pods }))
    }

    async fn cordon(&self, name: &Name, uid: &Name, mark: &Name) -> Reply {
        let node = match self.same_node(name, uid).await {
            Ok(node) => node,
            Err(reply) => return reply,
        };
        let ours = node.metadata.annotation(CORDON_MARK) == Some(mark);
        if node.spec.unschedulable {
            return match ours {
                true => Reply::Done,
                false => failed(ErrorClass::Conflict, "it is cordoned by someone else".into()),
            };
        }
        let fields = json!({
            "metadata": {"annotations": {CORDON_MARK: &**mark}},
            "spec": {"unschedulable": true},
        });
        self.apply_to_node(&node, fields).await
    }

    /// Our fields are given back: what only we had set is gone, what somebody else set as well stays.
    async fn uncordon(&self, name: &Name, uid: &Name, mark: &Name) -> Reply {
        let node = match self.same_node(name, uid).await {
            Ok(node) => node,
            Err(reply) => return reply,
        };
        match node.metadata.annotation(CORDON_MARK) {
            None if !node.spec.unschedulable => Reply::Done,
            Some(found) if found == &**mark => self.apply_to_node(&node, json!({})).await,
            _ => failed(ErrorClass::Conflict, "it does not carry this mark".into()),
        }
    }

    /// The node of a name, if it still is the one that is meant.
    async fn same_node(&self, name: &Name, uid: &Name) -> Result<slim::Node, Reply> {
        match self.node(name).await {
            Ok(Some(node)) if node.metadata.uid == *uid => Ok(node),
            Ok(Some(_)) => {
                Err(failed(ErrorClass::Conflict, "the node is another one of the same name".into()))
            }
            Ok(None) => Err(failed(ErrorClass::NotFound, format!("no node `{name}`"))),
            Err(error) => Err(Reply::Failed(classed(&error))),
        }
    }

    /// Server-side apply of all that we want of a node, to the very state of it that was read.
    async fn apply_to_node(&self, node: &slim::Node, fields: serde_json::Value) -> Reply {
        let mut object = fields;
        object["apiVersion"] = "v1".into();
        object["kind"] = "Node".into();
        object["metadata"]["name"] = (*node.metadata.name).into();
        object["metadata"]["uid"] = (*node.metadata.uid).into();
        object["metadata"]["resourceVersion"] = (*node.metadata.resource_version).into();
        let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(self.client.clone());
        let params = PatchParams::apply(FIELD_MANAGER).force();
        match nodes.patch(&node.metadata.name, &params, &Patch::Apply(&object)).await {
            Ok(_) => Reply::Done,
            Err(error) => reply(&error),
        }
    }

    async fn evict(&self, namespace: &Name, name: &Name, uid: &Name) -> Reply {
        let preconditions = Preconditions { uid: Some(uid.to_string()), resource_version: None };
        let eviction = Eviction {
            metadata: ObjectMeta {
                name: Some(name.to_string()),
                namespace: Some(namespace.to_string()),
                ..ObjectMeta::default()
            },
            delete_options: Some(DeleteOptions {
                preconditions: Some(preconditions),
                ..DeleteOptions::default()
            }),
        };
        let body = match serde_json::to_vec(&eviction) {
            Ok(body) => body,
            Err(error) => return failed(ErrorClass::Invalid, error.to_string()),
        };
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        let request =
            request::Request::new(path).create_subresource("eviction", name, &PostParams::default(), body);
        let request = match request {
            Ok(request) => request,
            Err(error) => return failed(ErrorClass::Invalid, error.to_string()),
        };
        match self.client.request::<serde_json::Value>(request).await {
            Ok(_) => Reply::Done,
            Err(error) => reply(&error),
        }
    }
}

/// An object, frozen where this release cannot read all of it.
fn readable<T: Wire>(sent: Sent<T>) -> T {
    let Sent { mut object, unread } = sent;
    if !unread.is_empty() {
        object.freeze(&unread);
    }
    object
}

fn live(read: ReadNode, usable: impl Fn(&slim::Node) -> bool) -> LiveNode {
    let ReadNode { node, pods } = read;
    LiveNode {
        ready: usable(&node),
        unschedulable: node.spec.unschedulable,
        mark: node.metadata.annotation(CORDON_MARK).unwrap_or_default().into(),
        name: node.metadata.name,
        uid: node.metadata.uid,
        pods,
    }
}

fn live_pod(pod: &slim::Pod) -> LivePod {
    let Meta { deletion_timestamp, deletion_grace_period_seconds, .. } = &pod.metadata;
    let grace = Span::from_secs(deletion_grace_period_seconds.unwrap_or(GRACE_SECS).max(0));
    LivePod {
        namespace: pod.metadata.namespace.clone(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        leaving: deletion_timestamp.map(|_| grace),
    }
}

fn failed(class: ErrorClass, message: String) -> Reply {
    Reply::Failed(SourceError { class, message })
}
