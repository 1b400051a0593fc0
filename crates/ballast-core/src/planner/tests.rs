//! Small clusters, one rule each.

use crate::check::check;
use crate::fixtures::{Cluster, a_pool, labels};
use crate::memory::Removal;
use crate::observation::{ErrorClass, InstanceState};
use crate::plan::{
    ActionCode, ActionKind, HoldReason, Limit, Plan, PodBlock, SkipReason, Step, UnsafeToRemove, WaitingOn,
};
use crate::units::Span;
use crate::wish::{ElasticWish, Scaler};

pub(super) const SMALL: [(&str, &str); 2] = [("cpu", "4"), ("memory", "16Gi")];

pub(super) fn kinds(plan: &Plan) -> Vec<(ActionKind, String)> {
    plan.actions.iter().map(|action| (action.kind, action.target.name.to_string())).collect()
}

pub(super) fn made(plan: &Plan, pool: &str) -> usize {
    plan.actions
        .iter()
        .filter(|action| action.kind == ActionKind::CreateInstance && &*action.target.pool == pool)
        .count()
}

pub(super) fn kept(plan: &Plan, node: &str) -> Option<UnsafeToRemove> {
    let candidate = plan.report.trace.iter().find_map(|step| match step {
        Step::Candidate(candidate) if &*candidate.node == node => Some(candidate),
        _ => None,
    });
    candidate.expect("it was weighed").unsafe_to_remove.clone()
}

/// The drain of a node, just begun.
pub(super) fn a_removal(cluster: &Cluster, node: &str) -> Removal {
    Removal {
        pool: "cpu".into(),
        uid: format!("uid-{node}").into(),
        provider_id: format!("sim:///{node}").into(),
        token: "".into(),
        mark: "stop-1".into(),
        mode: Default::default(),
        release: false,
        since: cluster.now,
        deadline: cluster.now + Span::from_mins(15),
        waits: false,
        stopping: false,
        displaces: Vec::new(),
    }
}

/// Plans, and lets the second pair of eyes look at it.
pub(super) fn checked(cluster: &mut Cluster) -> Plan {
    let snapshot = cluster.store().snapshot();
    let plan = cluster.plan();
    assert_eq!(check(&snapshot, &cluster.memory, &plan), []);
    plan
}

#[test]
fn what_fits_on_free_nodes_starts_nothing() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    cluster.pending("web-1", &[("cpu", "2")]);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    assert_eq!(plan.report.waiting[0].on, WaitingOn::Scheduler { count: 1 });
}

#[test]
fn stopped_instances_are_started_before_any_is_made() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.instance("off-1", "cpu", InstanceState::Stopped);
    for pod in 1..=3 {
        cluster.pending(&format!("web-{pod}"), &[("cpu", "2")]);
    }
    let plan = checked(&mut cluster);
    let expected =
        [(ActionKind::StartInstance, "off-1".to_owned()), (ActionKind::CreateInstance, "cpu-2".to_owned())];
    assert_eq!(kinds(&plan), expected);
    assert_eq!(plan.actions[0].reason.code, ActionCode::PendingPods);
}

#[test]
fn an_instance_of_unknown_zone_is_started_for_what_demands_none() {
    let mut cluster = Cluster::new();
    let pool = cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    pool.template.zones = vec!["a".into(), "b".into()];
    pool.create = false;
    cluster.instance("off-1", "cpu", InstanceState::Stopped);
    cluster.instances.values_mut().for_each(|instance| instance.zone = "".into());
    cluster.pending("web-1", &[("cpu", "2")]);
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StartInstance, "off-1".to_owned())]);
    let zone = (*labels(&[("topology.kubernetes.io/zone", "a")])).clone();
    std::sync::Arc::make_mut(&mut cluster.pods[0].spec).node_selector = zone;
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    assert_eq!(plan.report.infeasible[0].pools[0].reason, SkipReason::ZoneUnknown);
    // Nothing is ever made where one does not know where.
    let pool = cluster.pools.get_mut("cpu").expect("it is there");
    (pool.create, pool.min) = (true, 5);
    let plan = checked(&mut cluster);
    let made = plan.actions.iter().filter(|action| action.kind == ActionKind::CreateInstance);
    assert!(made.clone().count() >= 4 && made.clone().all(|action| !action.target.zone.is_empty()));
}

