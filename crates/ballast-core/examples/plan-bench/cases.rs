//! The cases, each with its bar.

use std::time::Instant;

use ballast_core::check::check;
use ballast_core::fixtures::{Cluster, changed};
use ballast_core::kube::Phase;
use ballast_core::memory::Memory;
use ballast_core::plan::{ActionKind, Plan};
use ballast_core::planner::{Scratch, plan};
use ballast_core::snapshot::{Snapshot, Store};
use serde_json::Value;

use crate::generate;
use crate::measure::{figure, resident_mib, row, times};

type Case = fn() -> Vec<Value>;

/// Every case by name.
pub(crate) const ALL: [(&str, Case); 6] = [
    ("pack-51k", pack),
    ("plan-15k-cold", cold),
    ("plan-15k-incremental", incremental),
    ("remove-2k", remove),
    ("types-400", types),
    ("growth", growth),
];

/// Makes what a case plans from, and plans `plans` times: what one plan costs is what one more costs. For tools that count
/// rather than time, which are too slow for the great cases.
pub(crate) fn plan_times(case: &str, plans: usize) {
    let cluster = match case {
        "pack-51k" => generate::pack(false),
        "remove-2k" => generate::light(),
        _ => generate::busy(1000),
    };
    let mut store = cluster.store();
    let mut scratch = Scratch::default();
    for at in 0..plans {
        if case == "plan-15k-incremental" {
            let mut pod = cluster.pods[at].clone();
            pod.metadata.deletion_timestamp = Some(cluster.now);
            store.observe(changed(pod, cluster.now));
        } else {
            scratch = Scratch::default();
        }
        planned(&cluster, &store.snapshot(), &mut scratch);
    }
}

fn count(plan: &Plan, kind: ActionKind) -> f64 {
    plan.actions.iter().filter(|action| action.kind == kind).count() as f64
}

/// A plan with the check that the engine holds against every plan that acts.
fn planned(cluster: &Cluster, snapshot: &Snapshot, scratch: &mut Scratch) -> Plan {
    let memory = Memory::default();
    let (plan, _) = plan(snapshot, &memory, cluster.now, scratch);
    if !plan.actions.is_empty() {
        assert_eq!(check(snapshot, &memory, &plan), [], "a plan that breaks a promise is no plan");
    }
    plan
}

/// A plan for which nothing is remembered.
fn planned_anew(cluster: &Cluster, snapshot: &Snapshot) -> Plan {
    planned(cluster, snapshot, &mut Scratch::default())
}

fn pack() -> Vec<Value> {
    let mut rows = Vec::new();
    for (distinct, metric, bar) in [(false, "plan", 10.0), (true, "plan, all requests distinct", 100.0)] {
        let cluster = generate::pack(distinct);
        let snapshot = cluster.store().snapshot();
        let nodes = count(&planned_anew(&cluster, &snapshot), ActionKind::CreateInstance);
        let seen = times(11, || drop(planned_anew(&cluster, &snapshot)));
        rows.push(row("pack-51k", metric, &seen, "ms", bar, "<="));
        rows.push(row("pack-51k", &format!("{metric}: nodes"), &[nodes], "nodes", 2595.0, "=="));
    }
    rows
}

fn cold_times(nodes: usize, n: usize) -> (Vec<f64>, Plan) {
    let cluster = generate::busy(nodes);
    let mut last = None;
    let mut seen = Vec::new();
    for _ in 0..n {
        // What the sources say is handed over whole; making it is not part of the measure.
        let observations = cluster.observations();
        let start = Instant::now();
        let mut store = Store::new();
        for observation in observations {
            store.observe(observation);
        }
        last = Some(planned_anew(&cluster, &store.snapshot()));
        seen.push(start.elapsed().as_secs_f64() * 1e3);
    }
    (seen, last.expect("it ran"))
}

fn cold() -> Vec<Value> {
    let (seen, plan) = cold_times(15_000, 3);
    vec![
        row("plan-15k-cold", "observe and plan", &seen, "ms", 300.0, "<="),
        row("plan-15k-cold", "resident", &[resident_mib()], "MiB", 1024.0, "<="),
        row("plan-15k-cold", "launches", &[count(&plan, ActionKind::CreateInstance)], "nodes", 1.0, ">="),
    ]
}

/// How one pod may change.
#[derive(Clone, Copy)]
enum OnePod {
    /// It is told to leave.
    Leaves,
    /// It ends, and room is free where it was.
    Ends,
    /// One more waits, of a shape that is there.
    Comes,
}

