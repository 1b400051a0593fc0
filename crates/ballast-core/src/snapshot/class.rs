//! Classes: pods that are alike in shape and constraints. Plans are made for classes, not for pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kube::{
    CONSUMES, LabelSelector, Labels, MIRROR_ANNOTATION, Meta, Name, PodAffinityTerm, PodDisruptionBudget,
    PodSpec, PodVolume, RestartPolicy,
};
use crate::resources::{GpuNeed, Resources};
use crate::units::Quantity;

use super::ask::AskKind;
use super::volumes::{Claim, Volumes};

/// What makes pods alike: the parts of a pod that any decision reads, its own name left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClassKey {
    /// Namespace.
    pub namespace: Name,
    /// Labels, those that differ from pod to pod of one controller left out.
    pub labels: Arc<Labels>,
    /// Annotations that decisions read.
    pub annotations: Vec<(Name, Name)>,
    /// Kind and name of the controller.
    pub owner: Option<(Name, Name)>,
    /// The spec, without the node it is bound to.
    pub spec: Arc<PodSpec>,
}

/// What is derived from a class key once, for all its pods.
#[derive(Clone, Debug)]
pub struct Class {
    /// What makes its pods alike.
    pub key: Arc<ClassKey>,
    /// What one asks for.
    pub requests: Resources,
    /// What one asks for, by name.
    pub amounts: Arc<BTreeMap<Name, Quantity>>,
    /// What one needs of GPUs.
    pub gpu: GpuNeed,
    /// Priority of its pods.
    pub priority: i32,
    /// Number of the constraint on nodes.
    pub constraint: u32,
    /// The gang its pods belong to.
    pub gang: Option<Gang>,
    /// Host ports that one takes.
    pub ports: Vec<HostPort>,
    /// Required relations to other pods.
    pub relations: Relations,
    /// What removal of one means.
    pub traits: Traits,
    /// What it asks for that the model has no place for, in words.
    pub unmodelled: Vec<Name>,
    /// Claims whose volumes tie it to a place.
    pub claims: Vec<Claim>,
    /// What they come to.
    pub volumes: Volumes,
}

/// A gang: so many members, all or none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gang {
    /// Namespace.
    pub namespace: Name,
    /// Name.
    pub name: Name,
    /// How many members it needs; 0 where it does not say.
    pub size: u32,
}

impl Gang {
    /// What makes it this gang: its members may say different sizes.
    pub fn identity(&self) -> (&Name, &Name) {
        (&self.namespace, &self.name)
    }

    /// Namespace and name, as one.
    pub fn key(&self) -> Name {
        format!("{}/{}", self.namespace, self.name).into()
    }
}

/// A port of the node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// The port.
    pub port: i32,
    /// `TCP` or another.
    pub protocol: Name,
    /// The address; empty means all.
    pub ip: Name,
}

/// Required relations to other pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relations {
    /// Near these.
    pub near: Vec<PodTerm>,
    /// Away from these.
    pub away: Vec<PodTerm>,
    /// Evenly over these.
    pub spread: Vec<SpreadTerm>,
}

/// Other pods within a domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodTerm {
    /// Which pods; `None` means none, an empty one all.
    pub selector: Option<LabelSelector>,
    /// In which namespaces; empty means all.
    pub namespaces: Vec<Name>,
    /// The node label whose equal values make a domain.
    pub key: Name,
}

/// An even spread over domains.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpreadTerm {
    /// The pods that are counted.
    pub pods: PodTerm,
    /// Largest allowed difference.
    pub max_skew: u32,
    /// Fewer domains than this count as one more with no pods.
    pub min_domains: u32,
}

/// What removal of a pod means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Runs on every node; leaves with it.
    pub daemon: bool,
    /// Made by the kubelet itself; leaves with the node.
    pub mirror: bool,
    /// Nobody would make it anew.
    pub bare: bool,
    /// Annotated so.
    pub do_not_disrupt: bool,
    /// Annotated so, either way.
    pub safe_to_evict: Option<bool>,
    /// Shall run to its end.
    pub on_completion: bool,
    /// Ends by itself: batch work, which can be waited for.
    pub finite: bool,
    /// Has local data.
    pub local_storage: bool,
    /// In `kube-system`.
    pub system: bool,
    /// A part of Ballast itself.
    pub ballast: bool,
    /// Annotated cost of deletion; lower goes first.
    pub deletion_cost: i32,
}