#[test]
fn the_cheapest_pool_that_serves_is_chosen() {
    let mut cluster = Cluster::new();
    cluster.pool("dear", a_pool(&SMALL, 10, 2.0));
    cluster.pool("cheap", a_pool(&SMALL, 10, 1.0));
    cluster.pool("tiny", a_pool(&[("cpu", "1"), ("memory", "1Gi")], 10, 0.01));
    cluster.pending("web-1", &[("cpu", "3")]);
    let plan = checked(&mut cluster);
    assert_eq!((made(&plan, "cheap"), made(&plan, "dear"), made(&plan, "tiny")), (1, 0, 0));
}

#[test]
fn a_stock_out_leads_to_the_next_pool() {
    let mut cluster = Cluster::new();
    cluster.pool("dear", a_pool(&SMALL, 10, 2.0));
    cluster.pool("cheap", a_pool(&SMALL, 10, 1.0));
    let key = crate::memory::BackOffKey { pool: "cheap".into(), ..Default::default() };
    cluster.memory.ledger.note_failure(key, ErrorClass::StockOut, cluster.now);
    cluster.pending("web-1", &[("cpu", "3")]);
    assert_eq!(made(&checked(&mut cluster), "dear"), 1);
    cluster.now += Span::from_hours(1);
    assert_eq!(made(&checked(&mut cluster), "cheap"), 1, "it returns to the preferred pool");
}

#[test]
fn a_pool_that_could_never_serve_says_so_even_while_it_is_backed_off() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    let key = crate::memory::BackOffKey { pool: "cpu".into(), ..Default::default() };
    cluster.memory.ledger.note_failure(key, ErrorClass::StockOut, cluster.now);
    cluster.pending("huge", &[("cpu", "64")]);
    let plan = checked(&mut cluster);
    let reason = &plan.report.infeasible[0].pools[0].reason;
    assert!(matches!(reason, SkipReason::DoesNotFit { .. }), "{reason:?}");
}

#[test]
fn a_gang_gets_all_or_nothing() {
    let mut cluster = Cluster::new();
    cluster.pool("gpu", a_pool(&[("cpu", "32"), ("memory", "64Gi"), ("nvidia.com/gpu", "8")], 2, 20.0));
    for member in 0..3 {
        let pod = cluster.pending(&format!("train-{member}"), &[("cpu", "8"), ("nvidia.com/gpu", "8")]);
        pod.metadata.labels = labels(&[("ballast.dev/gang", "train"), ("ballast.dev/gang-size", "3")]);
    }
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, [], "two nodes would not do");
    let reason = &plan.report.infeasible[0].pools[0].reason;
    assert_eq!(*reason, SkipReason::AtLimit { limit: Limit::PoolMax });
    cluster.pools.get_mut("gpu").expect("it is there").max = 3;
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "gpu"), 3);
    assert_eq!(plan.actions[0].reason.code, ActionCode::PendingGang);
}

fn a_waiting_gang(cluster: &mut Cluster, members: u32) {
    for member in 0..members {
        let pod = cluster.pending(&format!("train-{member}"), &[("cpu", "3")]);
        let size = members.to_string();
        pod.metadata.labels = labels(&[("ballast.dev/gang", "train"), ("ballast.dev/gang-size", &size)]);
    }
}

#[test]
fn the_growth_budget_counts_a_gang_whole() {
    let mut cluster = Cluster::new();
    cluster.policy.growth = crate::policy::Growth::default();
    cluster.pool("cpu", a_pool(&SMALL, 20, 1.0));
    a_waiting_gang(&mut cluster, 8);
    cluster.pending("web", &[("cpu", "3")]);
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 8, "the gang whole, and nothing besides until it is up");
    assert!(plan.actions.iter().all(|action| &*action.gang == "default/train"));
    let reason = &plan.report.infeasible[0].pools[0].reason;
    assert_eq!(*reason, SkipReason::AtLimit { limit: Limit::Growth });
}

