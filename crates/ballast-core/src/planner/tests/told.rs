//! What a report tells besides actions: which pools were weighed, what is held and until when, what is on its way out.

use super::*;
use crate::memory::{Addition, BackOff, BackOffKey};
use crate::plan::{Hold, Offer, Subject};
use crate::policy::Strategy;
use crate::units::{Money, Share};

/// A pod that a node of either pool would carry.
fn two_pools(dear: f64) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("cheap", a_pool(&SMALL, 10, 1.0));
    cluster.pool("dear", a_pool(&SMALL, 10, dear));
    cluster.pending("web-1", &[("cpu", "3"), ("memory", "12Gi")]);
    cluster
}

fn options(plan: &Plan) -> Vec<(&str, u32, u32, bool)> {
    let option = |step: &'_ Step| match step {
        Step::Option { pool, nodes, pods, chosen, .. } => Some((pool.clone(), *nodes, *pods, *chosen)),
        _ => None,
    };
    let names = ["cheap", "dear"];
    let all = plan.report.trace.iter().filter_map(option);
    all.map(|(pool, nodes, pods, chosen)| {
        let name = names.into_iter().find(|name| **name == *pool).expect("one of the two");
        (name, nodes, pods, chosen)
    })
    .collect()
}

#[test]
fn a_choice_between_pools_is_told_with_its_figures() {
    let mut cluster = two_pools(2.0);
    cluster.pending("web-2", &[("cpu", "3"), ("memory", "12Gi")]);
    let plan = checked(&mut cluster);
    assert_eq!(options(&plan), [("cheap", 2, 2, true), ("dear", 1, 1, false)]);
    let offer = |price: i64| Offer { pods: 1, price: Money::from_micros(price), waste_milli: 250 };
    let [skip] = &plan.report.skipped[..] else { panic!("{:?}", plan.report.skipped) };
    let reason = SkipReason::NotBest {
        chosen: "cheap".into(),
        by: Strategy::Price,
        offer: offer(2_000_000),
        better: offer(1_000_000),
    };
    assert_eq!((&*skip.pool, &skip.reason), ("dear", &reason));
}

#[test]
fn a_pool_that_could_not_be_chosen_says_why() {
    let class = ErrorClass::StockOut;
    let mut cluster = two_pools(2.0);
    let until = cluster.now + Span::from_mins(2);
    let key = BackOffKey { pool: "cheap".into(), ..BackOffKey::default() };
    cluster.memory.ledger.back_off = vec![BackOff { key, class, failures: 1, until }];
    let plan = checked(&mut cluster);
    assert_eq!(options(&plan), [("dear", 1, 1, true)]);
    assert_eq!(plan.report.skipped[0].reason, SkipReason::BackOff { class, until });

    let mut cluster = two_pools(2.0);
    cluster.pools.get_mut("cheap").unwrap().max = 0;
    let plan = checked(&mut cluster);
    assert_eq!(options(&plan), [("dear", 1, 1, true), ("cheap", 1, 1, false)]);
    assert_eq!(plan.report.skipped[0].reason, SkipReason::AtLimit { limit: Limit::PoolMax });
}

#[test]
fn nothing_is_weighed_where_nothing_is_started() {
    let mut cluster = two_pools(2.0);
    cluster.node("n1", "dear");
    let plan = cluster.plan();
    assert_eq!((options(&plan).len(), plan.report.skipped.len()), (0, 0));
}

/// A machine that is off goes before one to be created only where the strategy makes no difference: else a dear machine would
/// win because it happens to exist.
#[test]
fn between_pools_the_strategy_decides_before_what_is_off() {
    for (dear, taken) in [(1.01, "cheap"), (1.0, "dear")] {
        let mut cluster = two_pools(dear);
        cluster.instance("off-1", "dear", InstanceState::Stopped);
        assert_eq!(&*checked(&mut cluster).actions[0].target.pool, taken);
    }
}

/// Nodes that nobody needs, and budgets of so many percent.
fn idle(nodes: u32, percent: u32) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 100, 1.0));
    (0..nodes).for_each(|number| _ = cluster.node(&format!("n{number}"), "cpu"));
    cluster.without_removal_budgets();
    for budget in [&mut cluster.policy.removal.per_pool, &mut cluster.policy.removal.per_cluster] {
        (budget.share, budget.window) = (Share::percent(percent), Span::from_mins(10));
    }
    cluster
}

fn held(plan: &Plan) -> Vec<(Subject, HoldReason, Option<crate::units::Time>)> {
    plan.report
        .holds
        .iter()
        .map(|Hold { subject, reason, until }| (subject.clone(), reason.clone(), *until))
        .collect()
}

