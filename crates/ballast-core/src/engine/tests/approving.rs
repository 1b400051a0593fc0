//! A plan that a person approved is done as it was published, or not at all.

use crate::engine::{Engine, Judgement, Refusal};
use crate::fixtures::labels;
use crate::memory::{Approval, ApprovalState, Launch, LaunchKind, Ledger};
use crate::observation::{ErrorClass, InstanceState, SourceError};
use crate::plan::ActionKind;
use crate::policy::Mode;
use crate::procedure::Reply;
use crate::publish::{DocumentStatus, PlanState, PublishedPlan};
use crate::record::replay;
use crate::snapshot::CORDON_MARK;
use crate::units::Span;

use super::acting::{one_unneeded, three_wait};
use super::world::{Fault, World, four_cores};
use crate::fixtures::Cluster;

/// A world in `Recommend` that has been looked at once.
fn recommending(mut cluster: Cluster) -> World {
    cluster.policy.mode = Mode::Recommend;
    let mut world = World::new(cluster);
    world.tick();
    world
}

/// What stands in the status of the policy.
fn stands(world: &mut World, before: Option<&PublishedPlan>) -> PublishedPlan {
    let published = world.engine.published(world.now());
    let said = published.documents.values().find(|said| said.plan.is_some()).expect("there is a policy");
    let before = DocumentStatus { plan: before.cloned(), ..DocumentStatus::default() };
    before.merge(said, 1, None, world.now()).plan.expect("a plan")
}

/// What the status of the policy says has become of an approved plan.
fn became(world: &mut World, plan: &PublishedPlan) -> Option<Approval> {
    let published = world.engine.published(world.now());
    let said = published.documents.values().find(|said| said.plan.is_some()).expect("there is a policy");
    said.approvals.iter().find(|own| (own.plan, own.made_at) == (plan.id, plan.made_at)).cloned()
}

fn state(world: &mut World, plan: &PublishedPlan) -> Option<ApprovalState> {
    became(world, plan).map(|own| own.state)
}

#[test]
fn what_is_approved_is_done_and_nothing_else() {
    let mut world = recommending(three_wait());
    let plan = stands(&mut world, None);
    assert_eq!((plan.state, plan.actions.len()), (PlanState::Proposed, 3));
    // One more comes that the person has not seen.
    world.cluster.pending("late-1", &[("cpu", "3")]);
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.tick();
    assert_eq!(state(&mut world, &plan), Some(ApprovalState::UnderWay));
    // Meanwhile what comes next is proposed, for the one that came late.
    let next = stands(&mut world, Some(&plan));
    assert_eq!((next.state, next.actions.len()), (PlanState::Proposed, 1));
    world.run(Span::from_mins(10));
    assert_eq!((world.made, world.waiting(), world.count("create")), (3, 1, 3));
    let done = became(&mut world, &plan).expect("it is told");
    assert_eq!((done.state, done.actions, done.failed), (ApprovalState::Done, 3, Vec::new()));
    assert!(world.engine.memory().ledger.launches.is_empty());
    let sent = |world: &World| world.log.iter().filter(|words| *words != "write-history").count();
    let before = sent(&world);
    world.run(Span::from_mins(10));
    assert_eq!(sent(&world), before, "and nothing more is asked for");
    let still = stands(&mut world, Some(&next));
    assert_eq!((still.state, still.id), (PlanState::Proposed, next.id));
}

#[test]
fn an_approval_lets_nothing_be_done_besides() {
    let mut cluster = three_wait();
    // A cordon of ours that was forgotten before the mode was lowered.
    let node = cluster.node("left-1", "cpu");
    node.spec.unschedulable = true;
    node.metadata.annotations = labels(&[(CORDON_MARK, "stop-4")]);
    let mut world = recommending(cluster);
    let plan = stands(&mut world, None);
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.run(Span::from_mins(10));
    assert_eq!((world.count("create"), world.count("uncordon")), (3, 0));
}

