//! What a reader of a plan should know of the documents that it was made from.

use std::sync::Arc;

use ballast_core::documents::{Documents, Placed};
use ballast_core::observation::{Body, Object, Observation};
use ballast_core::policy::{ClusterPolicySpec, Mode, VmPool};
use ballast_core::snapshot::{POOL_LABEL, PoolEntry};

use crate::present::prices::unpriced;

/// All there is to know.
pub(super) fn all(documents: &Documents) -> Vec<String> {
    let mut notes: Vec<String> = not_acted_upon(documents)
        .map(|(count, of)| format!("{count} of {of} read, but not acted upon yet"))
        .collect();
    notes.extend(not_read(documents));
    notes.extend(why_idle(documents));
    notes.extend(pools_without_nodes(documents));
    let currency = policies(documents).next().cloned().unwrap_or_default().currency;
    notes.extend(unpriced(pools(documents).map(|pool| (&*pool.name, pool.spec.price)), &currency));
    notes
}

fn policies(documents: &Documents) -> impl Iterator<Item = &ClusterPolicySpec> {
    documents.objects.iter().filter_map(|placed| match &placed.value {
        Object::ClusterPolicy(policy) => Some(&policy.spec),
        _ => None,
    })
}

fn pools(documents: &Documents) -> impl Iterator<Item = &VmPool> {
    documents.objects.iter().filter_map(|placed| match &placed.value {
        Object::VmPool(pool) => Some(pool),
        _ => None,
    })
}

/// Documents of scalers that do not decide yet, and rules that only those will ask for.
fn not_acted_upon(documents: &Documents) -> impl Iterator<Item = (usize, &'static str)> {
    let (guarantees, yields) = policies(documents).fold((0, 0), |(guarantees, yields), policy| {
        (guarantees + policy.guarantees.len(), yields + policy.yields.len())
    });
    let is_answer = |placed: &&Placed<Observation>| matches!(placed.value.outcome, Ok(Body::Answer(_)));
    let answers = documents.observations.iter().filter(is_answer).count();
    let pools = documents.objects.iter().filter_map(|placed| match &placed.value {
        Object::VmPool(pool) => Some(&pool.spec),
        _ => None,
    });
    let (spot, groups) = pools.fold((0, 0), |(spot, groups), pool| {
        (spot + usize::from(pool.price.spot), groups + usize::from(pool.members.group.is_some()))
    });
    let counts = [
        (documents.elastic_job_policies.len(), "kind ElasticJobPolicy"),
        (documents.metric_scalers.len(), "kind MetricScaler"),
        (documents.ray_scalers.len(), "kind RayScaler"),
        (documents.spark_pools.len(), "kind SparkPool"),
        (answers, "the Observations"),
        (guarantees, "the ClusterPolicy's guarantees"),
        (yields, "the ClusterPolicy's yields"),
        (spot, "the VmPools' price.spot"),
        (groups, "the VmPools' members.group"),
    ];
    counts.into_iter().filter(|(count, _)| *count > 0)
}

/// Kinds of documents that a plan is not made from.
fn not_read(documents: &Documents) -> Option<String> {
    let others =
        documents.ignored.iter().map(|((version, kind), count)| format!("{count} {kind} ({version})"));
    let scenarios = documents.scenarios.len();
    let scenarios = (scenarios > 0).then(|| format!("{scenarios} Scenario (run it with `ballast simulate`)"));
    let all: Vec<String> = others.chain(scenarios).collect();
    (!all.is_empty()).then(|| format!("not read: {}", all.join(", ")))
}

/// Why nothing of the plan would be done live, where that is so.
fn why_idle(documents: &Documents) -> Option<String> {
    if pools(documents).next().is_none() {
        return Some("there is no VmPool, so nothing can be started or stopped: add one".to_owned());
    }
    let (mode, by) = match policies(documents).next() {
        Some(policy) => (policy.mode, "the ClusterPolicy says"),
        None => (Mode::default(), "without a ClusterPolicy it is"),
    };
    (mode != Mode::Enforce)
        .then(|| format!("{by} `mode: {mode:?}`, so live nothing of this would be done: `Enforce` does it"))
}

/// Pools that claim none of the nodes that are there, while some belong to no pool: probably a slip in `members`.
fn pools_without_nodes(documents: &Documents) -> Vec<String> {
    let entry = |pool: &VmPool| PoolEntry::new(pool.name.clone(), Arc::new(pool.spec.clone()));
    let pools: Vec<PoolEntry> = pools(documents).map(entry).collect();
    let mut claimed = vec![false; pools.len()];
    let mut strays = 0;
    for placed in &documents.objects {
        let Object::Node(node) = &placed.value else { continue };
        let owner = pools.iter().position(|pool| pool.claims(&node.metadata.name, &node.metadata.labels));
        match owner {
            Some(at) => claimed[at] = true,
            None => strays += 1,
        }
    }
    let empty = pools.iter().zip(claimed).filter(|(_, claimed)| !claimed && strays > 0);
    let told = empty.map(|(pool, _)| {
        let name = &pool.name;
        format!("no node belongs to VmPool `{name}`, and {strays} to no pool: nodes belong by `members` or by the label {POOL_LABEL}={name}")
    });
    told.collect()
}
