//! `scale`: what a large cluster at rest costs.
//!
//! A real control plane with nodes of kwok, all of them members of one pool, and pods on them, which run; then the program
//! itself in `Enforce`, as a user of its own: until it first plans, and for a while in which nothing happens.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ballast_e2e::cloud::{self, Cloud};
use ballast_e2e::cluster::{Cluster, Daemon, Kwok};
use ballast_live::kubernetes::Place;
use ballast_live::kubernetes::crd::{KINDS, Kind};
use futures::{StreamExt, TryStreamExt, stream};
use kube::Client;
use kube::core::params::PostParams;
use kube::core::request::Request;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::row::Row;

/// Pods on each node: three quarters of it, so that nobody wants to remove it.
const PODS_OF_A_NODE: usize = 10;
/// Requests at a time while the cluster is being filled.
const AT_ONCE: usize = 32;
/// For how long nothing happens: two of the minutes by which history and numbers are written.
const REST: Duration = Duration::from_secs(130);
/// What may be written in a second at rest, the renewals of the lease among it.
const WRITES_BAR: f64 = 2.0;
/// Ticks of the processor's clock in a second, as `/proc` counts them.
const TICKS: f64 = 100.0;

/// How large the cluster is.
struct Size {
    nodes: usize,
    /// Documents that ask for something to be scaled. Nobody heeds them yet: they weigh on the API alone.
    scalers: usize,
}

impl Size {
    fn wanted() -> Self {
        match std::env::var("BALLAST_TEST_SIZE").as_deref() {
            Ok("full") => Self { nodes: 2_000, scalers: 10_000 },
            _ => Self { nodes: 500, scalers: 1_000 },
        }
    }

    fn pods(&self) -> usize {
        self.nodes * PODS_OF_A_NODE
    }
}

pub(crate) fn measure() -> Result<Vec<Row>> {
    ballast_live::install_crypto();
    let size = Size::wanted();
    let cluster = Cluster::start()?;
    let _kwok = Kwok::start(&cluster)?;
    let cloud = Cloud::start(&cluster, "4")?;
    let names: Vec<String> = (0..size.nodes).map(|number| format!("workers-{number}")).collect();
    let runtime = Runtime::new().context("cannot start a runtime")?;
    install(&cluster, cloud.address(), size.nodes)?;
    let place = Place { kubeconfig: Some(cluster.kubeconfig("admin")), context: None };
    let client = runtime.block_on(place.connect())?.client;
    runtime.block_on(fill(&client, &cloud.add_running("workers", &names), &size))?;
    cluster.wait("all pods to run", |cluster| {
        Ok(cluster.get(&["pods", "--field-selector=status.phase!=Running", "-o", "name"])?.is_empty())
    })?;
    let began = Instant::now();
    let ballast = start(&cluster)?;
    cluster.wait("the first plan", |_| Ok(ballast.log()?.contains("planned")))?;
    let first_plan = began.elapsed();
    cluster.wait("what is said of the pool", |cluster| {
        Ok(cluster.get(&["vmpools", "workers", "-o", "jsonpath={.status.current}"])?
            == size.nodes.to_string())
    })?;
    let (writes, cpu) = rest(&cluster, &ballast)?;
    ensure!(cloud.machines().asked.is_empty(), "something was done: {:?}", cloud.machines().asked);
    let resident = resident_kib(ballast.id())?;
    let what = |metric: &str| format!("{metric}, {} nodes and {} pods", size.nodes, size.pods());
    Ok(vec![
        Row::one("scale", what("start to first plan"), first_plan.as_secs_f64(), "s", None),
        Row::one("scale", what("resident"), resident / 1024.0, "MiB", None),
        Row::one("scale", what("resident for each pod"), resident / size.pods() as f64, "KiB", None),
        Row::one("scale", what("processor at rest"), 100.0 * cpu, "% of a core", None),
        Row::one("scale", what("writes at rest"), writes, "per second", Some(WRITES_BAR)),
    ])
}

