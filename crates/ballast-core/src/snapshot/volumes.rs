//! Volumes: where the claims of a pod let it go, as far as that is known.

use std::sync::Arc;

use crate::kube::{
    Name, NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm, PodSpec,
    StorageClass, TopologyTerm,
};

use super::Snapshot;

/// A volume that a pod claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// By the name of a claim in its namespace.
    Named(Name),
    /// One of its own, made with it: the name of the storage class, empty where the cluster's default will do.
    Own(Name),
}

/// What the claims of a class come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volumes {
    /// Where its volumes can be mounted or made.
    pub(super) places: Vec<NodeSelector>,
    /// One of the claims or its volume has not been seen: where it can go is known only if all there are have been told of.
    pub are_missed: bool,
    /// The first claim that has to be bound before the scheduler looks at the pod.
    pub awaits: Option<Name>,
    /// What the model does not know of them, in words.
    pub(super) unmodelled: Vec<Name>,
}

/// Where one claim lets a pod go.
enum Reach {
    Anywhere,
    Within(NodeSelector),
    Unseen,
    Awaited(Name),
    Unmodelled(&'static str),
}

/// The claims of a pod.
pub(super) fn claims(spec: &PodSpec) -> Vec<Claim> {
    let own = |class: &Name| Claim::Own(class.clone());
    let claim = |volume: &crate::kube::PodVolume| match (&volume.persistent_volume_claim, &volume.ephemeral) {
        (Some(claim), _) => Some(Claim::Named(claim.claim_name.clone())),
        (None, Some(made)) => Some(own(&made.volume_claim_template.spec.storage_class_name)),
        (None, None) => None,
    };
    spec.volumes.iter().filter_map(claim).collect()
}

impl Snapshot {
    /// What claims of pods of a namespace come to now.
    pub(super) fn volumes_of(&self, namespace: &Name, claims: &[Claim]) -> Volumes {
        let mut all = Volumes::default();
        for claim in claims {
            match self.reach(namespace, claim) {
                Reach::Anywhere => {}
                Reach::Within(places) => all.places.push(places),
                Reach::Unseen => all.are_missed = true,
                Reach::Awaited(claim) => _ = all.awaits.get_or_insert(claim),
                Reach::Unmodelled(feature) => all.unmodelled.push(feature.into()),
            }
        }
        all
    }

    fn reach(&self, namespace: &Name, claim: &Claim) -> Reach {
        let name = match claim {
            Claim::Named(name) => name,
            Claim::Own(class) => return self.reach_of_own(class),
        };
        let Some(claim) = self.volume_claims.get(&(namespace.clone(), name.clone())) else {
            return Reach::Unseen;
        };
        let class = &claim.spec.storage_class_name;
        match (&claim.spec.volume_name, self.storage_classes.get(class)) {
            (volume, _) if !volume.is_empty() => self.reach_of_volume(volume),
            (_, Some(class)) if waits_for_pod(class) => reach_of_class(class),
            // Nobody but a person or a provisioner binds it, and the scheduler does not look at the pod before.
            (_, Some(_)) => Reach::Awaited(name.clone()),
            (_, None) if class.is_empty() => Reach::Awaited(name.clone()),
            (_, None) => Reach::Unmodelled("claim that is not bound, of a StorageClass that was not given"),
        }
    }

    fn reach_of_volume(&self, volume: &Name) -> Reach {
        let Some(volume) = self.volumes.get(volume) else { return Reach::Unseen };
        let places = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.clone());
        places.map_or(Reach::Anywhere, Reach::Within)
    }

    /// A pod's own claim goes with it: only where a new one could be made counts.
    fn reach_of_own(&self, class: &Name) -> Reach {
        let class = if class.is_empty() { self.default_class() } else { self.storage_classes.get(class) };
        match class {
            Some(class) if waits_for_pod(class) => reach_of_class(class),
            Some(_) => Reach::Unmodelled("ephemeral volume of a StorageClass that binds at once"),
            None => Reach::Unmodelled("ephemeral volume of a StorageClass that was not given"),
        }
    }

    /// The class of claims that name none: the newest of those that are marked so.
    fn default_class(&self) -> Option<&Arc<StorageClass>> {
        let marked = self.storage_classes.values().filter(|class| class.is_default());
        marked.max_by_key(|class| class.metadata.creation_timestamp)
    }
}

fn waits_for_pod(class: &StorageClass) -> bool {
    &*class.volume_binding_mode == "WaitForFirstConsumer"
}

/// Where volumes of a class that waits for its pods can be made.
fn reach_of_class(class: &StorageClass) -> Reach {
    if &*class.provisioner == "kubernetes.io/no-provisioner" {
        return Reach::Unmodelled("claim that is not bound, for one of the volumes that are there");
    }
    if class.allowed_topologies.is_empty() {
        return Reach::Anywhere;
    }
    let term = |term: &TopologyTerm| {
        let expressions = term.match_label_expressions.iter().map(|expression| NodeSelectorRequirement {
            key: expression.key.clone(),
            operator: NodeSelectorOperator::In,
            values: expression.values.clone(),
        });
        NodeSelectorTerm { match_expressions: expressions.collect(), ..NodeSelectorTerm::default() }
    };
    let node_selector_terms = class.allowed_topologies.iter().map(term).collect();
    Reach::Within(NodeSelector { node_selector_terms })
}
