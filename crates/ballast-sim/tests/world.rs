//! The world by itself, with nobody or with the OpenPAI rule deciding: what it does can be foretold.

use ballast_core::units::Money;
use ballast_sim::scenario::Scenario;
use ballast_sim::score::Score;
use ballast_sim::simulation::{Injection, InjectionKind, Simulation};
use serde_json::{Value, json};

fn scenario(spec: Value) -> Scenario {
    let document = json!({
        "apiVersion": "ballast.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "test"}, "spec": spec,
    });
    Scenario::from_value(document).expect("a good scenario")
}

fn pool(running: u32, stopped: u32) -> Value {
    json!({"name": "gpu", "running": running, "stopped": stopped, "cloud": {"boot": "3m"}, "spec": {
        "provider": {"kind": "Simulated"}, "max": 20, "price": {"perHour": 2, "stoppedPerHour": 0.1},
        "template": {"allocatable": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "4"}}}})
}

fn run(spec: Value) -> Score {
    Simulation::new(&scenario(spec), 1).finish()
}

#[test]
fn a_job_waits_runs_and_is_paid_for() {
    let score = run(json!({
        "until": "2h", "controller": "None", "pools": [pool(1, 1)],
        "workloads": [{"name": "w", "requests": {"cpu": "8", "memory": "8Gi"}, "duration": "30m",
            "arrivals": {"at": ["0s", "0s", "10m"]}}],
    }));
    assert_eq!(score.jobs_ended, 3);
    // Two fit at once; the third waits from 10:00 to 30:05, when the first two end.
    assert_eq!((score.pending.p50, score.pending.max), (0.0, 1205.0));
    assert!((score.cost - 2.0 * 2.1).abs() < 1e-9, "one runs, one is off: {}", score.cost);
    // Busy from 0 to 30:05 and again to 60:10.
    assert!((score.idle_cost - 2.0 * (7200.0 - 3610.0) / 3600.0).abs() < 1e-9, "{}", score.idle_cost);
    let hours = 8.0 * (3.0 * 1805.0) / 3600.0;
    assert!((score.cpu_utilisation.unwrap() - hours / 32.0).abs() < 1e-9);
}

#[test]
fn pods_of_another_revision_are_not_meant_where_match_label_keys_says_so() {
    let unserved = |keys: Value| {
        let away = json!({"labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": keys,
            "topologyKey": "kubernetes.io/hostname"});
        let pod_spec = json!({"affinity":
            {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [away]}}});
        let web = |name: &str| {
            json!({"name": name, "requests": {"cpu": "1"}, "labels": {"app": "web", "hash": name},
                "podSpec": pod_spec})
        };
        let workloads = [web("old"), web("new")];
        let spec =
            json!({"until": "1h", "controller": "None", "pools": [pool(1, 0)], "workloads": workloads});
        run(spec).pending.unserved
    };
    assert_eq!((unserved(json!([])), unserved(json!(["hash"]))), (1, 0));
}

#[test]
fn shares_of_a_gpu_lie_on_one_device_and_gangs_come_together_or_not_at_all() {
    let shares = run(json!({
        "until": "1h", "controller": "None", "pools": [pool(1, 0)],
        "workloads": [{"name": "s", "requests": {"cpu": "1"}, "gpuMilli": 600, "duration": "10m",
            "arrivals": {"at": ["0s"], "count": 5}}],
    }));
    assert_eq!((shares.pending.p50, shares.pending.max), (0.0, 605.0), "four devices, 600 of each");
    let gangs = run(json!({
        "until": "1h", "controller": "None", "pools": [pool(2, 0)],
        "workloads": [
            {"name": "a", "requests": {"nvidia.com/gpu": "4"}, "members": 2, "gang": true, "duration": "10m"},
            {"name": "b", "requests": {"nvidia.com/gpu": "4"}, "members": 2, "gang": true, "duration": "10m"},
            {"name": "c", "requests": {"nvidia.com/gpu": "4"}, "members": 3, "gang": true, "duration": "10m"}],
    }));
    assert_eq!(gangs.jobs_ended, 2);
    assert_eq!(gangs.get("unserved.c"), Some(3.0), "three do not fit, so none is placed");
    assert_eq!(gangs.get("pendingMax.b"), Some(605.0));
    // What never came together, or never was done, counts with its time so far.
    assert_eq!((gangs.assembly.count, gangs.assembly.unserved, gangs.assembly.max), (3, 1, 3600.0));
    assert!(
        (gangs.mean_completion.unwrap() - (605.0 + 1210.0 + 3600.0) / 3.0).abs() < 1e-9,
        "{:?}",
        gangs.mean_completion
    );
}

