//! Namespaces: how much of the cluster they may raise, and how much of it they may keep.

use super::*;
use crate::fixtures::amounts;
use crate::kube::Pod;
use crate::plan::{PromiseNote, Subject};
use crate::policy::Tenant;
use crate::scalers::nodes::kept as protected;

const BIG: [(&str, &str); 1] = [("cpu", "3")];

fn with_quota(quota: &[(&str, &str)]) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.policy.tenants = vec![Tenant { quota: amounts(quota), ..Tenant::default() }];
    cluster
}

/// How many go beyond a quota, and of what, by the first of each class.
fn beyond(plan: &Plan) -> Vec<(String, u32, String)> {
    let told = plan.report.waiting.iter().filter_map(|wait| match (&wait.on, &wait.subject) {
        (WaitingOn::Quota { count, resource }, Subject::Pods { name, .. }) => {
            Some((name.to_string(), *count, resource.to_string()))
        }
        (WaitingOn::Quota { count, resource }, Subject::Workload { name, .. }) => {
            Some((name.to_string(), *count, resource.to_string()))
        }
        _ => None,
    });
    told.collect()
}

fn excess(name: &str, count: u32, resource: &str) -> Vec<(String, u32, String)> {
    vec![(name.to_owned(), count, resource.to_owned())]
}

#[test]
fn machines_are_started_within_the_quota_of_a_namespace() {
    let mut cluster = with_quota(&[("cpu", "7")]);
    cluster.node("n1", "cpu");
    cluster.running("web-0", "n1", &BIG);
    for pod in 1..=3 {
        cluster.pending(&format!("web-{pod}"), &BIG);
    }
    let plan = checked(&mut cluster);
    assert_eq!((made(&plan, "cpu"), beyond(&plan)), (1, excess("web-1", 2, "cpu")));
    // Another namespace has a quota of its own.
    for pod in &mut cluster.pods[2..] {
        pod.metadata.namespace = "other".into();
    }
    let plan = checked(&mut cluster);
    assert_eq!((made(&plan, "cpu"), beyond(&plan)), (3, Vec::new()));
    // Who is named before has what is given there.
    let other =
        Tenant { namespaces: vec!["other".into()], quota: amounts(&[("pods", "1")]), ..Tenant::default() };
    cluster.policy.tenants.insert(0, other);
    let plan = checked(&mut cluster);
    assert_eq!((made(&plan, "cpu"), beyond(&plan)), (2, excess("web-2", 1, "pods")));
}

#[test]
fn the_highest_priority_has_the_quota_first() {
    let mut cluster = with_quota(&[("cpu", "3")]);
    cluster.pending("a-1", &BIG);
    let urgent = cluster.pending("b-1", &BIG);
    crate::fixtures::with_spec(urgent, |spec| spec.priority = Some(7));
    let plan = checked(&mut cluster);
    assert_eq!((made(&plan, "cpu"), beyond(&plan)), (1, excess("a-1", 1, "cpu")));
}

#[test]
fn a_gang_and_a_request_are_within_a_quota_whole_or_not_at_all() {
    let mut cluster = with_quota(&[("cpu", "8")]);
    for pod in 1..=3 {
        let member = cluster.pending(&format!("train-{pod}"), &BIG);
        member.metadata.labels = labels(&[("scheduling.x-k8s.io/pod-group", "train")]);
        member.metadata.annotations = labels(&[("ballast.dev/gang-size", "3")]);
    }
    let plan = checked(&mut cluster);
    assert_eq!((made(&plan, "cpu"), beyond(&plan)), (0, excess("train-1", 3, "cpu")));
    cluster.policy.tenants[0].quota = amounts(&[("cpu", "9")]);
    assert_eq!(made(&checked(&mut cluster), "cpu"), 3);

    let mut cluster = with_quota(&[("cpu", "8")]);
    cluster.template("big", &BIG);
    cluster.request("job", "best-effort-atomic-scale-up", "big", 3);
    let plan = checked(&mut cluster);
    assert_eq!((made(&plan, "cpu"), beyond(&plan)), (0, excess("job", 3, "cpu")));
    // A buffer is for whoever comes: as much of it as there may be.
    cluster.asks.pop();
    cluster.buffer("spare", "big", 3);
    let plan = checked(&mut cluster);
    assert_eq!((made(&plan, "cpu"), beyond(&plan)), (2, excess("spare", 1, "cpu")));
}

