//! Topology: how many pods of a kind each domain (zone, host, …) has, for affinity and spread.

use std::collections::{BTreeMap, BTreeSet};

use crate::kube::Name;

use super::{PodTerm, Snapshot};

/// How many matching pods each domain of one topology key has.
pub type Domains = BTreeMap<Name, u32>;

/// Counts of pods by domain, worked out on demand.
#[derive(Clone, Debug, Default)]
pub struct Topology;

impl Topology {
    /// How many pods that a term means run in each domain of its key. Domains without pods are there with 0 if some node has
    /// the label.
    pub fn domains(snapshot: &Snapshot, term: &PodTerm) -> Domains {
        let mut domains = Domains::new();
        let mut meant: BTreeMap<u32, bool> = BTreeMap::new();
        for node in snapshot.nodes() {
            let Some(value) = node.label(&term.key) else { continue };
            let count = domains.entry(value.clone()).or_default();
            for &pod in &node.pods {
                let class = snapshot.pod(pod).class;
                let is_meant =
                    *meant.entry(class).or_insert_with(|| term.matches(&snapshot.class(class).key));
                *count += u32::from(is_meant && !snapshot.pod(pod).leaving);
            }
        }
        domains
    }

    /// How many running pods that themselves demand distance by a term are in each domain of its key.
    pub fn holders(snapshot: &Snapshot, term: &PodTerm) -> Domains {
        let holds = |class: &u32| snapshot.class(*class).relations.away.contains(term);
        let classes: BTreeSet<u32> = snapshot.keeping_away.iter().copied().filter(holds).collect();
        let mut domains = Domains::new();
        if classes.is_empty() {
            return domains;
        }
        for node in snapshot.nodes() {
            let Some(value) = node.label(&term.key) else { continue };
            let count = node.pods.iter().filter(|&&pod| classes.contains(&snapshot.pod(pod).class)).count();
            if count > 0 {
                *domains.entry(value.clone()).or_default() += count as u32;
            }
        }
        domains
    }
}