#[test]
fn what_was_launched_for_a_gang_is_kept_for_it_and_given_back_at_its_deadline() {
    let mut cluster = Cluster::new();
    let pool = cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    pool.scale_down.cool_down = Span::ZERO;
    let deadline = pool.times.gang_deadline;
    a_waiting_gang(&mut cluster, 3);
    let plan = checked(&mut cluster);
    let nodes: Vec<String> = plan.actions.iter().map(|action| action.target.name.to_string()).collect();
    // Two of the three come up; the third finds no machine, and none will be had for long.
    nodes[..2].iter().for_each(|name| _ = cluster.node(name, "cpu"));
    let key = crate::memory::BackOffKey { pool: "cpu".into(), ..Default::default() };
    cluster.memory.ledger.note_failure(key, ErrorClass::StockOut, cluster.now);
    cluster.memory.ledger.back_off[0].until = crate::units::Time::FAR_FUTURE;
    let launched = cluster.now;
    cluster.now = launched + deadline - Span::from_secs(1);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    let held = UnsafeToRemove::HeldForGang { gang: "default/train".into(), until: launched + deadline };
    assert_eq!(kept(&plan, &nodes[0]), Some(held));
    cluster.now = launched + deadline;
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, nodes[1].clone())], "one, as the budget allows");
    assert_eq!(plan.actions[0].reason.code, ActionCode::GangGivenUp);
}

#[test]
fn a_gang_that_is_gone_holds_nothing() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    a_waiting_gang(&mut cluster, 2);
    checked(&mut cluster);
    assert_eq!(cluster.memory.history.gangs.len(), 1);
    cluster.pods.clear();
    checked(&mut cluster);
    assert_eq!(cluster.memory.history.gangs.len(), 0);
}

#[test]
fn zones_of_a_pool_grow_evenly() {
    let mut cluster = Cluster::new();
    let pool = cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    pool.template.zones = vec!["a".into(), "b".into(), "c".into()];
    cluster.node("n1", "cpu");
    cluster.running("old", "n1", &[("cpu", "4")]);
    for pod in 0..5 {
        cluster.pending(&format!("web-{pod}"), &[("cpu", "3")]);
    }
    let plan = checked(&mut cluster);
    let mut zones: Vec<&str> = plan.actions.iter().map(|action| &*action.target.zone).collect();
    zones.sort();
    assert_eq!(zones, ["a", "b", "b", "c", "c"], "one node is in zone a already");
}

#[test]
fn a_stopped_instance_counts_in_its_own_zone() {
    let mut cluster = Cluster::new();
    let pool = cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    pool.min = 1;
    pool.template.zones = vec!["a".into(), "b".into()];
    cluster.instance("off", "cpu", InstanceState::Stopped);
    cluster.instances.values_mut().for_each(|instance| instance.zone = "b".into());
    let plan = checked(&mut cluster);
    let started = |plan: &Plan| (plan.actions[0].kind, plan.actions[0].target.zone.to_string());
    assert_eq!(started(&plan), (ActionKind::StartInstance, "b".into()));
    let key = crate::memory::BackOffKey { pool: "cpu".into(), zone: "b".into(), ..Default::default() };
    cluster.memory.ledger.note_failure(key, ErrorClass::StockOut, cluster.now);
    let plan = checked(&mut cluster);
    assert_eq!(started(&plan), (ActionKind::CreateInstance, "a".into()), "zone b has none to give");
}

#[test]
fn pools_of_a_balance_group_grow_evenly_and_others_in_order() {
    let grown = |group: Option<&str>| {
        let mut cluster = Cluster::new();
        for name in ["left", "right"] {
            cluster.pool(name, a_pool(&SMALL, 10, 1.0)).balance_group = group.map(Into::into);
        }
        for pod in 0..4 {
            cluster.pending(&format!("web-{pod}"), &[("cpu", "3")]);
        }
        let plan = checked(&mut cluster);
        (made(&plan, "left"), made(&plan, "right"))
    };
    assert_eq!(grown(Some("alike")), (2, 2));
    assert_eq!(grown(None), (4, 0));
}

#[test]
fn a_gang_waits_for_its_members() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    let pod = cluster.pending("train-0", &[("cpu", "3")]);
    pod.metadata.labels = labels(&[("ballast.dev/gang", "train"), ("ballast.dev/gang-size", "3")]);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    assert_eq!(plan.report.waiting[0].on, WaitingOn::Gang { present: 1, needed: 3 });
}