#[test]
fn what_runs_beyond_a_quota_keeps_nobody_from_the_rest_of_it() {
    let mut cluster = with_quota(&[("cpu", "4"), ("memory", "64Gi"), ("pods", "9")]);
    for node in ["n1", "n2"] {
        cluster.node(node, "cpu");
        cluster.running(&format!("big-{node}"), node, &[("cpu", "3")]);
    }
    cluster.pending("web-1", &[("memory", "15Gi")]);
    cluster.pending("web-2", &[("memory", "15Gi")]);
    cluster.pending("web-3", &[("memory", "15Gi")]);
    let plan = checked(&mut cluster);
    assert!(made(&plan, "cpu") > 0 && beyond(&plan).is_empty(), "{:?}", plan.report);
}

#[test]
fn what_no_machine_would_help_takes_nothing_from_a_quota() {
    let mut cluster = with_quota(&[("cpu", "3")]);
    let gated = cluster.pending("a-1", &BIG);
    crate::fixtures::with_spec(gated, |spec| {
        spec.scheduling_gates =
            serde_json::from_value(serde_json::json!([{"name": "queue"}])).expect("gates");
    });
    let member = cluster.pending("b-1", &BIG);
    member.metadata.labels = labels(&[("scheduling.x-k8s.io/pod-group", "train")]);
    member.metadata.annotations = labels(&[("ballast.dev/gang-size", "3")]);
    cluster.pending("c-1", &BIG);
    let plan = checked(&mut cluster);
    assert_eq!((made(&plan, "cpu"), beyond(&plan)), (1, Vec::new()));
}

#[test]
fn what_was_promised_to_a_request_is_spent() {
    let mut cluster = with_quota(&[("cpu", "6")]);
    cluster.template("big", &BIG);
    let now = cluster.now;
    let first = cluster.request("first", "best-effort-atomic-scale-up", "big", 2);
    let provisioned = crate::kube::AskCondition {
        kind: "Provisioned".into(),
        status: "True".into(),
        last_transition_time: Some(now),
        ..Default::default()
    };
    first.status.conditions = vec![provisioned];
    cluster.request("second", "best-effort-atomic-scale-up", "big", 1);
    assert_eq!(beyond(&checked(&mut cluster)), excess("second", 1, "cpu"));
}

#[test]
fn a_request_goes_beyond_its_quota_together_with_its_pods() {
    let mut cluster = with_quota(&[("cpu", "6")]);
    cluster.template("big", &BIG);
    cluster.request("job", "best-effort-atomic-scale-up", "big", 3);
    for pod in 1..=2 {
        let pod = cluster.pending(&format!("job-{pod}"), &BIG);
        pod.metadata.annotations = labels(&[("autoscaling.x-k8s.io/consume-provisioning-request", "job")]);
    }
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 0, "{:?}", plan.report.waiting);
    cluster.policy.tenants[0].quota = amounts(&[("cpu", "9")]);
    assert_eq!(made(&checked(&mut cluster), "cpu"), 3);
}

/// Three nodes with little on them, each of which a pod of one namespace keeps, and one with room.
fn guarded(cap: Option<u32>) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    for node in ["n1", "n2", "n3", "a4"] {
        cluster.node(node, "cpu");
    }
    for (node, key, value) in [
        ("n1", "karpenter.sh/do-not-disrupt", "true"),
        ("n2", "cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
        ("n3", "ballast.dev/do-not-disrupt", "true"),
    ] {
        let pod = cluster.running(&format!("{node}-1"), node, &[("cpu", "100m")]);
        pod.metadata.annotations = labels(&[(key, value)]);
    }
    cluster.running("big-1", "a4", &[("cpu", "3")]);
    cluster.policy.tenants = vec![Tenant { protected_nodes: cap, ..Tenant::default() }];
    cluster.without_removal_budgets();
    cluster
}

#[test]
fn annotations_keep_as_many_nodes_as_their_namespace_may_keep() {
    assert_eq!(checked(&mut guarded(None)).actions, [], "nobody bounds it");
    let mut cluster = guarded(Some(1));
    // The one whose pod is there longest stays, whatever its name.
    made_earlier(&mut cluster, "n2-1");
    let plan = checked(&mut cluster);
    let gone: Vec<String> = kinds(&plan).into_iter().map(|(_, name)| name).collect();
    assert_eq!(gone, ["n3", "n1"]);
    let reason = HoldReason::ProtectionCap { namespace: "default".into(), nodes: 3, cap: 1 };
    assert!(plan.report.holds.iter().any(|hold| hold.reason == reason), "{:?}", plan.report.holds);
    let snapshot = cluster.store().snapshot();
    let told: Vec<_> = protected(&snapshot).map(|kept| (kept.nodes, kept.cap)).collect();
    assert_eq!(told, [(3, Some(1))]);
    let broken = |cap| check(&guarded(cap).store().snapshot(), &cluster.memory, &plan);
    let is_fatal = |note: &PromiseNote| note.promise == 1;
    assert!(broken(None).iter().any(is_fatal), "the second pair of eyes knows no cap");
    assert!(broken(Some(2)).iter().any(is_fatal), "one too many goes");
}

