//! `reaction`: how long after the scheduler has given up on a pod the plan that serves it is recorded.
//!
//! A real control plane, and the runner of `ballast run` in mode `Observe`, so that every pod goes on waiting and nothing but the
//! plan is measured. Beside it a bystander watches pods by a connection of its own: its clock starts when it sees
//! `PodScheduled=False`, reason `Unschedulable`. Ballast itself need not wait for the scheduler, and may be there before it.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use kube::Client;
use kube::core::WatchEvent;
use kube::core::params::{PostParams, WatchParams};
use kube::core::request::Request;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use ballast_core::engine::{Engine, Outcome};
use ballast_core::record::Body;
use ballast_core::units::Time;
use ballast_e2e::cloud::Cloud;
use ballast_e2e::cluster::{Cluster, Kwok};
use ballast_live::kubernetes::crd::{KINDS, Kind};
use ballast_live::kubernetes::{LeaseTimes, Place};
use ballast_live::runner::{Listener, Options, Runner};

use crate::row::{Figures, Row};

/// Pods that are measured, and those before them that are not: connections are being made and caches filled.
const PODS: usize = 200;
const WARM_UP: usize = 10;
/// From one pod to the next, in milliseconds: by turns, so that no beat of either side falls in step with it.
const GAPS: [u64; 5] = [110, 290, 170, 350, 230];
/// How pods are called, before their number.
const PREFIX: &str = "reaction-";
/// After so long a pod counts as forgotten.
const PATIENCE: Duration = Duration::from_secs(30);

/// What happened to pods.
enum Event {
    /// The scheduler has given up on the one of this number.
    Unschedulable(usize, Instant),
    /// A plan serves so many: they are alike and all of them wait, so it serves the first.
    Planned(usize, Instant),
}

/// Tells how many pods each recorded plan serves.
struct Plans(mpsc::Sender<Event>);

impl Listener for Plans {
    fn heard(&mut self, _: Time, engine: &mut Engine, _: &Outcome) {
        let entries = engine.recorder().map(|recorder| recorder.take()).unwrap_or_default();
        for entry in entries {
            if let Body::Planned { plan } = entry.body {
                let served: u32 = plan.grants.iter().map(|grant| grant.units).sum();
                // Whoever measures may have seen enough.
                let _ = self.0.send(Event::Planned(served as usize, Instant::now()));
            }
        }
    }
}

pub(crate) fn measure() -> Result<Vec<Row>> {
    ballast_live::install_crypto();
    let cluster = Cluster::start()?;
    let _kwok = Kwok::start(&cluster)?;
    // A pool whose machines nobody can list does not grow.
    let cloud = Cloud::start(&cluster, "4")?;
    prepare(&cluster, cloud.address())?;
    let runtime = Runtime::new().context("cannot start a runtime")?;
    let place = Place { kubeconfig: Some(cluster.kubeconfig("admin")), context: None };
    let (told, events) = mpsc::channel();
    let stop = CancellationToken::new();
    let creator = runtime.block_on(place.connect())?.client;
    let bystander = runtime.block_on(place.connect())?.client;
    let _runtime = runtime.enter();
    let runner = Runner::start(runtime.block_on(place.connect())?, options(), Plans(told.clone()));
    let running = runtime.spawn(runner.run(stop.clone()));
    runtime.spawn(watch(bystander, told));
    let mut pods = Pods::default();
    for number in 0..WARM_UP + PODS {
        pods.made.push(Instant::now());
        runtime.block_on(make(&creator, number))?;
        std::thread::sleep(Duration::from_millis(GAPS[number % GAPS.len()]));
        events.try_iter().for_each(|event| pods.note(event));
    }
    let until = Instant::now() + PATIENCE;
    while !pods.are_all_known() && Instant::now() < until {
        events.recv_timeout(Duration::from_millis(100)).into_iter().for_each(|event| pods.note(event));
    }
    stop.cancel();
    runtime.block_on(running)??;
    pods.rows()
}

fn options() -> Options {
    Options {
        namespace: "default".to_owned(),
        identity: "reaction".to_owned(),
        lease: LeaseTimes::default(),
        instances_every: Duration::from_secs(20),
        grace: Duration::from_secs(1),
        only_watches: false,
    }
}