#[test]
fn limits_bind_and_say_so() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.policy.limits.cost_per_hour = crate::units::Money::from_f64(2.5);
    for pod in 0..4 {
        cluster.pending(&format!("web-{pod}"), &[("cpu", "3")]);
    }
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 2);
    assert_eq!(plan.actions[0].reason.limit, Some(Limit::CostPerHour));
    let reason = &plan.report.infeasible[0].pools[0].reason;
    assert_eq!(*reason, SkipReason::AtLimit { limit: Limit::CostPerHour });
}

#[test]
fn a_minimum_and_headroom_are_kept() {
    let mut cluster = Cluster::new();
    let pool = cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    pool.min = 2;
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 2);
    assert_eq!(plan.actions[0].reason.code, ActionCode::BelowMinimum);
    let headroom = crate::policy::Headroom { requests: crate::fixtures::amounts(&[("cpu", "3")]), count: 3 };
    let pool = cluster.pools.get_mut("cpu").expect("it is there");
    (pool.min, pool.headroom) = (0, vec![headroom]);
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 3);
    assert_eq!(plan.actions[0].reason.code, ActionCode::Headroom);
}

#[test]
fn idle_nodes_go_after_their_time_and_not_before() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    cluster.node("n2", "cpu");
    let at = cluster.now + Span::from_mins(10);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    assert_eq!(kept(&plan, "n2"), Some(UnsafeToRemove::TooSoon { at }));
    assert_eq!(plan.report.next_look, Some(cluster.now + Span::from_secs(60)));
    cluster.now = at;
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, "n2".to_owned())], "one by one: the budget");
    assert_eq!(plan.actions[0].reason.limit, Some(Limit::PoolRemovalBudget));
    assert_eq!(plan.actions[0].precondition.uid, plan.actions[0].target.uid);
}

#[test]
fn a_minimum_holds_while_a_removal_is_under_way() {
    let mut cluster = Cluster::new();
    let pool = cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    pool.min = 2;
    pool.scale_down.idle_after = Span::ZERO;
    pool.scale_down.payback = false;
    for name in ["n1", "n2", "n3"] {
        cluster.node(name, "cpu");
    }
    let removal = a_removal(&cluster, "n3");
    cluster.memory.ledger.removals.insert("n3".into(), removal);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    assert_eq!(kept(&plan, "n2"), Some(UnsafeToRemove::AtMinimum));
}

#[test]
fn what_is_displaced_must_fit_elsewhere_together() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    for node in ["n1", "n2", "n3"] {
        cluster.node(node, "cpu");
        cluster.running(&format!("web-{node}"), node, &[("cpu", "1900m")]);
    }
    cluster.without_removal_budgets();
    let plan = checked(&mut cluster);
    // Two fit on one node, three do not: exactly one goes.
    assert_eq!(plan.actions.len(), 1);
    assert_eq!(plan.actions[0].precondition.displaces.len(), 1);
}

#[test]
fn pods_that_must_stay_keep_their_node() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    cluster.node("n2", "cpu");
    cluster.running("web-1", "n1", &[("cpu", "1")]).metadata.owner_references.clear();
    cluster.running("db-1", "n2", &[("cpu", "1")]).metadata.annotations =
        std::sync::Arc::new([("karpenter.sh/do-not-disrupt".into(), "true".into())].into());
    cluster.without_removal_budgets();
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    let why = |node| match kept(&plan, node) {
        Some(UnsafeToRemove::PodBlocks { why, .. }) => Some(why),
        _ => None,
    };
    assert_eq!((why("n1"), why("n2")), (Some(PodBlock::Bare), Some(PodBlock::DoNotDisrupt)));
}

#[test]
fn a_source_that_failed_removes_nothing() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    for node in 0..6 {
        cluster.node(&format!("n{node}"), "cpu");
        cluster.running(&format!("web-{node}"), &format!("n{node}"), &[("cpu", "3")]);
    }
    cluster.without_removal_budgets();
    let mut store = cluster.store();
    cluster.pods.clear();
    for observation in cluster.observations() {
        store.observe(observation);
    }
    let (plan, _) = super::plan(&store.snapshot(), &cluster.memory, cluster.now, &mut Default::default());
    assert_eq!(plan.actions, [], "a list of pods that is suddenly empty is not believed");
    assert!(matches!(plan.report.holds[0].reason, HoldReason::SourceUnknown { .. }));
    for observation in cluster.observations() {
        store.observe(observation);
    }
    let (plan, _) = super::plan(&store.snapshot(), &cluster.memory, cluster.now, &mut Default::default());
    assert_eq!(plan.actions.len(), 6, "a second look agrees");
}

