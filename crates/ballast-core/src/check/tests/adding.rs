//! Plans that add what they must not.

use super::*;
use crate::plan::{ActionCode, Infeasible, Subject};
use crate::policy::{Headroom, Limits};
use crate::units::Money;

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

/// A cluster with a pod that waits, and the plan that makes a node for it.
fn with_a_launch() -> (Cluster, Plan) {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.pending("web-1", &[("cpu", "3")]);
    let plan = cluster.plan();
    assert_eq!(plan.actions[0].kind, ActionKind::CreateInstance);
    assert!(broken(&cluster, &plan).is_empty());
    (cluster, plan)
}

/// What the ledger says of a launch under way.
fn under_way(cluster: &mut Cluster, name: &str, token: &str) {
    let launch = crate::memory::Launch {
        kind: crate::memory::LaunchKind::Create,
        pool: "other".into(),
        zone: "".into(),
        instance_type: "".into(),
        provider_id: "".into(),
        token: token.into(),
        since: cluster.now,
        deadline: cluster.now + Span::from_mins(15),
        decision: None,
    };
    cluster.memory.ledger.launches.insert(name.into(), launch);
}

/// Another launch of the same pool, with a name and a token of its own.
fn one_more(plan: &mut Plan) {
    twice(plan);
    let more = plan.actions.make_mut().last_mut().unwrap();
    (more.target.name, more.precondition.token) = ("more".into(), "more-1".into());
}

#[test]
fn no_launch_without_a_need_and_no_need_with_two() {
    each_breaks(
        with_a_launch,
        &[
            (|c, p| under_way(c, &p.actions[0].target.name, "t"), 6),
            (|c, p| under_way(c, "x", &p.actions[0].precondition.token), 6),
            (|_, p| first(p).precondition.token = "".into(), 6),
            (|_, p| one_more(p), 6),
            (|c, _| c.pods.clear(), 6),
            (|c, _| with_spec(&mut c.pods[0], |s| s.scheduling_gates = vec![Default::default()]), 6),
            (
                |c, _| with_spec(&mut c.pods[0], |s| s.node_selector = (*labels(&[("disk", "ssd")])).clone()),
                6,
            ),
            (|_, p| first(p).reason.code = ActionCode::Headroom, 6),
            (|_, p| first(p).reason.code = ActionCode::BelowMinimum, 6),
            (|_, p| first(p).gang = "default/nobody".into(), 6),
        ],
    );
}

#[test]
fn what_a_minimum_and_headroom_ask_for_is_a_need() {
    let (mut cluster, mut plan) = with_a_launch();
    cluster.pods.clear();
    first(&mut plan).reason.code = ActionCode::BelowMinimum;
    cluster.pools.get_mut("cpu").unwrap().min = 1;
    assert!(broken(&cluster, &plan).is_empty());
    first(&mut plan).reason.code = ActionCode::Headroom;
    let headroom = Headroom { requests: crate::fixtures::amounts(&[("cpu", "3")]), count: 1 };
    cluster.pools.get_mut("cpu").unwrap().headroom = vec![headroom];
    assert!(broken(&cluster, &plan).is_empty());
    one_more(&mut plan);
    assert_eq!(broken(&cluster, &plan), [6]);
}

#[test]
fn no_launch_leaves_the_range_or_says_nothing_or_is_decided_blindly() {
    each_breaks(
        with_a_launch,
        &[
            (|c, _| c.pools.get_mut("cpu").unwrap().max = 0, 4),
            (|c, _| c.policy.limits.nodes = Some(0), 4),
            (|c, _| c.pools.get_mut("cpu").unwrap().mode = Some(Mode::Recommend), 14),
            (|c, _| c.policy.limits.cost_per_hour = Money::from_f64(0.5), 4),
            (|_, p| first(p).reason.message.clear(), 15),
            (|_, p| first(p).reason.inputs.clear(), 15),
            (|_, p| p.report.next_look = None, 15),
            (|_, p| p.report.next_look = Some(p.now), 15),
            (|c, _| c.now = c.now - Span::from_hours(1), 3),
        ],
    );
}

/// A cluster with a gang that waits, and the plan that makes its two nodes.
fn with_a_gang() -> (Cluster, Plan) {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    for member in ["train-1", "train-2"] {
        let pod = cluster.pending(member, &[("cpu", "3")]);
        pod.metadata.labels = labels(&[("ballast.dev/gang", "train"), ("ballast.dev/gang-size", "2")]);
    }
    let plan = cluster.plan();
    assert_eq!(plan.actions.len(), 2);
    assert!(broken(&cluster, &plan).is_empty());
    (cluster, plan)
}

/// A member of the gang that the report says has no place.
fn left_over(plan: &mut Plan) {
    let subject = Subject::Pods {
        namespace: "default".into(),
        workload: "train".into(),
        name: "train-2".into(),
        count: 1,
        gang: "train".into(),
    };
    let left = Infeasible { subject, pools: Vec::new(), nodes: Vec::new() };
    plan.report.infeasible.make_mut().push(left);
    plan.actions.make_mut().pop();
}

#[test]
fn no_part_of_a_gang_is_launched() {
    each_breaks(
        with_a_gang,
        &[(|_, p| left_over(p), 10), (|c, p| _ = (c.pods.pop(), p.actions.make_mut().pop()), 10)],
    );
    let (mut cluster, mut plan) = with_a_gang();
    with_spec(&mut cluster.pods[1], |spec| spec.scheduling_gates = vec![Default::default()]);
    plan.actions.make_mut().pop();
    assert_eq!(broken(&cluster, &plan), [10], "a member behind a gate is not there");
}
