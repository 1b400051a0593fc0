//! What is told as an event, how often, and what never is.

use super::{a_cluster, fault, published, stand};
use crate::engine::Engine;
use crate::fixtures::{Cluster, noon};
use crate::kube::Name;
use crate::memory::{Launch, LaunchKind};
use crate::observation::ErrorClass;
use crate::policy::{Mode, Pause};
use crate::procedure::Reply;
use crate::publish::{
    ConditionReason, ConditionType, DocumentRef, DocumentStatus, Event, EventReason, Herald, Published,
    Regarding, RegardingKind,
};
use crate::units::{Span, Time};

fn node(name: &str) -> Regarding {
    let (namespace, name, uid) = (Name::default(), name.into(), format!("uid-{name}").into());
    Regarding { kind: RegardingKind::Node, namespace, name, uid }
}

/// Everything that may be told by a time.
fn told(herald: &mut Herald, now: Time) -> Vec<Event> {
    std::iter::from_fn(|| herald.next(now)).collect()
}

fn reasons(events: &[Event]) -> Vec<EventReason> {
    events.iter().map(|event| event.reason).collect()
}

/// Tells a herald what is so, as if what was said before stood in the API.
fn hear(herald: &mut Herald, now: Time, before: &Published, said: &Published) -> Vec<EventReason> {
    let nothing = DocumentStatus::default();
    for (reference, own) in &said.documents {
        let stands = before.documents.get(reference).map(stand);
        herald.document(now, reference, stands.as_ref().unwrap_or(&nothing), own);
    }
    reasons(&told(herald, now))
}

#[test]
fn the_catalogue_has_every_reason_once_and_at_its_place() {
    for (at, row) in EventReason::CATALOGUE.iter().enumerate() {
        assert_eq!((row.reason as usize, row.reason.row().reason), (at, row.reason));
        assert!(!row.on.is_empty() && row.about.ends_with('.') && !row.action.is_empty(), "{row:?}");
    }
}

#[test]
fn a_pause_is_told_when_it_begins_and_when_it_ends_whoever_leads() {
    let mut cluster = a_cluster();
    let before = published(&cluster);
    let mut herald = Herald::default();
    assert_eq!(hear(&mut herald, noon(), &Published::default(), &before), []);
    cluster.policy.pause = Pause { up: true, reason: Some("moving house".into()), ..Pause::default() };
    let paused = published(&cluster);
    // The policy and its pool; and nothing more while it is so, whether or not the status was written meanwhile.
    assert_eq!(hear(&mut herald, noon(), &before, &paused), [EventReason::Paused; 2]);
    for minutes in 1..100 {
        assert_eq!(hear(&mut herald, noon() + Span::from_mins(minutes), &before, &paused), []);
        assert_eq!(hear(&mut herald, noon() + Span::from_mins(minutes), &paused, &paused), []);
    }
    // Who leads next knows from what stands there what was told.
    let mut next = Herald::default();
    assert_eq!(hear(&mut next, noon(), &paused, &paused), []);
    assert_eq!(hear(&mut next, noon(), &paused, &before), [EventReason::Resumed; 2]);
    cluster.policy.pause.reason = Some("still moving".into());
    let other = published(&cluster);
    assert_eq!(hear(&mut herald, noon() + Span::from_mins(100), &paused, &other), [EventReason::Paused; 2]);
}

#[test]
fn what_changes_to_and_fro_is_told_once_a_minute() {
    let mut cluster = a_cluster();
    let calm = published(&cluster);
    cluster.policy.pause.down = true;
    let paused = published(&cluster);
    let (mut herald, mut told) = (Herald::default(), 0);
    for second in 0..600 {
        let said = if second % 2 == 0 { &paused } else { &calm };
        told += hear(&mut herald, noon() + Span::from_secs(second), &calm, said).len();
    }
    assert_eq!(told, 20, "ten minutes, two documents");
}