/// Kinds, rights, a policy, and a pool that has all nodes.
fn install(cluster: &Cluster, address: &str, nodes: usize) -> Result<()> {
    let kinds: Vec<Value> = KINDS.iter().map(Kind::definition).collect();
    cluster.apply(&json!({"apiVersion": "v1", "kind": "List", "items": kinds}).to_string())?;
    cluster.wait("the kinds of ours", |cluster| Ok(cluster.kubectl(&["get", "vmpools"])?.success))?;
    cluster.apply(cloud::HOME)?;
    cluster.apply(cloud::SECRET)?;
    let bind = ["create", "clusterrolebinding", "ballast", "--clusterrole=cluster-admin", "--user=ballast"];
    let told = cluster.kubectl(&bind)?;
    ensure!(told.success, "kubectl {}: {}", bind.join(" "), told.error);
    let policies = cloud::policies("Enforce", address);
    let policies = policies.replacen("nodes: 10, costPerHour: 100", "nodes: 5000, costPerHour: 5000", 1);
    cluster.apply(&policies.replacen("max: 5\n", &format!("max: {nodes}\n"), 1))
}

/// Makes the nodes, the pods on them, and the documents of scalers.
async fn fill(client: &Client, nodes: &[Value], size: &Size) -> Result<()> {
    make_all(client, "/api/v1/nodes", nodes.to_vec()).await?;
    let pods = nodes.iter().enumerate().flat_map(|(at, node)| {
        let name = node["metadata"]["name"].clone();
        (0..PODS_OF_A_NODE).map(move |number| pod(&format!("p-{at}-{number}"), &name))
    });
    make_all(client, "/api/v1/namespaces/default/pods", pods.collect()).await?;
    let scalers = (0..size.scalers).map(scaler).collect();
    make_all(client, "/apis/ballast.dev/v1alpha1/namespaces/default/metricscalers", scalers).await
}

async fn make_all(client: &Client, path: &str, objects: Vec<Value>) -> Result<()> {
    let make = |object: Value| async move {
        let request = Request::new(path).create(&PostParams::default(), serde_json::to_vec(&object)?)?;
        client.request::<Value>(request).await.with_context(|| format!("cannot make {object}"))?;
        anyhow::Ok(())
    };
    stream::iter(objects).map(make).buffer_unordered(AT_ONCE).try_collect().await
}

fn pod(name: &str, node: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "300m", "memory": "1Gi"}}}],
        },
    })
}

fn scaler(number: usize) -> Value {
    json!({
        "apiVersion": "ballast.dev/v1alpha1",
        "kind": "MetricScaler",
        "metadata": {"name": format!("s-{number}")},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": format!("d-{number}")},
            "minReplicas": 1,
            "maxReplicas": 10,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}],
        },
    })
}

fn start(cluster: &Cluster) -> Result<Daemon> {
    let program = std::env::var_os("BALLAST_BIN")
        .context("BALLAST_BIN is not set\n\nhint: run the case by `cargo xtask bench`")?;
    let mut command = Command::new(program);
    command.args(["run", "--namespace", "ballast", "--identity", "scale", "--kubeconfig"]);
    command.arg(cluster.kubeconfig("ballast")).env("BALLAST_LOG", "info,ballast_live::runner=debug");
    Daemon::start("scale", command, cluster.path("").as_path())
}

/// Writes in a second, and the share of a core that is used, while nothing happens.
fn rest(cluster: &Cluster, ballast: &Daemon) -> Result<(f64, f64)> {
    let writes = || -> Result<usize> {
        Ok(cluster.asked_by("ballast")?.iter().filter(|asked| asked.writes()).count())
    };
    let (written, used, began) = (writes()?, processor_seconds(ballast.id())?, Instant::now());
    std::thread::sleep(REST);
    let seconds = began.elapsed().as_secs_f64();
    let (written, used) = (writes()? - written, processor_seconds(ballast.id())? - used);
    Ok((written as f64 / seconds, used / seconds))
}

fn resident_kib(process: u32) -> Result<f64> {
    let status = read(&Path::new("/proc").join(process.to_string()).join("status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    line.trim().trim_end_matches(" kB").parse().context("VmRSS is no number")
}

/// Seconds that a process has computed for, in user and in system.
fn processor_seconds(process: u32) -> Result<f64> {
    let stat = read(&Path::new("/proc").join(process.to_string()).join("stat"))?;
    // The name, in brackets, may hold spaces; the eleventh and the twelfth word after it count.
    let words = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: Vec<f64> = words.skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / TICKS)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
