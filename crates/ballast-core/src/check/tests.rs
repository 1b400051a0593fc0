//! Plans that break a promise, one each.

use std::sync::Arc;

use crate::fixtures::{Cluster, a_pool, labels, with_spec};
use crate::kube::Meta;
use crate::observation::{ErrorClass, InstanceState, Observation, Source, SourceError};
use crate::plan::{ActionKind, Plan};
use crate::policy::Limits;
use crate::units::{Money, Span};

use super::check;

const SMALL: [(&str, &str); 2] = [("cpu", "4"), ("memory", "16Gi")];

/// The promises that a plan made for one cluster would break in another.
fn broken(cluster: &Cluster, plan: &Plan) -> Vec<u8> {
    check(&cluster.store().snapshot(), &cluster.memory, plan).iter().map(|note| note.promise).collect()
}

/// A cluster with an instance of ours that never joined, and the plan that lets it go.
fn with_a_release() -> (Cluster, Plan) {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.instance("lost", "cpu", InstanceState::Running);
    cluster.instances.values_mut().for_each(|instance| instance.token = "cpu-7".into());
    assert_eq!(cluster.plan().actions, []);
    cluster.now += Span::from_mins(16);
    let plan = cluster.plan();
    assert_eq!(plan.actions[0].kind, ActionKind::ReleaseInstance);
    assert!(broken(&cluster, &plan).is_empty());
    (cluster, plan)
}

#[test]
fn nothing_is_let_go_that_is_a_node_whatever_its_name() {
    let (mut cluster, plan) = with_a_release();
    let mut node = cluster.node("lost", "cpu").clone();
    cluster.instances.values_mut().for_each(|instance| instance.token = "cpu-7".into());
    cluster.nodes.clear();
    node.metadata.name = "ip-10-0-0-7".into();
    cluster.nodes.insert("ip-10-0-0-7".into(), node);
    assert_eq!(cluster.plan().actions, []);
    assert_eq!(broken(&cluster, &plan), [1]);
}

#[test]
fn nothing_is_let_go_that_is_not_known_to_be_ours() {
    let (mut cluster, mut plan) = with_a_release();
    plan.actions.make_mut()[0].precondition.token = "".into();
    assert_eq!(broken(&cluster, &plan), [2, 17]);
    cluster.instances.clear();
    plan.actions.make_mut()[0].precondition.token = "cpu-7".into();
    assert_eq!(broken(&cluster, &plan), [17]);
}

#[test]
fn nothing_is_let_go_while_its_source_fails() {
    let (cluster, plan) = with_a_release();
    let mut store = cluster.store();
    let error = SourceError { class: ErrorClass::Transient, message: "away".into() };
    store.observe(Observation {
        source: Source::instances(&"cpu".into()),
        taken_at: cluster.now,
        outcome: Err(error),
    });
    let snapshot = store.snapshot();
    assert_eq!(check(&snapshot, &cluster.memory, &plan)[0].promise, 3);
    let (held, _) = crate::planner::plan(&snapshot, &cluster.memory, cluster.now, &mut Default::default());
    assert_eq!(held.actions, []);
}

#[test]
fn no_limit_of_the_cluster_is_passed() {
    let mut cluster = Cluster::new();
    let mut gpus = a_pool(&[("cpu", "4"), ("memory", "16Gi"), ("nvidia.com/gpu", "2")], 10, 1.0);
    gpus.template.gpu_model = Some("a100".into());
    cluster.pool("gpu", gpus);
    cluster.pending("web-1", &[("cpu", "3")]);
    let plan = cluster.plan();
    assert!(broken(&cluster, &plan).is_empty());
    let unlimited = cluster.policy.limits.clone();
    let limits: [fn(&mut Limits); 4] = [
        |limits| limits.cores = Some("3".parse().unwrap()),
        |limits| limits.memory = Some("15Gi".parse().unwrap()),
        |limits| limits.gpus = [("*".into(), 1)].into(),
        |limits| limits.gpus = [("a100".into(), 1)].into(),
    ];
    for limit in limits {
        cluster.policy.limits = unlimited.clone();
        limit(&mut cluster.policy.limits);
        assert_eq!(broken(&cluster, &plan), [4]);
    }
    cluster.policy.limits = unlimited;
    cluster.policy.limits.cost_per_hour = Money::from_f64(1.5);
    assert!(broken(&cluster, &plan).is_empty());
    cluster.pool("dear", a_pool(&SMALL, 10, 2.0));
    cluster.pools.get_mut("gpu").unwrap().price.per_hour = None;
    assert_eq!(broken(&cluster, &plan), [4], "what has no price may be as dear as anything");
}

const MASTER: &str = "node-role.kubernetes.io/master";
const SAFE: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";

fn meta(cluster: &mut Cluster) -> &mut Meta {
    &mut cluster.nodes.get_mut("n2").unwrap().metadata
}

/// A cluster with a node whose pod fits on the other, and the plan that removes it.
fn with_a_removal() -> (Cluster, Plan) {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    cluster.node("n2", "cpu");
    cluster.running("web-1", "n2", &[("cpu", "1")]);
    cluster.running("db-1", "n1", &[("cpu", "2500m")]);
    cluster.without_removal_budgets();
    let plan = cluster.plan();
    assert_eq!(&*plan.actions[0].target.name, "n2");
    assert!(broken(&cluster, &plan).is_empty());
    (cluster, plan)
}

type Change = fn(&mut Cluster);

#[test]
fn nothing_goes_that_shall_stay() {
    let changes: [(Change, u8); 7] = [
        (|c| c.pods[0].metadata.annotations = labels(&[(SAFE, "on-completion")]), 1),
        (|c| c.pods[0].metadata.labels = labels(&[("app.kubernetes.io/name", "ballast")]), 17),
        (|c| Arc::make_mut(&mut meta(c).labels).extend([(MASTER.into(), "".into())]), 17),
        (|c| meta(c).annotations = labels(&[("ballast.dev/do-not-disrupt", "true")]), 1),
        (|c| c.policy.pause.down = true, 14),
        (|c| with_spec(&mut c.pods[0], |s| s.node_selector = (*labels(&[("disk", "ssd")])).clone()), 11),
        (|c| c.running("db-2", "n1", &[("cpu", "1")]).node_name = "n1".into(), 11),
    ];
    for (at, (change, promise)) in changes.into_iter().enumerate() {
        let (mut cluster, plan) = with_a_removal();
        change(&mut cluster);
        assert!(broken(&cluster, &plan).contains(&promise), "change {at}");
    }
}

#[test]
fn nothing_is_deleted_that_shall_be_stopped() {
    let (cluster, mut plan) = with_a_removal();
    plan.actions.make_mut()[0].to = "Deleted".into();
    assert_eq!(broken(&cluster, &plan), [9]);
}
