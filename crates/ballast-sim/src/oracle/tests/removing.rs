//! What is removed.

use super::*;

fn annotated(key: &str, value: &str) -> Value {
    with_pod(json!({"annotations": {key: value}}))
}

#[test]
fn what_is_removed() {
    each_is_heard(vec![
        ("I-1", with_pod(json!({"owner": "Job"})), |s| s.remove(&s.node_with("web").0)),
        ("I-2", json!({}), |s| {
            s.ask(Request::StopInstance { pool: "p".into(), id: "".into(), mode: StopMode::Deallocate })
        }),
        ("I-2", json!({}), |s| {
            s.ask(Request::Evict { namespace: "a".into(), name: "b".into(), uid: "".into() })
        }),
        ("I-3", json!({}), |s| {
            s.cordon("p-0");
            s.stop("p", "p-0", StopMode::Deallocate);
        }),
        ("I-3", json!({}), |s| {
            s.cordon("p-0");
            s.read("p-0");
            s.pass(8);
            s.stop("p", "p-0", StopMode::Deallocate);
        }),
        ("I-6", with_pool(json!({"min": 3})), |s| s.remove("p-0")),
        ("I-6", with_pool(json!({"schedule": [{"start": "0 0 * * *", "duration": "24h", "min": 3}]})), |s| {
            s.remove("p-0")
        }),
        ("I-13", json!({}), |s| s.cordon("free")),
        ("I-13", json!({}), |s| s.cordon("cp-0")),
        ("I-13", json!({}), |s| s.stop("p", "cp-0", StopMode::Deallocate)),
        ("I-13", with_pod(json!({"labels": {"app.kubernetes.io/name": "ballast"}})), |s| {
            s.cordon(&s.node_with("web").0)
        }),
        ("I-19", json!({}), |s| {
            s.read("p-0");
            s.stop("p", "p-0", StopMode::Deallocate);
        }),
        ("I-19", json!({}), |s| {
            s.cordon("p-0");
            s.read("p-0");
            s.stop("p", "p-0", StopMode::Delete);
        }),
        ("I-19", with_pod(json!({})), |s| s.evict("web")),
    ]);
}

#[test]
fn who_is_evicted() {
    const SAFE: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
    let local = with_pod(json!({"podSpec": {"volumes": [{"name": "tmp", "emptyDir": {}}]}}));
    let mut gang = with_pod(json!({"gang": true, "owner": "Job", "members": 2}));
    merge(&mut gang, json!({"workloads": [{"duration": "1h"}]}));
    let worlds = [
        annotated("karpenter.sh/do-not-disrupt", "true"),
        annotated("ballast.dev/do-not-disrupt", "1h"),
        annotated(SAFE, "false"),
        annotated(SAFE, "on-completion"),
        with_pod(json!({"owner": "None"})),
        with_pod(json!({"namespace": "kube-system"})),
        local,
        gang,
    ];
    let act: fn(&mut Scene) = |scene| {
        scene.cordon(&scene.node_with("web").0);
        scene.evict("web");
    };
    each_is_heard(worlds.into_iter().map(|world| ("I-1", world, act)).collect());
    let mut calm = Scene::new(with_pod(json!({})));
    act(&mut calm);
    assert_eq!(calm.broken(), [""; 0], "who is not protected may be evicted");
}

#[test]
fn who_is_evicted_beyond_a_cap() {
    const SAFE: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
    let of_one = || {
        let mut gang = with_pod(json!({"gang": true, "owner": "Job", "members": 1}));
        merge(&mut gang, json!({"workloads": [{"duration": "1h"}]}));
        gang
    };
    let capped = |mut world: Value, cap: u32| {
        merge(&mut world, json!({"policy": {"tenants": [{"protectedNodes": cap}]}}));
        world
    };
    let act: fn(&mut Scene) = |scene| {
        scene.cordon(&scene.node_with("web").0);
        scene.evict("web");
    };
    for world in [annotated(SAFE, "false"), annotated(SAFE, "on-completion"), of_one()] {
        let mut scene = Scene::new(capped(world.clone(), 0));
        act(&mut scene);
        assert_eq!(scene.broken(), [""; 0], "{world}");
        // Its own node is on its way out, and keeps nothing.
        each_is_heard(vec![("I-1", capped(world, 1), act)]);
    }
}

#[test]
fn what_a_person_cordoned_keeps_its_pods() {
    let mut world =
        with_pod(json!({"annotations": {"ballast.dev/do-not-disrupt": "true"}, "requests": {"cpu": "5"}}));
    merge(
        &mut world,
        json!({"workloads": [{}, {"name": "held", "owner": "ReplicaSet", "requests": {"cpu": "5"},
        "annotations": {"ballast.dev/do-not-disrupt": "true"}}], "policy": {"tenants": [{"protectedNodes": 1}]}}),
    );
    for (mark, broken) in [("", vec![]), ("stop-2", vec!["I-1"])] {
        let mut scene = Scene::new(world.clone());
        let (name, ..) = scene.node_with("held");
        assert_ne!(name, scene.node_with("web").0);
        let at = scene.0.world.by_name[&*name] as usize;
        let node = scene.0.world.machines[at].node.as_mut().expect("it is a node");
        (node.cordoned, node.mark) = (true, mark.into());
        scene.cordon(&scene.node_with("web").0);
        scene.evict("web");
        assert_eq!(scene.broken(), broken, "{mark}");
    }
}

