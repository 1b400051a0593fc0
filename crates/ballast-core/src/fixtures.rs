//! Clusters for tests and benchmarks, written as intent: `cluster.node("n1").pool("cpu")`, then `cluster.plan()`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kube::{
    Affinity, CapacityBuffer, Container, Labels, LocalReference, Meta, Name, Node, NodeCondition,
    OwnerReference, Phase, Pod, PodDisruptionBudget, PodSet, PodSpec, PodTemplate, PodTemplateSpec,
    ProvisioningRequest,
};
use crate::memory::Memory;
use crate::observation::{Body, Change, Instance, InstanceState, Object, ObjectKind, Observation, Source};
use crate::plan::Plan;
use crate::planner::{self, Scratch};
use crate::policy::{ClusterPolicySpec, Named, NodeTemplate, VmPoolSpec};
use crate::snapshot::Store;
use crate::units::{Money, Quantity, Share, Span, Time};

/// A cluster that is written down step by step.
#[derive(Debug, Default)]
pub struct Cluster {
    /// The cluster's policy.
    pub policy: ClusterPolicySpec,
    /// Pools.
    pub pools: BTreeMap<Name, VmPoolSpec>,
    /// Nodes.
    pub nodes: BTreeMap<Name, Node>,
    /// Instances.
    pub instances: BTreeMap<Name, Instance>,
    /// Pods.
    pub pods: Vec<Pod>,
    /// Disruption budgets.
    pub budgets: Vec<PodDisruptionBudget>,
    /// Buffers, requests and the templates that they name.
    pub asks: Vec<Object>,
    /// What is remembered.
    pub memory: Memory,
    /// The instant.
    pub now: Time,
}

/// The instant at which every fixture starts.
pub fn noon() -> Time {
    "2026-11-16T12:00:00Z".parse().expect("it is a time")
}

/// Amounts by name, from text.
pub fn amounts(pairs: &[(&str, &str)]) -> BTreeMap<Name, Quantity> {
    pairs.iter().map(|(name, amount)| ((*name).into(), amount.parse().expect("a quantity"))).collect()
}

