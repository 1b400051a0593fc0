//! Requests and plans that break a promise: every alarm is heard, and no other with it.

mod adding;
mod documents;
mod removing;

use ballast_core::kube::Name;
use ballast_core::memory::Ledger;
use ballast_core::plan::{Plan, PlanId};
use ballast_core::policy::StopMode;
use ballast_core::procedure::Request;
use ballast_core::units::Span;
use serde_json::{Value, json};

use super::Oracle;
use crate::scenario::{DocumentChange, Scenario};
use crate::simulation::Simulation;

/// A world in which nobody decides but the test.
struct Scene(Simulation);

impl Scene {
    /// Three nodes of pool `p` and one that is off, a node of the control plane in pool `cp`, and one of no pool; after a
    /// minute. What is given takes the place of what is there, field by field.
    fn new(given: Value) -> Self {
        let mut spec = json!({
            "until": "1h", "controller": "None",
            "policy": {"mode": "Enforce", "limits": {"nodes": 20, "costPerHour": 90}},
            "pools": [
                {"name": "p", "running": 3, "stopped": 1, "spec": {"provider": {"kind": "Simulated"}, "max": 4,
                    "price": {"perHour": 1}, "template": {"gpuModel": "T4",
                        "allocatable": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}}}},
                {"name": "cp", "running": 1, "spec": {"provider": {"kind": "Simulated"}, "max": 1, "template": {
                    "labels": {"node-role.kubernetes.io/control-plane": "", "taken": "yes"},
                    "taints": [{"key": "control-plane", "effect": "NoSchedule"}],
                    "allocatable": {"cpu": "8", "memory": "32Gi"}}}},
            ],
            "nodes": [{"name": "free", "template": {
                "taints": [{"key": "foreign", "effect": "NoSchedule"}],
                "allocatable": {"cpu": "8", "memory": "32Gi"}}}],
        });
        merge(&mut spec, given);
        let document = json!({"apiVersion": "ballast.dev/v1alpha1", "kind": "Scenario",
            "metadata": {"name": "s"}, "spec": spec});
        let scenario = Scenario::from_value(document).expect("a good scenario");
        let mut simulation = Simulation::new(&scenario, 1);
        simulation.step_until(scenario.spec.start + Span::from_mins(1));
        Self(simulation)
    }

    /// A node that carries a pod of this workload, and the pod's name and identity.
    fn node_with(&self, workload: &str) -> (String, Name, Name) {
        let world = &self.0.world;
        let found = world.pods.iter().find(|(_, pod)| pod.name.starts_with(workload));
        let pod = found.expect("it is there").1;
        let machine = &world.machines[pod.machine as usize];
        (machine.name.to_string(), pod.name.clone(), pod.uid.clone())
    }

    fn ask(&mut self, request: Request) {
        let Simulation { world, watch, oracle, .. } = &mut self.0;
        oracle.before(world, watch, &request);
        let reply = world.carry_out(&request);
        oracle.after(world, &request, &reply);
        oracle.step(world);
    }

    fn cordon(&mut self, name: &str) {
        let world = &self.0.world;
        let node = world.by_name.get(name).and_then(|&at| world.machines[at as usize].node.as_ref());
        let uid = node.expect("it is a node").uid.clone();
        self.ask(Request::Cordon { name: name.into(), uid, mark: "stop-1".into() });
    }

    fn read(&mut self, name: &str) {
        self.ask(Request::ReadNode { name: name.into(), provider_id: "".into() });
    }

    fn stop(&mut self, pool: &str, name: &str, mode: StopMode) {
        let id = self.id(name);
        self.ask(Request::StopInstance { pool: pool.into(), id, mode });
    }

    /// As a removal goes: cordon, read, stop.
    fn remove(&mut self, name: &str) {
        self.cordon(name);
        self.read(name);
        self.stop("p", name, StopMode::Deallocate);
    }

    fn start(&mut self, name: &str) {
        let id = self.id(name);
        self.ask(Request::StartInstance { pool: "p".into(), id });
    }

    fn id(&self, name: &str) -> Name {
        self.0.world.machines[self.0.world.by_name[name] as usize].id.clone()
    }

    fn evict(&mut self, workload: &str) {
        let (_, name, uid) = self.node_with(workload);
        self.ask(Request::Evict { namespace: "default".into(), name, uid });
    }

    /// Shows a plan of these actions.
    fn plan(&mut self, actions: Vec<Value>, promises: Value) {
        let Simulation { world, watch, oracle, .. } = &mut self.0;
        let plan = json!({"schemaVersion": 1, "id": PlanId::of(&[]), "now": world.now, "actions": actions, "wishes": [], "grants": [],
            "report": {"promises": promises}});
        let plan: Plan = serde_json::from_value(plan).expect("a plan");
        oracle.plan(world, watch, &plan);
    }

    /// Whoever watches is told what there is to tell.
    fn look(&mut self) {
        let Simulation { world, watch, .. } = &mut self.0;
        watch.observe(world);
    }

    fn pass(&mut self, seconds: i64) {
        let until = self.0.now() + Span::from_secs(seconds);
        self.0.step_until(until);
    }

    /// Lets a document of the cluster or of pool `p` take the place of the one there is.
    fn change(&mut self, change: Value) {
        let mut spec = serde_json::to_value(&self.0.oracle.pools[0].spec).expect("JSON");
        let mut policy = serde_json::to_value(&self.0.oracle.policy).expect("JSON");
        merge(&mut spec, change["spec"].clone());
        merge(&mut policy, change["policy"].clone());
        let change = json!({"at": "1m", "policy": policy, "pool": "p", "spec": spec});
        let change: DocumentChange = serde_json::from_value(change).expect("a change");
        let Simulation { world, oracle, .. } = &mut self.0;
        oracle.document_changed(world, &change);
        self.pass(10);
    }

    fn broken(&self) -> Vec<&'static str> {
        let mut broken: Vec<&str> = self.0.breaches().iter().map(|breach| breach.promise).collect();
        broken.dedup();
        broken
    }
}