#[test]
fn how_much_is_removed() {
    let tenth = |share: &str| json!({"share": share, "window": "10m"});
    let ten = |share: &str| {
        let removal = json!({"perPool": tenth("34%"), "perCluster": tenth(share)});
        json!({"policy": {"removal": removal}, "pools": [{"running": 10, "stopped": 0, "spec": {"max": 12}}, {"running": 0}]})
    };
    // Four of ten are 34 %, rounded up; what was cordoned still runs, and does not widen the share.
    let mut scene = Scene::new(ten("34%"));
    (0..4).for_each(|at| scene.cordon(&format!("p-{at}")));
    assert_eq!(scene.broken(), [""; 0]);
    scene.cordon("p-4");
    assert_eq!(scene.broken(), ["I-7"]);
    each_is_heard(vec![
        ("I-7", ten("10%"), |s| ["p-0", "p-1", "p-2"].iter().for_each(|name| s.cordon(name))),
        ("I-7", ten("0%"), |s| s.cordon("p-0")),
        ("I-7", with_pool(json!({"budget": {"share": "0%", "window": "10m"}})), |s| s.cordon("p-0")),
    ]);
}

#[test]
fn a_machine_that_came_and_went_is_not_still_to_come() {
    let share = json!({"share": "34%", "window": "1h"});
    let mut scene = Scene::new(json!({"policy": {"removal": {"perPool": share, "perCluster": share}},
        "pools": [{"running": 9, "stopped": 3, "spec": {"max": 12, "min": 12}}, {"running": 0}]}));
    let launched = ["p-9", "p-10", "p-11"];
    let starts = launched.map(|name| {
        super::adding::action("StartInstance", name, json!({"target": {"providerId": scene.id(name)}}))
    });
    scene.plan(starts.to_vec(), json!([]));
    launched.iter().for_each(|name| scene.start(name));
    scene.pass(600);
    scene.change(json!({"spec": {"min": 0}}));
    // Five of twelve are 34 %, rounded up.
    launched.iter().for_each(|name| scene.remove(name));
    ["p-0", "p-1"].iter().for_each(|name| scene.cordon(name));
    assert_eq!(scene.broken(), [""; 0], "{:?}", scene.0.breaches());
    scene.cordon("p-2");
    assert_eq!(scene.broken(), ["I-7"], "{:?}", scene.0.breaches());
}

/// The demo's own seed once broke a promise by it: the mark stays on the node of a machine that is off.
#[test]
fn a_machine_that_starts_again_counts_though_it_bears_our_mark() {
    let share = json!({"share": "34%", "window": "10m"});
    let mut scene = Scene::new(json!({"policy": {"removal": {"perPool": share, "perCluster": share}},
        "pools": [{"running": 12, "stopped": 0, "spec": {"max": 12}}, {"running": 0}]}));
    let again = ["p-9", "p-10", "p-11"];
    again.iter().for_each(|name| scene.remove(name));
    scene.pass(3600);
    let starts = again.map(|name| {
        super::adding::action("StartInstance", name, json!({"target": {"providerId": scene.id(name)}}))
    });
    scene.change(json!({"spec": {"min": 12}}));
    scene.plan(starts.to_vec(), json!([]));
    again.iter().for_each(|name| scene.start(name));
    scene.change(json!({"spec": {"min": 0}}));
    // Five of twelve are 34 %, rounded up; of nine it would be four.
    (0..5).for_each(|at| scene.cordon(&format!("p-{at}")));
    assert_eq!(scene.broken(), [""; 0], "{:?}", scene.0.breaches());
    scene.cordon("p-5");
    assert_eq!(scene.broken(), ["I-7"], "{:?}", scene.0.breaches());
}

#[test]
fn on_what_sight() {
    let fault =
        |kind: &str, view: &str, at: &str| json!({"faults": [{"kind": kind, "at": at, "view": view}]});
    let blind: fn(&mut Scene) = |scene| {
        scene.pass(60);
        scene.look();
        scene.pass(10);
        scene.cordon("p-0");
    };
    let stale: fn(&mut Scene) = |scene| {
        scene.pass(180);
        scene.cordon("p-0");
    };
    let at_once: fn(&mut Scene) = |scene| scene.cordon("p-0");
    each_is_heard(vec![
        ("I-4", fault("FailedView", "Nodes", "30s"), blind),
        ("I-4", fault("FailedView", "Pods", "30s"), blind),
        ("I-4", fault("FailedView", "Budgets", "30s"), blind),
        ("I-4", fault("FailedView", "Instances", "30s"), blind),
        ("I-4", fault("StaleView", "Pods", "30s"), stale),
        ("I-4", fault("EmptyView", "Pods", "50s"), at_once),
        ("I-4", fault("TruncatedView", "Nodes", "50s"), at_once),
    ]);
}
