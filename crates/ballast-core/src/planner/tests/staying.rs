//! What keeps a node, one rule each.

use super::SMALL;
use crate::fixtures::{Cluster, a_pool, labels, with_spec};
use crate::kube::{ClaimRef, EmptyDir, LabelSelector, Labels, Meta, Pod, PodDisruptionBudget, PodVolume};
use crate::observation::{Body, ErrorClass, Object, ObjectKind, Observation, Source, SourceError};
use crate::plan::{Limit, Plan, PodBlock, SkipReason, Step, UnsafeToRemove};
use crate::snapshot::Store;
use crate::units::{Span, Time};

/// A node with one pod that would fit on the other, and nothing else that keeps it.
fn cluster(change: impl FnOnce(&mut Pod)) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu").spec.unschedulable = false;
    cluster.node("n2", "cpu");
    change(cluster.running("web-1", "n2", &[("cpu", "1")]));
    cluster.running("db-1", "n1", &[("cpu", "2500m")]);
    cluster.without_removal_budgets();
    cluster
}

fn annotated(key: &str, value: &str) -> impl FnOnce(&mut Pod) {
    move |pod| pod.metadata.annotations = labels(&[(key, value)])
}

fn kept(plan: &Plan, node: &str) -> Option<UnsafeToRemove> {
    let found = plan.report.trace.iter().find_map(|step| match step {
        Step::Candidate(candidate) if &*candidate.node == node => Some(candidate),
        _ => None,
    });
    found.expect("it was weighed").unsafe_to_remove.clone()
}

fn block(plan: &Plan) -> Option<PodBlock> {
    match kept(plan, "n2") {
        Some(UnsafeToRemove::PodBlocks { why, .. }) => Some(why),
        None => None,
        other => panic!("{other:?}"),
    }
}

fn a_budget(name: &str, selects: &[(&str, &str)], allowed: i64) -> PodDisruptionBudget {
    let mut budget = PodDisruptionBudget {
        metadata: Meta { name: name.into(), namespace: "default".into(), ..Meta::default() },
        ..PodDisruptionBudget::default()
    };
    let match_labels: Labels = (*labels(selects)).clone();
    budget.spec.selector = Some(LabelSelector { match_labels, ..LabelSelector::default() });
    budget.status.disruptions_allowed = allowed;
    budget
}

fn plan_of(store: &mut Store, cluster: &Cluster) -> Plan {
    crate::planner::plan(&store.snapshot(), &cluster.memory, cluster.now, &mut Default::default()).0
}

#[test]
fn a_pod_may_be_protected_for_a_while() {
    assert_eq!(block(&cluster(|_| {}).plan()), None);
    for (value, expected) in [("1h", Some(PodBlock::DoNotDisrupt)), ("false", None)] {
        let mut cluster = cluster(annotated("karpenter.sh/do-not-disrupt", value));
        assert_eq!(block(&cluster.plan()), expected, "{value}");
    }
}

#[test]
fn a_budget_for_one_pod_of_a_stateful_set_is_heeded() {
    let mut cluster = cluster(|pod| {
        pod.metadata.owner_references[0].kind = "StatefulSet".into();
        pod.metadata.labels = labels(&[("app", "web"), ("statefulset.kubernetes.io/pod-name", "web-1")]);
    });
    let selects = [("statefulset.kubernetes.io/pod-name", "web-1")];
    cluster.budgets = vec![a_budget("one", &selects, 0)];
    assert_eq!(block(&cluster.plan()), Some(PodBlock::DisruptionBudget));
}

#[test]
fn two_budgets_over_one_pod_keep_it() {
    let mut cluster = cluster(|pod| pod.metadata.labels = labels(&[("app", "web")]));
    cluster.budgets = vec![a_budget("a", &[("app", "web")], 1)];
    assert_eq!(block(&cluster.plan()), None);
    cluster.budgets.push(a_budget("b", &[], 1));
    assert_eq!(block(&cluster.plan()), Some(PodBlock::SeveralBudgets));
}