#[test]
fn idle_gpus_are_no_fragments_because_others_ask_for_none() {
    let score = run(json!({
        "until": "1h", "controller": "None", "pools": [pool(2, 0)],
        "workloads": [
            {"name": "plain", "requests": {"cpu": "1"}, "arrivals": {"perHour": 100.0}, "duration": "1m"},
            {"name": "gpu", "requests": {"nvidia.com/gpu": "4"}, "arrivals": {"at": ["30m"]}, "duration": "1m"}],
    }));
    assert_eq!(score.fragmentation, Some(0.0), "all four of each node are free together");
}

#[test]
fn what_was_there_from_the_start_was_launched_by_nobody() {
    let score = run(json!({
        "until": "3h", "policy": {"mode": "Enforce", "limits": {"nodes": 9, "costPerHour": 100}},
        "pools": [pool(2, 0)],
    }));
    assert!(score.removals > 0);
    assert_eq!(score.unused_launches, 0);
}

#[test]
fn a_controller_whose_views_stand_still_goes_on_looking() {
    let spec = json!({
        "until": "6m", "policy": {"mode": "Enforce", "limits": {"nodes": 9, "costPerHour": 100}},
        "pools": [pool(1, 3)],
        "workloads": [{"name": "w", "requests": {"cpu": "16"}, "arrivals": {"every": "20s"}}],
    });
    let injection = Injection { at: 0, kind: InjectionKind::StaleViews };
    let simulation = Simulation::new(&scenario(spec), 1).with_injection(injection);
    assert!(simulation.finish().ticks > 15);
}

#[test]
fn what_the_cloud_takes_back_is_made_anew_and_loses_its_work() {
    let score = run(json!({
        "until": "3h", "controller": "None", "pools": [pool(2, 0)],
        "workloads": [{"name": "w", "requests": {"cpu": "16"}, "duration": "1h", "checkpoint": "10m"}],
        "faults": [{"kind": "SpotReclaim", "at": "33m", "span": "2m", "pool": "gpu"}],
    }));
    assert_eq!((score.reclaims, score.jobs_ended), (2, 0), "both machines are gone, and nobody starts them");
    assert_eq!(score.get("unserved.w"), Some(1.0));
    // It ran from 0:05 to 35:00; thirty minutes are kept.
    assert!((score.lost_work_hours - (35.0 * 60.0 - 5.0 - 1800.0) / 3600.0).abs() < 1e-9);
}

/// Pods that may not share a node.
fn apart() -> Value {
    json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}]}}})
}

#[test]
fn relations_bind_the_scheduler_also_within_a_gang() {
    for gang in [false, true] {
        let score = run(json!({
            "until": "1h", "controller": "None", "pools": [pool(2, 0)],
            "workloads": [
                {"name": "x", "requests": {"cpu": "1"}, "labels": {"app": "x"}, "members": 3, "gang": gang,
                    "podSpec": apart()},
                {"name": "y", "requests": {"cpu": "1"}, "podSpec": {"nodeSelector": {"zone": "nowhere"}}}],
        }));
        let left = if gang { 3.0 } else { 1.0 };
        assert_eq!(score.get("unserved.x"), Some(left), "two nodes, one each");
        assert_eq!(score.get("unserved.y"), Some(1.0));
    }
}

#[test]
fn the_higher_priority_goes_first_whether_it_is_a_gang_or_not() {
    let score = run(json!({
        "until": "1h", "controller": "None", "pools": [pool(1, 0)],
        "workloads": [
            {"name": "gang", "requests": {"cpu": "8"}, "members": 2, "gang": true, "duration": "10m"},
            {"name": "pod", "requests": {"cpu": "16"}, "priority": 100, "duration": "10m"}],
    }));
    assert_eq!((score.get("pendingMax.pod"), score.get("pendingMax.gang")), (Some(0.0), Some(605.0)));
}