impl Class {
    /// Whether its pods say of themselves that their node is to stay: by an annotation, or by a gang that they name.
    pub(crate) fn asks_to_stay(&self) -> bool {
        self.traits.is_annotated() || self.gang.is_some()
    }
}

impl Traits {
    /// Whether an annotation keeps the node.
    pub(crate) fn is_annotated(&self) -> bool {
        self.do_not_disrupt || self.safe_to_evict == Some(false) || self.on_completion
    }
}

/// The annotations that decisions read; all others are left out of the class.
const READ_ANNOTATIONS: [&str; 13] = [
    "alibabacloud.com/gpu-milli",
    CONSUMES[0],
    CONSUMES[1],
    "ballast.dev/do-not-disrupt",
    GANG_SIZE,
    "ballast.dev/gpu-models",
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
    "controller.kubernetes.io/pod-deletion-cost",
    "gpu-fraction",
    "karpenter.sh/do-not-disrupt",
    KUEUE_TOTAL,
    VOLCANO_GROUP,
];

/// The labels by which pods name their gang, the first of which counts.
const GANG_LABELS: [&str; 3] =
    ["ballast.dev/gang", "kueue.x-k8s.io/pod-group-name", "scheduling.x-k8s.io/pod-group"];

/// The annotation, or label, by which pods say how large their gang is.
pub(crate) const GANG_SIZE: &str = "ballast.dev/gang-size";

/// The annotation by which Kueue says the same.
const KUEUE_TOTAL: &str = "kueue.x-k8s.io/pod-group-total-count";

/// The annotation by which pods of a Volcano job name their group.
pub(crate) const VOLCANO_GROUP: &str = "scheduling.k8s.io/group-name";

/// The label by which Ballast's own pods are known.
const OWN_NAME_LABEL: &str = "app.kubernetes.io/name";

/// Labels that differ from pod to pod of one controller.
const OWN_LABELS: [&str; 3] = [
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "statefulset.kubernetes.io/pod-name",
];

impl ClassKey {
    /// The class of a pod.
    pub fn new(meta: &Meta, spec: &Arc<PodSpec>) -> Self {
        let owner = meta.controller().map(|owner| (owner.kind.clone(), owner.name.clone()));
        let daemon = owner.as_ref().is_some_and(|(kind, _)| &**kind == "DaemonSet");
        let mut annotations: Vec<(Name, Name)> = READ_ANNOTATIONS
            .iter()
            .filter_map(|key| {
                meta.annotations.get_key_value(*key).map(|(key, value)| (key.clone(), value.clone()))
            })
            .collect();
        if meta.annotations.contains_key(MIRROR_ANNOTATION) {
            annotations.push((MIRROR_ANNOTATION.into(), "".into()));
        }
        Self {
            namespace: meta.namespace.clone(),
            labels: shared_labels(&meta.labels),
            annotations,
            owner,
            spec: if daemon { without_affinity(spec) } else { spec.clone() },
        }
    }

