//! What documents forbid.

use super::*;

#[test]
fn what_documents_forbid() {
    let write: fn(&mut Scene) = |s| s.ask(Request::WriteLedger { version: 1, body: "{}".into() });
    each_is_heard(vec![
        ("I-24", json!({"policy": {"mode": "Observe"}}), write),
        ("I-24", json!({"policy": {"mode": "Recommend"}}), |s| s.cordon("p-0")),
        ("I-24", with_pool(json!({"mode": "Observe"})), |s| s.cordon("p-0")),
        ("I-24", with_pool(json!({"mode": "Recommend", "min": 4})), |s| s.start("p-3")),
        ("I-23", json!({"policy": {"pause": {"down": true}}}), |s| s.cordon("p-0")),
        ("I-23", with_pool(json!({"pause": {"down": true}})), |s| s.cordon("p-0")),
        ("I-23", with_pool(json!({"pause": {"up": true}, "min": 4})), |s| s.start("p-3")),
        ("I-23", with_pod(json!({})), |s| {
            let node = s.node_with("web").0;
            s.cordon(&node);
            s.change(json!({"spec": {"pause": {"down": true}}}));
            s.evict("web");
        }),
        ("I-23", json!({}), |s| {
            s.change(json!({"policy": {"pause": {"down": true}}}));
            s.cordon("p-0");
        }),
    ]);
    let mut calm = Scene::new(json!({"policy": {"mode": "Recommend"}}));
    write(&mut calm);
    assert_eq!(calm.broken(), [""; 0], "Recommend keeps its own memory");
}

#[test]
fn what_was_asked_for_before_a_pause_may_be_asked_for_again() {
    let mut scene = Scene::new(with_pool(json!({"min": 4})));
    scene.start("p-3");
    scene.change(json!({"spec": {"pause": {"up": true}}}));
    scene.start("p-3");
    assert_eq!(scene.broken(), [""; 0]);
}
