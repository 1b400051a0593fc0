//! The rule of the OpenPAI autoscaler, as it was, for comparison.
//!
//! Every five minutes, without memory: if some task pod is pending while its virtual cluster is not full, or some virtual
//! cluster is not guaranteed, *every* worker is started; else the first idle ready workers above a minimum of five are
//! stopped, in the order of the list. A cluster is *full* when used equals total GPUs, and *guaranteed* when guaranteed equals
//! total, where total counts the workers that do not answer, and stopped ones do not: so that every stop undoes itself at
//! the next look. A cordoned node counts as not ready. With fewer ready workers than the minimum the slice is negative and
//! still stops some. There is no drain, and what a request came to is not asked. All of that is kept here.

use std::collections::BTreeMap;

use ballast_core::kube::{Name, Node, Phase};
use ballast_core::observation::{Body, Change, Object, Observation};
use ballast_core::policy::StopMode;
use ballast_core::procedure::Request;
use ballast_core::resources::is_gpu;
use ballast_core::snapshot::{CORDON_MARK, POOL_LABEL};
use ballast_core::units::{Span, Time};

use super::Wants;

/// How long the loop sleeps.
const INTERVAL: Span = Span::from_secs(300);
/// Fewest workers.
const MIN_NODES: i64 = 5;
/// What it marks its cordons with; the parent had none, but a request wants one.
const MARK: &str = "openpai";

/// The loop with what it sees.
#[derive(Debug, Default)]
pub(crate) struct OpenPai {
    nodes: BTreeMap<Name, Node>,
    pods: BTreeMap<(Name, Name), SeenPod>,
    next: Option<Time>,
    sent: u64,
}

#[derive(Debug)]
struct SeenPod {
    uid: Name,
    node: Name,
    pending: bool,
    gpus: i64,
    task: bool,
}

impl OpenPai {
    pub(super) fn tick(&mut self, now: Time, observations: Vec<Observation>) -> Wants {
        for observation in observations {
            match observation.outcome {
                Ok(Body::Listed(objects)) => self.list(&observation.source.name, objects),
                Ok(Body::Changed(changes)) => changes.into_iter().for_each(|change| self.change(change)),
                _ => {}
            }
        }
        if self.next.is_some_and(|next| now < next) {
            return Wants { wake_at: self.next, ..Wants::default() };
        }
        self.next = Some(now + INTERVAL);
        let requests = self.decide();
        let number = |request| {
            self.sent += 1;
            (self.sent, request)
        };
        Wants { requests: requests.into_iter().map(number).collect(), plan: None, wake_at: self.next }
    }

    fn list(&mut self, kind: &str, objects: Vec<Object>) {
        match kind {
            "Node" => self.nodes.clear(),
            "Pod" => self.pods.clear(),
            _ => {}
        }
        objects.into_iter().for_each(|object| self.change(Change::Applied(object)));
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Applied(Object::Node(node)) => {
                self.nodes.insert(node.metadata.name.clone(), node);
            }
            Change::Applied(Object::Pod(pod)) => {
                let unschedulable = pod
                    .status
                    .conditions
                    .first()
                    .is_some_and(|condition| &*condition.reason == "Unschedulable");
                let requests = pod.spec.containers.iter().flat_map(|container| &container.resources.requests);
                let seen = SeenPod {
                    uid: pod.metadata.uid.clone(),
                    node: pod.node_name.clone(),
                    pending: pod.status.phase == Phase::Pending && unschedulable,
                    gpus: requests.filter(|(name, _)| is_gpu(name)).map(|(_, count)| count.units()).sum(),
                    task: pod.metadata.controller().is_none_or(|owner| &*owner.kind != "DaemonSet"),
                };
                self.pods.insert((pod.metadata.namespace.clone(), pod.metadata.name), seen);
            }
            Change::Deleted(key) => {
                let pod = (key.namespace, key.name);
                if self.pods.get(&pod).is_some_and(|seen| seen.uid == key.uid) {
                    self.pods.remove(&pod);
                } else if pod.0.is_empty() {
                    self.nodes.remove(&pod.1);
                }
            }
            Change::Applied(_) => {}
        }
    }

    /// The workers: what the parent found by a label is here what belongs to a pool.
    fn workers(&self) -> Vec<&Node> {
        self.nodes.values().filter(|node| node.metadata.label(POOL_LABEL).is_some()).collect()
    }

    fn decide(&self) -> Vec<Request> {
        let workers = self.workers();
        let known =
            |node: &&&Node| node.condition("Ready").is_some_and(|condition| &*condition.status != "Unknown");
        let guaranteed: i64 = workers.iter().filter(known).map(|node| gpus(node)).sum();
        let total: i64 = workers.iter().map(|node| gpus(node)).sum();
        let tasks = || self.pods.values().filter(|pod| pod.task);
        let used: i64 = tasks().filter(|pod| !pod.node.is_empty()).map(|pod| pod.gpus).sum();
        let is_full = used == total;
        let pending = tasks().any(|pod| pod.pending);
        if (pending && !is_full) || guaranteed != total {
            return self.all_on(&workers);
        }
        let ready: Vec<&&Node> =
            workers.iter().filter(|node| node.is_ready() && !node.spec.unschedulable).collect();
        let is_free = |node: &&&&Node| !tasks().any(|pod| pod.node == node.metadata.name);
        let free: Vec<&&Node> = ready.iter().filter(is_free).copied().collect();
        let above = ready.len() as i64 - MIN_NODES;
        // The parent's slice: a negative bound leaves out so many from the end instead of taking none.
        let taken = if above >= 0 { above } else { free.len() as i64 + above };
        self.off(&free[..(taken.clamp(0, free.len() as i64)) as usize])
    }

    fn all_on(&self, workers: &[&Node]) -> Vec<Request> {
        let start = workers
            .iter()
            .map(|node| Request::StartInstance { pool: pool_of(node), id: node.spec.provider_id.clone() });
        let cordoned = workers.iter().filter(|node| node.spec.unschedulable);
        let uncordon = cordoned.map(|node| Request::Uncordon {
            name: node.metadata.name.clone(),
            uid: node.metadata.uid.clone(),
            mark: node.metadata.annotations.get(CORDON_MARK).cloned().unwrap_or_default(),
        });
        start.chain(uncordon).collect()
    }

    fn off(&self, nodes: &[&&Node]) -> Vec<Request> {
        let cordon = nodes.iter().map(|node| Request::Cordon {
            name: node.metadata.name.clone(),
            uid: node.metadata.uid.clone(),
            mark: MARK.into(),
        });
        let stop = nodes.iter().map(|node| Request::StopInstance {
            pool: pool_of(node),
            id: node.spec.provider_id.clone(),
            mode: StopMode::Deallocate,
        });
        cordon.chain(stop).collect()
    }
}

fn pool_of(node: &Node) -> Name {
    node.metadata.labels.get(POOL_LABEL).cloned().unwrap_or_default()
}

/// GPUs that the machine has, whether they can be used now or not.
fn gpus(node: &Node) -> i64 {
    node.status.capacity.iter().filter(|(name, _)| is_gpu(name)).map(|(_, count)| count.units()).sum()
}
