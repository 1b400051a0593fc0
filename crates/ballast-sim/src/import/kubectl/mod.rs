//! A cluster as `kubectl get` prints it, as a scenario: its nodes, its pods grouped into workloads, its budgets and daemons.
//!
//! What a dump does not say, or a scenario cannot hold, is never guessed in silence: it is told in notes.

mod workloads;

use std::collections::{BTreeMap, BTreeSet};

use ballast_core::kube::{DaemonSet, Labels, Name, Node, Pod, PodDisruptionBudget, PodSpec, Requests};
use ballast_core::observation::Object;
use ballast_core::policy::NodeTemplate;
use ballast_core::snapshot::{GPU_MODEL_LABELS, HOSTNAME_LABEL, POOL_LABEL, TYPE_LABEL, ZONE_LABEL};
use ballast_core::units::{Money, Quantity};

use self::workloads::workloads_of;
use super::openb::empty_spec;
use crate::scenario::{
    Budget, Cloud, Controller, Daemon, NodeGroup, Scenario, ScenarioError, ScenarioPool, ScenarioSpec,
};

/// A scenario that was made of a cluster, and what it does not show of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The scenario.
    pub scenario: Scenario,
    /// What was left out or guessed, a sentence each.
    pub notes: Vec<String>,
}

/// Turns the objects of a cluster into a scenario of one day.
///
/// Pods run on without end: a dump does not say when they will. Nodes of a pool whose document is among the objects become
/// machines of that pool; all others are nodes that nobody manages. Without a pool nobody decides.
pub fn kubectl(name: Name, objects: &[Object]) -> Result<Imported, ScenarioError> {
    let Dump { mut spec, mut pools, nodes, pods, mut notes } = Dump::of(objects);
    spec.story = format!("{} nodes and {} pods of a real cluster, for a day", nodes.len(), pods.len());
    let places = placed(nodes, &mut pools, &mut spec.nodes);
    if pools.is_empty() {
        spec.controller = Controller::None;
        notes.push(
            "there is no VmPool among the documents, so nothing is started or stopped: add one".to_owned(),
        );
    }
    if !spec.budgets.is_empty() {
        notes.push("each disruption budget allows as many pods down as it allowed in the dump".to_owned());
    }
    let elsewhere =
        pods.iter().filter(|pod| !pod.node_name.is_empty() && !places.contains_key(&pod.node_name)).count();
    if elsewhere > 0 {
        notes.push(format!(
            "pods on nodes that are not in the dump or not ready are placed anew: {elsewhere} of them"
        ));
    }
    let own_nodes: BTreeSet<&Name> = spec.nodes.iter().map(|group| &group.name).collect();
    let added = daemons_of(&pods, &spec.daemons, &own_nodes, &mut notes);
    spec.daemons.extend(added);
    spec.pools = pools;
    spec.workloads = workloads_of(&pods, &places, &mut notes);
    notes.extend(without_idle_budgets(&mut spec));
    Ok(Imported { scenario: Scenario::new(name, spec)?, notes })
}

/// What a dump holds, kind by kind.
struct Dump<'o> {
    spec: ScenarioSpec,
    pools: Vec<ScenarioPool>,
    nodes: Vec<&'o Node>,
    pods: Vec<&'o Pod>,
    notes: Vec<String>,
}

impl<'o> Dump<'o> {
    fn of(objects: &'o [Object]) -> Self {
        let mut spec = empty_spec();
        let (mut pools, mut nodes, mut pods) = (Vec::new(), Vec::new(), Vec::new());
        let mut unread: BTreeMap<&str, u32> = BTreeMap::new();
        for object in objects {
            match object {
                Object::Node(node) => nodes.push(node),
                Object::Pod(pod) if !pod.status.phase.is_terminal() => pods.push(pod),
                Object::Pod(_) => {}
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
                other => *unread.entry(other.kind().name()).or_default() += 1,
            }
        }
        let notes = unread.iter().map(|(kind, count)| format!("no part in a scenario: {count} {kind}"));
        Self { spec, pools, nodes, pods, notes: notes.collect() }
    }
}

/// Puts every node where it belongs, and says what each that can hold pods is called there.
fn placed<'o>(
    mut nodes: Vec<&'o Node>,
    pools: &mut [ScenarioPool],
    alone: &mut Vec<NodeGroup>,
) -> BTreeMap<&'o Name, Name> {
    nodes.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let mut places = BTreeMap::new();
    for node in nodes {
        let name = &node.metadata.name;
        match pools.iter_mut().find(|pool| claims(pool, node)) {
            Some(pool) if node.is_ready() => {
                places.insert(name, format!("{}-{}", pool.name, pool.running).into());
                pool.running += 1;
            }
            Some(pool) => pool.stopped += 1,
            None => {
                places.insert(name, name.clone());
                alone.push(group_of(node));
            }
        }
    }
    places
}