#[test]
fn gpu_nodes_start_until_their_devices_are_there() {
    let mut cluster = Cluster::new();
    cluster.pool("gpu", a_pool(&[("cpu", "32"), ("memory", "64Gi"), ("nvidia.com/gpu", "8")], 5, 20.0));
    let created = cluster.now - Span::from_mins(1);
    let node = cluster.node("g1", "gpu");
    node.status.allocatable.remove("nvidia.com/gpu");
    node.metadata.creation_timestamp = Some(created);
    cluster.pending("train-1", &[("cpu", "8"), ("nvidia.com/gpu", "8")]);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, [], "it waits for the devices and starts no second node");
    assert!(matches!(&plan.report.waiting[0].on, WaitingOn::Starting { count: 1, .. }));
}

/// An elastic workload of six units on two nodes that are full of it.
fn elastic_cluster() -> (Cluster, ElasticWish) {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 2, 1.0));
    for at in 0..6 {
        let node = ["n1", "n2"][at / 3];
        if at % 3 == 0 {
            cluster.node(node, "cpu");
        }
        cluster.running(&format!("train-{at}"), node, &[("cpu", "1300m")]);
    }
    let class = class_of(&cluster, "train-0");
    let wish = ElasticWish {
        scaler: Scaler::Jobs,
        namespace: "default".into(),
        workload: "train".into(),
        class,
        floor: 2,
        at_most: 8,
        priority: 0,
    };
    (cluster, wish)
}

fn class_of(cluster: &Cluster, pod: &str) -> u32 {
    let snapshot = cluster.store().snapshot();
    let mut pods = snapshot.nodes().flat_map(|node| node.pods.clone());
    pods.find(|&number| &*snapshot.pod(number).name == pod)
        .map(|number| snapshot.pod(number).class)
        .expect("it runs")
}

fn units(plan: &Plan, workload: &str) -> u32 {
    plan.grants.iter().find(|grant| &*grant.workload == workload).expect("it wished").units
}

fn plan_elastic(cluster: &Cluster, wish: &ElasticWish) -> Plan {
    let snapshot = cluster.store().snapshot();
    super::plan_with(
        &snapshot,
        &cluster.memory,
        cluster.now,
        &mut Default::default(),
        std::slice::from_ref(wish),
    )
    .0
}

#[test]
fn an_elastic_workload_gives_back_exactly_what_a_higher_wish_needs() {
    let (mut cluster, wish) = elastic_cluster();
    assert_eq!(units(&plan_elastic(&cluster, &wish), "train"), 6, "nobody asks: it keeps what it has");
    cluster.pending("web-1", &[("cpu", "1")]);
    let plan = plan_elastic(&cluster, &wish);
    assert_eq!((units(&plan, "train"), units(&plan, "web")), (5, 1));
    assert_eq!(plan.actions, [], "no machine is started for what a workload can yield");
    cluster.pending("big-1", &[("cpu", "2500m")]);
    assert_eq!(units(&plan_elastic(&cluster, &wish), "train"), 3);
}

#[test]
fn an_elastic_workload_keeps_its_floor() {
    let (mut cluster, wish) = elastic_cluster();
    for pod in 0..10 {
        cluster.pending(&format!("web-{pod}"), &[("cpu", "1")]);
    }
    let plan = plan_elastic(&cluster, &wish);
    assert_eq!(units(&plan, "train"), 2);
    assert_eq!(units(&plan, "web"), 5);
}

#[test]
fn a_gang_floor_is_met_by_what_yields_or_not_at_all() {
    let (mut cluster, wish) = elastic_cluster();
    for member in 0..2 {
        let pod = cluster.pending(&format!("gang-{member}"), &[("cpu", "2500m")]);
        pod.metadata.labels = labels(&[("ballast.dev/gang", "g"), ("ballast.dev/gang-size", "2")]);
    }
    let plan = plan_elastic(&cluster, &wish);
    assert_eq!(
        (units(&plan, "gang"), units(&plan, "train")),
        (0, 6),
        "only one member would fit: nobody moves"
    );
    let (mut cluster, wish) = elastic_cluster();
    for member in 0..2 {
        let pod = cluster.pending(&format!("gang-{member}"), &[("cpu", "1300m")]);
        pod.metadata.labels = labels(&[("ballast.dev/gang", "g"), ("ballast.dev/gang-size", "2")]);
    }
    let plan = plan_elastic(&cluster, &wish);
    assert_eq!((units(&plan, "gang"), units(&plan, "train")), (2, 4));
}

