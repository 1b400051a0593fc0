//! Documents: the bytes of files go in, typed values come out, or every problem with its place.
//!
//! ```text
//! bytes ──▶ text ──▶ trees with places ──▶ typed values ──▶ checked, one by one and together ──▶ Documents
//!             │             │                    │                        │
//!             └─────────────┴────────────────────┴────────────────────────┴──▶ Problems: all of them, nothing partial
//! ```
//!
//! A file is YAML or JSON, holds one document or many, single, as a `List` or one after the other, and may mix what
//! `kubectl get -o json|yaml` prints with documents of ours. Nothing here reads a disk: the caller hands over names and
//! bytes. No input panics, and memory and stack are bounded by the limits below and the size of the input.

mod across;
mod apart;
mod check;
mod document;
mod gangs;
mod json;
mod kind;
mod load;
mod meta;
mod part;
mod pools;
mod problem;
mod read;
mod source;
mod split;
mod suggest;
mod templates;
#[cfg(test)]
mod tests;
mod tree;
mod whole;
mod yaml;

pub use across::{POOLS_MAX, overlap};
pub use check::{Finding, Findings, check_cluster_policy, check_requests, check_vm_pool};
pub use kind::DocumentKind;
pub use load::load;
pub use meta::{NAME_ALLOWED, name_trouble};
pub use part::Part;
pub use problem::{PROBLEMS_MAX, Problem, ProblemCode, Problems};
pub use source::{File, Place, Placed, Snippet};
pub use suggest::nearest;
pub use tree::{Path, Segment};
pub use whole::whole;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kube::{Name, Node, PodGroup};
use crate::observation::{Body, Instance, InstanceState, Object, ObjectKind, Observation, Source};
use crate::policy::{ElasticJobPolicy, MetricScaler, RayScaler, SparkPool};
use crate::snapshot::{PoolEntry, TYPE_LABEL, ZONE_LABEL};
use crate::units::Time;

/// Bytes of one file. A dump of 100,000 pods has about 500 MB; places are kept in 32 bits.
pub const FILE_BYTES_MAX: usize = 1 << 30;
/// Documents of all files together: more than the largest cluster has objects that we read.
pub const DOCUMENTS_MAX: usize = 1_000_000;
/// Bytes of one YAML document: about what `kubectl get pods -A -o yaml` prints for 20,000 pods. JSON, which is read several
/// times faster and item by item, has no such limit.
pub const YAML_DOCUMENT_BYTES_MAX: usize = 128 << 20;

/// Everything that was written in a set of files, typed, checked, with its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Documents {
    /// Kubernetes objects of the kinds that are read, with cluster policies and pools among them.
    pub objects: Vec<Placed<Object>>,
    /// Descriptions of gangs; their pods have been told what they say.
    pub pod_groups: Vec<Placed<PodGroup>>,
    /// Which training jobs are elastic.
    pub elastic_job_policies: Vec<Placed<ElasticJobPolicy>>,
    /// Replicas by metrics.
    pub metric_scalers: Vec<Placed<MetricScaler>>,
    /// Which Ray clusters are served.
    pub ray_scalers: Vec<Placed<RayScaler>>,
    /// Spark masters and their workers.
    pub spark_pools: Vec<Placed<SparkPool>>,
    /// What sources outside Kubernetes said, in the order of their times.
    pub observations: Vec<Placed<Observation>>,
    /// Simulated worlds; only the simulator knows what their specs mean.
    pub scenarios: Vec<Placed<Scenario>>,
    /// Objects of other kinds, counted by `apiVersion` and kind.
    pub ignored: BTreeMap<(Name, Name), u32>,
    /// What is allowed and probably not what is meant.
    pub doubts: Vec<Problem>,
}

/// A simulated world.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: Name,
    /// What it says, as it was written.
    pub spec: Part,
}

impl Documents {
    /// Whether nothing tells of a cluster: there is neither a node nor a pod.
    pub fn is_without_cluster(&self) -> bool {
        let is_one = |placed: &Placed<Object>| matches!(placed.value, Object::Node(_) | Object::Pod(_));
        !self.objects.iter().any(is_one)
    }

    /// What the engine takes in: the complete list of every kind, as seen at `now`, and then all other observations.
    ///
    /// A kind for which there is an observation with an error is not listed: it is unknown, not empty. A pool whose instances
    /// nobody tells has those of its nodes: documents are all there is to know.
    pub fn into_observations(self, now: Time) -> Vec<Observation> {
        let mut lists: BTreeMap<ObjectKind, Vec<Object>> =
            ObjectKind::ALL.into_iter().map(|kind| (kind, Vec::new())).collect();
        for Placed { value, .. } in self.objects {
            lists.entry(value.kind()).or_default().push(value);
        }
        let mut others: Vec<Observation> = self.observations.into_iter().map(|placed| placed.value).collect();
        others.extend(untold_instances(&lists, &others, now));
        let listed = lists.into_iter().map(|(kind, objects)| Observation {
            source: Source::kubernetes(kind),
            taken_at: now,
            outcome: Ok(Body::Listed(objects)),
        });
        let is_told = |source: &Source| others.iter().any(|other| other.source == *source);
        let listed: Vec<Observation> = listed.filter(|list| !is_told(&list.source)).collect();
        listed.into_iter().chain(others).collect()
    }
}

/// For each pool whose instances nobody tells: its nodes, as instances that run.
fn untold_instances(
    lists: &BTreeMap<ObjectKind, Vec<Object>>,
    told: &[Observation],
    now: Time,
) -> Vec<Observation> {
    let mut observations = Vec::new();
    for pool in lists[&ObjectKind::VmPool].iter() {
        let Object::VmPool(pool) = pool else { continue };
        let source = Source::instances(&pool.name);
        if told.iter().any(|observation| observation.source == source) {
            continue;
        }
        let entry = PoolEntry::new(pool.name.clone(), Arc::new(pool.spec.clone()));
        let nodes = lists[&ObjectKind::Node].iter().filter_map(|object| match object {
            Object::Node(node) if entry.claims(&node.metadata.name, &node.metadata.labels) => Some(node),
            _ => None,
        });
        let instance = |node: &Node| Instance {
            id: node.spec.provider_id.clone(),
            name: node.metadata.name.clone(),
            pool: pool.name.clone(),
            zone: node.metadata.label(ZONE_LABEL).unwrap_or_default().into(),
            instance_type: node.metadata.label(TYPE_LABEL).unwrap_or_default().into(),
            state: InstanceState::Running,
            since: None,
            token: Name::default(),
        };
        let instances = nodes.filter(|node| !node.spec.provider_id.is_empty()).map(instance).collect();
        observations.push(Observation { source, taken_at: now, outcome: Ok(Body::Instances(instances)) });
    }
    observations
}

/// Text of unknown origin, safe to print: control characters escaped, no longer than `letters`.
pub(crate) fn printable(text: &str, letters: usize) -> String {
    let mut shown = String::new();
    for (number, letter) in text.chars().enumerate() {
        if number == letters {
            shown.push('…');
            break;
        }
        if letter.is_control() || source::is_direction(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}
