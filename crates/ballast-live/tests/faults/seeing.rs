//! Lists and watches that fail.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, advance, sleep};

use ballast_core::observation::{Body, Object, ObjectKind};
use ballast_core::units::Span;

use crate::api::{Api, Ask, Fault, NODES, PODS, bookmark, list_of};
use crate::sight::{Sight, node};

fn three_nodes() -> Api {
    let api = Api::default();
    for name in ["a", "b", "c"] {
        api.put(NODES, name, node(name));
    }
    api
}

fn is(ask: &Ask, verb: &str) -> bool {
    ask.verb == verb && ask.path == NODES
}

/// Whether this is a list for its own sake, not for its version alone.
fn lists(ask: &Ask) -> bool {
    is(ask, "list") && ask.query.get("limit").is_some_and(|limit| limit != "1")
}

#[tokio::test(start_paused = true)]
async fn f_k1_server_errors_are_told_and_asked_again_ever_less_often() {
    for code in [500, 502, 503, 504] {
        let api = three_nodes();
        api.meddle(move |ask| is(ask, "list").then_some(Fault::Refuse(code, None)));
        let mut sight = Sight::of(&api);
        assert!(sight.failed(ObjectKind::Node).await.contains(&format!("said {code}")));
        sleep(Duration::from_secs(600)).await;
        let asked = api.asked("list", NODES).len();
        assert!((10..40).contains(&asked), "{asked} times in ten minutes");
        api.behave();
        assert_eq!(sight.listed(ObjectKind::Node).await, ["a", "b", "c"], "it heals by a list");
    }
}

#[tokio::test(start_paused = true)]
async fn f_k1_a_watch_that_fails_once_is_followed_by_a_list() {
    let api = three_nodes();
    let mut first = true;
    api.meddle(move |ask| (is(ask, "watch") && std::mem::take(&mut first)).then_some(Fault::Reset));
    let mut sight = Sight::of(&api);
    assert_eq!(sight.listed(ObjectKind::Node).await.len(), 3);
    sight.failed(ObjectKind::Node).await;
    assert_eq!(sight.listed(ObjectKind::Node).await.len(), 3, "only a list is believed after a failure");
}

#[tokio::test(start_paused = true)]
async fn f_k3_a_version_that_is_gone_leads_to_a_new_list_past_the_caches() {
    let api = three_nodes();
    let gone = || Fault::Tell(vec![json!({"type": "ERROR", "object": {"code": 410, "message": "too old"}})]);
    let mut watches = 0;
    api.meddle(move |ask| {
        watches += usize::from(is(ask, "watch"));
        match watches {
            1 if is(ask, "watch") => Some(gone()),
            2 if is(ask, "watch") => Some(Fault::Refuse(410, None)),
            _ => None,
        }
    });
    let mut sight = Sight::of(&api);
    for _ in 0..3 {
        let told = sight.next(ObjectKind::Node).await;
        assert!(
            matches!(told.outcome, Ok(Body::Listed(_)) | Ok(Body::Changed(_))),
            "410 is no failure: {told:?}"
        );
    }
    sight.listed(ObjectKind::Node).await;
    let from_caches =
        api.asked("list", NODES).iter().filter(|ask| ask.query.contains_key("resourceVersion")).count();
    assert_eq!(from_caches, 0, "a list from a cache may go back in time");
}

#[tokio::test(start_paused = true)]
async fn f_k3_a_later_page_that_is_gone_fails_the_whole_list() {
    let api = three_nodes();
    let mut pages = 0;
    api.meddle(move |ask| {
        let is_later = is(ask, "list") && ask.query.contains_key("continue");
        pages += usize::from(is_later);
        (is_later && pages == 1).then_some(Fault::Refuse(410, None))
    });
    let mut sight = Sight::of(&api);
    assert!(sight.failed(ObjectKind::Node).await.contains("said 410"));
    assert_eq!(sight.listed(ObjectKind::Node).await, ["a", "b", "c"], "from its first page on");
}

