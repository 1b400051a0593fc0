//! Why pods still wait: what the last plan said of them.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use ballast_core::kube::Name;
use ballast_core::plan::{Infeasible, Plan, PoolVerdict, SkipReason, Subject};

use super::run::Simulation;
use crate::score::Left;

/// Said of pods that came when the last plan was made already, or of which it said nothing.
const UNTOLD: &str = "came after the last plan";
/// Said where there is neither a node nor a pool that could be asked.
const NOWHERE: &str = "no pool could serve it";

impl Simulation {
    /// Why the pods that wait do so; nothing where nobody plans.
    pub(super) fn left(&self) -> Vec<Left> {
        let Some(plan) = &self.driver.last_plan else { return Vec::new() };
        let world = &self.world;
        let mut waiting: FxHashMap<(&Name, &Name), usize> = FxHashMap::default();
        let mut unserved = vec![0_u64; world.meter.workloads.len()];
        for (_, pod) in world.pods.iter().filter(|(_, pod)| !pod.is_bound()) {
            let class = &world.classes[pod.class as usize];
            waiting.insert((&class.namespace, &pod.name), class.workload as usize);
            unserved[class.workload as usize] += 1;
        }
        let mut counts: BTreeMap<(usize, Name, String), u64> = BTreeMap::new();
        for (subject, pods, pool, why) in told(plan) {
            let Subject::Pods { namespace, name, .. } = subject else { continue };
            let Some(&workload) = waiting.get(&(namespace, name)) else { continue };
            // Some may have been served since.
            let pods = u64::from(pods).min(unserved[workload]);
            unserved[workload] -= pods;
            *counts.entry((workload, pool, why)).or_default() += pods;
        }
        for (workload, &pods) in unserved.iter().enumerate() {
            *counts.entry((workload, Name::default(), UNTOLD.to_owned())).or_default() += pods;
        }
        let left = |((workload, pool, why), pods): ((usize, Name, String), u64)| Left {
            workload: world.meter.workloads[workload].clone(),
            pool,
            why,
            pods,
        };
        counts.into_iter().filter(|(_, pods)| *pods > 0).map(left).collect()
    }
}

/// Who waits according to a plan, how many, and why: the pool that binds, and its cause.
fn told(plan: &Plan) -> impl Iterator<Item = (&Subject, u32, Name, String)> {
    let refused = plan.report.infeasible.iter().map(|left| {
        let (pool, why) = binding(left).map_or((Name::default(), NOWHERE.to_owned()), |verdict| {
            (verdict.pool.clone(), verdict.reason.cause())
        });
        (&left.subject, left.subject.pods(), pool, why)
    });
    let waiting = plan.report.waiting.iter();
    let waiting = waiting.map(|wait| (&wait.subject, wait.pods(), Name::default(), wait.on.cause()));
    refused.chain(waiting)
}

/// The verdict that tells most: of a pool that would do, else the first of all.
fn binding(left: &Infeasible) -> Option<&PoolVerdict> {
    let would_do = |verdict: &&PoolVerdict| !matches!(verdict.reason, SkipReason::DoesNotFit { .. });
    left.pools.iter().find(would_do).or(left.pools.first())
}
