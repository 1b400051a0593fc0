//! Classes: what the pods of one workload and one size have in common.

use std::sync::Arc;

use ballast_core::kube::{Container, Labels, Meta, Name, PodSpec};
use ballast_core::resources::{GpuNeed, ResourceNames, Resources, extended_names, pod_requests};
use ballast_core::snapshot::GPU_MODELS_ANNOTATION;
use ballast_core::units::{Quantity, Span};

use super::machine::Models;
use crate::placement::Need;
use crate::scenario::{Distribution, Owner};

/// The annotation of a GPU share, in thousandths of a device.
const GPU_MILLI_ANNOTATION: &str = "alibabacloud.com/gpu-milli";
/// The resource name of GPUs in scenarios that only speak of shares.
const GPU_RESOURCE: &str = "nvidia.com/gpu";

/// What pods of one workload and one size have in common.
#[derive(Debug)]
pub(crate) struct Class {
    /// The workload that figures are told under.
    pub(crate) workload: u32,
    /// Namespace.
    pub(crate) namespace: Name,
    /// Who makes the pods.
    pub(crate) owner: Owner,
    /// Their spec.
    pub(crate) spec: Arc<PodSpec>,
    /// Their labels, without those of a gang.
    pub(crate) labels: Arc<Labels>,
    /// Their annotations, without those of a gang.
    pub(crate) annotations: Arc<Labels>,
    /// What one asks for, without GPUs.
    pub(crate) requests: Resources,
    /// What scores and devices need to know.
    pub(crate) need: Need,
    /// Priority.
    pub(crate) priority: i32,
    /// Whether it is a daemon.
    pub(crate) daemon: bool,
    /// From being bound to running.
    pub(crate) start_up: Distribution,
    /// Interrupted work is kept up to the last whole multiple of this.
    pub(crate) checkpoint: Option<Span>,
    /// How long one takes to leave when it is told to.
    pub(crate) grace: Span,
    /// Budgets that protect it.
    pub(crate) budgets: Vec<u32>,
    /// Whether where it may be placed depends on the node itself or on what is placed elsewhere.
    pub(crate) is_picky: bool,
    /// Whether it fits each kind, as far as that does not change.
    pub(crate) fits: Vec<bool>,
}

/// What a class is made of.
pub(crate) struct Recipe<'a> {
    /// The workload that figures are told under.
    pub(crate) workload: u32,
    /// Namespace.
    pub(crate) namespace: &'a Name,
    /// Who makes the pods.
    pub(crate) owner: Owner,
    /// Requests of one pod.
    pub(crate) requests: &'a std::collections::BTreeMap<Name, Quantity>,
    /// A share of one GPU.
    pub(crate) gpu_milli: Option<u16>,
    /// GPU models that do.
    pub(crate) gpu_models: &'a [Name],
    /// Labels.
    pub(crate) labels: &'a Labels,
    /// Annotations.
    pub(crate) annotations: &'a Labels,
    /// All else.
    pub(crate) spec: &'a PodSpec,
    /// Priority.
    pub(crate) priority: i32,
    /// From being bound to running.
    pub(crate) start_up: Distribution,
    /// Checkpoints.
    pub(crate) checkpoint: Option<Span>,
}

/// What Kubernetes grants a pod that says nothing.
const GRACE_SECONDS: i64 = 30;

impl Class {
    /// Makes a class.
    pub(crate) fn new(recipe: Recipe<'_>, names: &mut ResourceNames, models: &mut Models) -> Self {
        let mut requests = recipe.requests.clone();
        let mut annotations = recipe.annotations.clone();
        if let Some(milli) = recipe.gpu_milli {
            annotations.insert(GPU_MILLI_ANNOTATION.into(), milli.to_string().into());
            requests.entry(GPU_RESOURCE.into()).or_insert(Quantity::from_units(1));
        }
        let mut allowed = 0;
        if !recipe.gpu_models.is_empty() {
            let list: Vec<&str> = recipe.gpu_models.iter().map(|model| &**model).collect();
            annotations.insert(GPU_MODELS_ANNOTATION.into(), list.join("|").into());
            allowed = recipe.gpu_models.iter().fold(0, |all, model| all | models.bit(model));
        }
        let mut spec = recipe.spec.clone();
        if !requests.is_empty() || spec.containers.is_empty() {
            let mut container = Container::default();
            container.resources.requests = requests;
            spec.containers.push(container);
        }
        if recipe.priority != 0 {
            spec.priority = Some(recipe.priority);
        }
        let meta = Meta { annotations: Arc::new(annotations.clone()), ..Meta::default() };
        extended_names(&spec).for_each(|name| names.add(name));
        let (vector, gpu, _) = pod_requests(&spec, &meta, names);
        let is_picky = is_picky(&spec);
        Self {
            workload: recipe.workload,
            namespace: recipe.namespace.clone(),
            owner: recipe.owner,
            labels: Arc::new(recipe.labels.clone()),
            annotations: meta.annotations,
            requests: without_gpus(vector),
            need: need_of(&vector, gpu, allowed),
            priority: spec.priority.unwrap_or(0),
            daemon: false,
            start_up: recipe.start_up,
            checkpoint: recipe.checkpoint,
            grace: Span::from_secs(spec.termination_grace_period_seconds.unwrap_or(GRACE_SECONDS).max(0)),
            budgets: Vec::new(),
            is_picky,
            fits: Vec::new(),
            spec: Arc::new(spec),
        }
    }
}

/// The GPU dimensions of a vector are summaries; devices are asked instead.
fn without_gpus(mut vector: Resources) -> Resources {
    vector[Resources::GPU_WHOLE] = 0;
    vector[Resources::GPU_SHARE] = 0;
    vector
}

fn need_of(vector: &Resources, gpu: GpuNeed, models: u64) -> Need {
    let (gpus, gpu_milli) = match gpu {
        GpuNeed::None => (0, 0),
        GpuNeed::Whole(count) => (u8::try_from(count).unwrap_or(u8::MAX), 1000),
        GpuNeed::Share(milli) => (1, milli),
    };
    Need { cpu: vector[Resources::CPU], memory: vector[Resources::MEMORY], gpus, gpu_milli, models }
}

/// Whether a pod looks at the name of a node, at ports, or at other pods.
fn is_picky(spec: &PodSpec) -> bool {
    let hostname = ballast_core::snapshot::HOSTNAME_LABEL;
    let affinity = spec.affinity.as_ref();
    let nodes = affinity.and_then(|affinity| affinity.node_affinity.as_ref()?.required.as_ref());
    let by_name = nodes.is_some_and(|selector| {
        selector.node_selector_terms.iter().any(|term| {
            !term.match_fields.is_empty() || term.match_expressions.iter().any(|rule| &*rule.key == hostname)
        })
    });
    let by_pods = affinity
        .is_some_and(|affinity| affinity.pod_affinity.is_some() || affinity.pod_anti_affinity.is_some());
    let by_ports = spec.containers.iter().any(|container| {
        container
            .ports
            .iter()
            .any(|port| port.host_port != 0 || (spec.host_network && port.container_port != 0))
    });
    by_name
        || by_pods
        || by_ports
        || spec.node_selector.contains_key(hostname)
        || !spec.topology_spread_constraints.is_empty()
}