    /// The value of an annotation that decisions read.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.iter().find(|(known, _)| &**known == key).map(|(_, value)| &**value)
    }

    /// The request whose room its pods take, by name.
    pub fn consumes(&self) -> Option<&str> {
        if self.stands_for_pods() {
            return None;
        }
        CONSUMES.iter().find_map(|key| self.annotation(key))
    }

    /// Whether it stands for pods that nobody has made yet.
    pub fn stands_for_pods(&self) -> bool {
        let asks = |kind: &Name| AskKind::ALL.iter().any(|ask| ask.name() == &**kind);
        self.owner.as_ref().is_some_and(|(kind, _)| asks(kind))
    }

    /// The gang that its pods say they belong to.
    pub fn gang(&self) -> Option<Gang> {
        if self.stands_for_pods() {
            return None;
        }
        let label = |key: &str| self.labels.get(key);
        let volcano = || self.annotations.iter().find(|(key, _)| &**key == VOLCANO_GROUP);
        let name = GANG_LABELS.into_iter().find_map(label).or_else(|| volcano().map(|(_, name)| name))?;
        let size = self.gang_size().and_then(|(_, size)| size.parse().ok()).unwrap_or(0);
        Some(Gang { namespace: self.namespace.clone(), name: name.clone(), size })
    }

    /// What its pods say of the size of their gang, and the annotation or label by which they say it.
    pub(crate) fn gang_size(&self) -> Option<(&'static str, &str)> {
        let annotation = |key: &'static str| self.annotation(key).map(|size| (key, size));
        let label = || self.labels.get(GANG_SIZE).map(|size| (GANG_SIZE, &**size));
        annotation(GANG_SIZE).or_else(label).or_else(|| annotation(KUEUE_TOTAL))
    }

    /// What removal of one of its pods means.
    pub fn traits(&self) -> Traits {
        let kind = self.owner.as_ref().map(|(kind, _)| &**kind);
        let safe = self.annotation("cluster-autoscaler.kubernetes.io/safe-to-evict");
        // Karpenter takes a duration as well as `true`.
        let says = |key: &str| self.annotation(key).is_some_and(|value| value != "false");
        Traits {
            daemon: kind == Some("DaemonSet"),
            mirror: kind == Some("Node") || self.annotation(MIRROR_ANNOTATION).is_some(),
            bare: kind.is_none(),
            do_not_disrupt: says("karpenter.sh/do-not-disrupt") || says("ballast.dev/do-not-disrupt"),
            safe_to_evict: match safe {
                Some("true") => Some(true),
                Some("false") => Some(false),
                _ => None,
            },
            on_completion: safe == Some("on-completion"),
            finite: safe == Some("on-completion") || self.ends_by_itself(),
            local_storage: self.has_local_data(),
            ballast: self.labels.get(OWN_NAME_LABEL).is_some_and(|name| &**name == "ballast"),
            system: &*self.namespace == "kube-system",
            deletion_cost: self
                .annotation("controller.kubernetes.io/pod-deletion-cost")
                .and_then(|cost| cost.parse().ok())
                .unwrap_or(0),
        }
    }

    /// Whether a disruption budget covers its pods, or may cover one of them: what it says of labels that differ from pod to
    /// pod is not held against it.
    pub fn is_covered_by(&self, budget: &PodDisruptionBudget) -> bool {
        let Some(selector) = &budget.spec.selector else { return false };
        if budget.metadata.namespace != self.namespace {
            return false;
        }
        let own = |key: &Name| OWN_LABELS.contains(&&**key);
        let speaks_of_own =
            selector.match_labels.keys().chain(selector.match_expressions.iter().map(|e| &e.key)).any(own);
        if !speaks_of_own || !self.has_own_labels() {
            return selector.matches(&self.labels);
        }
        let mut shared = selector.clone();
        shared.match_labels.retain(|key, _| !own(key));
        shared.match_expressions.retain(|expression| !own(&expression.key));
        shared.matches(&self.labels)
    }

    /// Whether one of its pods has data on its node that it would lose; what is in memory ends with the pod anyway.
    fn has_local_data(&self) -> bool {
        let safe = self.annotation("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes");
        let is_safe = |name: &Name| safe.is_some_and(|safe| safe.split(',').any(|one| one.trim() == &**name));
        let is_local = |volume: &PodVolume| {
            volume.host_path.is_some()
                || volume.empty_dir.as_ref().is_some_and(|folder| &*folder.medium != "Memory")
        };
        self.spec.volumes.iter().any(|volume| is_local(volume) && !is_safe(&volume.name))
    }

    /// Whether its controller gives each pod labels of its own.
    fn has_own_labels(&self) -> bool {
        self.owner.as_ref().is_some_and(|(kind, _)| matches!(&**kind, "StatefulSet" | "Job"))
    }

    /// Whether a pod ends once its work is done: its containers are not always restarted, or its owner is a job of any kind
    /// (`Job`, `PyTorchJob`, `TrainingJob`, …), which is done when its pods are. Nothing else is known to end.
    fn ends_by_itself(&self) -> bool {
        let of_job = self.owner.as_ref().is_some_and(|(kind, _)| kind.ends_with("Job"));
        of_job || matches!(self.spec.restart_policy, Some(RestartPolicy::Never | RestartPolicy::OnFailure))
    }

    /// Required relations to other pods.
    pub fn relations(&self) -> Relations {
        let affinity = self.spec.affinity.as_ref();
        let near = affinity.and_then(|affinity| affinity.pod_affinity.as_ref());
        let away = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
        let terms = |terms: &[PodAffinityTerm]| terms.iter().map(|term| self.pod_term(term)).collect();
        Relations {
            near: near.map(|near| terms(&near.required)).unwrap_or_default(),
            away: away.map(|away| terms(&away.required)).unwrap_or_default(),
            spread: self.spread_terms(),
        }
    }

    /// Host ports that one of its pods takes.
    pub fn ports(&self) -> Vec<HostPort> {
        host_ports(&self.spec)
    }

    fn pod_term(&self, term: &PodAffinityTerm) -> PodTerm {
        let everywhere = term.namespace_selector.as_ref().is_some_and(LabelSelector::is_empty);
        let namespaces = match (everywhere, term.namespaces.is_empty()) {
            (true, _) => Vec::new(),
            (false, true) => vec![self.namespace.clone()],
            (false, false) => term.namespaces.clone(),
        };
        PodTerm {
            selector: self.narrowed(term.label_selector.as_ref(), &term.match_label_keys),
            namespaces,
            key: term.topology_key.clone(),
        }
    }

    /// A selector that also asks for the pod's own values of some keys.
    fn narrowed(&self, selector: Option<&LabelSelector>, keys: &[Name]) -> Option<LabelSelector> {
        let mut selector = selector?.clone();
        for key in keys {
            if let Some(value) = self.labels.get(key) {
                selector.match_labels.insert(key.clone(), value.clone());
            }
        }
        Some(selector)
    }

    fn spread_terms(&self) -> Vec<SpreadTerm> {
        let hard = |term: &&crate::kube::TopologySpread| {
            term.when_unsatisfiable == crate::kube::DoNotSchedule::DoNotSchedule
        };
        let spread = self.spec.topology_spread_constraints.iter().filter(hard);
        spread
            .map(|term| {
                let selector = self.narrowed(term.label_selector.as_ref(), &term.match_label_keys);
                let namespaces = vec![self.namespace.clone()];
                SpreadTerm {
                    pods: PodTerm { selector, namespaces, key: term.topology_key.clone() },
                    max_skew: term.max_skew.max(1) as u32,
                    min_domains: term.min_domains.unwrap_or(1).max(1) as u32,
                }
            })
            .collect()
    }
}

