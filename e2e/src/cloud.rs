//! A cloud on loopback that speaks the protocol of `External` providers and does what the test says: its machines become
//! nodes of kwok when they run, and leave the cluster when they stop.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// A running cloud, ended with this value.
pub struct Cloud {
    address: String,
    machines: Shared,
    _runtime: Runtime,
}

type Shared = Arc<Mutex<Machines>>;

/// What the cloud has, and what was asked of it.
#[derive(Default)]
pub struct Machines {
    by_id: BTreeMap<String, Machine>,
    /// Every request that changes something, in order.
    pub asked: Vec<String>,
    /// What the next launches are refused with.
    pub refuse: Vec<Value>,
    /// The bearer token that every request has to carry, where one has to.
    pub demands: Option<String>,
    /// The `Authorization` of every request, or nothing, each once, in order.
    pub shown: Vec<String>,
    kubectl: Option<Kubectl>,
    cpu: String,
}

/// How nodes are made.
#[derive(Clone)]
struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

/// One machine.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The identity.
    pub id: String,
    /// The name.
    pub name: String,
    /// The pool.
    pub pool: String,
    /// The zone.
    pub zone: String,
    /// The power state.
    pub state: &'static str,
    /// The token of its launch.
    pub token: String,
}

#[derive(Deserialize)]
struct Launch {
    name: String,
    #[serde(default)]
    zone: String,
    token: String,
}

#[derive(Deserialize)]
struct ByToken {
    token: Option<String>,
}

impl Cloud {
    /// Starts a cloud whose machines join a cluster with this many cores each.
    ///
    /// # Errors
    ///
    /// When it cannot listen.
    pub fn start(cluster: &crate::cluster::Cluster, cpu: &str) -> Result<Self> {
        let kubectl =
            Kubectl { program: cluster.program("kubectl"), kubeconfig: cluster.kubeconfig("admin") };
        let machines: Shared = Arc::new(Mutex::new(Machines {
            kubectl: Some(kubectl),
            cpu: cpu.to_owned(),
            ..Machines::default()
        }));
        let runtime = Runtime::new().context("cannot start a runtime")?;
        let listener =
            runtime.block_on(tokio::net::TcpListener::bind(("127.0.0.1", 0))).context("cannot listen")?;
        let address = listener.local_addr().context("cannot tell the address")?.to_string();
        let router = Router::new()
            .route("/v1/pools/{pool}/instances", get(list).post(create))
            .route("/v1/pools/{pool}/instances/{id}", get(read))
            .route("/v1/pools/{pool}/instances/{id}/start", post(start))
            .route("/v1/pools/{pool}/instances/{id}/stop", post(stop))
            .layer(middleware::from_fn_with_state(machines.clone(), admit))
            .with_state(machines.clone());
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, machines, _runtime: runtime })
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it has and what was asked of it.
    pub fn machines(&self) -> MutexGuard<'_, Machines> {
        lock(&self.machines)
    }

    /// How many machines run.
    pub fn running(&self) -> usize {
        self.machines().by_id.values().filter(|machine| machine.state == "Running").count()
    }

    /// Puts machines that run into a pool; returns their nodes, which have yet to be made.
    pub fn add_running(&self, pool: &str, names: &[String]) -> Vec<Value> {
        let mut machines = self.machines();
        let ids: Vec<String> = names.iter().map(|name| machines.add(pool, name, "", "", "Running")).collect();
        ids.iter().map(|id| node(&machines.by_id[id], &machines.cpu)).collect()
    }

    /// Puts stopped machines into a pool.
    pub fn add_stopped(&self, pool: &str, names: &[&str]) {
        let mut machines = self.machines();
        for name in names {
            machines.add(pool, name, "", "", "Stopped");
        }
    }
}

impl Machines {
    fn add(&mut self, pool: &str, name: &str, zone: &str, token: &str, state: &'static str) -> String {
        let id = format!("scripted://{name}");
        let text = |value: &str| value.to_owned();
        let machine = Machine {
            id: id.clone(),
            name: text(name),
            pool: text(pool),
            zone: text(zone),
            state,
            token: text(token),
        };
        self.by_id.insert(id.clone(), machine);
        id
    }

    /// Runs from now on: its node joins.
    fn power_on(&mut self, id: &str) {
        let Some(machine) = self.by_id.get_mut(id) else { return };
        machine.state = "Running";
        let node = node(machine, &self.cpu);
        if let Some(kubectl) = &self.kubectl {
            kubectl.run(&["create", "-f", "-"], &node.to_string());
        }
    }

    /// Is off from now on: its node leaves.
    fn power_off(&mut self, id: &str, mode: &str) {
        let Some(machine) = self.by_id.get_mut(id) else { return };
        machine.state = "Stopped";
        if let Some(kubectl) = &self.kubectl {
            kubectl.run(&["delete", "node", &machine.name, "--ignore-not-found"], "");
        }
        if mode == "Delete" {
            self.by_id.remove(id);
        }
    }
}

impl Kubectl {
    fn run(&self, args: &[&str], input: &str) {
        use std::io::Write;
        let child = std::process::Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(args)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn();
        let Ok(mut child) = child else { return };
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(input.as_bytes());
        }
        let _ = child.wait();
    }
}

fn node(machine: &Machine, cpu: &str) -> Value {
    let amounts = json!({"cpu": cpu, "memory": "16Gi", "pods": "110"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.name,
            "labels": {"pool": machine.pool, "kubernetes.io/hostname": machine.name},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"providerID": machine.id},
        "status": {"allocatable": amounts, "capacity": amounts},
    })
}