/// Takes away the budgets that protect nobody, and says how many.
fn without_idle_budgets(spec: &mut ScenarioSpec) -> Option<String> {
    let (protecting, idle): (Vec<Budget>, Vec<Budget>) =
        std::mem::take(&mut spec.budgets).into_iter().partition(|budget| spec.protects_some(budget));
    spec.budgets = protecting;
    (!idle.is_empty())
        .then(|| format!("disruption budgets that protect no pod that is there are left out: {}", idle.len()))
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
    Daemon {
        name: daemon.metadata.name.clone(),
        namespace: daemon.metadata.namespace.clone(),
        requests: requests_of(spec),
        node_selector: spec.node_selector.clone(),
    }
}

/// What the containers of a pod ask for together.
fn requests_of(spec: &PodSpec) -> Requests {
    let mut sum = Requests::new();
    for (name, amount) in spec.containers.iter().flat_map(|container| &container.resources.requests) {
        let before = sum.get(name).copied().unwrap_or(Quantity::ZERO);
        sum.insert(name.clone(), Quantity::from_milli(before.milli().saturating_add(amount.milli())));
    }
    sum
}

/// The kind of a pod's controller.
fn kind_of(pod: &Pod) -> Option<&str> {
    pod.metadata.controller().map(|owner| &*owner.kind)
}

