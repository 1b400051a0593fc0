//! What is said, by what is so; and that nothing of it changes where nothing changes.

mod asks;
mod events;

use proptest::prelude::*;

use super::plan::{Shown, few};
use super::{
    ConditionReason, ConditionStatus, ConditionType, DocumentRef, DocumentStatus, Fault, PlanSaid, PlanState,
    Published, PublishedPlan, Said,
};
use crate::documents::DocumentKind;
use crate::engine::Engine;
use crate::fixtures::{Cluster, a_pool, labels, noon};
use crate::memory::{Approval, ApprovalState, BackOff, BackOffKey};
use crate::observation::{ErrorClass, InstanceState, Observation, Source, SourceError};
use crate::plan::{Action, PlanId};
use crate::policy::{Mode, Pause};
use crate::units::{Span, Time};

/// A pool of nodes of four cores that stay, one of them in use.
fn a_cluster() -> Cluster {
    let mut cluster = Cluster::new();
    let pool = cluster.pool("cpu", a_pool(&[("cpu", "4")], 5, 1.0));
    pool.scale_down.enabled = false;
    cluster.node("n1", "cpu");
    cluster.running("web-1", "n1", &[("cpu", "3")]);
    cluster
}

/// What an engine says that has seen a cluster.
fn published(cluster: &Cluster) -> Published {
    let mut engine = Engine::new(None).unwrap();
    let _ = engine.tick(cluster.now, cluster.observations());
    engine.published(cluster.now)
}

fn of_pool(published: &Published) -> &Said {
    let (kind, namespace, name) = (DocumentKind::VmPool, "".into(), "cpu".into());
    &published.documents[&DocumentRef { kind, namespace, name }]
}

fn of_cluster(published: &Published) -> &Said {
    let found = published.documents.iter().find(|(own, _)| own.kind == DocumentKind::ClusterPolicy);
    found.expect("there is a policy").1
}

/// What is said, as it stands in the API.
fn stand(said: &Said) -> DocumentStatus {
    DocumentStatus::default().merge(said, 1, None, noon())
}

fn told(said: &Said, kind: ConditionType) -> (ConditionStatus, String, String) {
    let all: Vec<&ConditionReason> = said.conditions.iter().filter(|own| own.kind() == kind).collect();
    let [one] = all[..] else { panic!("{all:?}") };
    (one.status(), one.code().to_string(), one.to_string())
}

#[test]
fn every_document_has_one_condition_of_each_type_in_order() {
    let published = published(&a_cluster());
    assert_eq!(published.documents.len(), 2);
    for said in published.documents.values().chain([&Said::passed_over(&fault(false))]) {
        let kinds: Vec<ConditionType> = said.conditions.iter().map(ConditionReason::kind).collect();
        assert_eq!(kinds, ConditionType::ALL);
    }
}

#[test]
fn numbers_count_what_is_and_what_shall_be() {
    let mut cluster = a_cluster();
    cluster.policy.mode = Mode::Recommend;
    cluster.instance("off", "cpu", InstanceState::Stopped);
    cluster.pending("job-1", &[("cpu", "3")]);
    cluster.pending("job-2", &[("cpu", "3")]);
    let published = published(&cluster);
    let pool = of_pool(&published);
    assert_eq!((pool.current, pool.desired, pool.pending), (Some(1), Some(3), Some(2)));
    assert_eq!((pool.cost_per_hour.as_deref(), pool.mode), (Some("1.00"), Mode::Recommend));
    assert_eq!(told(pool, ConditionType::Active).1, "OnlyRecommends");
    let plan = of_cluster(&published).plan.as_ref().expect("a plan");
    assert_eq!((plan.state, plan.actions.len(), plan.more), (PlanState::Proposed, 2, 0));
    assert_eq!(plan.summary, "2 nodes more; 1.00 → 3.00 USD an hour");
    // Where it acts, the same machines are under way and counted once.
    cluster.policy.mode = Mode::Enforce;
    let published = self::published(&cluster);
    let pool = of_pool(&published);
    assert_eq!((pool.current, pool.desired), (Some(3), Some(3)));
    assert_eq!(told(pool, ConditionType::Active).2, "2 nodes coming");
    let last = pool.last_action.as_ref().expect("something was begun");
    assert_eq!(last.decision.plan, of_cluster(&published).plan.as_ref().unwrap().id);
}

