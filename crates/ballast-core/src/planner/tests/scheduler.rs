//! What the scheduler judges besides room: volumes, ports of sidecars, preemption. Whatever is not judged is named.

use super::*;
use crate::fixtures::with_spec;
use crate::kube::{
    ClaimRef, Container, ContainerPort, EphemeralVolume, NodeCondition, PersistentVolumeClaim, PodVolume,
    RestartPolicy, StorageClass, TopologyExpression, TopologyTerm,
};
use crate::observation::{Body, Object, ObjectKind, Observation, Source};
use crate::planner::Scratch;

/// A pool in each of two zones, and a pod that waits with one volume.
fn zones(volume: PodVolume) -> Cluster {
    let mut cluster = Cluster::new();
    for zone in ["a", "b"] {
        cluster.pool(zone, a_pool(&SMALL, 10, 1.0)).template.zones = vec![zone.into()];
    }
    let pod = cluster.pending("web-1", &[("cpu", "1")]);
    with_spec(pod, |spec| spec.volumes = vec![volume]);
    cluster
}

fn claimed() -> PodVolume {
    let claim = ClaimRef { claim_name: "data".into() };
    PodVolume { persistent_volume_claim: Some(claim), ..PodVolume::default() }
}

fn own(class: &str) -> PodVolume {
    let mut made = EphemeralVolume::default();
    made.volume_claim_template.spec.storage_class_name = class.into();
    PodVolume { ephemeral: Some(made), ..PodVolume::default() }
}

/// The claim `data`, not bound.
fn a_claim(class: &str, mode: &str) -> Object {
    let mut claim = PersistentVolumeClaim::default();
    (claim.metadata.namespace, claim.metadata.name) = ("default".into(), "data".into());
    claim.spec.storage_class_name = class.into();
    claim.spec.access_modes = vec![mode.into()];
    Object::PersistentVolumeClaim(claim)
}

/// A class of this name whose volumes are made in zone `b`.
fn a_class(name: &str, binds: &str, provisioner: &str) -> Object {
    let zone = TopologyExpression { key: "topology.kubernetes.io/zone".into(), values: vec!["b".into()] };
    let mut class = StorageClass {
        provisioner: provisioner.into(),
        volume_binding_mode: binds.into(),
        allowed_topologies: vec![TopologyTerm { match_label_expressions: vec![zone] }],
        ..StorageClass::default()
    };
    class.metadata.name = name.into();
    Object::StorageClass(class)
}

fn plan_with(cluster: &Cluster, more: Vec<Object>) -> Plan {
    let mut store = cluster.store();
    for object in more {
        store.observe(Observation {
            source: Source::kubernetes(object.kind()),
            taken_at: cluster.now,
            outcome: Ok(Body::Listed(vec![object])),
        });
    }
    crate::planner::plan(&store.snapshot(), &cluster.memory, cluster.now, &mut Scratch::default()).0
}

fn features(plan: &Plan) -> Vec<&str> {
    plan.report.unmodelled.iter().map(|unknown| &*unknown.feature).collect()
}

const ATTACHED: &str = "attach limits of nodes: volumes are not counted";

#[test]
fn a_claim_that_waits_for_its_pod_is_bound_where_its_class_makes_volumes() {
    for (volume, mode) in [(claimed(), "ReadWriteOnce"), (own("zonal"), "")] {
        let class = a_class("zonal", "WaitForFirstConsumer", "csi.example");
        let plan = plan_with(&zones(volume), vec![class, a_claim("zonal", mode)]);
        assert_eq!((made(&plan, "a"), made(&plan, "b")), (0, 1));
        assert_eq!(features(&plan), [ATTACHED]);
    }
}

#[test]
fn a_volume_of_no_class_is_of_the_default_class() {
    let Object::StorageClass(mut class) = a_class("zonal", "WaitForFirstConsumer", "csi.example") else {
        unreachable!("it is a class")
    };
    let plan = plan_with(&zones(own("")), vec![Object::StorageClass(class.clone())]);
    assert_eq!(plan.actions.len(), 0, "no class is the default");
    class.metadata.annotations = labels(&[("storageclass.kubernetes.io/is-default-class", "true")]);
    let plan = plan_with(&zones(own("")), vec![Object::StorageClass(class)]);
    assert_eq!((made(&plan, "a"), made(&plan, "b")), (0, 1));
}

#[test]
fn a_claim_that_is_bound_without_its_pod_is_waited_for() {
    let awaited = WaitingOn::VolumeBinding { claim: "data".into() };
    let at_once = vec![a_class("fast", "Immediate", "csi.example"), a_claim("fast", "ReadWriteOnce")];
    for objects in [at_once, vec![a_claim("", "ReadWriteOnce")]] {
        let plan = plan_with(&zones(claimed()), objects);
        assert_eq!((plan.actions.len(), &plan.report.waiting[0].on), (0, &awaited));
    }
}