#[test]
fn an_approved_removal_goes_on_after_a_crash() {
    for crash in 1..9 {
        let mut world = recommending(one_unneeded());
        let plan = stands(&mut world, None);
        world.fault = Some((crash, Fault::CrashAfter));
        world.engine.approve(world.now(), &plan, &[]).expect("it stands");
        world.run(Span::from_mins(15));
        assert_eq!(world.cluster.instances["sim:///n2"].state, InstanceState::Stopped, "after {crash}");
        assert_eq!((world.stops, world.cordoned().len()), (1, 0), "after {crash}: {:?}", world.log);
        assert_eq!(state(&mut world, &plan), Some(ApprovalState::Done), "after {crash}");
    }
}

#[test]
fn an_approved_removal_that_had_done_nothing_before_a_crash_is_proposed_anew() {
    let mut world = recommending(one_unneeded());
    let plan = stands(&mut world, None);
    world.fault = Some((0, Fault::CrashAfter));
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.run(Span::from_mins(5));
    assert_eq!((world.count("cordon"), world.stops, world.restarts), (0, 0, 1), "{:?}", world.log);
    let failed = became(&mut world, &plan).expect("it is told").failed;
    assert_eq!(failed, [plan.actions[0].id]);
    let again = stands(&mut world, Some(&plan));
    assert_eq!((again.id, again.state), (plan.id, PlanState::Proposed));
    assert_ne!(again.made_at, plan.made_at, "it asks anew");
}

#[test]
fn an_approval_that_was_begun_before_a_crash_is_not_begun_twice() {
    let mut world = recommending(three_wait());
    let plan = stands(&mut world, None);
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.tick();
    world.restart();
    world.tick();
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Settled);
    world.engine.approve(world.now(), &plan, &[]).expect("it goes on");
    world.run(Span::from_mins(5));
    assert_eq!((world.made, world.waiting()), (3, 0));
    world.restart();
    world.tick();
    assert_eq!(
        world.engine.judgement(world.now(), &plan),
        Judgement::Settled,
        "also when nothing of it is under way"
    );
    let anew = PublishedPlan { made_at: world.now(), ..plan };
    let again = world.engine.approve(world.now(), &anew, &[]).expect_err("it was done");
    assert!(matches!(again, Refusal::Changed { how: "is there already", .. }), "{again}");
}

#[test]
fn an_approval_is_sure_once_it_is_stored_and_open_again_where_that_is_lost() {
    let mut world = recommending(three_wait());
    let plan = stands(&mut world, None);
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Open);
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    assert_eq!(
        (world.engine.judgement(world.now(), &plan), state(&mut world, &plan)),
        (Judgement::Unstored, None)
    );
    // Somebody else has written the ledger meanwhile: the very first write after the approval is refused.
    let other = Ledger { version: 1, ..Ledger::default() };
    world.stored = Some((1, serde_json::to_string(&other).expect("a ledger")));
    world.tick();
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Open, "{:?}", world.log);
    assert_eq!((world.count("create"), state(&mut world, &plan)), (0, None), "nothing was begun");
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.tick();
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Settled);
    world.run(Span::from_mins(5));
    assert_eq!((world.made, world.waiting()), (3, 0));
}

#[test]
fn an_approval_is_refused_where_the_ledger_may_not_be_written() {
    let mut world = recommending(three_wait());
    let plan = stands(&mut world, None);
    world.fault = Some((world.log.len(), Fault::Refused(ErrorClass::Auth)));
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.run(Span::from_secs(10));
    let refused = became(&mut world, &plan).expect("it is told");
    assert_eq!(refused.state, ApprovalState::Refused);
    assert!(refused.message.starts_with("the ledger may not be written: "), "{}", refused.message);
    assert!(refused.message.ends_with("; nothing of it was done"), "{}", refused.message);
    assert_eq!((world.count("create"), world.engine.memory().ledger.launches.len()), (0, 0));
    let again = stands(&mut world, Some(&plan));
    assert_eq!((again.id, again.state), (plan.id, PlanState::Proposed));
}

