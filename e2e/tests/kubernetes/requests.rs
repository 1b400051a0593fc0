//! Each request to Kubernetes, as the API itself answers it.

use anyhow::{Context, Result, ensure};
use ballast_core::observation::ErrorClass;
use ballast_core::procedure::{Reply, Request};
use ballast_e2e::cloud;
use ballast_e2e::cluster::{Cluster, Kwok};
use ballast_live::kubernetes::{Kubernetes, Place};
use tokio::runtime::Runtime;

/// A cluster with one node, and the side of Ballast that sends requests to it.
struct Desk {
    cluster: Cluster,
    _kwok: Kwok,
    runtime: Runtime,
    kubernetes: Kubernetes,
}

/// What the API says of a write to a version that is not the newest.
const MET_ANOTHER: &str = "the object has been modified";
const TRIES: usize = 20;

impl Desk {
    fn open() -> Result<Self> {
        let cluster = Cluster::start()?;
        let kwok = Kwok::start(&cluster)?;
        cluster.apply(
            "{apiVersion: v1, kind: Node, metadata: {name: n1, annotations: {kwok.x-k8s.io/node: fake}}, \
             status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}, capacity: {cpu: '4', memory: 8Gi, pods: '110'}}}",
        )?;
        ballast_live::install_crypto();
        let runtime = Runtime::new().context("cannot start a runtime")?;
        let place = Place { kubeconfig: Some(cluster.kubeconfig("admin")), context: None };
        let connection = runtime.block_on(place.connect())?;
        cluster.apply(cloud::HOME)?;
        let kubernetes = Kubernetes::new(connection.client, "ballast");
        Ok(Self { cluster, _kwok: kwok, runtime, kubernetes })
    }

    /// Sends a request; again where it met a heartbeat of the node or another write of its controllers, as procedures do.
    fn send(&self, request: &Request) -> Reply {
        let send = || self.runtime.block_on(self.kubernetes.send(request)).reply(|node| node.is_ready());
        let met_another =
            |reply: &Reply| matches!(reply, Reply::Failed(error) if error.message.contains(MET_ANOTHER));
        let mut replies = std::iter::repeat_with(send).take(TRIES).skip_while(met_another);
        replies.next().unwrap_or_else(|| panic!("{TRIES} times in a row somebody else wrote: {request:?}"))
    }

    fn uid(&self, kind: &str, name: &str) -> Result<String> {
        self.cluster.get(&[kind, name, "-o", "jsonpath={.metadata.uid}"])
    }

    fn is_cordoned(&self) -> Result<bool> {
        Ok(self.cluster.get(&["node", "n1", "-o", "jsonpath={.spec.unschedulable}"])? == "true")
    }
}

fn class(reply: &Reply) -> Option<ErrorClass> {
    match reply {
        Reply::Failed(error) => Some(error.class),
        _ => None,
    }
}

#[test]
fn cordons_carry_a_mark_and_only_their_own_is_taken_off() -> Result<()> {
    let desk = Desk::open()?;
    let uid = desk.uid("node", "n1")?;
    let cordon =
        |uid: &str, mark: &str| Request::Cordon { name: "n1".into(), uid: uid.into(), mark: mark.into() };
    let uncordon =
        |uid: &str, mark: &str| Request::Uncordon { name: "n1".into(), uid: uid.into(), mark: mark.into() };

    assert_eq!(
        class(&desk.send(&cordon("another", "m1"))),
        Some(ErrorClass::Conflict),
        "another node of the name"
    );
    assert_eq!(desk.send(&cordon(&uid, "m1")), Reply::Done);
    ensure!(desk.is_cordoned()?);
    assert_eq!(desk.send(&cordon(&uid, "m1")), Reply::Done, "the same again");
    assert_eq!(class(&desk.send(&cordon(&uid, "m2"))), Some(ErrorClass::Conflict), "another mark");
    assert_eq!(class(&desk.send(&uncordon(&uid, "m2"))), Some(ErrorClass::Conflict), "another mark");
    assert_eq!(desk.send(&uncordon(&uid, "m1")), Reply::Done);
    ensure!(!desk.is_cordoned()?);
    assert_eq!(desk.send(&uncordon(&uid, "m1")), Reply::Done, "already off");

    desk.cluster.kubectl(&["cordon", "n1"])?;
    assert_eq!(class(&desk.send(&cordon(&uid, "m3"))), Some(ErrorClass::Conflict), "a person's cordon");
    assert_eq!(class(&desk.send(&uncordon(&uid, "m3"))), Some(ErrorClass::Conflict), "a person's cordon");
    ensure!(desk.is_cordoned()?, "a person's cordon is off");
    Ok(())
}