/// Puts the fields of one value into another; lists are merged place by place.
fn merge(into: &mut Value, given: Value) {
    match (into, given) {
        (Value::Object(into), Value::Object(given)) => {
            for (key, value) in given {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(given)) => {
            for (at, value) in given.into_iter().enumerate() {
                match into.get_mut(at) {
                    Some(entry) => merge(entry, value),
                    None => into.push(value),
                }
            }
        }
        (_, Value::Null) => {}
        (into, given) => *into = given,
    }
}

fn with_pool(spec: Value) -> Value {
    json!({"pools": [{"spec": spec}]})
}

/// A service of one pod.
fn with_pod(given: Value) -> Value {
    let mut workload =
        json!({"name": "web", "owner": "ReplicaSet", "requests": {"cpu": "2", "memory": "4Gi"}});
    merge(&mut workload, given);
    json!({"workloads": [workload]})
}

/// A world, and what is done in it that breaks a promise, and none but that.
type Row = (&'static str, Value, fn(&mut Scene));

fn each_is_heard(rows: Vec<Row>) {
    for (at, (promise, world, act)) in rows.into_iter().enumerate() {
        let mut scene = Scene::new(world);
        assert_eq!(scene.broken(), [""; 0], "row {at} ({promise}) before anything is done");
        act(&mut scene);
        assert_eq!(scene.broken(), [promise], "row {at}: {:?}", scene.0.breaches());
    }
}

#[test]
fn a_ledger_that_is_lost() {
    let mut scene = Scene::new(json!({}));
    let error = Ledger::parse("{").expect_err("half a ledger");
    let Simulation { world, oracle, .. } = &mut scene.0;
    oracle.ledger_read(world, Some(&error));
    assert_eq!(scene.broken(), ["I-10"]);
}

#[test]
fn how_often_a_promise_was_tried_is_counted() {
    let mut scene = Scene::new(json!({}));
    scene.remove("p-0");
    let tried = scene.0.exercised();
    assert!(
        ["I-1", "I-2", "I-3", "I-7", "I-19"].iter().all(|promise| tried.contains_key(promise)),
        "{tried:?}"
    );
    assert!(Oracle::PROMISES.iter().any(|promise| !tried.contains_key(promise)));
}