#[test]
fn pods_that_wait_are_told_what_comes_or_why_nothing_does_once() {
    let mut cluster = a_cluster();
    for at in 0..30 {
        cluster.pending(&format!("job-{at:02}"), &[("cpu", "3")]);
    }
    cluster.pending("huge-1", &[("cpu", "300")]);
    let mut engine = Engine::new(None).unwrap();
    let _ = engine.tick(cluster.now, cluster.observations());
    let mut herald = Herald::default();
    herald.pods(noon(), engine.pods_told());
    let mut first = told(&mut herald, noon());
    assert!(!reasons(&first).contains(&EventReason::NoNodeFits), "it may pass");
    herald.is_told(noon());
    let later = noon() + Span::from_secs(10);
    assert!(!herald.is_due(noon() + Span::from_secs(9)) && herald.is_due(later));
    herald.pods(later, engine.pods_told());
    herald.is_told(later);
    assert!(!herald.is_due(later));
    first.extend(told(&mut herald, later));
    let coming: Vec<&Event> = first.iter().filter(|event| event.reason == EventReason::NodeComing).collect();
    // Four nodes are under the maximum: those that get none are told so, and they are of one class with those that do.
    assert_eq!(coming.len(), 0, "{coming:?}");
    let no_fit: Vec<&Event> = first.iter().filter(|event| event.reason == EventReason::NoNodeFits).collect();
    assert!(no_fit.iter().any(|event| &*event.regarding.name == "huge-1"), "{first:?}");
    assert!(no_fit[0].note.starts_with("no pool can serve it now; cpu: "), "{}", no_fit[0].note);
    herald.pods(noon() + Span::from_mins(60), engine.pods_told());
    assert_eq!(told(&mut herald, noon() + Span::from_mins(60)), []);
}

#[test]
fn what_passes_by_itself_is_not_told() {
    let mut cluster = a_cluster();
    cluster.pending("huge-1", &[("cpu", "300")]);
    let mut engine = Engine::new(None).unwrap();
    let _ = engine.tick(cluster.now, cluster.observations());
    let mut herald = Herald::default();
    for at in 0..60 {
        // Now and then it is served for a moment.
        let now = noon() + Span::from_secs(at);
        if at % 9 != 8 {
            herald.pods(now, engine.pods_told());
        }
        herald.is_told(now);
    }
    assert_eq!(told(&mut herald, noon() + Span::from_secs(60)), []);
}

#[test]
fn a_pod_for_which_a_node_comes_is_told_by_the_decision_that_makes_it_come() {
    let mut cluster = a_cluster();
    cluster.pending("job-1", &[("cpu", "3")]);
    let mut engine = Engine::new(None).unwrap();
    let outcome = engine.tick(cluster.now, cluster.observations());
    assert_eq!(engine.events(&outcome), [], "it is not stored yet that it is begun");
    let outcome = engine.settle(cluster.now, outcome.requests[0].0, Reply::Done);
    let [launching] = &engine.events(&outcome)[..] else { panic!("one launch") };
    let [coming] = &engine.pods_told()[..] else { panic!("one pod") };
    assert_eq!((coming.reason, &*coming.regarding.uid), (EventReason::NodeComing, "uid-job-1"));
    assert_eq!((launching.reason, &launching.decision), (EventReason::Launching, &coming.decision));
    // Who only recommends makes none come.
    cluster.policy.mode = Mode::Recommend;
    let mut engine = Engine::new(None).unwrap();
    let _ = engine.tick(cluster.now, cluster.observations());
    assert_eq!(engine.pods_told(), []);
    // Nor does what is proposed come because another's launch is under way in the same pool.
    let launch = Launch {
        kind: LaunchKind::Create,
        pool: "cpu".into(),
        zone: "".into(),
        instance_type: "".into(),
        provider_id: "".into(),
        token: "another-1".into(),
        since: cluster.now,
        deadline: cluster.now + Span::from_mins(10),
        decision: Some("3k9v0q2m7xa1c/a1".parse().expect("a decision")),
    };
    engine.memory_mut().ledger.launches.insert("another-1".into(), launch);
    assert_eq!(engine.pods_told(), []);
}

#[test]
fn a_proposal_is_told_once_by_its_id() {
    let mut cluster = a_cluster();
    cluster.policy.mode = Mode::Recommend;
    let calm = published(&cluster);
    cluster.pending("job-1", &[("cpu", "3")]);
    let proposed = published(&cluster);
    let mut herald = Herald::default();
    assert_eq!(hear(&mut herald, noon(), &calm, &proposed), [EventReason::PlanProposed]);
    assert_eq!(hear(&mut herald, noon() + Span::from_mins(9), &calm, &proposed), []);
    assert_eq!(hear(&mut Herald::default(), noon(), &proposed, &proposed), []);
}