/// Host ports that a pod takes: those of its containers and of its sidecars, which run beside them.
pub(super) fn host_ports(spec: &PodSpec) -> Vec<HostPort> {
    let port_of = |port: &crate::kube::ContainerPort| match port.host_port {
        0 if spec.host_network => port.container_port,
        port => port,
    };
    let sidecars = spec.init_containers.iter().filter(|init| init.is_sidecar());
    let ports = spec.containers.iter().chain(sidecars).flat_map(|container| &container.ports);
    ports
        .filter(|port| port_of(port) != 0)
        .map(|port| HostPort {
            port: port_of(port),
            protocol: if port.protocol.is_empty() { "TCP".into() } else { port.protocol.clone() },
            ip: if &*port.host_ip == "0.0.0.0" { "".into() } else { port.host_ip.clone() },
        })
        .collect()
}

impl HostPort {
    /// Whether two pods with these ports cannot be on one node.
    pub fn clashes(&self, other: &Self) -> bool {
        let ip = self.ip.is_empty() || other.ip.is_empty() || self.ip == other.ip;
        self.port == other.port && self.protocol == other.protocol && ip
    }
}

impl PodTerm {
    /// Whether pods of a class are meant.
    pub fn matches(&self, class: &ClassKey) -> bool {
        (self.namespaces.is_empty() || self.namespaces.contains(&class.namespace))
            && self.selector.as_ref().is_some_and(|selector| selector.matches(&class.labels))
    }
}

impl Relations {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.near.is_empty() && self.away.is_empty() && self.spread.is_empty()
    }
}

fn shared_labels(labels: &Arc<Labels>) -> Arc<Labels> {
    if !OWN_LABELS.iter().any(|key| labels.contains_key(*key)) {
        return labels.clone();
    }
    let shared = labels.iter().filter(|(key, _)| !OWN_LABELS.contains(&&***key));
    Arc::new(shared.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// A daemon set's pods differ only in the node that they are for.
fn without_affinity(spec: &Arc<PodSpec>) -> Arc<PodSpec> {
    if spec.affinity.is_none() {
        return spec.clone();
    }
    Arc::new(PodSpec { affinity: None, ..(**spec).clone() })
}