/// Changes a cluster so that a condition of its pool, or of the policy, is told so.
type Case = (fn(&mut Cluster), DocumentKind, ConditionType, ConditionStatus, &'static str, &'static str);

/// Every condition, as it is and as it is not.
const CONDITIONS: &[Case] = {
    use ConditionStatus::{False, True};
    use ConditionType::{Active, Conflicted, Degraded, Limited, Paused, Ready};
    use DocumentKind::{ClusterPolicy, VmPool};
    &[
        (|_| {}, VmPool, Ready, True, "Ready", "seen, valid and heeded"),
        (|_| {}, ClusterPolicy, Ready, True, "Ready", "seen, valid and heeded"),
        (
            |cluster| cluster.policy.limits.nodes = None,
            ClusterPolicy,
            Ready,
            False,
            "LimitsNotSet",
            "Enforce needs limits.nodes and limits.costPerHour",
        ),
        (|_| {}, VmPool, Active, False, "AtRest", "nothing to change"),
        (|_| {}, VmPool, Limited, False, "WithinLimits", "no limit binds"),
        (
            |cluster| {
                cluster.pools.get_mut("cpu").unwrap().max = 1;
                cluster.pending("job-1", &[("cpu", "3")]);
            },
            VmPool,
            Limited,
            True,
            "PoolMax",
            "the pool's max leaves too little room",
        ),
        (
            |cluster| {
                cluster.policy.limits.nodes = Some(1);
                cluster.pending("job-1", &[("cpu", "3")]);
            },
            ClusterPolicy,
            Limited,
            True,
            "Nodes",
            "the cluster's limit on nodes leaves too little room",
        ),
        (|_| {}, VmPool, Paused, False, "NotPaused", "nothing is held still"),
        (
            |cluster| {
                cluster.pools.get_mut("cpu").unwrap().pause.down = true;
                cluster.policy.pause =
                    Pause { up: true, reason: Some("moving house".into()), ..Pause::default() };
            },
            VmPool,
            Paused,
            True,
            "Paused",
            "growth and removal held still: moving house",
        ),
        (|_| {}, ClusterPolicy, Degraded, False, "AllWell", "all is well"),
        (
            |cluster| {
                for at in 2..5 {
                    let node = cluster.node(&format!("n{at}"), "cpu");
                    node.status.conditions[0].status = "False".into();
                }
            },
            VmPool,
            Degraded,
            True,
            "HealthGate",
            "3 of 4 nodes are unwell: nothing is removed",
        ),
        (|_| {}, VmPool, Conflicted, False, "Alone", "no other autoscaler is seen"),
        (
            |cluster| {
                let node = cluster.nodes.get_mut("n1").unwrap();
                let own = labels(&[("karpenter.sh/nodepool", "default"), ("ballast.dev/pool", "cpu")]);
                node.metadata.labels = own;
            },
            VmPool,
            Conflicted,
            True,
            "ForeignAutoscaler",
            "nodes carry marks of Karpenter",
        ),
    ]
};

#[test]
fn conditions_say_what_is_so() {
    for (change, document, kind, status, code, words) in CONDITIONS {
        let mut cluster = a_cluster();
        change(&mut cluster);
        let published = published(&cluster);
        let said =
            if *document == DocumentKind::VmPool { of_pool(&published) } else { of_cluster(&published) };
        assert_eq!(told(said, *kind), (*status, (*code).to_owned(), (*words).to_owned()));
    }
}

#[test]
fn sources_and_failed_launches_degrade_without_telling_an_age() {
    let cluster = a_cluster();
    let mut engine = Engine::new(None).unwrap();
    let _ = engine.tick(cluster.now, cluster.observations());
    let error = SourceError { class: ErrorClass::Auth, message: "token=secret".into() };
    let failed =
        Observation { source: Source::instances(&"cpu".into()), taken_at: cluster.now, outcome: Err(error) };
    let later = cluster.now + Span::from_mins(6);
    let _ = engine.tick(later, vec![failed]);
    let published = engine.published(later);
    let (status, code, words) = told(of_pool(&published), ConditionType::Ready);
    assert_eq!((status, &*code), (ConditionStatus::False, "ProviderUnusable"));
    assert!(!words.contains("secret"), "{words}");
    let (_, code, words) = told(of_cluster(&published), ConditionType::Degraded);
    assert_eq!(code, "SourceUnknown");
    assert!(words.contains("has not answered for too long"), "{words}");
    let mut engine = Engine::new(None).unwrap();
    let key = BackOffKey { pool: "cpu".into(), zone: "z1".into(), ..BackOffKey::default() };
    let until = cluster.now + Span::from_mins(3);
    let back_off = BackOff { key, class: ErrorClass::StockOut, failures: 1, until };
    engine.memory_mut().ledger.back_off.push(back_off);
    let _ = engine.tick(cluster.now, cluster.observations());
    let published = engine.published(cluster.now);
    let (status, code, words) = told(of_pool(&published), ConditionType::Degraded);
    assert_eq!((status, &*code), (ConditionStatus::True, "BackOff"));
    assert_eq!(words, "a launch failed (the cloud has none to give); it is tried again");
}