#[tokio::test(start_paused = true)]
async fn f_k4_retry_after_is_heeded_within_reason() {
    for (header, least, most) in
        [("1", 1, 2), ("20", 20, 21), ("3600", 60, 61), ("99999999999999999999", 0, 1), ("soon", 0, 1)]
    {
        let api = three_nodes();
        let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let noted = times.clone();
        api.meddle(move |ask| {
            if !lists(ask) {
                return None;
            }
            let mut times = noted.lock().expect("nobody panicked");
            times.push(Instant::now());
            (times.len() == 1).then(|| Fault::Refuse(429, Some(("retry-after", header.to_owned()))))
        });
        let mut sight = Sight::of(&api);
        assert!(sight.failed(ObjectKind::Node).await.starts_with("Throttled"));
        assert_eq!(sight.listed(ObjectKind::Node).await.len(), 3);
        let times = times.lock().expect("nobody panicked");
        let waited = times[1] - times[0];
        assert!((least..=most).contains(&waited.as_secs()), "{header}: {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn f_k6_a_cache_that_is_old_is_seen_by_its_age_and_left_for_a_list() {
    let api = three_nodes();
    // Watches are served from a cache that has stood still; only the store knows better.
    api.meddle(|ask| is(ask, "watch").then(|| Fault::Tell(vec![bookmark(1), bookmark(1)])));
    let mut sight = Sight::of(&api);
    sight.listed(ObjectKind::Node).await;
    for version in 0..50 {
        api.put(PODS, "p", json!({"metadata": {"uid": "p"}, "spec": {"priority": version}}));
    }
    api.put(NODES, "d", node("d"));
    let mut oldest = Span::ZERO;
    let names = loop {
        let told = sight.next(ObjectKind::Node).await;
        oldest = oldest.max(sight.age(&told));
        if let Ok(Body::Listed(objects)) = &told.outcome {
            break objects.len();
        }
    };
    assert_eq!(names, 4, "the list is true");
    assert!(oldest > Span::from_secs(20), "no bookmark made it young: {oldest:?}");
}

#[tokio::test(start_paused = true)]
async fn f_k6_what_is_heard_up_to_the_newest_version_is_as_young_as_the_question_for_it() {
    let api = three_nodes();
    let mut sight = Sight::of(&api);
    sight.listed(ObjectKind::Node).await;
    let mut oldest = Span::ZERO;
    for _ in 0..60 {
        let told = sight.next(ObjectKind::Node).await;
        assert!(matches!(told.outcome, Ok(Body::Changed(_))), "a quiet kind is not listed again: {told:?}");
        oldest = oldest.max(sight.age(&told));
        api.put(PODS, "p", json!({"metadata": {"uid": "p"}}));
    }
    assert!(oldest < Span::from_secs(45), "{oldest:?}");
}

#[tokio::test(start_paused = true)]
async fn f_k7_what_is_told_twice_or_made_anew_is_told_by_its_identity() {
    let api = three_nodes();
    let mut sight = Sight::of(&api);
    sight.listed(ObjectKind::Node).await;
    sleep(Duration::from_secs(1)).await;
    api.delete(NODES, "a");
    api.put(NODES, "a", node("made anew"));
    api.put(NODES, "a", node("made anew"));
    let mut changes = Vec::new();
    while changes.len() < 3 {
        changes.extend(sight.changed(ObjectKind::Node).await);
    }
    assert_eq!(changes, ["a was a", "a is made anew", "a is made anew"]);
}

#[tokio::test(start_paused = true)]
async fn f_k8_a_watch_that_says_nothing_is_given_up() {
    let api = three_nodes();
    api.meddle(|ask| is(ask, "watch").then(|| Fault::Tell(Vec::new())));
    let mut sight = Sight::of(&api);
    sight.listed(ObjectKind::Node).await;
    let began = Instant::now();
    assert!(sight.failed(ObjectKind::Node).await.contains("no answer to a watch in time"));
    assert_eq!(sight.listed(ObjectKind::Node).await.len(), 3);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn f_k9_a_list_that_is_shorter_than_what_was_told_is_looked_at_again() {
    let api = three_nodes();
    let mut sight = Sight::of(&api);
    sight.listed(ObjectKind::Node).await;
    // Told by events alone: the next list knows of none of them.
    for name in ["d", "e", "f"] {
        api.put(NODES, name, node(name));
    }
    let mut told = 0;
    while told < 3 {
        told += sight.changed(ObjectKind::Node).await.len();
    }
    let mut lists_left = 1;
    let mut cut = false;
    api.meddle(move |ask| {
        if is(ask, "watch") && !std::mem::replace(&mut cut, true) {
            return Some(Fault::Refuse(410, None));
        }
        let torn = lists(ask) && std::mem::replace(&mut lists_left, 0) == 1;
        torn.then(|| Fault::Say(list_of(&[json!({"metadata": {"name": "a"}})], 6, "")))
    });
    assert_eq!(sight.listed(ObjectKind::Node).await, ["a"], "as it was sent: the core judges it");
    let began = Instant::now();
    assert_eq!(sight.listed(ObjectKind::Node).await.len(), 6);
    assert!(began.elapsed() < Duration::from_secs(5), "at once: {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn f_k10_a_kind_that_is_forbidden_mid_run_blinds_only_itself() {
    for code in [401, 403] {
        let api = three_nodes();
        let mut sight = Sight::of(&api);
        sight.listed(ObjectKind::Node).await;
        api.meddle(move |ask| (ask.path == PODS).then_some(Fault::Refuse(code, None)));
        assert!(sight.failed(ObjectKind::Pod).await.starts_with("Auth"));
        api.put(NODES, "d", node("d"));
        assert_eq!(sight.changed(ObjectKind::Node).await, ["d is d"]);
        api.behave();
        sight.listed(ObjectKind::Pod).await;
    }
}

#[tokio::test(start_paused = true)]
async fn f_k12_kinds_that_the_api_does_not_know_cost_no_other() {
    let api = three_nodes();
    api.meddle(|ask| ask.path.contains("ballast.dev").then_some(Fault::Refuse(404, None)));
    let mut sight = Sight::of(&api);
    assert!(sight.failed(ObjectKind::VmPool).await.starts_with("NotFound"));
    assert_eq!(sight.listed(ObjectKind::Node).await.len(), 3);
    api.behave();
    assert!(sight.listed(ObjectKind::VmPool).await.is_empty(), "they were installed meanwhile");
}

#[tokio::test(start_paused = true)]
async fn f_k12_what_this_release_cannot_read_is_kept_and_costs_no_other() {
    let api = three_nodes();
    let strange =
        json!({"metadata": {"uid": "p1"}, "spec": {"nodeName": "a", "tolerations": [{"operator": "Gt"}]}});
    api.put(PODS, "strange", strange.clone());
    api.put(PODS, "plain", json!({"metadata": {"uid": "p2"}, "spec": {"nodeName": "a"}}));
    let mut sight = Sight::of(&api);
    let told = sight.next(ObjectKind::Pod).await;
    let Ok(Body::Listed(objects)) = told.outcome else { panic!("{told:?}") };
    let pods: Vec<_> = objects
        .iter()
        .map(|object| match object {
            Object::Pod(pod) => (&*pod.metadata.name, &*pod.node_name, pod.spec.unread.is_empty()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(pods, [("plain", "a", true), ("strange", "a", false)]);
    sleep(Duration::from_secs(1)).await;
    api.put(PODS, "strange", strange);
    assert_eq!(sight.changed(ObjectKind::Pod).await, ["strange is p1"], "an event neither");
    advance(Duration::from_secs(1)).await;
}

const BUFFERS: &str = "/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers";

fn a_buffer(replicas: serde_json::Value) -> serde_json::Value {
    json!({"metadata": {"uid": "b", "namespace": "web"}, "spec": {"podTemplateRef": {"name": "t"}, "replicas": replicas}})
}

/// An empty list would call for a plan each time.
#[tokio::test(start_paused = true)]
async fn that_a_kind_is_still_unknown_is_told_without_a_list() {
    let api = three_nodes();
    api.meddle(|ask| ask.path.contains("autoscaling.x-k8s.io").then_some(Fault::Refuse(404, None)));
    let mut sight = Sight::of(&api);
    let (mut lists, mut told) = (0, 0);
    while told < 20 {
        let next = sight.next(ObjectKind::CapacityBuffer).await;
        assert!(sight.age(&next) < Span::from_secs(1), "it is as young as the question");
        lists += usize::from(matches!(next.outcome, Ok(Body::Listed(_))));
        told += 1;
    }
    assert_eq!(lists, 2, "the second is the look that makes sure");
    api.behave();
    sight.listed(ObjectKind::CapacityBuffer).await;
}

/// Tools that bring definitions up to date delete them and make them anew.
#[tokio::test(start_paused = true)]
async fn a_kind_that_was_known_fails_for_a_while_before_there_is_nothing_of_it() {
    let api = three_nodes();
    api.put(BUFFERS, "spare", a_buffer(json!(2)));
    let mut sight = Sight::of(&api);
    assert_eq!(sight.listed(ObjectKind::CapacityBuffer).await, ["spare"]);
    api.meddle(|ask| ask.path.contains("capacitybuffers").then_some(Fault::Refuse(404, None)));
    let began = Instant::now();
    assert!(sight.failed(ObjectKind::CapacityBuffer).await.starts_with("NotFound"));
    assert!(sight.listed(ObjectKind::CapacityBuffer).await.is_empty());
    assert!(began.elapsed() >= Duration::from_secs(600), "{:?}", began.elapsed());
    assert!(sight.listed(ObjectKind::CapacityBuffer).await.is_empty(), "a second look makes sure");
}

#[tokio::test(start_paused = true)]
async fn the_last_good_form_of_an_ask_holds_while_a_newer_cannot_be_read() {
    let replicas = |object: &Object| match object {
        Object::CapacityBuffer(buffer) => buffer.spec.replicas,
        other => panic!("{other:?}"),
    };
    let api = three_nodes();
    api.put(BUFFERS, "spare", a_buffer(json!(2)));
    let mut sight = Sight::of(&api);
    assert_eq!(sight.listed(ObjectKind::CapacityBuffer).await, ["spare"]);
    api.put(BUFFERS, "spare", a_buffer(json!("some")));
    let mut first = true;
    api.meddle(move |ask| {
        let is_own = ask.verb == "watch" && ask.path == BUFFERS;
        (is_own && std::mem::take(&mut first)).then_some(Fault::Refuse(410, None))
    });
    let objects = loop {
        if let Ok(Body::Listed(objects)) = sight.next(ObjectKind::CapacityBuffer).await.outcome {
            break objects;
        }
    };
    assert_eq!(objects.iter().map(replicas).collect::<Vec<_>>(), [Some(2)]);
    // One that never was good is passed over, and so is another of the same name.
    api.delete(BUFFERS, "spare");
    api.put(BUFFERS, "other", a_buffer(json!("some")));
    api.meddle(|ask| (ask.verb == "watch" && ask.path == BUFFERS).then_some(Fault::Refuse(410, None)));
    assert_eq!(sight.listed(ObjectKind::CapacityBuffer).await, [""; 0]);
}