#[test]
fn a_node_that_is_not_ready_offers_nothing_and_nobody_uses_it() {
    let score = run(json!({
        "until": "2h", "controller": "None", "pools": [pool(1, 0)],
        "workloads": [{"name": "w", "requests": {"cpu": "16", "memory": "32Gi"}}],
        "faults": [{"kind": "NodeFlap", "at": "30m", "span": "1h"}],
    }));
    assert!((score.cpu_utilisation.unwrap() - 1.0).abs() < 1e-9, "{:?}", score.cpu_utilisation);
    assert!((score.memory_utilisation.unwrap() - 0.5).abs() < 1e-9, "{:?}", score.memory_utilisation);
}

#[test]
fn nothing_runs_on_a_machine_that_is_off() {
    // The node counts as ready for another fifty seconds, and the scheduler believes it.
    let score = run(json!({
        "until": "1h", "controller": "None", "pools": [pool(1, 0)],
        "workloads": [{"name": "w", "requests": {"cpu": "1"}, "duration": "10s", "arrivals": {"at": ["620s"]}}],
        "faults": [{"kind": "SpotReclaim", "at": "10m", "span": "0s"}],
    }));
    assert_eq!((score.reclaims, score.jobs_ended), (1, 0));
    assert_eq!(score.get("unserved.w"), Some(1.0), "it was lost and made anew");
}

#[test]
fn a_machine_that_hangs_is_replaced_and_let_go_with_all_that_nobody_confirms_gone() {
    let score = run(json!({
        "until": "3h", "policy": {"mode": "Enforce", "limits": {"nodes": 9, "costPerHour": 100}},
        "pools": [{"name": "p", "running": 2, "spec": {"provider": {"kind": "Simulated"}, "max": 4,
            "price": {"perHour": 2}, "times": {"boot": "1m"}, "template": {"allocatable": {"cpu": "8", "memory": "32Gi"}}}}],
        "workloads": [{"name": "w", "owner": "ReplicaSet", "requests": {"cpu": "7"}, "members": 2}],
        "faults": [{"kind": "NodeHangs", "at": "10m", "share": "50%"}],
    }));
    assert_eq!(
        score.get("pendingMax.w").map(|wait| wait < 300.0),
        Some(true),
        "{:?}",
        score.get("pendingMax.w")
    );
    assert_eq!((score.adds, score.removals), (1, 1), "one more for the pods, and the dead one goes");
}

#[test]
fn nodes_that_stay_without_their_machines_are_in_nobodys_way() {
    // Five times two machines come and go, each leaving its node behind.
    let pool = |nodes_stay: bool| {
        json!({"name": "p", "cloud": {"nodesStay": nodes_stay}, "spec": {"provider": {"kind": "Simulated"},
            "max": 2, "stop": "Delete", "price": {"perHour": 2}, "times": {"boot": "1m"},
            "template": {"allocatable": {"cpu": "8", "memory": "32Gi"}}}})
    };
    let score = |nodes_stay: bool| {
        run(json!({
            "until": "10h", "policy": {"mode": "Enforce", "limits": {"nodes": 2, "costPerHour": 100}},
            "pools": [pool(nodes_stay)],
            "workloads": [{"name": "w", "requests": {"cpu": "7"}, "duration": "10m", "members": 2,
                "arrivals": {"at": ["10m", "2h", "4h", "6h", "8h"]}}],
        }))
    };
    for nodes_stay in [false, true] {
        let score = score(nodes_stay);
        assert_eq!(
            (score.adds, score.removals, score.broken_promises),
            (10, 10, 0),
            "nodes stay: {nodes_stay}"
        );
        assert_eq!(score.get("unserved.w"), Some(0.0), "nodes stay: {nodes_stay}");
    }
}

#[test]
fn the_luck_of_one_workload_is_not_that_of_another() {
    let waits = |others: Value| {
        let mut spec = json!({
            "until": "1d", "controller": "None", "pools": [pool(1, 0)],
            "nodes": [{"name": "n", "template": {"labels": {"here": "yes"}, "allocatable": {"cpu": "8"}}}],
            "workloads": [{"name": "w", "requests": {"cpu": "16"}, "duration": "10m",
                "startUp": {"exponential": {"mean": "2m"}}, "arrivals": {"perHour": 4.0}}],
        });
        spec["workloads"].as_array_mut().unwrap().extend(others.as_array().unwrap().iter().cloned());
        run(spec).pending_by_workload["w"]
    };
    let other = json!({"name": "v", "requests": {"cpu": "1"}, "duration": "1m", "arrivals": {"perHour": 30.0},
        "startUp": {"exponential": {"mean": "1m"}}, "podSpec": {"nodeSelector": {"here": "yes"}}});
    assert_eq!(waits(json!([])), waits(json!([other])));
}