#[test]
fn a_budget_that_was_changed_and_not_judged_since_allows_nothing() {
    let mut cluster = cluster(|pod| pod.metadata.labels = labels(&[("app", "web")]));
    let mut budget = a_budget("a", &[("app", "web")], 1);
    (budget.metadata.generation, budget.status.observed_generation) = (Some(3), Some(2));
    cluster.budgets = vec![budget];
    assert_eq!(block(&cluster.plan()), Some(PodBlock::DisruptionBudget));
    cluster.budgets[0].status.observed_generation = Some(3);
    assert_eq!(block(&cluster.plan()), None);
}

#[test]
fn a_pod_whose_volumes_are_not_known_stays() {
    let cluster = cluster(|pod| {
        let claim = ClaimRef { claim_name: "data".into() };
        with_spec(pod, |spec| {
            spec.volumes = vec![PodVolume { persistent_volume_claim: Some(claim), ..PodVolume::default() }];
        });
    });
    let mut store = cluster.store();
    assert_eq!(block(&plan_of(&mut store, &cluster)), None, "all that there is was told of");
    let error = SourceError { class: ErrorClass::Transient, message: "away".into() };
    store.observe(Observation {
        source: Source::kubernetes(ObjectKind::PersistentVolume),
        taken_at: cluster.now,
        outcome: Err(error),
    });
    assert_eq!(block(&plan_of(&mut store, &cluster)), Some(PodBlock::VolumeUnknown));
}

#[test]
fn idle_time_is_counted_only_while_it_is_seen() {
    let mut cluster = cluster(|_| {});
    cluster.pools.get_mut("cpu").unwrap().scale_down.idle_after = Span::from_mins(10);
    let too_soon = |at: Time| Some(UnsafeToRemove::TooSoon { at: at + Span::from_mins(10) });
    let began = cluster.now;
    assert_eq!(kept(&cluster.plan(), "n2"), too_soon(began));
    cluster.now += Span::from_mins(5);
    assert_eq!(kept(&cluster.plan(), "n2"), too_soon(began));

    let mut store = cluster.store();
    cluster.now += Span::from_mins(30);
    let (_, history) =
        crate::planner::plan(&store.snapshot(), &cluster.memory, cluster.now, &mut Default::default());
    cluster.memory.history = history;
    assert_eq!(kept(&cluster.plan(), "n2"), too_soon(cluster.now), "nothing was seen for half an hour");
}

#[test]
fn who_does_not_say_how_old_it_is_is_as_old_as_our_sight_of_it() {
    let mut cluster = cluster(|_| {});
    let node = cluster.nodes.get_mut("n2").unwrap();
    node.metadata.creation_timestamp = None;
    node.status.conditions[0].status = "False".into();
    cluster.instances.values_mut().for_each(|instance| instance.since = None);
    let mut store = cluster.store();
    let seen = cluster.now;
    cluster.now += Span::from_hours(1);
    cluster.observations().into_iter().for_each(|observation| store.observe(observation));
    let snapshot = store.snapshot();
    assert_eq!(snapshot.node_named("n2").unwrap().created(), Some(seen));
    assert!(snapshot.pools[0].instances.values().all(|instance| instance.since == Some(seen)));
}

#[test]
fn priorities_count_from_when_their_class_is_told_of() {
    let mut cluster = Cluster::new();
    let pod = cluster.pending("web-1", &[("cpu", "1")]);
    with_spec(pod, |spec| spec.priority_class_name = "high".into());
    let mut store = cluster.store();
    let mut class = crate::kube::PriorityClass { value: 1000, ..Default::default() };
    class.metadata.name = "high".into();
    store.observe(Observation {
        source: Source::kubernetes(ObjectKind::PriorityClass),
        taken_at: cluster.now,
        outcome: Ok(Body::Listed(vec![Object::PriorityClass(class)])),
    });
    assert_eq!(plan_of(&mut store, &cluster).wishes[0].priority, 1000);
}

