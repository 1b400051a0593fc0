//! Growth in small clusters, one rule each.

use super::*;

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
fn time_slices_of_devices_count_each() {
    let mut cluster = Cluster::new();
    let sliced = [("cpu", "100"), ("memory", "100Gi"), ("nvidia.com/gpu", "80")];
    cluster.pool("gpu", a_pool(&sliced, 10, 1.0));
    for pod in 0..81 {
        cluster.pending(&format!("web-{pod}"), &[("cpu", "1"), ("nvidia.com/gpu", "1")]);
    }
    assert_eq!(made(&checked(&mut cluster), "gpu"), 2);
    cluster.policy.limits.gpus.insert("*".into(), 159);
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "gpu"), 1, "two would be 160");
    cluster.policy.limits.gpus.insert("*".into(), 160);
    assert_eq!(made(&checked(&mut cluster), "gpu"), 2);
}

#[test]
fn which_pool_is_chosen_does_not_depend_on_its_name() {
    use crate::policy::Strategy;
    // Cheap by price, the others by priority or waste: pools of one strategy by it, then the best of each by price.
    let pools = [
        (Strategy::Price, 0, 2.0),
        (Strategy::Priority, 10, 3.0),
        (Strategy::Priority, 5, 1.0),
        (Strategy::LeastWaste, 0, 2.5),
    ];
    for first in 0..pools.len() {
        let mut cluster = Cluster::new();
        for at in 0..pools.len() {
            let (strategy, priority, price) = pools[(first + at) % pools.len()];
            let pool = cluster.pool(&format!("pool-{at}"), a_pool(&SMALL, 10, price));
            (pool.strategy, pool.priority) = (strategy, priority);
        }
        cluster.pending("web-1", &[("cpu", "4")]);
        let chosen = checked(&mut cluster).actions[0].target.pool.clone();
        let price = cluster.pools[&chosen].price.per_hour.expect("it has one");
        assert_eq!(price, crate::units::Money::from_f64(2.0).expect("it is one"), "{chosen}");
    }
}

#[test]
fn a_resource_that_nobody_asks_for_any_more_gives_its_dimension_back() {
    let rare = |at: usize| format!("example.com/{at}");
    let mut cluster = Cluster::new();
    let mut spec = a_pool(&SMALL, 10, 1.0);
    spec.template
        .allocatable
        .extend((0..8).map(|at| (rare(at).into(), crate::units::Quantity::from_units(1))));
    cluster.pool("cpu", spec);
    let mut store = cluster.store();
    let mut plan_for = |wanted: std::ops::Range<usize>| {
        cluster.pods.clear();
        for at in wanted {
            cluster.pending(&format!("pod{at}-1"), &[("cpu", "4"), (&rare(at), "1")]);
        }
        cluster.observations().into_iter().for_each(|observation| store.observe(observation));
        crate::planner::plan(&store.snapshot(), &cluster.memory, cluster.now, &mut Default::default()).0
    };
    assert_eq!(made(&plan_for(0..6), "cpu"), 6);
    assert_eq!(made(&plan_for(2..8), "cpu"), 6, "two others have come in place of two that went");
    let plan = plan_for(0..8);
    assert_eq!(made(&plan, "cpu"), 6);
    let features: Vec<&str> = plan.report.unmodelled.iter().map(|unknown| &*unknown.feature).collect();
    assert_eq!(features, ["resource example.com/6", "resource example.com/7"], "the last by name");
}