#[test]
fn while_the_ledger_is_read_again_nothing_is_judged() {
    let mut world = recommending(three_wait());
    let plan = stands(&mut world, None);
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    let observations = world.cluster.observations();
    let outcome = world.engine.tick(world.now(), observations);
    let (id, _) = outcome.requests.first().expect("the ledger is written").clone();
    let conflict = SourceError { class: ErrorClass::Conflict, message: String::new() };
    let _ = world.engine.settle(world.now(), id, Reply::Failed(conflict));
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Unstored, "so nobody is told anything");
    assert_eq!(world.engine.approve(world.now(), &plan, &[]), Err(Refusal::LedgerUnknown));
}

#[test]
fn what_is_not_seen_is_waited_for_and_then_refused_for_good() {
    let mut world = recommending(three_wait());
    let plan = stands(&mut world, None);
    world.unanswered = true;
    world.cluster.now += Span::from_secs(5);
    world.tick();
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Waits);
    world.cluster.now += Span::from_secs(29);
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Waits);
    // Nothing that is said of other documents waits for it.
    let published = world.engine.published(world.now());
    assert!(published.documents.len() > 1 && published.documents.values().all(|said| said.current.is_some()));
    world.cluster.now += Span::from_secs(1);
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Open);
    let refusal = world.engine.approve(world.now(), &plan, &[]).expect_err("the provider fails");
    let why = refusal.to_string();
    assert!(
        why.starts_with("Instances/cpu failed (") && why.ends_with("; approve it again when that is known"),
        "{why}"
    );
    world.run(Span::from_mins(59));
    world.unanswered = false;
    world.run(Span::from_mins(10));
    assert_eq!((world.made, state(&mut world, &plan)), (0, Some(ApprovalState::Refused)));
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Settled);
}

#[test]
fn what_is_seen_again_within_the_patience_of_who_approved_is_done() {
    let mut world = recommending(three_wait());
    let plan = stands(&mut world, None);
    world.unanswered = true;
    world.cluster.now += Span::from_secs(5);
    world.tick();
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Waits);
    world.unanswered = false;
    world.cluster.now += Span::from_secs(20);
    world.tick();
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Open);
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.run(Span::from_mins(5));
    assert_eq!((world.made, state(&mut world, &plan)), (3, Some(ApprovalState::Done)));
}

#[test]
fn an_approval_that_nobody_could_heed_in_time_is_refused_with_these_words() {
    let mut world = recommending(three_wait());
    let plan = stands(&mut world, None);
    world.unanswered = true;
    world.cluster.now += Span::from_mins(11);
    world.tick();
    assert_eq!(world.engine.judgement(world.now(), &plan), Judgement::Open, "there is nothing to wait for");
    let refusal = world.engine.approve(world.now(), &plan, &[]).expect_err("it has run out");
    assert!(matches!(refusal, Refusal::Expired(_)), "{refusal}");
}

#[test]
fn an_approval_that_cannot_be_stored_is_given_up() {
    let mut world = recommending(three_wait());
    let plan = stands(&mut world, None);
    world.refuses_writes = Some(ErrorClass::Transient);
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.run(Span::from_secs(20));
    assert_eq!(
        (world.engine.judgement(world.now(), &plan), state(&mut world, &plan)),
        (Judgement::Unstored, None)
    );
    assert_eq!(told(&world), Vec::<String>::new(), "nothing is told before it is sure");
    world.run(Span::from_mins(1));
    let refused = became(&mut world, &plan).expect("it is told");
    assert_eq!((refused.state, refused.actions), (ApprovalState::Refused, 3));
    assert!(refused.message.starts_with("the ledger cannot be written: "), "{}", refused.message);
    // Hours later it can be written, and what nobody looks at any more is not begun.
    world.refuses_writes = None;
    world.run(Span::from_hours(1));
    assert_eq!((world.made, world.count("create"), world.engine.memory().ledger.launches.len()), (0, 0, 0));
    assert_eq!(told(&world), ["ApprovalRefused"]);
    world.restart();
    world.tick();
    assert_eq!(state(&mut world, &plan), Some(ApprovalState::Refused), "whoever leads next knows it");
}

