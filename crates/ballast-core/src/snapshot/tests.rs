//! What is seen becomes what is known, one rule each.

use std::sync::Arc;

use crate::fixtures::{Cluster, a_pool, amounts};
use crate::kube::{DaemonSet, Node, Phase};
use crate::observation::{
    Body, Change, Instance, InstanceState, Object, ObjectKey, ObjectKind, Observation, Source, SourceKind,
};
use crate::policy::Mode;
use crate::resources::Resources;

use super::{Snapshot, Store};

const SMALL: [(&str, &str); 2] = [("cpu", "4"), ("memory", "16Gi")];

fn tell(cluster: &Cluster, kind: ObjectKind, body: Body) -> Observation {
    Observation { source: Source::kubernetes(kind), taken_at: cluster.now, outcome: Ok(body) }
}

fn applied(cluster: &Cluster, kind: ObjectKind, object: Object) -> Observation {
    tell(cluster, kind, Body::Changed(vec![Change::Applied(object)]))
}

fn instances_of<'a>(snapshot: &'a Snapshot, pool: &str) -> Vec<&'a Instance> {
    snapshot.pool_named(pool).expect("it is there").instances.values().collect()
}

#[test]
fn instances_that_are_told_of_before_their_pool_are_kept_for_it() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.instance("off-1", "cpu", InstanceState::Stopped);
    let (of_pools, others): (Vec<Observation>, Vec<Observation>) =
        cluster.observations().into_iter().partition(|seen| &*seen.source.name == "VmPool");
    let mut store = Store::new();
    others.into_iter().chain(of_pools.clone()).for_each(|seen| store.observe(seen));
    assert_eq!(instances_of(&store.snapshot(), "cpu").len(), 1);

    let key = ObjectKey { namespace: "".into(), name: "cpu".into(), uid: "".into() };
    store.observe(tell(&cluster, ObjectKind::VmPool, Body::Changed(vec![Change::Deleted(key)])));
    of_pools.into_iter().for_each(|seen| store.observe(seen));
    let snapshot = store.snapshot();
    assert_eq!(instances_of(&snapshot, "cpu").len(), 1, "deleted and made again");
    assert_eq!(snapshot.pools[0].stopped.len(), 1);
}

#[test]
fn pods_that_have_ended_do_not_make_a_torn_list_look_whole() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    let run = |cluster: &mut Cluster, from: usize, to: usize| {
        for at in from..to {
            cluster.running(&format!("web-{at}"), "n1", &[("cpu", "10m")]);
        }
    };
    run(&mut cluster, 0, 20);
    let mut store = cluster.store();
    cluster.pods.truncate(4);
    run(&mut cluster, 100, 130);
    cluster.pods[4..].iter_mut().for_each(|pod| pod.status.phase = Phase::Succeeded);
    cluster.observations().into_iter().for_each(|seen| store.observe(seen));
    let snapshot = store.snapshot();
    assert!(snapshot.trouble(&Source::kubernetes(ObjectKind::Pod), cluster.now).is_some());
    assert_eq!(snapshot.nodes().next().map(|node| node.pods.len()), Some(20));
}

#[test]
fn a_policy_that_is_gone_from_the_list_holds_no_longer() {
    let cluster = Cluster::new();
    let mut store = cluster.store();
    assert_eq!(store.snapshot().policy.mode, Mode::Enforce);
    store.observe(tell(&cluster, ObjectKind::ClusterPolicy, Body::Listed(Vec::new())));
    assert_eq!(store.snapshot().policy.mode, Mode::Observe);
}

#[test]
fn too_little_of_one_resource_closes_a_node_only_for_who_asks_for_it() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    cluster.running("mpi-1", "n1", &[("cpu", "1"), ("rdma/hca", "1")]);
    let snapshot = cluster.store().snapshot();
    let free = snapshot.node_at(0).free();
    assert_eq!((free[Resources::CPU], free[Resources::FIRST_EXTENDED]), (3000, 0));
    cluster.pending("web-1", &[("cpu", "2")]);
    assert_eq!(cluster.plan().actions, []);
}

#[test]
fn daemons_that_cannot_run_on_a_new_node_take_no_room_there() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    let free = |requests: &[(&str, &str)]| {
        let mut daemon = DaemonSet::default();
        daemon.metadata.name = "agent".into();
        let mut container = crate::kube::Container::default();
        container.resources.requests = amounts(requests);
        Arc::make_mut(&mut daemon.spec.template.spec).containers = vec![container];
        let mut store = cluster.store();
        store.observe(applied(&cluster, ObjectKind::DaemonSet, Object::DaemonSet(daemon)));
        store.snapshot().pools[0].templates[0].free
    };
    assert_eq!(free(&[("cpu", "1")])[Resources::CPU], 3000);
    assert_eq!(free(&[("cpu", "64")])[Resources::CPU], 4000, "it fits on no such node");
    let unlisted = free(&[("cpu", "1"), ("rdma/hca", "1")]);
    assert_eq!((unlisted[Resources::CPU], unlisted[Resources::FIRST_EXTENDED]), (3000, 0));
}

#[test]
fn devices_that_are_in_use_and_no_longer_offered_are_not_unused() {
    let mut cluster = Cluster::new();
    cluster.pool("gpu", a_pool(&[("cpu", "32"), ("memory", "64Gi"), ("nvidia.com/gpu", "8")], 5, 20.0));
    cluster.node("g1", "gpu").status.allocatable.insert("nvidia.com/gpu".into(), "0".parse().unwrap());
    cluster.running("train-1", "g1", &[("cpu", "1"), ("nvidia.com/gpu", "8")]);
    let snapshot = cluster.store().snapshot();
    assert!(snapshot.node_at(0).utilisation_milli() >= 1000);
    assert!(snapshot.lightly_used.is_empty());
}

#[test]
fn answers_about_nodes_are_forgotten_when_devices_or_pools_change() {
    let mut cluster = Cluster::new();
    cluster.pool("gpu", a_pool(&[("cpu", "32"), ("memory", "64Gi"), ("nvidia.com/gpu", "8")], 5, 20.0));
    let with_devices: Node = cluster.node("g1", "gpu").clone();
    cluster.nodes.get_mut("g1").unwrap().status.allocatable.remove("nvidia.com/gpu");
    let mut store = cluster.store();
    let before = store.snapshot().fleet.clone();
    store.observe(applied(&cluster, ObjectKind::Node, Object::Node(with_devices)));
    let after = store.snapshot().fleet.clone();
    assert_ne!(before, after);
    cluster.pool("another", a_pool(&SMALL, 10, 1.0));
    for seen in cluster.observations().into_iter().filter(|seen| seen.source.kind == SourceKind::Kubernetes) {
        if &*seen.source.name == "VmPool" {
            store.observe(seen);
        }
    }
    assert_ne!(store.snapshot().fleet, after, "the pool has another number now");
}
