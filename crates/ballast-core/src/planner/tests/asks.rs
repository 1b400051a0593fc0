//! Buffers and requests: room for pods that are still to come.

use super::*;
use crate::fixtures::noon;
use crate::grant::{Capacity, Place};
use crate::kube::{AskCondition, CONSUMES, LocalReference, ProvisioningRequest, ScalableReference};
use crate::observation::{Object, Source};
use crate::planner::{self, Scratch};
use crate::units::Time;

const ATOMIC: &str = "best-effort-atomic-scale-up";
const CHECK: &str = "check-capacity";
/// As much as one node of [`SMALL`] carries once.
const BIG: [(&str, &str); 1] = [("cpu", "3")];

/// A pool of small nodes, some of which run, and a template of pods of which each carries one.
fn a_cluster(max: u32, nodes: u32) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, max, 1.0));
    (0..nodes).for_each(|number| _ = cluster.node(&format!("n{number}"), "cpu"));
    cluster.template("big", &BIG);
    cluster
}

fn provisioned(request: &mut ProvisioningRequest, at: Time) {
    let (kind, status, last_transition_time) = ("Provisioned".into(), "True".into(), Some(at));
    request.status.conditions.push(AskCondition { kind, status, last_transition_time, ..Default::default() });
}

fn consumer(cluster: &mut Cluster, name: &str, request: &str) {
    let pod = cluster.pending(name, &BIG);
    pod.metadata.annotations = labels(&[(CONSUMES[0], request)]);
}

/// Where what an ask is granted lies.
fn places(plan: &Plan, name: &str) -> Vec<Place> {
    let own = plan.grants.iter().filter(|grant| grant.object.is_some() && &*grant.workload == name);
    own.flat_map(|grant| grant.places.clone()).collect()
}

fn free(units: u32) -> Vec<Place> {
    vec![Place { capacity: Capacity::Free, pool: "".into(), units }]
}

#[test]
fn a_buffer_is_kept_beside_what_runs_and_yields_to_whoever_comes() {
    let mut cluster = a_cluster(10, 0);
    cluster.buffer("spare", "big", 2);
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 2);
    assert_eq!(plan.actions[0].reason.code, ActionCode::Headroom);
    assert_eq!(plan.actions[0].reason.message, "room is missing for 1 pod of buffer default/spare");
    let mut cluster = a_cluster(10, 2);
    cluster.buffer("spare", "big", 2);
    cluster.without_removal_budgets();
    let plan = checked(&mut cluster);
    assert_eq!((plan.actions.len(), places(&plan, "spare")), (0, free(2)));
    assert_eq!(kept(&plan, "n1"), Some(UnsafeToRemove::NeededByGrant));
    cluster.pending("web-1", &BIG);
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 1, "the pod takes of the buffer at once, which is filled up again");
    assert_eq!(plan.actions[0].reason.code, ActionCode::Headroom);
    let Some(Object::CapacityBuffer(buffer)) = cluster.asks.last_mut() else { panic!("the buffer") };
    buffer.spec.provisioning_strategy = "example.com/other".into();
    assert_eq!(places(&checked(&mut cluster), "spare"), [], "another's is left to the other");
}

#[test]
fn a_buffer_is_a_share_of_a_workload_or_as_much_as_its_limits_hold() {
    let mut cluster = a_cluster(20, 5);
    for number in 0..5 {
        let pod = cluster.running(&format!("web-x1-{number}"), &format!("n{number}"), &BIG);
        pod.metadata.labels = labels(&[("pod-template-hash", "x1")]);
    }
    let buffer = cluster.buffer("spare", "", 0);
    (buffer.spec.pod_template_ref, buffer.spec.replicas) = (None, None);
    buffer.spec.percentage = Some(50);
    let (api_group, kind, name) = ("apps".into(), "Deployment".into(), "web".into());
    buffer.spec.scalable_ref = Some(ScalableReference { api_group, kind, name });
    assert_eq!(made(&checked(&mut cluster), "cpu"), 3, "half of five, and no part of a pod");
    let Some(Object::CapacityBuffer(buffer)) = cluster.asks.last_mut() else { panic!("the buffer") };
    buffer.spec.limits = crate::fixtures::amounts(&[("cpu", "7")]);
    assert_eq!(made(&checked(&mut cluster), "cpu"), 2, "no more than the limits hold");
    let Some(Object::CapacityBuffer(buffer)) = cluster.asks.last_mut() else { panic!("the buffer") };
    buffer.spec.scalable_ref = None;
    (buffer.spec.percentage, buffer.spec.pod_template_ref) =
        (None, Some(LocalReference { name: "big".into() }));
    assert_eq!(made(&checked(&mut cluster), "cpu"), 2, "as much as they hold");
    cluster.asks.retain(|own| !matches!(own, Object::PodTemplate(_)));
    assert_eq!(made(&checked(&mut cluster), "cpu"), 0, "nobody knows of what shape");
}

