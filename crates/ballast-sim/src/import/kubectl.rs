//! A cluster as `kubectl get` prints it, as a scenario: its nodes, its pods grouped into workloads, its budgets and daemons.

use std::collections::BTreeMap;

use ballast_core::kube::{DaemonSet, Labels, Name, Node, Phase, Pod, PodDisruptionBudget, Requests};
use ballast_core::observation::Object;
use ballast_core::policy::NodeTemplate;
use ballast_core::snapshot::{GPU_MODEL_LABELS, HOSTNAME_LABEL, POOL_LABEL, TYPE_LABEL, ZONE_LABEL};
use ballast_core::units::{Money, Span};

use super::openb::empty_spec;
use crate::scenario::{
    Arrivals, Budget, Cloud, Controller, Daemon, Distribution, NodeGroup, Owner, Scenario, ScenarioError,
    ScenarioPool, Workload,
};

/// Turns the objects of a cluster into a scenario of one day.
///
/// Pods run on without end: a dump does not say when they will. Nodes of a pool whose document is among the objects become
/// machines of that pool; all others are nodes that nobody manages. Without a pool nobody decides.
pub fn kubectl(name: Name, objects: &[Object]) -> Result<Scenario, ScenarioError> {
    let mut spec = empty_spec();
    let mut pools: Vec<ScenarioPool> = Vec::new();
    let (mut nodes, mut pods): (Vec<&Node>, Vec<&Pod>) = (Vec::new(), Vec::new());
    for object in objects {
        match object {
            Object::Node(node) => nodes.push(node),
            Object::Pod(pod) if !pod.status.phase.is_terminal() => pods.push(pod),
            Object::PodDisruptionBudget(budget) => spec.budgets.extend(budget_of(budget)),
            Object::DaemonSet(daemon) => spec.daemons.push(daemon_of(daemon)),
            Object::ClusterPolicy(policy) => spec.policy = policy.spec.clone(),
            Object::VmPool(pool) => pools.push(ScenarioPool {
                name: pool.name.clone(),
                spec: pool.spec.clone(),
                running: 0,
                stopped: 0,
                cloud: Cloud::default(),
            }),
            _ => {}
        }
    }
    spec.story = format!("{} nodes and {} pods of a real cluster, for a day", nodes.len(), pods.len());
    nodes.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    for node in nodes {
        match pools.iter_mut().find(|pool| claims(pool, node)) {
            Some(pool) if node.is_ready() => pool.running += 1,
            Some(pool) => pool.stopped += 1,
            None => spec.nodes.push(group_of(node)),
        }
    }
    if pools.is_empty() {
        spec.controller = Controller::None;
    }
    spec.pools = pools;
    spec.workloads = workloads_of(&pods);
    Scenario::new(name, spec)
}

fn claims(pool: &ScenarioPool, node: &Node) -> bool {
    let members = &pool.spec.members;
    let labels = &node.metadata.labels;
    members.selector.as_ref().is_some_and(|selector| !selector.is_empty() && selector.matches(labels))
        || members.name_prefix.as_ref().is_some_and(|prefix| node.metadata.name.starts_with(&**prefix))
        || labels.get(POOL_LABEL).is_some_and(|name| *name == pool.name)
}

fn group_of(node: &Node) -> NodeGroup {
    let mut labels: Labels = (*node.metadata.labels).clone();
    labels.remove(HOSTNAME_LABEL);
    let zone = labels.remove(ZONE_LABEL);
    let instance_type = labels.remove(TYPE_LABEL);
    let gpu_model = GPU_MODEL_LABELS.iter().find_map(|label| labels.get(*label)).cloned();
    let template = NodeTemplate {
        allocatable: node.status.allocatable.clone(),
        labels,
        taints: node.spec.taints.clone(),
        startup_taints: Vec::new(),
        gpu_model,
        instance_type,
        zones: zone.into_iter().collect(),
    };
    NodeGroup { name: node.metadata.name.clone(), count: 1, template, per_hour: Money::ZERO }
}

/// A budget allows what it allows now: the slim form does not keep by which rule.
fn budget_of(budget: &PodDisruptionBudget) -> Option<Budget> {
    Some(Budget {
        name: budget.metadata.name.clone(),
        namespace: budget.metadata.namespace.clone(),
        selector: budget.spec.selector.clone()?,
        min_available: None,
        max_unavailable: Some(budget.status.disruptions_allowed.clamp(0, i64::from(u32::MAX)) as u32),
        max_unavailable_share: None,
    })
}