#[test]
fn a_storm_is_told_one_a_second_and_what_is_too_much_is_counted() {
    let mut herald = Herald::default();
    let events = (0..1000)
        .map(|at| Event::new(EventReason::Draining, node(&format!("n{at}")), "cordoned", None::<Name>));
    herald.happened(noon(), events);
    assert_eq!(told(&mut herald, noon()).len(), 20);
    let mut later = 0;
    for second in 1..=60 {
        later += told(&mut herald, noon() + Span::from_secs(second)).len();
    }
    assert_eq!((later, herald.take_dropped(), herald.take_dropped()), (60, 1000 - 256, 0));
}

#[test]
fn what_happens_again_and_again_for_one_decision_is_told_once_in_a_while() {
    let mut herald = Herald::default();
    let blocked = |decision: &str| {
        let words = format!("pod {} may not leave", decision.len());
        Event::new(EventReason::DrainBlocked, node("n1"), &words, Some(decision.to_owned()))
    };
    for second in 0..60 {
        herald.happened(noon() + Span::from_secs(second), [blocked("a/a1")]);
    }
    herald.happened(noon(), [blocked("b/a1")]);
    assert_eq!(told(&mut herald, noon() + Span::from_mins(2)).len(), 2);
}

#[test]
fn a_storm_of_small_news_drowns_no_warning() {
    let mut herald = Herald::default();
    let event = |reason, at: u32| Event::new(reason, node(&format!("n{at}")), "so", None::<Name>);
    herald.happened(noon(), (0..300).map(|at| event(EventReason::AskedToLeave, at)));
    herald.happened(noon(), (0..3).map(|at| event(EventReason::LaunchFailed, at)));
    let first = reasons(&told(&mut herald, noon()));
    assert_eq!(
        first[..4],
        [[EventReason::LaunchFailed; 3].as_slice(), &[EventReason::AskedToLeave]].concat()
    );
    assert_eq!((first.len(), herald.take_dropped()), (20, 300 - 256 + 3), "each takes the place of another");
    // What is so and gave way to a warning is told once there is room again.
    let mut herald = Herald::default();
    let coming = || vec![event(EventReason::NodeComing, 1)];
    herald.happened(noon(), (0..255).map(|at| event(EventReason::LaunchFailed, at)));
    herald.pods(noon(), coming());
    herald.happened(noon(), [event(EventReason::LaunchFailed, 255)]);
    let mut later = noon();
    while !told(&mut herald, later).is_empty() {
        later += Span::from_mins(1);
    }
    herald.pods(later, coming());
    assert_eq!(reasons(&told(&mut herald, later)), [EventReason::NodeComing]);
    // Where nothing but warnings waits, further ones are dropped.
    let mut herald = Herald::default();
    herald.happened(noon(), (0..300).map(|at| event(EventReason::LaunchFailed, at)));
    assert_eq!(herald.take_dropped(), 300 - 256);
}

#[test]
fn names_that_remind_of_secrets_are_told_and_what_people_wrote_is_not() {
    let mut cluster = a_cluster();
    let tokenizer = cluster.pools["cpu"].clone();
    cluster.pool("tokenizer", tokenizer).pause =
        Pause { up: true, reason: Some("password=hunter2".into()), ..Pause::default() };
    cluster.pending("secret-sync-1", &[("cpu", "300")]);
    let mut engine = Engine::new(None).unwrap();
    let _ = engine.tick(cluster.now, cluster.observations());
    let [event] = &engine.pods_told()[..] else { panic!("one pod") };
    assert!(event.note.contains("tokenizer: "), "{}", event.note);
    // One that would fit is told of the pause, and not in whose words.
    cluster.pools.get_mut("cpu").expect("it is there").max = 1;
    cluster.pods.clear();
    cluster.running("web-1", "n1", &[("cpu", "3")]);
    cluster.pending("secret-sync-2", &[("cpu", "3")]);
    let mut engine = Engine::new(None).unwrap();
    let _ = engine.tick(cluster.now, cluster.observations());
    let [event] = &engine.pods_told()[..] else { panic!("one pod") };
    assert!(event.note.contains("tokenizer: the pool is paused: …"), "{}", event.note);
    assert!(!event.note.contains("hunter2"), "{}", event.note);
    let said = engine.published(cluster.now);
    let mut herald = Herald::default();
    let tokenizer = said.documents.iter().find(|(own, _)| &*own.name == "tokenizer").expect("the pool");
    herald.document(noon(), tokenizer.0, &DocumentStatus::default(), tokenizer.1);
    let paused = told(&mut herald, noon());
    assert_eq!(reasons(&paused), [EventReason::Paused]);
    assert_eq!(paused[0].note, "growth held still: …");
}