fn fault(holds: bool) -> Fault {
    Fault { problem: "spec.max: must be a whole number".to_owned(), holds }
}

#[test]
fn an_invalid_document_says_so_and_whether_its_last_good_form_holds() {
    let published = published(&a_cluster());
    let said = of_pool(&published).clone().with_fault(&fault(true));
    let (status, code, words) = told(&said, ConditionType::Ready);
    assert_eq!((status, &*code), (ConditionStatus::False, "Invalid"));
    assert_eq!(words, "spec.max: must be a whole number; its last good form holds");
    assert_eq!(said.current, Some(1));
    let said = Said::passed_over(&fault(false));
    assert!(told(&said, ConditionType::Ready).2.ends_with("; it is passed over"));
}

#[test]
fn a_condition_keeps_its_time_while_its_status_is_the_same() {
    let (published, start) = (published(&a_cluster()), noon());
    let first = DocumentStatus::default().merge(of_pool(&published), 1, None, start);
    let later = start + Span::from_mins(5);
    let same = first.merge(of_pool(&published), 1, None, later);
    assert_eq!(same, first);
    let invalid = of_pool(&published).clone().with_fault(&fault(true));
    let third = first.merge(&invalid, 2, None, later);
    for condition in &third.conditions {
        let since = if &*condition.kind == "Ready" { later } else { start };
        assert_eq!((condition.last_transition_time, condition.observed_generation), (since, Some(2)));
    }
    // Whatever the API makes of it, it is read as it was written.
    let mut json = serde_json::to_value(&third).unwrap();
    json["conditions"].as_array_mut().unwrap().reverse();
    assert_eq!(DocumentStatus::read(json), third);
    assert_eq!(DocumentStatus::read(serde_json::json!({"conditions": 7})), DocumentStatus::default());
}

#[test]
fn what_was_begun_last_is_remembered_by_the_status() {
    let mut cluster = a_cluster();
    cluster.pending("job-1", &[("cpu", "3")]);
    let begun = published(&cluster);
    let first = DocumentStatus::default().merge(of_pool(&begun), 1, None, noon());
    assert!(first.last_action.is_some());
    let after_a_restart = published(&a_cluster());
    assert_eq!(of_pool(&after_a_restart).last_action, None);
    assert_eq!(first.merge(of_pool(&after_a_restart), 1, None, noon()).last_action, first.last_action);
}

/// The actions of a plan that starts so many nodes, in gangs of so many.
fn launches(count: u32, gang: u32) -> Vec<Action> {
    let mut cluster = a_cluster();
    cluster.pools.get_mut("cpu").unwrap().max = 1000;
    for at in 0..count {
        cluster.pending(&format!("job-{at}"), &[("cpu", "3")]);
    }
    let mut actions = cluster.plan().actions.to_vec();
    for (at, action) in actions.iter_mut().enumerate().filter(|_| gang > 0) {
        action.gang = format!("ml/g{}", at as u32 / gang).into();
    }
    actions
}

/// What is said of these actions where they wait for an approval.
fn proposed(actions: &[Action]) -> PlanSaid {
    PlanSaid::of(Shown::of(actions), PlanState::Proposed, String::new())
}

#[test]
fn a_published_plan_is_cut_between_gangs_and_its_id_is_of_what_is_left() {
    for (count, gang, published) in [(3, 0, 3), (60, 0, 50), (60, 20, 40), (60, 51, 51)] {
        let actions = launches(count, gang);
        let said = proposed(&actions);
        assert_eq!((said.actions.len(), said.more), (published, count - published as u32));
        assert_eq!((said.id, said.state), (PlanId::of(&actions[..published]), PlanState::Proposed));
        assert!(serde_json::to_vec(&said.actions).unwrap().len() <= 33 * 1024);
    }
    let mut long = launches(10, 0);
    for action in &mut long {
        action.precondition.waits_for = (0..200).map(|at| format!("{at:036}").into()).collect();
    }
    assert_eq!(proposed(&long).actions.len(), 4, "32 KiB");
}