#[test]
fn an_atomic_request_gets_all_or_nothing() {
    let mut cluster = a_cluster(2, 0);
    cluster.request("train", ATOMIC, "big", 3);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, [], "two nodes would not do");
    let reason = &plan.report.infeasible[0].pools[0].reason;
    assert_eq!(*reason, SkipReason::AtLimit { limit: Limit::PoolMax });
    cluster.pools.get_mut("cpu").expect("it is there").max = 3;
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 3);
    assert_eq!(plan.actions[0].reason.code, ActionCode::ProvisioningRequest);
    assert_eq!(plan.actions[0].reason.message, "room is missing for 1 pod of request default/train");
    assert_eq!(&*plan.actions[0].gang, "default/ProvisioningRequest/train");
    (0..3).for_each(|number| _ = cluster.node(&format!("n{number}"), "cpu"));
    cluster.without_removal_budgets();
    let plan = checked(&mut cluster);
    assert_eq!((plan.actions.len(), places(&plan, "train")), (0, free(3)));
}

#[test]
fn a_check_finds_room_after_what_waits_and_starts_nothing() {
    let mut cluster = a_cluster(10, 2);
    cluster.request("train", CHECK, "big", 2);
    assert_eq!(places(&checked(&mut cluster), "train"), free(2));
    cluster.pending("web-1", &BIG);
    let plan = checked(&mut cluster);
    assert_eq!((plan.actions.len(), places(&plan, "train")), (0, Vec::new()));
    assert_eq!(plan.report.infeasible[0].pools, [], "no pool is asked");
    assert_eq!(plan.report.infeasible[0].subject.to_string(), "ProvisioningRequest default/train");
}

#[test]
fn room_that_was_found_is_held_for_ten_minutes() {
    for class in [ATOMIC, CHECK] {
        let mut cluster = a_cluster(10, 2);
        provisioned(cluster.request("train", class, "big", 2), noon());
        cluster.pending("web-1", &BIG);
        let mut scratch = Scratch::default();
        let mut plan_at = |cluster: &mut Cluster, minutes: i64| {
            cluster.now = noon() + Span::from_mins(minutes);
            let snapshot = cluster.store().snapshot();
            planner::plan(&snapshot, &cluster.memory, cluster.now, &mut scratch).0
        };
        let plan = plan_at(&mut cluster, 9);
        assert_eq!(made(&plan, "cpu"), 1, "{class}: it is not for whoever comes");
        assert_eq!(plan.actions[0].reason.code, ActionCode::PendingPods);
        assert_eq!(places(&plan, "train"), free(2));
        assert_eq!(plan.report.next_look, Some(noon() + Span::from_mins(10)));
        let plan = plan_at(&mut cluster, 10);
        assert_eq!((plan.actions.len(), places(&plan, "train")), (0, Vec::new()), "{class}");
    }
}

#[test]
fn pods_that_take_the_room_of_a_request_are_its_units() {
    let mut cluster = a_cluster(10, 2);
    provisioned(cluster.request("train", CHECK, "big", 2), noon());
    consumer(&mut cluster, "train-0", "train");
    let plan = checked(&mut cluster);
    assert_eq!((plan.actions.len(), places(&plan, "train")), (0, free(1)));
    consumer(&mut cluster, "train-1", "train");
    consumer(&mut cluster, "train-2", "train");
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, [], "a check starts nothing for its pods either");
    assert_eq!(plan.report.infeasible[0].subject.pods(), 1);
    cluster.now = noon() + Span::from_mins(10);
    assert_eq!(made(&checked(&mut cluster), "cpu"), 1, "once it is over they are pods like others");
}