#[test]
fn what_is_not_known_of_volumes_is_named_and_not_guessed() {
    let zonal = |binds: &str, provisioner: &str| a_class("zonal", binds, provisioner);
    let table = [
        (
            claimed(),
            vec![a_claim("zonal", "")],
            "claim that is not bound, of a StorageClass that was not given",
        ),
        (
            claimed(),
            vec![zonal("WaitForFirstConsumer", "kubernetes.io/no-provisioner"), a_claim("zonal", "")],
            "claim that is not bound, for one of the volumes that are there",
        ),
        (own("zonal"), vec![], "ephemeral volume of a StorageClass that was not given"),
        (own("zonal"), vec![zonal("", "csi")], "ephemeral volume of a StorageClass that binds at once"),
    ];
    for (volume, objects, feature) in table {
        let plan = plan_with(&zones(volume), objects);
        assert_eq!((plan.actions.len(), features(&plan)), (0, vec![ATTACHED, feature]));
    }
}

#[test]
fn what_is_known_well_enough_to_plan_with_is_named_all_the_same() {
    let zonal = a_class("zonal", "WaitForFirstConsumer", "csi.example");
    let once = plan_with(&zones(claimed()), vec![zonal, a_claim("zonal", "ReadWriteOncePod")]);
    assert_eq!(
        (once.actions.len(), features(&once)),
        (1, vec!["ReadWriteOncePod claim: taken to be free", ATTACHED])
    );
    let missed = plan_with(&zones(claimed()), vec![]);
    let told = vec![ATTACHED, "claim or volume that was not given: taken to be anywhere"];
    assert_eq!((missed.actions.len(), features(&missed)), (1, told));

    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    let resizing = NodeCondition {
        kind: "PodResizeInProgress".into(),
        status: "True".into(),
        ..NodeCondition::default()
    };
    cluster.running("web-1", "n1", &[("cpu", "2")]).status.conditions = vec![resizing];
    let unknown = &cluster.plan().report.unmodelled[0];
    assert_eq!((&*unknown.example, unknown.count), ("web-1", 1));
    assert!(unknown.feature.starts_with("pod that is resized"));
}

#[test]
fn ports_of_sidecars_are_taken_and_those_of_other_init_containers_are_not() {
    for (restart, nodes) in [(Some(RestartPolicy::Always), 1), (None, 0)] {
        let with_port = |spec: &mut crate::kube::PodSpec| {
            let ports = vec![ContainerPort { host_port: 80, ..ContainerPort::default() }];
            spec.init_containers = vec![Container { ports, restart_policy: restart, ..Container::default() }];
        };
        let mut cluster = Cluster::new();
        cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
        cluster.node("n1", "cpu");
        with_spec(cluster.running("web-1", "n1", &[("cpu", "1")]), with_port);
        with_spec(cluster.pending("web-2", &[("cpu", "1")]), with_port);
        assert_eq!(cluster.plan().actions.len(), nodes);
    }
}

/// One node, full of what the scheduler is making leave, and a pod for which it does so.
fn preempted() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    cluster.running("batch-1", "n1", &[("cpu", "4")]).metadata.deletion_timestamp = Some(cluster.now);
    cluster.pending("web-1", &[("cpu", "4")]).status.nominated_node_name = "n1".into();
    cluster
}

#[test]
fn a_pod_for_which_the_scheduler_makes_room_needs_no_node() {
    let mut cluster = preempted();
    let plan = cluster.plan();
    let on = WaitingOn::Preemption { count: 1, node: "n1".into() };
    assert_eq!((plan.actions.len(), &plan.report.waiting[0].on), (0, &on));
    cluster.pending("web-2", &[("cpu", "4")]);
    assert_eq!(made(&cluster.plan(), "cpu"), 1, "the other needs one");
    cluster.nodes.get_mut("n1").unwrap().spec.unschedulable = true;
    assert_eq!(made(&cluster.plan(), "cpu"), 2, "it cannot come there any more");
}

#[test]
fn a_node_that_the_scheduler_chose_stays() {
    let mut cluster = preempted();
    cluster.pods.retain(|pod| &*pod.metadata.name == "web-1");
    cluster.without_removal_budgets();
    let plan = checked(&mut cluster);
    assert_eq!((plan.actions.len(), kept(&plan, "n1")), (0, Some(UnsafeToRemove::NeededByGrant)));
}

#[test]
fn a_plan_that_is_remembered_sees_that_the_chosen_node_takes_pods_no_more() {
    let mut cluster = preempted();
    let (mut store, mut scratch) = (cluster.store(), Scratch::default());
    let mut plan = |store: &mut crate::snapshot::Store, now| {
        crate::planner::plan(&store.snapshot(), &Default::default(), now, &mut scratch).0
    };
    assert_eq!(plan(&mut store, cluster.now).actions.len(), 0);
    cluster.nodes.get_mut("n1").unwrap().spec.unschedulable = true;
    let node = cluster.nodes["n1"].clone();
    store.observe(Observation {
        source: Source::kubernetes(ObjectKind::Node),
        taken_at: cluster.now,
        outcome: Ok(Body::Changed(vec![crate::observation::Change::Applied(Object::Node(node))])),
    });
    let plan = plan(&mut store, cluster.now);
    assert_eq!(plan.actions.len(), 1);
}
