//! On which nodes the annotations of pods are heeded.
//!
//! Whoever writes pods can annotate them so that nobody removes their node. The ClusterPolicy may cap that, by namespace: then the
//! annotations are heeded on so many nodes, those first whose annotated pods are there longest: who comes later, or is made anew,
//! takes no place from who was there. A gang of which one pod is all there is counts as an annotation. Disruption budgets, gangs of
//! several, local data and all else that keeps pods is never capped.

use std::collections::{BTreeMap, BTreeSet};

use crate::kube::Name;
use crate::memory::Ledger;
use crate::plan::{Hold, HoldReason, PodBlock, Subject};
use crate::policy::ScaleDown;
use crate::snapshot::{BaseState, Class, NodeEntry, Snapshot, Traits};
use crate::units::Time;

use super::drain::pod_block;

/// How many nodes the annotations of a namespace's pods keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept<'a> {
    pub(crate) namespace: &'a Name,
    /// Nodes with such pods.
    pub(crate) nodes: u32,
    /// Nodes on which they are heeded, where that is bound.
    pub(crate) cap: Option<u32>,
}

/// Where annotations are not heeded.
#[derive(Debug, Default)]
pub(crate) struct Unheeded<'a> {
    /// Namespace and node.
    places: BTreeSet<(&'a Name, &'a Name)>,
    lone: LoneGangs<'a>,
}

impl<'a> Unheeded<'a> {
    /// By the caps of the policy. What is on its way out keeps no place that others could have.
    pub(crate) fn new(snapshot: &'a Snapshot, ledger: &Ledger) -> Self {
        if !has_cap(snapshot) {
            return Self::default();
        }
        let lone = LoneGangs::new(snapshot);
        let mut places = BTreeSet::new();
        for (namespace, mut nodes) in annotated(snapshot, &lone) {
            let Some(cap) = cap(snapshot, namespace) else { continue };
            nodes.sort_by_key(|(since, node)| (is_leaving(snapshot, ledger, node), *since, &node.name));
            places.extend(nodes.into_iter().skip(cap as usize).map(|(_, node)| (namespace, &node.name)));
        }
        Self { places, lone }
    }

    /// Why a pod of a class must stay on a node, as far as it is heeded there.
    pub(crate) fn block(
        &self,
        class: &Class,
        node: &Name,
        covered_by_budget: bool,
        rules: &ScaleDown,
    ) -> Option<PodBlock> {
        let (in_gang, traits) = (class.gang.is_some(), &class.traits);
        if !self.places.contains(&(&class.key.namespace, node)) {
            return pod_block(traits, in_gang, covered_by_budget, rules);
        }
        let heeded = Traits {
            do_not_disrupt: false,
            safe_to_evict: traits.safe_to_evict.filter(|is_safe| *is_safe),
            on_completion: false,
            ..*traits
        };
        pod_block(&heeded, in_gang && !self.lone.has(class), covered_by_budget, rules)
    }
}

/// Gangs of which one pod is all there is: to name one is as good as an annotation.
#[derive(Debug, Default)]
struct LoneGangs<'a>(BTreeSet<(&'a Name, &'a Name)>);

impl<'a> LoneGangs<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let mut members: BTreeMap<(&Name, &Name), u32> = BTreeMap::new();
        for &slot in &snapshot.in_gangs {
            let Some(gang) = &snapshot.class(slot).gang else { continue };
            *members.entry(gang.identity()).or_default() += snapshot.class_keys.users(slot);
        }
        Self(members.into_iter().filter(|(_, count)| *count == 1).map(|(gang, _)| gang).collect())
    }

    fn has(&self, class: &Class) -> bool {
        class.gang.as_ref().is_some_and(|gang| self.0.contains(&gang.identity()))
    }
}

/// What the annotations of every namespace keep, by name.
pub(crate) fn kept(snapshot: &Snapshot) -> impl Iterator<Item = Kept<'_>> {
    annotated(snapshot, &LoneGangs::new(snapshot)).into_iter().map(|(namespace, nodes)| Kept {
        namespace,
        nodes: nodes.len() as u32,
        cap: cap(snapshot, namespace),
    })
}

/// Tells of every namespace whose annotations keep fewer nodes than they say.
pub(super) fn capped(snapshot: &Snapshot) -> Vec<Hold> {
    if !has_cap(snapshot) {
        return Vec::new();
    }
    let beyond = kept(snapshot).filter_map(|Kept { namespace, nodes, cap }| {
        let cap = cap.filter(|cap| *cap < nodes)?;
        let reason = HoldReason::ProtectionCap { namespace: namespace.clone(), nodes, cap };
        Some(Hold { subject: Subject::Cluster, reason, until: None })
    });
    beyond.collect()
}

fn cap(snapshot: &Snapshot, namespace: &Name) -> Option<u32> {
    snapshot.policy.tenant(namespace)?.protected_nodes
}

fn has_cap(snapshot: &Snapshot) -> bool {
    snapshot.policy.tenants.iter().any(|tenant| tenant.protected_nodes.is_some())
}

/// Whether a node is on its way out, by whatever tells it.
fn is_leaving(snapshot: &Snapshot, ledger: &Ledger, node: &NodeEntry) -> bool {
    [&node.name, snapshot.machine_of(node)].iter().any(|name| ledger.removals.contains_key(*name))
        || matches!(node.state, BaseState::CordonedByUs | BaseState::Stopping)
}

/// Managed nodes with pods that are annotated to be kept, by namespace, and since when the first of these is there.
fn annotated<'a>(
    snapshot: &'a Snapshot,
    lone: &LoneGangs<'_>,
) -> BTreeMap<&'a Name, Vec<(Time, &'a NodeEntry)>> {
    let mut all: BTreeMap<&Name, Vec<(Time, &NodeEntry)>> = BTreeMap::new();
    let nodes = snapshot.asked_to_stay.iter().map(|&slot| snapshot.node(slot));
    for node in nodes.filter(|node| node.pool.is_some()) {
        let mut since: BTreeMap<&Name, Time> = BTreeMap::new();
        for pod in node.pods.iter().map(|&pod| snapshot.pod(pod)).filter(|pod| !pod.leaving) {
            let class = snapshot.class(pod.class);
            let traits = &class.traits;
            let is_alone = traits.safe_to_evict.is_none() && lone.has(class);
            if !traits.daemon && !traits.mirror && (traits.is_annotated() || is_alone) {
                let first = since.entry(&pod.namespace).or_insert(pod.created);
                *first = pod.created.min(*first);
            }
        }
        for (namespace, first) in since {
            all.entry(namespace).or_default().push((first, node));
        }
    }
    all
}