#[test]
fn no_control_character_is_told_and_a_note_is_bounded() {
    let wild = "bad\u{1b}[31m\nline";
    let event = Event::new(EventReason::Draining, node("n1"), wild, Some("d/a1".to_owned()));
    assert_eq!(event.note, "bad\\u{1b}[31m\\nline (decision d/a1)");
    let long = Event::new(EventReason::Draining, node("n1"), &"ä".repeat(2000), Some("d/a1".to_owned()));
    assert!(long.note.len() <= 1000 && long.note.ends_with("… (decision d/a1)"), "{}", long.note.len());
}

#[test]
fn an_invalid_document_is_told_with_what_is_wrong() {
    let said = published(&a_cluster());
    let (mut herald, nothing) = (Herald::default(), DocumentStatus::default());
    let (reference, own): (&DocumentRef, _) = said.documents.iter().next().expect("a document");
    herald.document(noon(), reference, &nothing, &own.clone().with_fault(&fault(true)));
    let first = told(&mut herald, noon());
    assert_eq!(reasons(&first), [EventReason::DocumentInvalid]);
    assert!(first[0].note.contains(&fault(true).problem), "{}", first[0].note);
    herald.document(noon() + Span::from_mins(2), reference, &nothing, own);
    assert_eq!(reasons(&told(&mut herald, noon() + Span::from_mins(2))), [EventReason::Ready]);
}

/// At every start the provider of a pool is unusable until the policy that allows its host is read; what is written to the status
/// meanwhile does not count as told.
#[test]
fn what_was_not_told_to_begin_is_not_told_to_end_and_what_lasts_is() {
    let said = published(&a_cluster());
    let (reference, well): (&DocumentRef, _) = said.documents.iter().next().expect("a document");
    let mut unusable = well.clone();
    let ready = unusable.conditions.iter_mut().find(|own| own.kind() == ConditionType::Ready).expect("Ready");
    *ready = ConditionReason::ProviderUnusable { class: ErrorClass::Invalid };
    for (seconds, expected) in [(3, vec![]), (15, vec![EventReason::ProviderUnusable, EventReason::Ready])] {
        let (mut herald, mut heard) = (Herald::default(), Vec::new());
        let mut stands = DocumentStatus::default();
        for second in 0..200 {
            let (now, own) =
                (noon() + Span::from_secs(second), if second < seconds { &unusable } else { well });
            herald.document(now, reference, &stands, own);
            herald.is_told(now);
            heard.extend(reasons(&told(&mut herald, now)));
            stands = stand(own);
        }
        assert_eq!(heard, expected, "unusable for {seconds} s");
    }
}

/// Nothing that lasts is told again: a world at rest, whatever it is like, falls silent.
#[test]
fn at_rest_nothing_is_told() {
    let worlds: [fn(&mut Cluster); 4] = [
        |_| {},
        |cluster| cluster.policy.limits.nodes = None,
        |cluster| cluster.pools.get_mut("cpu").unwrap().max = 1,
        |cluster| cluster.policy.mode = Mode::Recommend,
    ];
    for change in worlds {
        let mut cluster = a_cluster();
        cluster.pending("job-1", &[("cpu", "300")]);
        change(&mut cluster);
        let mut engine = Engine::new(None).unwrap();
        let mut herald = Herald::default();
        let mut told = 0;
        for minute in 0..120 {
            cluster.now = noon() + Span::from_mins(minute);
            let outcome = engine.tick(cluster.now, cluster.observations());
            herald.happened(cluster.now, engine.events(&outcome));
            herald.pods(cluster.now, engine.pods_told());
            let said = engine.published(cluster.now);
            told += hear(&mut herald, cluster.now, &Published::default(), &said).len();
            assert!(told <= 2, "minute {minute}: {told}");
        }
    }
}