fn lock(machines: &Shared) -> MutexGuard<'_, Machines> {
    machines.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, Json(json!({"class": "NotFound", "message": "no such instance"}))).into_response()
}

/// Lets in who shows what is demanded; who does not is told what was shown.
async fn admit(State(machines): State<Shared>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(AUTHORIZATION).and_then(|shown| shown.to_str().ok());
    let shown = shown.unwrap_or_default().to_owned();
    let is_let_in = {
        let mut machines = lock(&machines);
        let is_let_in = machines.demands.as_ref().is_none_or(|token| shown == format!("Bearer {token}"));
        if !machines.shown.contains(&shown) {
            machines.shown.push(shown.clone());
        }
        is_let_in
    };
    if is_let_in {
        return next.run(request).await;
    }
    let message = shown.trim_start_matches("Bearer ");
    (StatusCode::UNAUTHORIZED, Json(json!({"class": "Auth", "message": message}))).into_response()
}

async fn list(
    State(machines): State<Shared>,
    Path(pool): Path<String>,
    Query(by): Query<ByToken>,
) -> Response {
    let machines = lock(&machines);
    let of_pool = machines.by_id.values().filter(|machine| machine.pool == pool);
    match by.token {
        None => Json(json!({"items": of_pool.collect::<Vec<_>>()})).into_response(),
        Some(token) => match of_pool.into_iter().find(|machine| machine.token == token) {
            Some(machine) => Json(machine).into_response(),
            None => not_found(),
        },
    }
}

async fn read(State(machines): State<Shared>, Path((_, id)): Path<(String, String)>) -> Response {
    match lock(&machines).by_id.get(&id) {
        Some(machine) => Json(machine).into_response(),
        None => not_found(),
    }
}

async fn create(
    State(machines): State<Shared>,
    Path(pool): Path<String>,
    Json(launch): Json<Launch>,
) -> Response {
    // Making a node talks to the API server: not on a thread that serves others.
    tokio::task::block_in_place(|| {
        let mut machines = lock(&machines);
        machines.asked.push(format!("create {}", launch.name));
        if let Some(refusal) = machines.refuse.pop() {
            return (StatusCode::SERVICE_UNAVAILABLE, Json(refusal)).into_response();
        }
        let known = machines
            .by_id
            .values()
            .find(|machine| machine.token == launch.token)
            .map(|known| known.id.clone());
        let id = known.unwrap_or_else(|| {
            let id = machines.add(&pool, &launch.name, &launch.zone, &launch.token, "Starting");
            machines.power_on(&id);
            id
        });
        Json(machines.by_id[&id].clone()).into_response()
    })
}

async fn start(State(machines): State<Shared>, Path((_, id)): Path<(String, String)>) -> Response {
    tokio::task::block_in_place(|| {
        let mut machines = lock(&machines);
        machines.asked.push(format!("start {id}"));
        if !machines.by_id.contains_key(&id) {
            return not_found();
        }
        if let Some(refusal) = machines.refuse.pop() {
            return (StatusCode::SERVICE_UNAVAILABLE, Json(refusal)).into_response();
        }
        machines.power_on(&id);
        Json(json!({})).into_response()
    })
}

async fn stop(
    State(machines): State<Shared>,
    Path((_, id)): Path<(String, String)>,
    Json(body): Json<Value>,
) -> Response {
    tokio::task::block_in_place(|| {
        let mut machines = lock(&machines);
        machines.asked.push(format!("stop {id}"));
        if !machines.by_id.contains_key(&id) {
            return not_found();
        }
        machines.power_off(&id, body["mode"].as_str().unwrap_or_default());
        Json(json!({})).into_response()
    })
}

/// What Ballast shows to the cloud.
pub const TOKEN: &str = "let-us-in";

/// The Secret with it.
pub const SECRET: &str = "{apiVersion: v1, kind: Secret, metadata: {name: ballast-providers, namespace: ballast}, \
     stringData: {cloud: let-us-in}}";

/// The namespace that Ballast lives in with the three objects that it only writes into, as the chart makes them.
pub const HOME: &str = "apiVersion: v1
kind: Namespace
metadata: {name: ballast}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: ballast, namespace: ballast}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ballast-ledger, namespace: ballast}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ballast-history, namespace: ballast}
";

/// A policy, and a pool of machines of the cloud at an address, with four cores each, that go when they have been idle for a moment.
pub fn policies(mode: &str, cloud: &str) -> String {
    format!(
        "apiVersion: ballast.dev/v1alpha1
kind: ClusterPolicy
metadata: {{name: cluster}}
spec:
  mode: {mode}
  limits: {{nodes: 10, costPerHour: 100}}
  allowedHosts: ['{cloud}']
  removal:
    perPool: {{share: '100%', window: 1m, unlimited: true}}
    perCluster: {{share: '100%', window: 1m, unlimited: true}}
---
apiVersion: ballast.dev/v1alpha1
kind: VmPool
metadata: {{name: workers}}
spec:
  provider:
    kind: External
    settings: {{endpoint: 'http://{cloud}'}}
    bearer: {{name: ballast-providers, key: cloud}}
  members: {{namePrefix: workers-}}
  template: {{allocatable: {{cpu: '4', memory: 16Gi, pods: '110'}}, labels: {{pool: workers}}}}
  max: 5
  price: {{perHour: 1}}
  scaleDown: {{idleAfter: 2s, coolDown: 0s, payback: false}}
  times: {{boot: 1s}}
"
    )
}