#[test]
fn an_approval_whose_store_was_answered_by_nobody_goes_on() {
    let mut world = recommending(three_wait());
    let plan = stands(&mut world, None);
    world.fault = Some((world.log.len(), Fault::AnswerLost));
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.tick();
    assert_eq!(told(&world), Vec::<String>::new());
    world.run(Span::from_mins(5));
    assert_eq!((world.made, state(&mut world, &plan)), (3, Some(ApprovalState::Done)));
    assert_eq!(told(&world)[..4], ["PlanApproved", "Launching", "Launching", "Launching"]);
}

#[test]
fn an_approval_outlives_a_ledger_that_somebody_empties() {
    let mut world = recommending(three_wait());
    world.run(Span::from_mins(2));
    let first = stands(&mut world, None);
    world.engine.approve(world.now(), &first, &[]).expect("it stands");
    world.tick();
    world.cluster.pending("late-1", &[("cpu", "3")]);
    world.run(Span::from_secs(12));
    let next = stands(&mut world, Some(&first));
    // It is emptied, and the next write finds that.
    world.stored = None;
    world.engine.approve(world.now(), &next, &[]).expect("it stands");
    world.tick();
    assert!(state(&mut world, &next).is_some(), "{:?}", world.log);
    assert_eq!(world.engine.judgement(world.now(), &next), Judgement::Settled);
}

/// Reasons of what was told.
fn told(world: &World) -> Vec<String> {
    world.told.iter().map(|event| event.reason.to_string()).collect()
}

#[test]
fn a_pod_that_fits_a_node_which_enforce_has_cordoned_gets_another_one() {
    let mut cluster = Cluster::new();
    four_cores(&mut cluster);
    cluster.pools.get_mut("cpu").expect("it is there").scale_down.wait_for_completion = true;
    cluster.node("n1", "cpu");
    cluster.running("batch-1", "n1", &[("cpu", "1")]).metadata.owner_references[0].kind = "Job".into();
    cluster.without_removal_budgets();
    cluster.policy.mode = Mode::Enforce;
    let mut world = World::new(cluster);
    world.run(Span::from_secs(30));
    assert_eq!(world.cordoned().len(), 1, "{:?}", world.log);
    world.cluster.policy.mode = Mode::Recommend;
    world.run(Span::from_secs(30));
    world.cluster.pending("web-1", &[("cpu", "2")]);
    world.run(Span::from_secs(30));
    let plan = stands(&mut world, None);
    let kinds: Vec<ActionKind> = plan.actions.iter().map(|own| own.kind).collect();
    assert_eq!((plan.state, kinds), (PlanState::Proposed, vec![ActionKind::CreateInstance]));
    // Where it acts again, the node that is there is taken back.
    world.cluster.policy.mode = Mode::Enforce;
    world.run(Span::from_mins(1));
    assert_eq!((world.cordoned().len(), world.count("create")), (0, 0), "{:?}", world.log);
}

#[test]
fn what_came_to_nothing_is_told_to_whoever_approved_it() {
    let mut world = recommending(three_wait());
    world.refuses = Some(ErrorClass::Quota);
    let plan = stands(&mut world, None);
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.run(Span::from_mins(1));
    let done = became(&mut world, &plan).expect("it is told");
    assert_eq!((done.state, done.failed.len()), (ApprovalState::Done, 3));
}

