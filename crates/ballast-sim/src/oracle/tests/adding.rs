//! What is added, and what is planned.

use super::*;

fn with_limits(limits: Value) -> Value {
    json!({"policy": {"limits": limits}, "pools": [{"spec": {"min": 4}}]})
}

pub(super) fn action(kind: &str, name: &str, more: Value) -> Value {
    let mut action = json!({"id": "a1", "kind": kind, "from": "", "to": "", "precondition": {},
        "target": {"kind": "Instance", "name": name, "pool": "p"},
        "reason": {"code": "PendingPods", "message": "", "inputs": [], "limit": null}});
    merge(&mut action, more);
    action
}

fn launches(count: usize, gang: &str) -> Vec<Value> {
    (0..count).map(|at| action("CreateInstance", &format!("new-{at}"), json!({"gang": gang}))).collect()
}

/// The removal of a node with all that is on it.
fn removal(scene: &Scene, node: &str) -> Value {
    let world = &scene.0.world;
    let pods = &world.machines[world.by_name[node] as usize].pods;
    let displaces: Vec<&Name> = pods.iter().map(|&pod| &world.pods[pod].uid).collect();
    action("StopInstance", node, json!({"precondition": {"displaces": displaces}}))
}

/// Three pods, each of which fills more than half of a node.
fn three_large() -> Value {
    with_pod(json!({"members": 3, "requests": {"cpu": "5"}}))
}

/// A gang of three that needs three more nodes.
fn a_gang() -> Value {
    let mut gang = with_pod(json!({"name": "train", "owner": "Job", "gang": true, "members": 6,
        "requests": {"cpu": "8"}, "duration": "1h"}));
    merge(&mut gang, json!({"pools": [{"spec": {"max": 9}}]}));
    gang
}

#[test]
fn what_is_added() {
    each_is_heard(vec![
        ("I-2", with_pool(json!({"min": 4})), |s| {
            s.ask(Request::CreateInstance {
                pool: "p".into(),
                zone: "".into(),
                name: "n".into(),
                token: "".into(),
            })
        }),
        (
            "I-6",
            with_pool(json!({"min": 3, "max": 3, "headroom": [{"requests": {"cpu": "8"}, "count": 1}]})),
            |s| s.start("p-3"),
        ),
        ("I-6", with_limits(json!({"nodes": 4})), |s| s.start("p-3")),
        ("I-6", with_limits(json!({"cores": "39"})), |s| s.start("p-3")),
        ("I-6", with_limits(json!({"memory": "150Gi"})), |s| s.start("p-3")),
        ("I-6", with_limits(json!({"gpus": {"*": 3}})), |s| s.start("p-3")),
        ("I-6", with_limits(json!({"gpus": {"T4": 3}})), |s| s.start("p-3")),
        ("I-27", with_limits(json!({"costPerHour": 3.5})), |s| s.start("p-3")),
        ("I-8", json!({}), |s| s.start("p-3")),
    ]);
    let mut other = Scene::new(with_limits(json!({"gpus": {"H100": 0}})));
    other.start("p-3");
    assert_eq!(other.broken(), [""; 0], "a limit on one model binds that model");
}

#[test]
fn what_is_planned() {
    each_is_heard(vec![
        ("check", json!({}), |s| {
            let note =
                json!({"promise": 4, "severity": "Fatal", "message": "m", "subject": {"kind": "Cluster"}});
            s.plan(Vec::new(), json!([note]));
        }),
        // Twenty small pods fit on one machine.
        ("I-8", with_pod(json!({"members": 44, "requests": {"cpu": "1"}})), |s| {
            s.plan(launches(7, ""), json!([]))
        }),
        ("I-12", three_large(), |s| {
            let actions = vec![removal(s, "p-0"), removal(s, "p-1")];
            s.plan(actions, json!([]));
        }),
        ("I-16", a_gang(), |s| s.plan(launches(2, "default/train-0"), json!([]))),
        ("I-16", a_gang(), |s| {
            let more = json!({"gang": "default/train-0", "target": {"providerId": s.id("p-0")}});
            let started = action("StartInstance", "p-0", more);
            s.plan([vec![started], launches(5, "default/train-0")].concat(), json!([]));
            s.cordon("p-0");
        }),
    ]);
}

/// Launches of one machine in each of these pools, for six small pods that fit on one.
fn one_of_each(pools: &[&str]) -> Scene {
    let more = ["q", "r", "s"].map(|name| {
        json!({"name": name, "spec": {"provider": {"kind": "Simulated"}, "max": 4, "price": {"perHour": 1},
            "template": {"allocatable": {"cpu": "8", "memory": "32Gi"}}}})
    });
    let mut world = with_pod(json!({"members": 30, "requests": {"cpu": "1"}}));
    let [q, r, s] = more;
    merge(&mut world, json!({"pools": [{}, {}, q, r, s]}));
    let mut scene = Scene::new(world);
    let launch =
        |pool: &&str| action("CreateInstance", &format!("{pool}-new"), json!({"target": {"pool": pool}}));
    scene.plan(pools.iter().map(launch).collect(), json!([]));
    scene
}

#[test]
fn pools_do_not_all_grow_for_the_same_pods() {
    assert_eq!(one_of_each(&["p", "q"]).broken(), [""; 0], "a cheap one beside a dear one");
    assert_eq!(one_of_each(&["p", "q", "r", "s"]).broken(), ["I-8"]);
}

#[test]
fn a_node_that_is_opened_again_is_room_for_a_gang() {
    let mut scene = Scene::new(a_gang());
    scene.cordon("p-0");
    let opened = action("UncordonNode", "p-0", json!({"target": {"kind": "Node"}}));
    scene.plan([vec![opened], launches(3, "default/train-0")].concat(), json!([]));
    let gangs = scene.broken().into_iter().filter(|promise| *promise == "I-16").count();
    assert_eq!(gangs, 0, "{:?}", scene.0.breaches());
}

#[test]
fn a_removal_under_way_still_needs_its_room() {
    // A large pod of one node fits on the third; the other node's does not as well.
    let mut scene = Scene::new(with_pod(json!({"members": 3, "requests": {"cpu": "3"}})));
    let first = removal(&scene, "p-0");
    scene.plan(vec![first], json!([]));
    scene.cordon("p-0");
    let second = removal(&scene, "p-1");
    scene.plan(vec![second], json!([]));
    assert_eq!(scene.broken(), ["I-12"], "{:?}", scene.0.breaches());
}

/// An imported cluster: what waits there comes with the first look.
#[test]
fn what_is_decided_in_the_instant_in_which_its_pods_come_is_for_them() {
    let pod = json!({"arrivals": {"at": ["1s"], "count": 1}, "requests": {"cpu": "6"}, "duration": "10m"});
    let mut given = with_pod(pod);
    let none = json!({"controller": "Ballast", "until": "10m", "pools": [{"running": 0}]});
    merge(&mut given, none);
    let mut scene = Scene::new(given);
    scene.0.step_until(scene.0.world.now + Span::from_mins(5));
    assert_eq!(scene.broken(), [""; 0]);
}