#[test]
fn what_is_too_large_is_passed_over_with_words_and_never_proposed_alone() {
    let mut wide = launches(3, 0);
    wide[1].precondition.displaces = (0..101).map(|at| format!("pod-{at}").into()).collect();
    let said = proposed(&wide);
    assert_eq!((said.actions.len(), said.more, said.state), (2, 1, PlanState::Proposed));
    assert_eq!(said.id, PlanId::of(&[wide[0].clone(), wide[2].clone()]));
    assert_eq!(
        said.message,
        "cpu-2 is passed over: 101 pods would have to move, and no more than 100 are approved at once"
    );
    let many = launches(400, 200);
    let said = proposed(&many);
    assert_eq!((said.actions.len(), said.more, said.state), (0, 400, PlanState::Refused));
    let words = |gang: &str| {
        format!(
            "{gang} is passed over: its 200 actions are more than one object holds; `mode: Enforce` carries them out"
        )
    };
    assert_eq!(said.message, format!("{}; {}", words("ml/g0"), words("ml/g1")));
    let stands = said.merge(None, None, &[], noon());
    assert_eq!((stands.state, stands.valid_until), (PlanState::Refused, None));
    assert_eq!(said.merge(Some(&stands), None, &[], seconds(9000)), stands);
    let told: Vec<String> = (1..9).map(|at| at.to_string()).collect();
    assert_eq!(few(&told), "1; 2; 3; 4; 5; and 3 more");
}

/// A proposal of so many launches.
fn proposal(count: u32) -> PlanSaid {
    let actions = launches(count, 0);
    let state = if count == 0 { PlanState::Empty } else { PlanState::Proposed };
    PlanSaid::of(Shown::of(&actions), state, format!("{count} nodes more"))
}

fn seconds(span: i64) -> Time {
    noon() + Span::from_secs(span)
}

#[test]
fn a_proposal_keeps_its_time_and_is_renewed_at_half_its_life() {
    let said = proposal(1);
    let first = said.merge(None, None, &[], noon());
    assert_eq!((first.made_at, first.valid_until), (noon(), Some(seconds(600))));
    assert_eq!(said.merge(Some(&first), None, &[], seconds(299)), first);
    let renewed = said.merge(Some(&first), None, &[], seconds(300));
    assert_eq!((renewed.made_at, renewed.valid_until), (noon(), Some(seconds(900))));
    let after_an_outage = said.merge(Some(&first), None, &[], seconds(600));
    assert_eq!(after_an_outage.made_at, seconds(600), "nobody looked at it for so long: it is proposed anew");
    assert_eq!(proposal(2).merge(Some(&first), None, &[], seconds(10)).made_at, seconds(10));
    let none = proposal(0).merge(Some(&first), None, &[], seconds(10));
    assert_eq!((none.state, none.valid_until), (PlanState::Empty, None));
    assert_eq!(proposal(0).merge(Some(&none), None, &[], seconds(9000)), none);
}

#[test]
fn a_plan_that_is_carried_out_by_itself_is_under_way_then_done() {
    let enforced = |count: u32, under_way: &[PlanId]| {
        let mut said = proposal(count);
        said.state = if count == 0 { PlanState::Empty } else { PlanState::UnderWay };
        said.under_way = under_way.iter().copied().collect();
        said
    };
    let state = |plan: &PublishedPlan| (plan.id, plan.state, plan.made_at);
    let first = enforced(1, &[]).merge(None, None, &[], noon());
    let begun = enforced(0, &[first.id]).merge(Some(&first), None, &[], seconds(1));
    assert_eq!(state(&begun), (first.id, PlanState::UnderWay, noon()));
    let done = enforced(0, &[]).merge(Some(&begun), None, &[], seconds(3));
    assert_eq!(state(&done), (first.id, PlanState::Done, noon()));
    assert_eq!(enforced(0, &[]).merge(Some(&done), None, &[], seconds(9000)), done);
    assert_eq!(enforced(2, &[]).merge(Some(&done), None, &[], seconds(9000)).made_at, seconds(9000));
}