#[test]
fn evictions_heed_identities_and_disruption_budgets() -> Result<()> {
    let desk = Desk::open()?;
    desk.cluster.apply(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, \
         template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: none}]}}}}\n---\n\
         {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, \
         spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}",
    )?;
    let healthy = "jsonpath={.status.currentHealthy}";
    desk.cluster
        .wait("two healthy pods", |cluster| Ok(cluster.get(&["pdb", "web", "-o", healthy])? == "2"))?;
    let first = "jsonpath={.items[0].metadata.name}";
    let name = desk.cluster.get(&["pods", "-l", "app=web", "-o", first])?;
    let uid = desk.uid("pod", &name)?;
    let evict = |uid: &str| Request::Evict {
        namespace: "default".into(),
        name: name.as_str().into(),
        uid: uid.into(),
    };

    assert_eq!(class(&desk.send(&evict(&uid))), Some(ErrorClass::Throttled), "the budget allows none");
    desk.cluster.apply(
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, \
         spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}",
    )?;
    let allowed = "jsonpath={.status.disruptionsAllowed}";
    desk.cluster
        .wait("the budget to allow one", |cluster| Ok(cluster.get(&["pdb", "web", "-o", allowed])? == "1"))?;
    assert_eq!(desk.send(&evict(&uid)), Reply::Done);

    // Of a pod without a budget: the API takes an eviction off the budget before it looks at the identity.
    let alone =
        "{apiVersion: v1, kind: Pod, metadata: {name: alone}, spec: {containers: [{name: c, image: none}]}}";
    desk.cluster.apply(alone)?;
    let evict =
        |uid: &str| Request::Evict { namespace: "default".into(), name: "alone".into(), uid: uid.into() };
    assert_eq!(class(&desk.send(&evict("another"))), Some(ErrorClass::Conflict), "another pod of the name");
    assert_eq!(desk.send(&evict(&desk.uid("pod", "alone")?)), Reply::Done);
    desk.cluster
        .wait("the pod to be gone", |cluster| Ok(!cluster.kubectl(&["get", "pod", "alone"])?.success))?;
    assert_eq!(class(&desk.send(&evict("gone"))), Some(ErrorClass::NotFound), "it is gone");
    Ok(())
}

#[test]
fn a_node_is_read_with_its_guests_alone_and_by_the_identity_of_its_instance() -> Result<()> {
    let desk = Desk::open()?;
    desk.cluster.apply(
        "{apiVersion: v1, kind: Pod, metadata: {name: guest}, spec: {nodeName: n1, containers: [{name: c, image: none}]}}\n---\n\
         {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}, \
         template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: none}]}}}}",
    )?;
    desk.cluster.wait("two pods on the node", |cluster| {
        Ok(cluster.get(&["pods", "--field-selector=spec.nodeName=n1", "-o", "name"])?.lines().count() == 2)
    })?;
    let read = |name: &str, id: &str| Request::ReadNode { name: name.into(), provider_id: id.into() };
    let Reply::Node(node) = desk.send(&read("n1", "")) else { anyhow::bail!("no node") };
    let guests: Vec<&str> = node.pods.iter().map(|pod| &*pod.name).collect();
    assert_eq!(guests, ["guest"]);
    assert_eq!(class(&desk.send(&read("n2", ""))), Some(ErrorClass::NotFound));
    ensure!(
        desk.cluster
            .kubectl(&["patch", "node", "n1", "-p", "{\"spec\":{\"providerID\":\"x://1\"}}"])?
            .success
    );
    ensure!(matches!(desk.send(&read("another-name", "x://1")), Reply::Node(_)), "found by its identity");
    assert_eq!(
        class(&desk.send(&read("n1", "x://2"))),
        Some(ErrorClass::NotFound),
        "it bears another identity"
    );
    Ok(())
}

#[test]
fn the_ledger_is_written_by_one_alone() -> Result<()> {
    let desk = Desk::open()?;
    let write = |version: u64, body: &str| Request::WriteLedger { version, body: body.into() };
    assert_eq!(desk.send(&Request::ReadLedger), Reply::Ledger(None));
    assert_eq!(desk.send(&write(1, "a")), Reply::Done);
    assert_eq!(desk.send(&write(1, "a")), Reply::Done, "the same write again");
    assert_eq!(class(&desk.send(&write(1, "b"))), Some(ErrorClass::Conflict), "another's version");
    assert_eq!(class(&desk.send(&write(3, "c"))), Some(ErrorClass::Conflict), "a version left out");
    assert_eq!(desk.send(&write(2, "d")), Reply::Done);
    assert_eq!(desk.send(&Request::ReadLedger), Reply::Ledger(Some("d".to_owned())));
    // Nobody but the manifest makes it, not even one who may.
    for name in ["ballast-ledger", "ballast-history"] {
        ensure!(
            desk.cluster.kubectl(&["delete", "configmap", "-n", "ballast", name])?.success,
            "cannot delete {name}"
        );
    }
    for request in [write(3, "e"), Request::ReadLedger, Request::WriteHistory { body: "h".into() }] {
        assert_eq!(class(&desk.send(&request)), Some(ErrorClass::NotFound), "{request:?}");
    }
    Ok(())
}