#[test]
fn pods_that_come_before_the_room_are_counted_once() {
    let mut cluster = a_cluster(10, 0);
    cluster.request("train", ATOMIC, "big", 3);
    consumer(&mut cluster, "train-0", "train");
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 3);
    cluster.pools.get_mut("cpu").expect("it is there").max = 2;
    assert_eq!(checked(&mut cluster).actions, [], "the pod is a part of what comes whole or not at all");
}

#[test]
fn a_request_that_is_over_asks_for_nothing() {
    let over: [fn(&mut ProvisioningRequest); 4] = [
        |request| request.spec.provisioning_class_name = "example.com/other".into(),
        |request| _ = request.spec.parameters.insert("ValidUntilSeconds".into(), "0".into()),
        |request| {
            let (kind, status) = ("Failed".into(), "True".into());
            request.status.conditions.push(AskCondition { kind, status, ..Default::default() });
        },
        |request| request.metadata.creation_timestamp = Some(noon() - Span::from_hours(7 * 24)),
    ];
    for (number, change) in over.into_iter().enumerate() {
        let mut cluster = a_cluster(10, 0);
        change(cluster.request("train", ATOMIC, "big", 3));
        assert_eq!(checked(&mut cluster).actions, [], "{number}");
    }
}

#[test]
fn nothing_is_removed_while_it_is_not_known_for_what_room_is_held() {
    let mut cluster = a_cluster(10, 1);
    cluster.without_removal_budgets();
    assert_eq!(checked(&mut cluster).actions.len(), 1);
    let mut store = cluster.store();
    let error = crate::observation::SourceError { class: ErrorClass::Transient, message: "503".into() };
    store.observe(crate::observation::Observation {
        source: Source::kubernetes(crate::observation::ObjectKind::CapacityBuffer),
        taken_at: cluster.now,
        outcome: Err(error),
    });
    let plan = planner::plan(&store.snapshot(), &cluster.memory, cluster.now, &mut Scratch::default()).0;
    assert_eq!(plan.actions, []);
}

#[test]
fn absurd_counts_of_one_request_stop_no_other() {
    let mut cluster = a_cluster(10, 0);
    cluster.request("train", ATOMIC, "big", 1);
    let mad = cluster.request("mad", ATOMIC, "big", i32::MAX);
    let set = mad.spec.pod_sets[0].clone();
    mad.spec.pod_sets.extend([set.clone(), crate::kube::PodSet { count: 2, ..set }]);
    assert_eq!(made(&checked(&mut cluster), "cpu"), 1);
}

/// Two classes of one workload that only a webhook tells apart: which is taken for the buffer's does not depend on who came first.
#[test]
fn the_shape_of_a_buffer_does_not_depend_on_who_came_first() {
    let plan_of = |names: [&str; 2]| {
        let mut cluster = a_cluster(10, 2);
        for name in names {
            let pod = cluster.running(&format!("web-x1-{name}"), "n0", &[("cpu", "1")]);
            pod.metadata.labels = labels(&[("pod-template-hash", "x1")]);
            let memory = if name == "a" { "1Gi" } else { "2Gi" };
            crate::fixtures::with_spec(pod, |spec| {
                let requests = &mut spec.containers[0].resources.requests;
                requests.extend(crate::fixtures::amounts(&[("memory", memory)]));
            });
        }
        let buffer = cluster.buffer("spare", "", 3);
        buffer.spec.pod_template_ref = None;
        let (api_group, kind, name) = ("apps".into(), "Deployment".into(), "web".into());
        buffer.spec.scalable_ref = Some(ScalableReference { api_group, kind, name });
        checked(&mut cluster).wishes
    };
    assert_eq!(plan_of(["a", "b"]), plan_of(["b", "a"]));
}
