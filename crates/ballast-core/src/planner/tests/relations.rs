//! Relations between pods in small clusters: growth serves only what the scheduler would then place, and removals keep
//! what must be near, away or even.

use serde_json::json;

use super::{SMALL, checked as plan, kept};
use crate::fixtures::{Cluster, a_pool, labels, with_spec};
use crate::kube::{OwnerReference, Pod, PodSpec};
use crate::observation::ErrorClass;
use crate::plan::{ActionKind, Misfit, Plan, SkipReason, UnsafeToRemove};

const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// A cluster with one pool of small nodes in these zones.
fn in_zones(zones: &[&str]) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0)).template.zones =
        zones.iter().map(|&zone| zone.into()).collect();
    cluster
}

fn node_in(cluster: &mut Cluster, name: &str, zone: &str) {
    let node = cluster.node(name, "cpu");
    let mut all = (*node.metadata.labels).clone();
    all.insert(ZONE.into(), zone.into());
    node.metadata.labels = all.into();
}

/// Gives a pod the label `app`, a controller, and the fields of a spec.
fn dress(pod: &mut Pod, app: &str, fields: serde_json::Value) {
    pod.metadata.labels = labels(&[("app", app)]);
    pod.metadata.owner_references = vec![OwnerReference {
        kind: "ReplicaSet".into(),
        name: app.into(),
        controller: true,
        ..OwnerReference::default()
    }];
    let fields: PodSpec = serde_json::from_value(fields).expect("it is a spec");
    with_spec(pod, |spec| {
        spec.affinity = fields.affinity;
        spec.topology_spread_constraints = fields.topology_spread_constraints;
        spec.node_selector = fields.node_selector;
    });
}

fn affinity(kind: &str, app: &str, key: &str) -> serde_json::Value {
    let term = json!({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key});
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
}

