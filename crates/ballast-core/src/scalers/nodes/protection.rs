//! On which nodes the annotations of pods are heeded.
//!
//! Whoever writes pods can annotate them so that nobody removes their node. The ClusterPolicy may cap that, by namespace: then the
//! annotations are heeded on the nodes that are there longest, up to the cap, which does not change from one look to the next.
//! Disruption budgets, gangs, local data and all else that keeps pods is never capped.

use std::collections::{BTreeMap, BTreeSet};

use crate::kube::Name;
use crate::plan::{Hold, HoldReason, Subject};
use crate::snapshot::{NodeEntry, Snapshot, Traits};

/// How many nodes the annotations of a namespace's pods keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept<'a> {
    pub(crate) namespace: &'a Name,
    /// Nodes with such pods.
    pub(crate) nodes: u32,
    /// Nodes on which they are heeded, where that is bound.
    pub(crate) cap: Option<u32>,
}

/// Where annotations are not heeded: namespace and node.
#[derive(Debug, Default)]
pub(crate) struct Unheeded<'a>(BTreeSet<(&'a Name, &'a Name)>);

impl<'a> Unheeded<'a> {
    /// By the caps of the policy.
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        if snapshot.policy.tenants.iter().all(|tenant| tenant.protected_nodes.is_none()) {
            return Self::default();
        }
        let mut all = BTreeSet::new();
        for (namespace, mut nodes) in annotated(snapshot) {
            let Some(cap) = cap(snapshot, namespace) else { continue };
            nodes.sort_by_key(|node| {
                let made = node.node.as_ref().and_then(|node| node.metadata.creation_timestamp);
                (made, &node.name)
            });
            all.extend(nodes.into_iter().skip(cap as usize).map(|node| (namespace, &node.name)));
        }
        Self(all)
    }

    /// What is heeded of a pod on a node.
    pub(crate) fn heeded(&self, namespace: &Name, node: &Name, traits: &Traits) -> Traits {
        match self.0.contains(&(namespace, node)) {
            true => Traits {
                do_not_disrupt: false,
                safe_to_evict: traits.safe_to_evict.filter(|is_safe| *is_safe),
                ..*traits
            },
            false => *traits,
        }
    }
}

/// What the annotations of every namespace keep, by name.
pub(crate) fn kept(snapshot: &Snapshot) -> impl Iterator<Item = Kept<'_>> {
    annotated(snapshot).into_iter().map(|(namespace, nodes)| Kept {
        namespace,
        nodes: nodes.len() as u32,
        cap: cap(snapshot, namespace),
    })
}

/// Tells of every namespace whose annotations keep fewer nodes than they say.
pub(super) fn capped(snapshot: &Snapshot) -> Vec<Hold> {
    let beyond = kept(snapshot).filter_map(|Kept { namespace, nodes, cap }| {
        let cap = cap.filter(|cap| *cap < nodes)?;
        let reason = HoldReason::ProtectionCap { namespace: namespace.clone(), nodes, cap };
        Some(Hold { subject: Subject::Cluster, reason, until: None })
    });
    match snapshot.policy.tenants.is_empty() {
        true => Vec::new(),
        false => beyond.collect(),
    }
}

fn cap(snapshot: &Snapshot, namespace: &Name) -> Option<u32> {
    snapshot.policy.tenant(namespace)?.protected_nodes
}

/// Managed nodes with pods that are annotated to be kept, by namespace.
fn annotated(snapshot: &Snapshot) -> BTreeMap<&Name, Vec<&NodeEntry>> {
    let mut all: BTreeMap<&Name, Vec<&NodeEntry>> = BTreeMap::new();
    for node in snapshot.nodes().filter(|node| node.pool.is_some()) {
        let pods = node.pods.iter().map(|&pod| snapshot.pod(pod)).filter(|pod| {
            let traits = &snapshot.class(pod.class).traits;
            let is_guest = !traits.daemon && !traits.mirror && !pod.leaving;
            is_guest && (traits.do_not_disrupt || traits.safe_to_evict == Some(false))
        });
        let namespaces: BTreeSet<&Name> = pods.map(|pod| &pod.namespace).collect();
        namespaces.into_iter().for_each(|namespace| all.entry(namespace).or_default().push(node));
    }
    all
}