/// Pods that come with their nodes and of which the dump holds no DaemonSet: those of the kubelet, each on its own node, and
/// those of DaemonSets that are not in the dump.
fn daemons_of(
    pods: &[&Pod],
    known: &[Daemon],
    own_nodes: &BTreeSet<&Name>,
    notes: &mut Vec<String>,
) -> Vec<Daemon> {
    let mut found: BTreeMap<(Name, Name), Daemon> = BTreeMap::new();
    let (mut guessed, mut left_out) = (BTreeSet::new(), 0);
    for pod in pods {
        let namespace = pod.metadata.namespace.clone();
        let mut daemon = |name: &Name, node_selector: Labels| {
            let requests = requests_of(&pod.spec);
            let daemon = Daemon { name: name.clone(), namespace: namespace.clone(), requests, node_selector };
            found.entry((namespace.clone(), name.clone())).or_insert(daemon);
        };
        match pod.metadata.controller() {
            Some(owner) if &*owner.kind == "Node" && own_nodes.contains(&pod.node_name) => {
                let here = Labels::from([(HOSTNAME_LABEL.into(), pod.node_name.clone())]);
                daemon(&pod.metadata.name, here);
            }
            Some(owner) if &*owner.kind == "Node" => left_out += 1,
            Some(owner) if &*owner.kind == "DaemonSet" => {
                let is_it = |known: &Daemon| known.name == owner.name && known.namespace == namespace;
                if !known.iter().any(is_it) {
                    daemon(&owner.name, pod.spec.node_selector.clone());
                    guessed.insert(format!("{namespace}/{}", owner.name));
                }
            }
            _ => {}
        }
    }
    if left_out > 0 {
        notes.push(format!("{left_out} static pods on nodes of pools are left out"));
    }
    notes.extend(
        guessed.iter().map(|name| format!("the DaemonSet {name} is not there and is taken from its pods")),
    );
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Owner;
    use crate::simulation::Simulation;
    use ballast_core::policy::Named;
    use ballast_core::units::Span;
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
        let Imported { scenario, notes } = kubectl("dump".into(), &objects()).expect("a good dump");
        assert_eq!(
            notes,
            [
                "there is no VmPool among the documents, so nothing is started or stopped: add one",
                "the DaemonSet shop/web-1 is not there and is taken from its pods",
            ]
        );
        assert_eq!(scenario.spec.story, "2 nodes and 3 pods of a real cluster, for a day");
        assert_eq!(scenario.spec.nodes.len(), 2);
        let [web] = &scenario.spec.workloads[..] else { panic!("one workload") };
        assert_eq!((&*web.name, web.members, web.owner), ("web-1", 2, Owner::ReplicaSet));
        let score = Simulation::new(&scenario, 1).finish();
        assert_eq!(score.pending.unserved, 0);
        assert!((score.cpu_utilisation.unwrap() - 0.5).abs() < 1e-3, "{:?}", score.cpu_utilisation);
        let again = Scenario::from_value(scenario.to_value()).expect("what we write we read");
        assert_eq!(again, scenario);
    }

    #[test]
    fn what_waits_takes_no_place_of_what_runs() {
        let mut objects = objects();
        // Named before the others, large, and with room only where they are.
        let waiting = json!({"metadata": {"name": "a", "namespace": "a"}, "status": {"phase": "Pending"},
            "spec": {"containers": [{"resources": {"requests": {"cpu": "3"}}}]}});
        let waiting: Pod = serde_json::from_value(waiting).expect("a pod");
        objects.insert(0, Object::Pod(waiting));
        let filler = pod("full", "ReplicaSet", "full", json!({}));
        objects.extend([filler.clone(), filler]);
        let Imported { scenario, .. } = kubectl("dump".into(), &objects).expect("a good dump");
        let names: Vec<&str> = scenario.spec.workloads.iter().map(|workload| &*workload.name).collect();
        assert_eq!(names, ["full", "web-1", "a"]);
        let score = Simulation::new(&scenario, 1).finish();
        assert_eq!((score.get("unserved.a"), score.get("unserved.web-1")), (Some(1.0), Some(0.0)));
    }

    /// A pod of a controller on a node.
    fn pod(name: &str, kind: &str, owner: &str, labels: serde_json::Value) -> Object {
        let requests = json!({"resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}});
        let pod = json!({"metadata": {"name": name, "namespace": "shop", "labels": labels,
            "ownerReferences": [{"kind": kind, "name": owner, "uid": "u", "controller": true}]},
            "spec": {"nodeName": "n1", "containers": [requests, requests]}, "status": {"phase": "Running"}});
        let mut pod: Pod = serde_json::from_value(pod).expect("a pod");
        pod.node_name = "n1".into();
        Object::Pod(pod)
    }

    #[test]
    fn what_comes_with_a_node_is_there_and_pods_of_a_set_are_one_workload() {
        let index = |at: u32| json!({"app": "db", "apps.kubernetes.io/pod-index": at.to_string()});
        let mut objects = objects();
        objects.extend([
            pod("db-0", "StatefulSet", "db", index(0)),
            pod("db-1", "StatefulSet", "db", index(1)),
            // Of the same set, but of another template; and a set whose name looks like a numbered one.
            pod("db-2", "StatefulSet", "db", json!({"app": "db", "new": "yes"})),
            pod("db-2-0", "StatefulSet", "db-2", index(0)),
            pod("etcd-n1", "Node", "n1", json!({})),
        ]);
        let volume = json!({"metadata": {"name": "v"}, "spec": {}});
        objects.push(Object::PersistentVolume(serde_json::from_value(volume).expect("a volume")));
        let Imported { scenario, notes } = kubectl("dump".into(), &objects).expect("a good dump");
        let members: BTreeMap<&str, u32> =
            scenario.spec.workloads.iter().map(|workload| (&*workload.name, workload.members)).collect();
        assert_eq!(members, BTreeMap::from([("db", 2), ("db-2", 1), ("db-3", 1), ("web-1", 2)]));
        let etcd =
            scenario.spec.daemons.iter().find(|daemon| &*daemon.name == "etcd-n1").expect("a static pod");
        assert_eq!((etcd.requests["cpu"].milli(), etcd.requests["memory"].units()), (500, 2 << 30));
        assert_eq!(etcd.node_selector[HOSTNAME_LABEL], "n1".into());
        assert!(notes.iter().any(|note| note == "no part in a scenario: 1 PersistentVolume"));
    }

    #[test]
    fn what_runs_in_a_dump_runs_there_from_the_start() {
        let mut objects = objects();
        let on = |node: &str, name: &str, labels: serde_json::Value| {
            let Object::Pod(mut pod) = pod(name, "StatefulSet", "db", labels) else { panic!("a pod") };
            pod.node_name = node.into();
            Object::Pod(pod)
        };
        // A node of a pool, and a taint on another that came after its pods.
        let pool = json!({"members": {"namePrefix": "n2"}, "provider": {"kind": "Simulated"}, "min": 0, "max": 3,
            "template": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}});
        let pool = serde_json::from_value(pool).expect("a pool");
        objects.push(Object::VmPool(Named { name: "vm".into(), namespace: Name::default(), spec: pool }));
        let Object::Node(first) = &mut objects[0] else { panic!("a node") };
        let taint = json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]);
        first.spec.taints = serde_json::from_value(taint).expect("taints");
        objects.extend([
            on("n1", "db-0", json!({})),
            on("n1", "db-1", json!({})),
            on("n2", "db-2", json!({})),
            on("gone", "db-3", json!({})),
        ]);
        let Imported { scenario, notes } = kubectl("dump".into(), &objects).expect("a good dump");
        let db = scenario.spec.workloads.iter().find(|workload| &*workload.name == "db").expect("a set");
        assert_eq!(db.runs_on, BTreeMap::from([("n1".into(), 2), ("vm-0".into(), 1)]));
        assert!(notes.iter().any(|note| note.ends_with("are placed anew: 1 of them")));
        let mut simulation = Simulation::new(&scenario, 1);
        simulation.step_until(scenario.spec.start + Span::from_secs(1));
        let nodes = simulation.view().nodes;
        let asked: BTreeMap<&str, i64> =
            nodes.iter().map(|node| (&*node.name, node.usage.cpu_requested)).collect();
        // The daemon and two pods that the taint would have kept away; here its own pod, the one that is placed anew, and a `web`.
        assert_eq!((asked["n1"], asked["vm-0"]), (1000 + 2 * 500, 1000 + 2 * 500 + 2000));
    }
}
