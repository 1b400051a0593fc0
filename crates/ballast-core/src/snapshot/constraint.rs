//! Which nodes a pod may be placed on, whatever is free there: selectors, affinity, taints, volumes, GPU kind.

use crate::kube::{Labels, Name, NodeSelector, PodSpec, Taint, TaintEffect, Toleration};
use crate::plan::Misfit;

/// What a pod demands of a node besides room. Many pods share one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Constraint {
    selector: Labels,
    affinity: Option<NodeSelector>,
    tolerations: Vec<Toleration>,
    volumes: Vec<NodeSelector>,
    gpu_kind: Option<Name>,
    gpu_models: Vec<Name>,
}

/// What a constraint is held against: a node that is there, or one that could be.
#[derive(Clone, Copy, Debug)]
pub struct Profile<'a> {
    /// The node's name.
    pub name: &'a Name,
    /// Its labels.
    pub labels: &'a Labels,
    /// Its taints.
    pub taints: &'a [Taint],
    /// The resource name of its GPUs.
    pub gpu_kind: Option<&'a Name>,
}

/// The label of a GPU's model that NVIDIA's feature discovery writes, and ours for everything else.
pub const GPU_MODEL_LABELS: [&str; 2] = ["ballast.dev/gpu-model", "nvidia.com/gpu.product"];
/// The annotation by which a pod allows only some GPU models, separated by `|`.
pub const GPU_MODELS_ANNOTATION: &str = "ballast.dev/gpu-models";

impl Constraint {
    /// Of a pod; `volumes` are the node selectors of the volumes it is bound to.
    pub fn new(
        spec: &PodSpec,
        volumes: Vec<NodeSelector>,
        gpu_kind: Option<Name>,
        gpu_models: Option<&str>,
    ) -> Self {
        let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        Self {
            selector: spec.node_selector.clone(),
            affinity: affinity.and_then(|affinity| affinity.required.clone()),
            tolerations: spec.tolerations.clone(),
            volumes,
            gpu_kind,
            gpu_models: gpu_models.map(|list| list.split('|').map(Name::from).collect()).unwrap_or_default(),
        }
    }

    /// Why a node of this profile will not do; `None` where it will.
    pub fn misfit(&self, profile: &Profile<'_>) -> Option<Misfit> {
        if let Some(taint) = self.unborne(profile.taints) {
            return Some(Misfit::Taint(taint.key.clone()));
        }
        if !self.attracts(profile) || !self.model_allowed(profile.labels) {
            return Some(Misfit::NodeAffinity);
        }
        if !self.volumes.iter().all(|terms| terms.matches(profile.name, profile.labels)) {
            return Some(Misfit::Volume);
        }
        let kind_matches = self.gpu_kind.as_ref().is_none_or(|kind| profile.gpu_kind == Some(kind));
        (!kind_matches).then_some(Misfit::GpuDevices)
    }

    /// Whether the pod's node selector and affinity match, whatever else keeps it away.
    pub fn attracts(&self, profile: &Profile<'_>) -> bool {
        self.selector.iter().all(|(key, value)| profile.labels.get(key) == Some(value))
            && self.affinity.as_ref().is_none_or(|terms| terms.matches(profile.name, profile.labels))
    }

    fn unborne<'a>(&self, taints: &'a [Taint]) -> Option<&'a Taint> {
        let refuses = |taint: &&Taint| {
            taint.effect != TaintEffect::PreferNoSchedule && !self.tolerations.iter().any(|t| t.bears(taint))
        };
        taints.iter().find(refuses)
    }

    fn model_allowed(&self, labels: &Labels) -> bool {
        self.gpu_models.is_empty()
            || GPU_MODEL_LABELS
                .iter()
                .any(|key| labels.get(*key).is_some_and(|model| self.gpu_models.contains(model)))
    }
}