#[test]
fn a_plan_whose_approval_was_answered_asks_anew() {
    let first = proposal(1).merge(None, None, &[], noon());
    let answered = |made_at: Time| Approval {
        plan: first.id,
        made_at,
        state: ApprovalState::Refused,
        actions: 1,
        failed: Vec::new(),
        message: "paused".to_owned(),
    };
    let anew = proposal(1).merge(Some(&first), None, &[answered(noon())], seconds(1));
    assert_eq!((anew.id, anew.state, anew.made_at), (first.id, PlanState::Proposed, seconds(1)));
    assert_eq!(proposal(1).merge(Some(&anew), None, &[answered(noon())], seconds(2)), anew, "once");
    let none = proposal(0).merge(Some(&first), None, &[answered(noon())], seconds(1));
    assert_eq!(none.state, PlanState::Empty);
    // An approval of the same actions at another time says nothing of it.
    assert_eq!(proposal(1).merge(Some(&first), None, &[answered(seconds(-600))], seconds(1)), first);
}

#[test]
fn a_plan_that_a_person_approved_stands_until_they_have_an_answer() {
    let first = proposal(1).merge(None, None, &[], noon());
    let written = first.approval();
    assert_eq!(written, format!("{}@2026-11-16T12:00:00Z", first.id));
    let approved = Some(&*written);
    for said in [proposal(1), proposal(2), proposal(0)] {
        // Another plan does not take its place, and it is not renewed: also where it has run out, somebody says so first.
        for at in [seconds(1), seconds(301), seconds(601)] {
            assert_eq!(said.merge(Some(&first), approved, &[], at), first);
        }
        let refused = Approval {
            plan: first.id,
            made_at: first.made_at,
            state: ApprovalState::Refused,
            actions: 1,
            failed: Vec::new(),
            message: String::new(),
        };
        assert_eq!(said.merge(Some(&first), approved, &[refused], seconds(2)).made_at, seconds(2));
    }
    // What was written of another time holds nothing.
    let older = PublishedPlan { made_at: seconds(-60), ..first.clone() }.approval();
    assert_eq!(proposal(2).merge(Some(&first), Some(&older), &[], seconds(1)).made_at, seconds(1));
    let none = proposal(0).merge(None, None, &[], noon());
    assert_eq!(proposal(1).merge(Some(&none), Some(&none.approval()), &[], seconds(1)).made_at, seconds(1));
}

proptest! {
    #![proptest_config(crate::fixtures::sized(100, 2_000))]

    /// What keeps ten thousand documents at rest from being written: nothing that is said passes with time.
    #[test]
    fn at_rest_nothing_that_is_said_changes(
        busy in 0u32..6, pending in 0u32..6, max in 0u32..8, mode in 0u8..3, paused in 0u8..4, unwell in 0u32..3,
    ) {
        let mut cluster = a_cluster();
        cluster.policy.mode = [Mode::Observe, Mode::Recommend, Mode::Enforce][usize::from(mode)];
        // In `Enforce` it rests only where there is nothing that could be done.
        let max = if mode == 2 { 0 } else { max };
        let pool = cluster.pools.get_mut("cpu").unwrap();
        (pool.max, pool.pause.up, pool.pause.down) = (max, paused & 1 == 1, paused & 2 == 2);
        for at in 2..2 + busy + unwell {
            let node = cluster.node(&format!("n{at}"), "cpu");
            if at >= 2 + busy {
                node.status.conditions[0].status = "False".into();
            }
            cluster.running(&format!("busy-{at}"), &format!("n{at}"), &[("cpu", "3")]);
        }
        for at in 0..pending {
            cluster.pending(&format!("job-{at}"), &[("cpu", "3")]);
        }
        let mut engine = Engine::new(None).unwrap();
        let _ = engine.tick(cluster.now, cluster.observations());
        let first = engine.published(cluster.now);
        cluster.now += Span::from_mins(10);
        let _ = engine.tick(cluster.now, cluster.observations());
        let later = engine.published(cluster.now);
        prop_assert_eq!(&first, &later);
        for (document, said) in &later.documents {
            let before = stand(&first.documents[document]);
            // But for the plan, which says until when it can be approved.
            let mut after = before.merge(said, 1, None, noon() + Span::from_mins(4));
            after.plan.clone_from(&before.plan);
            prop_assert_eq!(before, after);
        }
    }
}