#[test]
fn surplus_goes_to_elastic_workloads() {
    let (mut cluster, wish) = elastic_cluster();
    cluster.pools.get_mut("cpu").expect("it is there").max = 3;
    cluster.node("n3", "cpu");
    assert_eq!(units(&plan_elastic(&cluster, &wish), "train"), 8, "as much as it can use");
}

#[test]
fn a_new_instance_gets_a_name_that_nobody_has() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("cpu-1", "cpu");
    cluster.pending("web-1", &[("cpu", "4")]);
    cluster.pending("web-2", &[("cpu", "4")]);
    assert_eq!(kinds(&checked(&mut cluster)), [(ActionKind::CreateInstance, "cpu-2".to_owned())]);
}

#[test]
fn what_a_plan_adds_does_not_raise_what_it_may_remove() {
    let mut cluster = Cluster::new();
    cluster.pool("idle", a_pool(&SMALL, 20, 1.0));
    cluster.pool("wanted", a_pool(&[("cpu", "64"), ("memory", "64Gi")], 20, 1.0));
    for node in 0..10 {
        cluster.node(&format!("n{node}"), "idle");
    }
    for pod in 0..10 {
        cluster.pending(&format!("big-{pod}"), &[("cpu", "60")]);
    }
    cluster.without_removal_budgets();
    cluster.policy.removal.per_cluster.share = crate::units::Share::percent(20);
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "wanted"), 10);
    assert_eq!(plan.actions.len(), 10 + 2, "a fifth of the ten that were there");
}

/// A node that is being emptied, with what its removal displaces.
fn emptying(cluster: &mut Cluster, node: &str) {
    let removal = crate::memory::Removal {
        pool: "cpu".into(),
        uid: format!("uid-{node}").into(),
        provider_id: format!("sim:///{node}").into(),
        token: Default::default(),
        mark: "m".into(),
        mode: Default::default(),
        release: false,
        since: cluster.now,
        deadline: cluster.now + Span::from_mins(15),
        waits: false,
        stopping: false,
        displaces: Vec::new(),
    };
    cluster.memory.ledger.removals.insert(node.into(), removal);
    let object = cluster.nodes.get_mut(node).expect("it is there");
    object.spec.unschedulable = true;
}

#[test]
fn what_a_removal_under_way_displaces_keeps_its_place() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.without_removal_budgets();
    ["n1", "n2", "n3"].iter().for_each(|name| _ = cluster.node(name, "cpu"));
    // Only one of the two fits on the third.
    for (pod, node) in [("a", "n1"), ("b", "n2")] {
        let pod = cluster.running(pod, node, &[("cpu", "1900m")]);
        pod.metadata.owner_references = vec![crate::kube::OwnerReference {
            kind: "ReplicaSet".into(),
            name: "web".into(),
            controller: true,
            ..Default::default()
        }];
    }
    cluster.running("c", "n3", &[("cpu", "1")]);
    emptying(&mut cluster, "n1");
    let plan = checked(&mut cluster);
    assert_eq!(kept(&plan, "n2"), Some(UnsafeToRemove::NeededByGrant));
    assert_eq!(plan.actions, []);
}

#[test]
fn what_is_on_its_way_out_does_not_widen_the_budget() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 30, 1.0));
    cluster.without_removal_budgets();
    cluster.policy.removal.per_pool.share = crate::units::Share::percent(20);
    (10..20).for_each(|at| _ = cluster.node(&format!("n{at}"), "cpu"));
    emptying(&mut cluster, "n19");
    let since = cluster.now;
    cluster.memory.ledger.removed.push(crate::memory::Addition { at: since, pool: "cpu".into() });
    // Nine stay and one went: two of ten may go within the window, and one has.
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, "n18".into())]);
}