fn daemon_of(daemon: &DaemonSet) -> Daemon {
    let spec = &daemon.spec.template.spec;
    let mut requests = Requests::new();
    for container in &spec.containers {
        requests.extend(container.resources.requests.clone());
    }
    Daemon {
        name: daemon.metadata.name.clone(),
        namespace: daemon.metadata.namespace.clone(),
        requests,
        node_selector: spec.node_selector.clone(),
    }
}

/// Pods of one controller and one spec are one workload; daemons and pods of the kubelet come with their nodes.
fn workloads_of(pods: &[&Pod]) -> Vec<Workload> {
    let mut groups: BTreeMap<(Name, Name, usize), Workload> = BTreeMap::new();
    let mut specs: Vec<&Pod> = Vec::new();
    for pod in pods {
        let owner = pod.metadata.controller();
        let kind = owner.map(|owner| &*owner.kind);
        if matches!(kind, Some("DaemonSet" | "Node")) {
            continue;
        }
        let alike = |other: &&Pod| other.spec == pod.spec && other.metadata.labels == pod.metadata.labels;
        let number = specs.iter().position(alike).unwrap_or_else(|| {
            specs.push(pod);
            specs.len() - 1
        });
        let name = owner.map_or(&pod.metadata.name, |owner| &owner.name);
        let key = (pod.metadata.namespace.clone(), name.clone(), number);
        if let Some(workload) = groups.get_mut(&key) {
            workload.members += 1;
            continue;
        }
        let owner = match kind {
            None => Owner::None,
            Some("ReplicaSet") => Owner::ReplicaSet,
            Some("StatefulSet") => Owner::StatefulSet,
            Some(_) => Owner::Job,
        };
        groups.insert(key.clone(), workload_of(pod, &key, owner));
    }
    let mut seen: BTreeMap<Name, u32> = BTreeMap::new();
    let mut workloads: Vec<Workload> = groups.into_values().collect();
    for workload in &mut workloads {
        let count = seen.entry(workload.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            workload.name = format!("{}-{count}", workload.name).into();
        }
    }
    workloads
}

fn workload_of(pod: &Pod, (namespace, name, _): &(Name, Name, usize), owner: Owner) -> Workload {
    let starts = if pod.status.phase == Phase::Running { Span::ZERO } else { Span::from_secs(5) };
    Workload {
        name: name.clone(),
        namespace: namespace.clone(),
        owner,
        arrivals: Arrivals::default(),
        requests: BTreeMap::new(),
        gpu_milli: None,
        gpu_models: Vec::new(),
        members: 1,
        gang: false,
        sizes: Vec::new(),
        duration: None,
        checkpoint: None,
        start_up: Distribution::Fixed(starts),
        priority: pod.spec.priority.unwrap_or(0),
        labels: (*pod.metadata.labels).clone(),
        annotations: (*pod.metadata.annotations).clone(),
        pod_spec: (*pod.spec).clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Simulation;
    use serde_json::json;

    fn objects() -> Vec<Object> {
        let node = |name: &str| {
            let node = json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": "a"}},
                "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
                    "conditions": [{"type": "Ready", "status": "True"}]}});
            Object::Node(serde_json::from_value(node).expect("a node"))
        };
        let pod = |name: &str, owner: &str, cpu: &str| {
            let pod = json!({"metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"},
                "ownerReferences": [{"kind": owner, "name": "web-1", "uid": "u", "controller": true}]},
                "spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]},
                "status": {"phase": "Running"}});
            Object::Pod(serde_json::from_value(pod).expect("a pod"))
        };
        vec![
            node("n1"),
            node("n2"),
            pod("web-1-a", "ReplicaSet", "2"),
            pod("web-1-b", "ReplicaSet", "2"),
            pod("log-x", "DaemonSet", "1"),
        ]
    }

    #[test]
    fn a_dump_becomes_a_scenario_that_runs() {
        let scenario = kubectl("dump".into(), &objects()).expect("a good dump");
        assert_eq!(scenario.spec.nodes.len(), 2);
        let [web] = &scenario.spec.workloads[..] else { panic!("one workload") };
        assert_eq!((&*web.name, web.members, web.owner), ("web-1", 2, Owner::ReplicaSet));
        let score = Simulation::new(&scenario, 1).finish();
        assert_eq!(score.pending.unserved, 0);
        assert!((score.cpu_utilisation - 0.5).abs() < 1e-3, "{}", score.cpu_utilisation);
        let again = Scenario::from_value(scenario.to_value()).expect("what we write we read");
        assert_eq!(again, scenario);
    }
}