fn incremental() -> Vec<Value> {
    let mut rows = Vec::new();
    for (nodes, bar) in [(15_000, 1000.0), (1000, 50.0)] {
        let cluster = generate::busy(nodes);
        let kinds =
            [(OnePod::Leaves, "a pod leaves"), (OnePod::Ends, "a pod ended"), (OnePod::Comes, "a pod came")];
        for (kind, what) in kinds {
            let micros = one_pod_times(&cluster, kind);
            rows.push(row(
                "plan-15k-incremental",
                &format!("{what}, {nodes} nodes"),
                &micros,
                "µs",
                bar,
                "<=",
            ));
        }
    }
    rows
}

fn one_pod_times(cluster: &Cluster, kind: OnePod) -> Vec<f64> {
    let mut store = cluster.store();
    let mut scratch = Scratch::default();
    planned(cluster, &store.snapshot(), &mut scratch);
    let mut dice = generate::Dice::new(7);
    let running = cluster.nodes.len() as u64 * 30;
    let seen = times(101, || {
        let at = match kind {
            OnePod::Leaves | OnePod::Ends => dice.below(running),
            OnePod::Comes => running + dice.below(cluster.pods.len() as u64 - running),
        };
        let mut pod = cluster.pods[at as usize].clone();
        match kind {
            OnePod::Leaves => pod.metadata.deletion_timestamp = Some(cluster.now),
            OnePod::Ends => pod.status.phase = Phase::Succeeded,
            OnePod::Comes => {
                pod.metadata.name = format!("{}-{}", pod.metadata.name, dice.below(u64::MAX)).into()
            }
        }
        store.observe(changed(pod, cluster.now));
        planned(cluster, &store.snapshot(), &mut scratch);
    });
    seen.into_iter().map(|ms| ms * 1000.0).collect()
}

fn remove() -> Vec<Value> {
    let cluster = generate::light();
    let snapshot = cluster.store().snapshot();
    let gone = count(&planned_anew(&cluster, &snapshot), ActionKind::StopInstance);
    let seen = times(11, || drop(planned_anew(&cluster, &snapshot)));
    vec![
        row("remove-2k", "plan", &seen, "ms", 50.0, "<="),
        row("remove-2k", "removed", &[gone], "nodes", 1200.0, "=="),
    ]
}

fn types() -> Vec<Value> {
    let cluster = generate::types();
    let snapshot = cluster.store().snapshot();
    let made = planned_anew(&cluster, &snapshot);
    let seen = times(3, || drop(planned_anew(&cluster, &snapshot)));
    let price: f64 = made
        .actions
        .iter()
        .map(|action| cluster.pools[&action.target.pool].price.per_hour.map_or(0.0, |price| price.as_f64()))
        .sum();
    let left: u32 = made.report.infeasible.len() as u32;
    let bound = lower_bound(&cluster);
    vec![
        row("types-400", "plan", &seen, "ms", 1000.0, "<="),
        row("types-400", "price over the lower bound", &[price / bound], "ratio", 1.05, "<="),
        figure("types-400", "price", price, "per hour"),
        figure("types-400", "lower bound", bound, "per hour"),
        row("types-400", "classes left", &[f64::from(left)], "classes", 0.0, "=="),
    ]
}

/// No packing is cheaper than CPU or memory alone bought at the best rate that any type gives, whichever is dearer, and each
/// at its own rate is a bound; their best convex mix is too. Prices are linear in both, so the mix is the sum of both rates.
fn lower_bound(cluster: &Cluster) -> f64 {
    let (mut cpu, mut memory) = (0.0, 0.0);
    for pod in &cluster.pods {
        let requests = &pod.spec.containers[0].resources.requests;
        cpu += requests["cpu"].as_f64();
        memory += requests["memory"].as_f64();
    }
    // Largest type: it has the least overhead for each unit.
    let best = |amount: f64, name: &str, share: &dyn Fn(f64, f64) -> f64| {
        let rates = cluster.pools.values().map(|pool| {
            let all = &pool.template.allocatable;
            let price = pool.price.per_hour.map_or(0.0, |price| price.as_f64());
            share(price, all["cpu"].as_f64()) / all[name].as_f64()
        });
        amount * rates.fold(f64::INFINITY, f64::min)
    };
    let of_cpu = best(cpu, "cpu", &|_, cores| (cores + 0.1) * 0.1);
    let of_memory = best(memory, "memory", &|price, cores| price - (cores + 0.1) * 0.1);
    of_cpu + of_memory
}

fn growth() -> Vec<Value> {
    let medians: Vec<f64> = [5000, 10_000, 15_000]
        .into_iter()
        .map(|nodes| {
            let mut seen = cold_times(nodes, 3).0;
            seen.sort_by(f64::total_cmp);
            seen[seen.len() / 2]
        })
        .collect();
    vec![
        row("growth", "15000 nodes over 5000", &[medians[2] / medians[0]], "ratio", 3.6, "<="),
        figure("growth", "5000 nodes", medians[0], "ms"),
        figure("growth", "10000 nodes", medians[1], "ms"),
        figure("growth", "15000 nodes", medians[2], "ms"),
    ]
}