#[test]
fn a_node_that_waits_to_go_is_taken_back_without_a_second_yes() {
    let mut cluster = Cluster::new();
    four_cores(&mut cluster);
    cluster.pools.get_mut("cpu").expect("it is there").scale_down.wait_for_completion = true;
    cluster.node("n1", "cpu");
    cluster.running("batch-1", "n1", &[("cpu", "1")]).metadata.owner_references[0].kind = "Job".into();
    cluster.without_removal_budgets();
    let mut world = recommending(cluster);
    let plan = stands(&mut world, None);
    assert_eq!(plan.actions.iter().map(|own| own.kind).collect::<Vec<_>>(), [ActionKind::CordonNode]);
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.run(Span::from_secs(30));
    assert_eq!((world.cordoned().len(), state(&mut world, &plan)), (1, Some(ApprovalState::UnderWay)));
    // While it waits for the job to end, a pod comes that it could take.
    world.cluster.pending("web-1", &[("cpu", "2")]);
    world.run(Span::from_mins(1));
    assert_eq!(
        (world.cordoned().len(), world.count("create"), world.count("evict")),
        (0, 0, 0),
        "{:?}",
        world.log
    );
    let told = became(&mut world, &plan).expect("it is told");
    assert_eq!((told.state, told.failed), (ApprovalState::Done, vec![plan.actions[0].id]));
}

