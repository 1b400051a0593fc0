//! What a pod's spec asks for that the model does not know. Such pods are named in the report and neither placed nor
//! displaced: a guess would start nodes that do not help, or take away the only place.

use crate::kube::{Affinity, Name, PodAffinityTerm, PodSpec, TopologySpread};

/// The features of a spec that are not modelled, in words.
pub(super) fn features(spec: &PodSpec) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    let mut note = |holds: bool, feature: &str| found.extend(holds.then(|| Name::from(feature)));
    note(!spec.unread.is_empty(), &format!("what this release cannot read: {}", spec.unread));
    note(!spec.resource_claims.is_empty(), "dynamic resource claims");
    let terms: Vec<&PodAffinityTerm> = spec.affinity.iter().flat_map(required).collect();
    let by_label = |term: &&PodAffinityTerm| {
        term.namespace_selector.as_ref().is_some_and(|selector| !selector.is_empty())
    };
    note(terms.iter().any(by_label), "pod affinity with a namespaceSelector");
    note(
        terms.iter().any(|term| !term.mismatch_label_keys.is_empty()),
        "pod affinity with mismatchLabelKeys",
    );
    let policy = |term: &TopologySpread| {
        term.node_affinity_policy.as_deref() == Some("Ignore")
            || term.node_taints_policy.as_deref() == Some("Honor")
    };
    let spread = &spec.topology_spread_constraints;
    note(
        spread.iter().any(policy),
        "topology spread with a nodeAffinityPolicy or nodeTaintsPolicy of its own",
    );
    found
}

fn required(affinity: &Affinity) -> impl Iterator<Item = &PodAffinityTerm> {
    affinity.pod_affinity.iter().chain(&affinity.pod_anti_affinity).flat_map(|terms| &terms.required)
}