/// Labels, from text.
pub fn labels(pairs: &[(&str, &str)]) -> Arc<Labels> {
    Arc::new(pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
}

/// A pool of nodes with so much, at a price, with budgets and waits that keep nothing.
pub fn a_pool(allocatable: &[(&str, &str)], max: u32, price: f64) -> VmPoolSpec {
    let provider =
        crate::policy::Provider { kind: "Simulated".into(), settings: BTreeMap::new(), bearer: None };
    let template = NodeTemplate { allocatable: amounts(allocatable), ..NodeTemplate::default() };
    let price = crate::policy::Price { per_hour: Money::from_f64(price), ..Default::default() };
    VmPoolSpec {
        mode: None,
        pause: Default::default(),
        members: Default::default(),
        provider,
        template,
        min: 0,
        max,
        create: true,
        price,
        times: Default::default(),
        stop: Default::default(),
        strategy: Default::default(),
        priority: 0,
        balance_group: None,
        headroom: Vec::new(),
        scale_down: Default::default(),
        schedule: Vec::new(),
        budget: None,
    }
}

/// A pod with these requests, owned by a ReplicaSet of its name's stem.
pub fn a_pod(name: &str, requests: &[(&str, &str)]) -> Pod {
    let container = Container {
        resources: crate::kube::ContainerResources { requests: amounts(requests), limits: BTreeMap::new() },
        ..Container::default()
    };
    let stem = name.rsplit_once('-').map_or(name, |(stem, _)| stem);
    Pod {
        metadata: Meta {
            name: name.into(),
            namespace: "default".into(),
            uid: format!("uid-{name}").into(),
            owner_references: vec![OwnerReference {
                kind: "ReplicaSet".into(),
                name: stem.into(),
                uid: format!("uid-{stem}").into(),
                controller: true,
            }],
            creation_timestamp: Some(noon() - Span::from_mins(60)),
            ..Meta::default()
        },
        spec: Arc::new(PodSpec { containers: vec![container], ..PodSpec::default() }),
        node_name: Name::default(),
        status: Default::default(),
    }
}

impl Cluster {
    /// At noon, enforcing, with wide limits and growth that nothing slows.
    pub fn new() -> Self {
        let mut policy =
            ClusterPolicySpec { mode: crate::policy::Mode::Enforce, ..ClusterPolicySpec::default() };
        policy.limits.nodes = Some(1_000_000);
        policy.limits.cost_per_hour = Money::from_f64(1e9);
        policy.growth.starting_minimum = 1_000_000;
        policy.growth.per_minute_minimum = 1_000_000;
        Self { policy, now: noon(), ..Self::default() }
    }

    /// Lets any share be removed at once, and nothing be waited for.
    pub fn without_removal_budgets(&mut self) {
        let all = crate::policy::RemovalBudget {
            share: Share::percent(100),
            window: Span::from_mins(1),
            unlimited: true,
        };
        self.policy.removal.per_pool = all.clone();
        self.policy.removal.per_cluster = all;
        for pool in self.pools.values_mut() {
            pool.scale_down.idle_after = Span::ZERO;
            pool.scale_down.cool_down = Span::ZERO;
            pool.scale_down.payback = false;
        }
    }

    /// Adds a pool.
    pub fn pool(&mut self, name: &str, spec: VmPoolSpec) -> &mut VmPoolSpec {
        self.pools.entry(name.into()).or_insert(spec)
    }

    /// Adds a ready node of a pool with its running instance.
    pub fn node(&mut self, name: &str, pool: &str) -> &mut Node {
        let spec = &self.pools[pool];
        let mut all = (*labels(&[("kubernetes.io/hostname", name), ("ballast.dev/pool", pool)])).clone();
        all.extend(spec.template.labels.clone());
        if let Some(zone) = spec.template.zones.first() {
            all.insert("topology.kubernetes.io/zone".into(), zone.clone());
        }
        let mut allocatable = spec.template.allocatable.clone();
        allocatable.entry("pods".into()).or_insert(Quantity::from_units(110));
        let id: Name = format!("sim:///{name}").into();
        let node = Node {
            metadata: Meta {
                name: name.into(),
                uid: format!("uid-{name}").into(),
                resource_version: "1".into(),
                labels: Arc::new(all),
                creation_timestamp: Some(self.now - Span::from_hours(24)),
                ..Meta::default()
            },
            spec: crate::kube::NodeSpec {
                provider_id: id.clone(),
                unschedulable: false,
                taints: spec.template.taints.clone(),
            },
            status: crate::kube::NodeStatus {
                allocatable,
                capacity: BTreeMap::new(),
                conditions: vec![NodeCondition {
                    kind: "Ready".into(),
                    status: "True".into(),
                    ..NodeCondition::default()
                }],
            },
        };
        self.instance(name, pool, InstanceState::Running);
        self.nodes.entry(name.into()).or_insert(node)
    }

    /// Adds an instance.
    pub fn instance(&mut self, name: &str, pool: &str, state: InstanceState) {
        let id: Name = format!("sim:///{name}").into();
        let zone = self.pools[pool].template.zones.first().cloned().unwrap_or_default();
        let instance = Instance {
            id: id.clone(),
            name: name.into(),
            pool: pool.into(),
            zone,
            instance_type: Name::default(),
            state,
            since: Some(self.now - Span::from_hours(24)),
            token: Name::default(),
        };
        self.instances.insert(id, instance);
    }

    /// Adds a pod that waits.
    pub fn pending(&mut self, name: &str, requests: &[(&str, &str)]) -> &mut Pod {
        self.pods.push(a_pod(name, requests));
        self.pods.last_mut().expect("it was pushed")
    }

    /// Adds a pod that runs on a node.
    pub fn running(&mut self, name: &str, node: &str, requests: &[(&str, &str)]) -> &mut Pod {
        let pod = self.pending(name, requests);
        pod.node_name = node.into();
        pod.status.phase = Phase::Running;
        pod
    }

    /// Adds a template for pods with these requests.
    pub fn template(&mut self, name: &str, requests: &[(&str, &str)]) {
        let Pod { metadata, spec, .. } = a_pod(name, requests);
        let metadata = Meta { name: name.into(), owner_references: Vec::new(), ..metadata };
        let template = PodTemplateSpec { metadata: Meta::default(), spec };
        self.asks.push(Object::PodTemplate(PodTemplate { metadata, template }));
    }

    /// Adds a buffer of pods of a template.
    pub fn buffer(&mut self, name: &str, template: &str, replicas: i32) -> &mut CapacityBuffer {
        let mut buffer = CapacityBuffer::default();
        buffer.metadata.name = name.into();
        buffer.metadata.namespace = "default".into();
        buffer.spec.pod_template_ref = Some(LocalReference { name: template.into() });
        buffer.spec.replicas = Some(replicas);
        self.asks.push(Object::CapacityBuffer(buffer));
        match self.asks.last_mut() {
            Some(Object::CapacityBuffer(buffer)) => buffer,
            _ => unreachable!("it was pushed"),
        }
    }

    /// Adds a request for pods of a template, made at noon.
    pub fn request(
        &mut self,
        name: &str,
        class: &str,
        template: &str,
        count: i32,
    ) -> &mut ProvisioningRequest {
        let mut request = ProvisioningRequest::default();
        request.metadata.name = name.into();
        request.metadata.namespace = "default".into();
        request.metadata.creation_timestamp = Some(noon());
        request.spec.provisioning_class_name = format!("{class}.autoscaling.x-k8s.io").into();
        let pod_template_ref = LocalReference { name: template.into() };
        request.spec.pod_sets.push(PodSet { pod_template_ref, count });
        self.asks.push(Object::ProvisioningRequest(request));
        match self.asks.last_mut() {
            Some(Object::ProvisioningRequest(request)) => request,
            _ => unreachable!("it was pushed"),
        }
    }

    /// What every source would say, complete lists.
    pub fn observations(&self) -> Vec<Observation> {
        let policy = Named { name: "default".into(), namespace: "".into(), spec: self.policy.clone() };
        let pool = |(name, spec): (&Name, &VmPoolSpec)| {
            Object::VmPool(Named { name: name.clone(), namespace: "".into(), spec: spec.clone() })
        };
        let listed = |kind: ObjectKind, objects: Vec<Object>| Observation {
            source: Source::kubernetes(kind),
            taken_at: self.now,
            outcome: Ok(Body::Listed(objects)),
        };
        let mut all = vec![
            listed(ObjectKind::ClusterPolicy, vec![Object::ClusterPolicy(policy)]),
            listed(ObjectKind::VmPool, self.pools.iter().map(pool).collect()),
            listed(
                ObjectKind::PodDisruptionBudget,
                self.budgets.iter().cloned().map(Object::PodDisruptionBudget).collect(),
            ),
        ];
        let empty = [ObjectKind::PersistentVolume, ObjectKind::PersistentVolumeClaim, ObjectKind::DaemonSet];
        all.extend(empty.map(|kind| listed(kind, Vec::new())));
        for kind in [ObjectKind::PodTemplate, ObjectKind::CapacityBuffer, ObjectKind::ProvisioningRequest] {
            all.push(listed(kind, self.asks.iter().filter(|own| own.kind() == kind).cloned().collect()));
        }
        for name in self.pools.keys() {
            let own = self.instances.values().filter(|instance| instance.pool == *name).cloned();
            all.push(Observation {
                source: Source::instances(name),
                taken_at: self.now,
                outcome: Ok(Body::Instances(own.collect())),
            });
        }
        all.push(listed(ObjectKind::Node, self.nodes.values().cloned().map(Object::Node).collect()));
        all.push(listed(ObjectKind::Pod, self.pods.iter().cloned().map(Object::Pod).collect()));
        all
    }

    /// A store that has seen all of it.
    pub fn store(&self) -> Store {
        let mut store = Store::new();
        for observation in self.observations() {
            store.observe(observation);
        }
        store
    }

    /// The plan for now; what must be remembered is.
    pub fn plan(&mut self) -> Plan {
        let snapshot = self.store().snapshot();
        let (plan, history) = planner::plan(&snapshot, &self.memory, self.now, &mut Scratch::default());
        self.memory.history = history;
        plan
    }
}

/// One changed pod, as a watch tells it.
pub fn changed(pod: Pod, at: Time) -> Observation {
    Observation {
        source: Source::kubernetes(ObjectKind::Pod),
        taken_at: at,
        outcome: Ok(Body::Changed(vec![Change::Applied(Object::Pod(pod))])),
    }
}

/// Changes a pod's spec.
pub fn with_spec(pod: &mut Pod, change: impl FnOnce(&mut PodSpec)) {
    change(Arc::make_mut(&mut pod.spec));
}

/// The affinity of a pod, made where there is none.
pub fn affinity(spec: &mut PodSpec) -> &mut Affinity {
    spec.affinity.get_or_insert_with(Affinity::default)
}

/// How many cases a property test takes: those of size `ci`, or those of size `full` where `BALLAST_TEST_SIZE` asks for it.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "how much is tested is said from outside")]
pub(crate) fn sized(ci: u32, full: u32) -> proptest::test_runner::Config {
    let is_full = std::env::var("BALLAST_TEST_SIZE").is_ok_and(|size| size == "full");
    let cases = if is_full { full } else { ci };
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}