/// What happens between the publication and the approval, and what is said then.
type Case = (fn() -> Cluster, fn(&mut World, &mut PublishedPlan), &'static str);

/// What an approval is refused for.
const REFUSALS: &[Case] = &[
    (three_wait, |world, _| world.engine.follow(world.now()), "this process does not lead"),
    (
        three_wait,
        |world, _| world.cluster.policy.mode = Mode::Observe,
        "the mode is Observe: only in Recommend is a plan carried out by an approval",
    ),
    (three_wait, |_, plan| plan.state = PlanState::Done, "it is not proposed any more"),
    (
        three_wait,
        |world, _| world.cluster.policy.limits.nodes = None,
        "limits.nodes and limits.costPerHour of the ClusterPolicy are not set",
    ),
    (
        three_wait,
        |world, _| world.cluster.now += Span::from_mins(10),
        "it was valid until 2026-11-16T12:10:00Z",
    ),
    (three_wait, |_, plan| drop(plan.actions.pop()), "its actions are not those that its id stands for"),
    (
        one_unneeded,
        |_, plan| plan.actions[0].target.name = "n1".into(),
        "its actions are not those that its id stands for",
    ),
    (
        one_unneeded,
        |world, _| world.cluster.nodes.get_mut("n2").unwrap().metadata.uid = "made-anew".into(),
        "n2 is another node of the same name",
    ),
    (one_unneeded, |world, _| drop(world.cluster.nodes.remove("n2")), "n2 is not there any more"),
    (
        one_unneeded,
        |world, _| {
            world.cluster.nodes.get_mut("n2").unwrap().spec.provider_id = "sim:///other".into();
        },
        "n2 is on another machine",
    ),
    (
        three_wait,
        |world, _| world.cluster.instance("cpu-2", "cpu", InstanceState::Running),
        "cpu-2 is there already",
    ),
    (
        three_wait,
        |world, _| world.engine.memory_mut().ledger.launches_made = 1,
        "cpu-1 was launched meanwhile",
    ),
    (three_wait, |world, _| world.cluster.policy.pause.up = true, "cpu is paused"),
    (one_unneeded, |world, _| world.cluster.pools.get_mut("cpu").unwrap().pause.down = true, "cpu is paused"),
    (
        one_unneeded,
        |world, _| {
            let kept = labels(&[("ballast.dev/do-not-disrupt", "true")]);
            world.cluster.nodes.get_mut("n2").unwrap().metadata.annotations = kept;
        },
        "it would break a promise: n2 is annotated to be kept",
    ),
    (
        one_unneeded,
        |world, _| {
            world.cluster.running("new-1", "n2", &[("cpu", "1")]);
        },
        "it would break a promise: pod default/new-1 on n2 may not go",
    ),
    (
        one_unneeded,
        fill_the_ledger,
        "so much is under way that not all of it can begin; approve it again later",
    ),
];

#[test]
fn every_refusal_says_why_and_nothing_is_done() {
    for (cluster, happens, why) in REFUSALS {
        let mut world = recommending(cluster());
        let mut plan = stands(&mut world, None);
        happens(&mut world, &mut plan);
        world.cluster.now += Span::from_secs(2);
        world.tick();
        let refusal = world.engine.approve(world.now(), &plan, &[]).expect_err(why);
        assert_eq!(refusal.to_string(), *why);
        world.run(Span::from_secs(30));
        let asked: Vec<&String> = world.log.iter().filter(|words| !words.starts_with("write")).collect();
        assert_eq!(asked, Vec::<&String>::new(), "{why}");
    }
}

/// Marks of launches that are known to nobody else.
fn fill_the_ledger(world: &mut World, _: &mut PublishedPlan) {
    let now = world.now();
    for at in 0..300 {
        let launch = Launch {
            kind: LaunchKind::Create,
            pool: "elsewhere".into(),
            zone: "".into(),
            instance_type: "".into(),
            provider_id: "".into(),
            token: format!("elsewhere-{at}").into(),
            since: now,
            deadline: now + Span::from_hours(1),
            decision: None,
        };
        world.engine.memory_mut().ledger.launches.insert(format!("elsewhere-{at}").into(), launch);
    }
}

#[test]
fn a_plan_that_takes_rights_which_nobody_gave_is_refused() {
    let mut world = recommending(one_unneeded());
    let plan = stands(&mut world, None);
    let lacks = ["patch nodes".into(), "create pods/eviction".into()];
    let refusal = world.engine.approve(world.now(), &plan, &lacks).expect_err("it may not");
    let why = "Ballast may not patch nodes, create pods/eviction: give it the roles that carry this plan out";
    assert_eq!(refusal.to_string(), why);
    world.run(Span::from_mins(5));
    assert_eq!(world.count("cordon"), 0);
}

#[test]
fn memory_is_kept_in_recommend() {
    let mut world = recommending(one_unneeded());
    world.run(Span::from_mins(3));
    assert!(world.stored_history.is_some() && world.stored.is_none(), "{:?}", world.log);
}

#[test]
fn a_refused_plan_is_published_as_such() {
    let mut world = recommending(three_wait());
    let plan = stands(&mut world, None);
    world.cluster.policy.pause.up = true;
    world.cluster.now += Span::from_secs(2);
    world.tick();
    world.engine.approve(world.now(), &plan, &[]).expect_err("it is paused");
    let refused = became(&mut world, &plan).expect("it is told");
    assert_eq!(refused.state, ApprovalState::Refused);
    assert_eq!(refused.message, "cpu is paused; nothing of it was done");
}

#[test]
fn an_approval_replays() {
    let mut cluster = three_wait();
    cluster.policy.mode = Mode::Recommend;
    let mut world = World::new(cluster);
    world.engine = Engine::new(None).unwrap();
    world.engine.record(1_000_000);
    world.tick();
    let plan = stands(&mut world, None);
    world.engine.approve(world.now(), &plan, &[]).expect("it stands");
    world.run(Span::from_mins(5));
    assert_eq!(world.made, 3);
    let entries = world.engine.recorder().expect("it records").take();
    let lines: String = entries.iter().map(|entry| entry.to_line() + "\n").collect();
    assert!(lines.contains(&format!(r#""decision":"{}/a1""#, plan.id)), "requests name their decision");
    let replayed = replay(lines.as_bytes()).expect("a record");
    assert_eq!(replayed.differences, []);
}