/// A policy, and a pool that every pod needs a machine of.
fn prepare(cluster: &Cluster, cloud: &str) -> Result<()> {
    let kinds: Vec<Value> = KINDS.iter().map(Kind::definition).collect();
    cluster.apply(&json!({"apiVersion": "v1", "kind": "List", "items": kinds}).to_string())?;
    cluster.wait("the kinds of ours", |cluster| Ok(cluster.kubectl(&["get", "vmpools"])?.success))?;
    cluster.apply(&format!(
        "apiVersion: ballast.dev/v1alpha1
kind: ClusterPolicy
metadata: {{name: cluster}}
spec: {{mode: Observe, allowedHosts: ['{cloud}'], growth: {{startingMinimum: 1000, perMinuteMinimum: 1000}}}}
---
apiVersion: ballast.dev/v1alpha1
kind: VmPool
metadata: {{name: workers}}
spec:
  provider: {{kind: External, settings: {{endpoint: 'http://{cloud}'}}}}
  members: {{namePrefix: workers-}}
  template: {{allocatable: {{cpu: '4', memory: 16Gi, pods: '110'}}}}
  max: 1000
  price: {{perHour: 1}}
",
    ))
}

async fn make(client: &Client, number: usize) -> Result<()> {
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": format!("{PREFIX}{number}")},
        "spec": {"containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "3"}}}]},
    });
    let request = Request::new("/api/v1/namespaces/default/pods");
    let request = request.create(&PostParams::default(), serde_json::to_vec(&pod)?)?;
    client.request::<Value>(request).await.context("cannot make a pod")?;
    Ok(())
}

/// Watches as anybody would, and tells of pods that the scheduler has given up on.
async fn watch(client: Client, told: mpsc::Sender<Event>) -> Result<()> {
    let params = WatchParams::default().timeout(290);
    let request = Request::new("/api/v1/namespaces/default/pods").watch(&params, "0")?;
    let mut events = Box::pin(client.request_events::<Value>(request).await?);
    while let Some(event) = events.next().await {
        let seen_at = Instant::now();
        let (WatchEvent::Added(pod) | WatchEvent::Modified(pod)) = event? else { continue };
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().any(|condition| condition["reason"] == "Unschedulable") {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let number = name.strip_prefix(PREFIX).context("a pod of somebody else")?.parse()?;
            told.send(Event::Unschedulable(number, seen_at))?;
        }
    }
    Ok(())
}

/// When what happened to each pod first happened, by its number.
#[derive(Default)]
struct Pods {
    made: Vec<Instant>,
    given_up: BTreeMap<usize, Instant>,
    planned: Vec<Instant>,
}

impl Pods {
    fn note(&mut self, event: Event) {
        match event {
            Event::Unschedulable(number, at) => drop(self.given_up.entry(number).or_insert(at)),
            Event::Planned(served, at) => {
                let new = served.saturating_sub(self.planned.len());
                self.planned.extend(std::iter::repeat_n(at, new));
            }
        }
    }

    fn are_all_known(&self) -> bool {
        self.given_up.len() >= self.made.len() && self.planned.len() >= self.made.len()
    }

    fn rows(&self) -> Result<Vec<Row>> {
        let (made, planned, given_up) = (self.made.len(), self.planned.len(), self.given_up.len());
        ensure!(self.are_all_known(), "of {made} pods {given_up} were given up on and {planned} planned for");
        let since = |from: &dyn Fn(usize) -> Instant| {
            let measured = WARM_UP..WARM_UP + PODS;
            Figures::new(measured.map(|number| millis(from(number), self.planned[number])).collect())
        };
        let given_up = since(&|number| self.given_up[&number]);
        let made = since(&|number| self.made[number]);
        let (reaction, creation) =
            ("from Unschedulable to the recorded plan", "from creation to the recorded plan");
        Ok(vec![
            given_up.row("reaction", reaction, 50, None),
            given_up.row("reaction", reaction, 99, Some(Duration::from_millis(100))),
            made.row("reaction", creation, 50, None),
            made.row("reaction", creation, 99, None),
        ])
    }
}

/// From one instant to another, below zero where the other was earlier.
fn millis(from: Instant, to: Instant) -> f64 {
    let ahead = to.saturating_duration_since(from).as_secs_f64();
    let behind = from.saturating_duration_since(to).as_secs_f64();
    (ahead - behind) * 1000.0
}