#[test]
fn a_budget_that_keeps_nodes_is_held_until_its_window_slides() {
    let cpu = Subject::Pool { name: "cpu".into() };
    let mut cluster = idle(10, 20);
    let limit = Limit::PoolRemovalBudget;
    let until = Some(cluster.now + Span::from_mins(10));
    let plan = cluster.plan();
    assert_eq!(plan.actions.len(), 2);
    assert_eq!(plan.actions[0].reason.limit, Some(limit.clone()));
    assert_eq!(held(&plan), [(cpu.clone(), HoldReason::RemovalBudget { limit: limit.clone() }, until)]);

    let at = cluster.now - Span::from_mins(4);
    cluster.memory.ledger.removed = vec![Addition { at, pool: "cpu".into() }; 2];
    let until = Some(at + Span::from_mins(10));
    assert_eq!(held(&cluster.plan()), [(cpu, HoldReason::RemovalBudget { limit }, until)]);

    cluster.policy.removal.per_pool.share = Share::percent(100);
    let limit = Limit::ClusterRemovalBudget;
    assert_eq!(held(&cluster.plan()), [(Subject::Cluster, HoldReason::RemovalBudget { limit }, until)]);
    cluster.policy.removal.per_cluster.share = Share::percent(0);
    assert_eq!(held(&cluster.plan())[0].2, None, "it allows none at all");
}

#[test]
fn a_cool_down_is_held_until_it_has_passed() {
    let mut cluster = idle(3, 100);
    cluster.pools.get_mut("cpu").unwrap().scale_down.cool_down = Span::from_mins(10);
    let at = cluster.now - Span::from_mins(1);
    cluster.memory.ledger.added = vec![Addition { at, pool: "cpu".into() }];
    let until = Some(at + Span::from_mins(10));
    let cpu = Subject::Pool { name: "cpu".into() };
    assert_eq!(held(&cluster.plan()), [(cpu, HoldReason::CoolDown, until)]);
}

#[test]
fn a_growth_budget_that_is_spent_is_held_until_more_may_start() {
    let mut cluster = two_pools(2.0);
    cluster.pools.remove("dear");
    cluster.pending("web-2", &[("cpu", "3")]);
    (cluster.policy.growth.starting_minimum, cluster.policy.growth.per_minute_minimum) = (1, 1);
    let until = Some(cluster.now + Span::from_mins(1));
    let plan = checked(&mut cluster);
    let cheap = Subject::Pool { name: "cheap".into() };
    assert_eq!((plan.actions.len(), held(&plan)), (1, vec![(cheap, HoldReason::GrowthBudget, until)]));
    assert_eq!(plan.actions[0].reason.limit, Some(Limit::Growth));
}

#[test]
fn what_keeps_more_nodes_from_going_is_told_with_those_that_go() {
    let mut cluster = idle(3, 100);
    cluster.pools.get_mut("cpu").unwrap().min = 2;
    let plan = cluster.plan();
    assert_eq!((plan.actions.len(), &plan.actions[0].reason.limit), (1, &Some(Limit::PoolMin)));
}

#[test]
fn nodes_on_their_way_out_say_what_they_wait_for() {
    let mut cluster = idle(2, 100);
    cluster.running("web-1", "n0", &[("cpu", "1")]);
    cluster.running("train-1", "n0", &[("cpu", "1")]);
    let mut removal = a_removal(&cluster, "n0");
    removal.waits_for = vec!["uid-train-1".into()];
    cluster.memory.ledger.removals.insert("n0".into(), removal);
    let plan = cluster.plan();
    let told: Vec<(&Subject, &WaitingOn)> =
        plan.report.waiting.iter().map(|waiting| (&waiting.subject, &waiting.on)).collect();
    let node = Subject::Node { name: "n0".into() };
    let (work, drain) = (WaitingOn::Completion { pods: 1 }, WaitingOn::Drain { pods: 1 });
    assert_eq!(told, [(&node, &work), (&node, &drain)]);
}

#[test]
fn what_is_planned_with_though_it_is_not_judged_is_told() {
    use crate::kube::{Disk, PodVolume, Toleration, TolerationOperator};
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    let pod = cluster.pending("web-0", &[("cpu", "1")]);
    let everything = Toleration { operator: Some(TolerationOperator::Exists), ..Toleration::default() };
    let disk = PodVolume { azure_disk: Some(Disk::default()), ..PodVolume::default() };
    crate::fixtures::with_spec(pod, |spec| (spec.tolerations, spec.volumes) = (vec![everything], vec![disk]));
    let told = |cluster: &mut Cluster| {
        let plan = checked(cluster);
        assert_eq!(made(&plan, "cpu"), 1, "it gets a node all the same");
        plan.report
            .unmodelled
            .iter()
            .map(|one| one.feature.split(':').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&mut cluster), ["disk without a claim"]);
    cluster.node("n0", "cpu").spec.unschedulable = true;
    assert_eq!(told(&mut cluster), ["disk without a claim", "pod that tolerates unschedulable nodes"]);
}