fn made_earlier(cluster: &mut Cluster, pod: &str) {
    let since = cluster.now - Span::from_hours(100);
    pod_of(cluster, pod).metadata.creation_timestamp = Some(since);
}

fn pod_of<'a>(cluster: &'a mut Cluster, name: &str) -> &'a mut Pod {
    cluster.pods.iter_mut().find(|pod| &*pod.metadata.name == name).expect("a pod")
}

fn gone(plan: &Plan) -> Vec<String> {
    kinds(plan).into_iter().map(|(_, name)| name).collect()
}

#[test]
fn who_keeps_a_node_keeps_it_when_another_comes_to_an_older_one() {
    let mut cluster = guarded(Some(1));
    made_earlier(&mut cluster, "n3-1");
    let node = cluster.nodes.get_mut("n1").expect("a node");
    node.metadata.creation_timestamp = Some(cluster.now - Span::from_hours(1_000));
    assert_eq!(gone(&checked(&mut cluster)), ["n2", "n1"]);
}

#[test]
fn a_cap_is_evaded_neither_by_work_without_end_nor_by_a_gang_of_one() {
    let keep = |cap, change: fn(&mut Pod)| {
        let mut cluster = guarded(cap);
        for name in ["n1-1", "n2-1", "n3-1"] {
            let pod = pod_of(&mut cluster, name);
            pod.metadata.annotations = labels(&[]);
            change(pod);
        }
        cluster
    };
    let ways: [fn(&mut Pod); 2] = [
        |pod| {
            let key = "cluster-autoscaler.kubernetes.io/safe-to-evict";
            pod.metadata.annotations = labels(&[(key, "on-completion")]);
        },
        |pod| {
            let gang = pod.metadata.name.clone();
            pod.metadata.labels = labels(&[("ballast.dev/gang", &gang)]);
        },
    ];
    for change in ways {
        assert_eq!(gone(&checked(&mut keep(None, change))), [""; 0], "nobody bounds it");
        let mut cluster = keep(Some(1), change);
        assert_eq!(gone(&checked(&mut cluster)).len(), 2);
        let snapshot = cluster.store().snapshot();
        let told: Vec<_> = protected(&snapshot).map(|kept| (kept.nodes, kept.cap)).collect();
        assert_eq!(told, [(3, Some(1))]);
    }
    // A gang of several is one, whatever is capped.
    let several = |pod: &mut Pod| pod.metadata.labels = labels(&[("ballast.dev/gang", "train")]);
    assert_eq!(gone(&checked(&mut keep(Some(0), several))), [""; 0]);
}

#[test]
fn what_is_leaving_is_not_kept() {
    let mut cluster = guarded(Some(1));
    made_earlier(&mut cluster, "n2-1");
    let plan = checked(&mut cluster);
    assert_eq!(gone(&plan), ["n3", "n1"]);
    // The one that stays is on its way out as well, by what the ledger or its cordon tells: then one too many goes.
    let is_broken = |cluster: &Cluster| {
        check(&cluster.store().snapshot(), &cluster.memory, &plan).iter().any(|note| note.promise == 1)
    };
    assert!(!is_broken(&cluster));
    let removal = a_removal(&cluster, "n2");
    cluster.memory.ledger.removals.insert("n2".into(), removal);
    assert!(is_broken(&cluster));
    // And the planner leaves another.
    assert_eq!(gone(&checked(&mut cluster)), ["n3"]);
}

#[test]
fn a_cap_frees_no_node_that_something_else_keeps() {
    let mut cluster = guarded(Some(0));
    for pod in &mut cluster.pods {
        pod.metadata.owner_references.clear();
    }
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    for node in ["n1", "n2", "n3"] {
        let why = kept(&plan, node);
        assert!(matches!(why, Some(UnsafeToRemove::PodBlocks { why: PodBlock::Bare, .. })), "{why:?}");
    }
}

#[test]
fn a_launch_beyond_a_quota_is_seen_by_the_second_pair_of_eyes() {
    let mut cluster = with_quota(&[("cpu", "6")]);
    cluster.pending("web-1", &BIG);
    cluster.pending("web-2", &BIG);
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 2);
    cluster.policy.tenants[0].quota = amounts(&[("cpu", "3")]);
    let notes = check(&cluster.store().snapshot(), &cluster.memory, &plan);
    assert!(notes.iter().any(|note| note.promise == 4), "{notes:?}");
}