#[test]
fn only_data_that_would_be_lost_keeps_a_pod() {
    let local = |medium: &str, safe: &'static str| {
        let volume = PodVolume {
            name: "scratch".into(),
            empty_dir: Some(EmptyDir { medium: medium.into() }),
            ..PodVolume::default()
        };
        move |pod: &mut Pod| {
            with_spec(pod, |spec| spec.volumes = vec![volume]);
            let key = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
            pod.metadata.annotations = labels(&[(key, safe)]);
        }
    };
    assert_eq!(block(&cluster(local("", "")).plan()), Some(PodBlock::LocalStorage));
    assert_eq!(block(&cluster(local("Memory", "")).plan()), None);
    assert_eq!(block(&cluster(local("", "cache, scratch")).plan()), None);
}

#[test]
fn ballast_does_not_remove_its_own_node() {
    let mut cluster = cluster(|pod| pod.metadata.labels = labels(&[("app.kubernetes.io/name", "ballast")]));
    assert_eq!(kept(&cluster.plan(), "n2"), Some(UnsafeToRemove::ControlPlane));
}

#[test]
fn what_costs_least_to_delete_goes_first() {
    let goes = |cost: &str| {
        let mut cluster = Cluster::new();
        cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
        for node in ["n1", "n2"] {
            cluster.node(node, "cpu");
            let pod = cluster.running(&format!("web-{node}"), node, &[("cpu", "1")]);
            let cost = if node == "n2" { cost } else { "0" };
            pod.metadata.annotations = labels(&[("controller.kubernetes.io/pod-deletion-cost", cost)]);
        }
        cluster.without_removal_budgets();
        cluster.plan().actions[0].target.name.to_string()
    };
    assert_eq!((&*goes("0"), &*goes("100")), ("n2", "n1"));
}

#[test]
fn headroom_may_ask_for_what_nobody_asks_for_yet_and_says_why_it_is_not_there() {
    let mut cluster = Cluster::new();
    let rdma = [("cpu", "4"), ("memory", "16Gi"), ("rdma/hca", "1")];
    let requests = crate::fixtures::amounts(&[("rdma/hca", "1")]);
    cluster.pool("cpu", a_pool(&rdma, 1, 1.0)).headroom =
        vec![crate::policy::Headroom { requests, count: 1 }];
    cluster.node("n1", "cpu");
    let plan = cluster.plan();
    assert_eq!((plan.actions.len(), plan.report.skipped.len()), (0, 0), "it is there");
    cluster.pools.get_mut("cpu").unwrap().headroom[0].count = 2;
    let skip = &cluster.plan().report.skipped[0];
    assert_eq!(skip.reason, SkipReason::AtLimit { limit: Limit::PoolMax });
}

#[test]
fn limits_count_what_daemons_use_too() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&[("cpu", "10"), ("memory", "16Gi")], 20, 1.0));
    cluster.policy.limits.cores = Some("27".parse().unwrap());
    for pod in 0..4 {
        cluster.pending(&format!("web-{pod}"), &[("cpu", "8")]);
    }
    let mut daemon = crate::kube::DaemonSet::default();
    daemon.metadata.name = "agent".into();
    let pod = crate::fixtures::a_pod("agent", &[("cpu", "1")]);
    daemon.spec.template.spec = pod.spec.clone();
    let mut store = cluster.store();
    store.observe(Observation {
        source: Source::kubernetes(ObjectKind::DaemonSet),
        taken_at: cluster.now,
        outcome: Ok(Body::Listed(vec![Object::DaemonSet(daemon)])),
    });
    assert_eq!(plan_of(&mut store, &cluster).actions.len(), 2, "two nodes of ten cores, not three of nine");
}