fn spread(app: &str, key: &str, skew: u32) -> serde_json::Value {
    let term = json!({"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}}});
    json!({"topologySpreadConstraints": [term]})
}

fn pending(cluster: &mut Cluster, count: u32, app: &str, fields: &serde_json::Value) {
    for number in 0..count {
        dress(cluster.pending(&format!("{app}-{number}"), &[("cpu", "100m")]), app, fields.clone());
    }
}

/// The zones of what is made, in order.
fn made(plan: &Plan) -> Vec<String> {
    let made = plan.actions.iter().filter(|action| action.kind == ActionKind::CreateInstance);
    let mut zones: Vec<String> = made.map(|action| action.target.zone.to_string()).collect();
    zones.sort();
    zones
}

fn refusal(plan: &Plan) -> &SkipReason {
    &plan.report.infeasible[0].pools[0].reason
}

#[test]
fn nothing_is_started_for_what_wants_to_be_near_nobody() {
    for key in [HOST, ZONE] {
        let mut cluster = in_zones(&["a"]);
        pending(&mut cluster, 1, "web", &affinity("podAffinity", "db", key));
        let plan = plan(&mut cluster);
        assert_eq!(plan.actions, []);
        assert_eq!(*refusal(&plan), SkipReason::DoesNotFit { misfit: Misfit::PodAffinity });
    }
}

#[test]
fn the_first_of_a_kind_chooses_for_all() {
    let mut cluster = in_zones(&["a", "b"]);
    pending(&mut cluster, 60, "web", &affinity("podAffinity", "web", ZONE));
    assert_eq!(made(&plan(&mut cluster)), ["a", "a"], "forty fit on a node");
    let mut cluster = in_zones(&["a"]);
    pending(&mut cluster, 60, "web", &affinity("podAffinity", "web", HOST));
    let plan = plan(&mut cluster);
    assert_eq!(made(&plan), ["a"], "a second node would not be near the first");
    assert_eq!(*refusal(&plan), SkipReason::DoesNotFit { misfit: Misfit::PodAffinity });
}

#[test]
fn a_zone_without_what_it_must_be_near_is_not_grown() {
    let mut cluster = in_zones(&["a", "b"]);
    node_in(&mut cluster, "n1", "b");
    let db = cluster.running("db", "n1", &[("cpu", "4")]);
    dress(db, "db", json!({}));
    pending(&mut cluster, 1, "web", &affinity("podAffinity", "db", ZONE));
    assert_eq!(made(&plan(&mut cluster)), ["b"]);
}

#[test]
fn distance_between_zones_gets_one_node_in_each() {
    let mut cluster = in_zones(&["a", "b"]);
    pending(&mut cluster, 3, "db", &affinity("podAntiAffinity", "db", ZONE));
    let plan = plan(&mut cluster);
    assert_eq!(made(&plan), ["a", "b"]);
    assert_eq!(*refusal(&plan), SkipReason::DoesNotFit { misfit: Misfit::PodAntiAffinity });
}

#[test]
fn a_running_pod_keeps_others_out_of_its_zone() {
    let mut cluster = in_zones(&["a", "b"]);
    node_in(&mut cluster, "n1", "a");
    dress(cluster.running("db", "n1", &[("cpu", "4")]), "db", affinity("podAntiAffinity", "web", ZONE));
    pending(&mut cluster, 2, "web", &json!({}));
    assert_eq!(made(&plan(&mut cluster)), ["b"]);
}

#[test]
fn what_others_keep_away_from_fills_a_node_like_anything_else() {
    let mut cluster = in_zones(&["a"]);
    node_in(&mut cluster, "n1", "a");
    node_in(&mut cluster, "n2", "a");
    dress(cluster.running("db", "n1", &[("cpu", "1")]), "db", affinity("podAntiAffinity", "web", HOST));
    pending(&mut cluster, 30, "web", &json!({}));
    assert_eq!(made(&plan(&mut cluster)), [""; 0], "all thirty fit on the other node");
}

#[test]
fn a_spread_counts_only_zones_that_its_nodes_are_in() {
    let mut cluster = in_zones(&["a", "b"]);
    cluster.pools.get_mut("cpu").expect("it is there").template.labels =
        (*labels(&[("disk", "fast")])).clone();
    cluster.pool("other", a_pool(&SMALL, 1, 1.0)).template.zones = vec!["c".into()];
    cluster.node("elsewhere", "other");
    let mut fields = spread("web", ZONE, 1);
    fields["nodeSelector"] = json!({"disk": "fast"});
    pending(&mut cluster, 80, "web", &fields);
    assert_eq!(made(&plan(&mut cluster)), ["a", "b"], "zone c has no node that it could be on");
}

#[test]
fn a_spread_may_lean_as_far_as_it_says_when_a_zone_has_nothing_to_give() {
    let mut cluster = in_zones(&["a", "b"]);
    node_in(&mut cluster, "n1", "b");
    cluster.running("full", "n1", &[("cpu", "4")]);
    let key = crate::memory::BackOffKey { pool: "cpu".into(), zone: "b".into(), ..Default::default() };
    cluster.memory.ledger.note_failure(key, ErrorClass::StockOut, cluster.now);
    pending(&mut cluster, 5, "web", &spread("web", ZONE, 3));
    let plan = plan(&mut cluster);
    assert_eq!(made(&plan), ["a"]);
    let grant = plan.grants.iter().find(|grant| &*grant.workload == "web").expect("it is there");
    assert_eq!(grant.units, 3, "zone a may have three more than zone b");
}

#[test]
fn what_the_model_does_not_know_is_named_and_left_alone() {
    let mut fields = affinity("podAffinity", "db", ZONE);
    fields["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["namespaceSelector"] =
        json!({"matchLabels": {"team": "a"}});
    let mut cluster = in_zones(&["a"]);
    pending(&mut cluster, 2, "web", &fields);
    let waits = plan(&mut cluster);
    assert_eq!(waits.actions, []);
    assert_eq!(&*waits.report.unmodelled[0].feature, "pod affinity with a namespaceSelector");
    // The same on a node that is hardly used: nobody knows where else it could be.
    let mut cluster = in_zones(&["a"]);
    cluster.without_removal_budgets();
    ["n1", "n2"].iter().for_each(|name| node_in(&mut cluster, name, "a"));
    dress(cluster.running("web", "n1", &[("cpu", "100m")]), "web", fields);
    assert!(matches!(kept(&plan(&mut cluster), "n1"), Some(UnsafeToRemove::NoPlaceFor { .. })));
}

#[test]
fn a_removal_keeps_distance() {
    let mut cluster = in_zones(&["a"]);
    cluster.without_removal_budgets();
    for node in ["n1", "n2", "n3"] {
        node_in(&mut cluster, node, "a");
        let pod = cluster.running(&format!("db-{node}"), node, &[("cpu", "100m")]);
        dress(pod, "db", affinity("podAntiAffinity", "db", HOST));
    }
    let plan = plan(&mut cluster);
    assert_eq!(plan.actions, []);
    assert!(matches!(kept(&plan, "n3"), Some(UnsafeToRemove::NoPlaceFor { .. })));
}

#[test]
fn what_leaves_makes_room_for_itself_elsewhere() {
    let mut cluster = in_zones(&["a"]);
    for node in ["n1", "n2", "n3"] {
        node_in(&mut cluster, node, "a");
    }
    cluster.without_removal_budgets();
    for node in ["n1", "n2"] {
        let pod = cluster.running(&format!("db-{node}"), node, &[("cpu", "100m")]);
        dress(pod, "db", affinity("podAntiAffinity", "db", HOST));
    }
    let plan = plan(&mut cluster);
    let gone: Vec<&str> = plan.actions.iter().map(|action| &*action.target.name).collect();
    assert_eq!(gone, ["n3"], "two of the three suffice, and the empty one goes");
}