#[test]
fn a_policy_gains_nothing_by_what_it_believes_of_its_cloud() {
    let spec = json!({
        "until": "3h", "policy": {"mode": "Enforce", "limits": {"nodes": 9, "costPerHour": 100}},
        "pools": [{"name": "p", "stopped": 3, "spec": {"provider": {"kind": "Simulated"}, "max": 9, "create": false,
            "price": {"perHour": 2}, "times": {"boot": "5m", "stop": "2m"},
            "template": {"allocatable": {"cpu": "8", "memory": "32Gi"}}}}],
        "workloads": [{"name": "w", "requests": {"cpu": "8"}, "duration": "30m"}],
    });
    let own = scenario(spec);
    let mut dreaming = own.clone();
    let mut believed = own.spec.pools[0].spec.clone();
    believed.price.per_hour = Some(Money::from_micros(10_000));
    believed.times.boot = "1s".parse().unwrap();
    believed.times.stop = "1s".parse().unwrap();
    dreaming.spec.pools = vec![dreaming.spec.pools.remove(0).with_spec(believed)];
    let [own, dreaming] = [own, dreaming].map(|scenario| Simulation::new(&scenario, 1).finish());
    assert_eq!((own.cost, own.pending), (dreaming.cost, dreaming.pending));
    assert!(own.cost > 1.0 && own.pending.max > 200.0, "{} {:?}", own.cost, own.pending);
}

#[test]
fn a_launch_is_for_the_pods_that_waited_when_it_was_made() {
    let of = |name: &str, gpus: u32| {
        let mut pool = pool(1 - gpus.min(1), 1);
        pool["name"] = name.into();
        pool["cloud"]["boot"] = "15m".into();
        pool["spec"]["price"]["perHour"] = (1 + gpus).into();
        pool["spec"]["template"]["allocatable"]["nvidia.com/gpu"] = gpus.into();
        pool
    };
    let score = run(json!({
        "until": "2h", "policy": {"mode": "Enforce", "limits": {"nodes": 9, "costPerHour": 100}},
        "pools": [of("plain", 0), of("gpu", 4)],
        "workloads": [
            {"name": "short", "requests": {"cpu": "16"}, "duration": "2m"},
            // One machine is on its way for it when it finds a place elsewhere; the other comes long after, for another pod.
            {"name": "long", "requests": {"cpu": "16"}, "duration": "1h", "arrivals": {"at": ["1m"]}},
            {"name": "late", "requests": {"nvidia.com/gpu": "1"}, "duration": "1h", "arrivals": {"at": ["13m"]}}],
    }));
    assert_eq!((score.adds, score.broken_promises), (2, 0), "{:?}", score.breaches);
}

fn openpai() -> Value {
    json!({
        "until": "6h", "controller": "OpenPai", "pools": [pool(8, 0)],
        "workloads": [{"name": "t", "requests": {"cpu": "4", "nvidia.com/gpu": "4"}, "duration": "20m",
            "arrivals": {"perHour": 3.0}}],
    })
}

#[test]
fn the_openpai_rule_fights_itself() {
    let score = run(openpai());
    // Each stop makes a worker Unknown, total and guaranteed differ, and all are started again.
    assert!(score.reversals > 10, "{}", score.reversals);
    assert!(score.adds > 20 && score.removals > 20, "{} {}", score.adds, score.removals);
    assert!(score.broken_promises > 0, "it reads nothing before it stops");
}

#[test]
fn one_seed_gives_one_run_byte_for_byte() {
    let journal = |seed| {
        let mut simulation = Simulation::new(&scenario(openpai()), seed).with_journal();
        simulation.step_until(simulation.until());
        (simulation.journal_text().to_owned(), serde_json::to_string(&simulation.score()).expect("JSON"))
    };
    let (first, second) = (journal(7), journal(7));
    assert!(!first.0.is_empty());
    assert_eq!(first, second);
    assert_ne!(first.0, journal(8).0);
}
