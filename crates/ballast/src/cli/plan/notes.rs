//! What a reader of a plan should know of the documents that it was made from.

use ballast_core::documents::{Documents, Placed};
use ballast_core::observation::{Body, Object, Observation, SourceKind};
use ballast_core::policy::{ClusterPolicySpec, Mode, VmPool};

use crate::present::prices::unpriced;

/// All there is to know.
pub(super) fn all(documents: &Documents) -> Vec<String> {
    let mut notes: Vec<String> = not_acted_upon(documents)
        .map(|(count, of)| format!("{count} of {of} read, but not acted upon yet"))
        .collect();
    notes.extend(not_read(documents));
    notes.extend(why_idle(documents));
    notes.extend(instances_made_up(documents));
    notes.extend(left_to_others(documents));
    notes.extend(nobody_there(documents));
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
    let what = match mode {
        Mode::Observe => "so live nothing of this would be done: `Enforce` does it",
        Mode::Recommend => "so live this would be proposed: `ballast approve` lets it be done",
        Mode::Enforce => return None,
    };
    Some(format!("{by} `mode: {mode:?}`, {what}"))
}

/// Pools whose machines were made up: somebody told those of others.
fn instances_made_up(documents: &Documents) -> Option<String> {
    let is_told = |pool: &str| {
        let mut sources = documents.observations.iter().map(|placed| &placed.value.source);
        sources.any(|source| source.kind == SourceKind::Instances && *source.name == *pool)
    };
    let (told, untold): (Vec<&str>, Vec<&str>) =
        pools(documents).map(|pool| &*pool.name).partition(|pool| is_told(pool));
    let names: Vec<String> = untold.iter().map(|name| format!("`{name}`")).collect();
    (!told.is_empty() && !untold.is_empty()).then(|| {
        format!(
            "the instances of {} were not given: each of its nodes is taken to run, and none to be stopped",
            names.join(", ")
        )
    })
}

/// Requests that are somebody else's to serve.
fn left_to_others(documents: &Documents) -> Option<String> {
    let is_left = |placed: &&Placed<Object>| matches!(&placed.value, Object::ProvisioningRequest(request) if request.class().is_none());
    let count = documents.objects.iter().filter(is_left).count();
    (count > 0)
        .then(|| format!("{count} of kind ProvisioningRequest left to others, by `provisioningClassName`"))
}

/// What is probably a dump that was not made: `kubectl` leaves an empty list where it may see nothing.
fn nobody_there(documents: &Documents) -> Option<String> {
    let is_rule =
        |placed: &Placed<Object>| matches!(placed.value, Object::ClusterPolicy(_) | Object::VmPool(_));
    documents.objects.iter().all(is_rule).then(|| "no node and no pod was given".to_owned())
}
