//! The checks: facts in, findings out. Each says either that all is well or everything that is not.

use ballast_core::engine::Engine;
use ballast_core::observation::{ErrorClass, ObjectKind, Source};
use ballast_core::policy::Mode;
use ballast_core::publish::{DocumentRef, Fault};
use ballast_live::doctor::{Facts, Missing, Rights};
use ballast_live::kubernetes::{Holder, Right};

use super::{Finding, workloads};
use crate::present::figures::plural;

/// Clocks that are further apart than this confuse ages and times.
const CLOCKS_APART_SECS: i64 = 5;
/// Problems of one check that are told.
const TOLD_MAX: usize = 5;

/// All of them, in the order in which one would mend them.
pub(super) fn all(facts: &Facts) -> Vec<Finding> {
    let mut findings = reach(facts);
    if findings.iter().any(|finding| finding.result == super::Verdict::Fail) {
        return findings;
    }
    let now = facts.look.taken_at;
    let mut engine = Engine::following();
    let _ = engine.tick(now, facts.look.observations.clone());
    for check in [kinds, permissions, leader, documents] {
        findings.extend(check(facts));
    }
    findings.extend(policy(facts, &engine));
    findings.extend(pools(facts, &engine));
    findings.extend(sources(&engine.view(now)));
    findings.extend(workloads::all(facts));
    findings
}

fn reach(facts: &Facts) -> Vec<Finding> {
    const ID: &str = "Reach";
    let version = match &facts.version {
        Ok(version) => version["gitVersion"].as_str().unwrap_or("of unknown version").to_owned(),
        Err(error) => {
            let fix = "`kubectl version` with the same kubeconfig and context says whether it can be reached";
            return vec![Finding::fail(ID, format!("{}: {error}", facts.server), fix)];
        }
    };
    let detail = format!("{}, {version}", facts.server);
    match facts.ahead_secs {
        Some(ahead) if ahead.abs() > CLOCKS_APART_SECS => {
            let detail = format!("{detail}; its clock and that of this machine are {} s apart", ahead.abs());
            vec![Finding::warn(ID, detail, "set the clocks by one source of time")]
        }
        _ => vec![Finding::ok(ID, detail)],
    }
}

fn kinds(facts: &Facts) -> Vec<Finding> {
    const ID: &str = "Kinds";
    const FIX: &str = "ballast crd | kubectl apply --server-side -f -";
    let mut findings = Vec::new();
    for (kind, answer) in &facts.kinds {
        match answer {
            Err(error) if error.class == ErrorClass::NotFound => {
                findings.push(Finding::fail(
                    ID,
                    format!("the cluster does not know the kind {}", kind.kind),
                    FIX,
                ));
            }
            Err(error) => findings.push(Finding::warn(
                ID,
                format!("{} cannot be looked at: {error}", kind.kind),
                "it takes the right to get customresourcedefinitions",
            )),
            Ok(found) => {
                let schema = |of: &serde_json::Value| of["spec"]["versions"][0]["schema"].clone();
                if !is_within(&schema(&kind.definition()), &schema(found)) {
                    let detail = format!("{} is that of another release", kind.kind);
                    findings.push(Finding::warn(ID, detail, FIX));
                }
            }
        }
    }
    or_ok(findings, ID, || format!("all {} are those of this release", facts.kinds.len()))
}

/// Whether everything that we say stands in what the API has; it adds defaults of its own.
fn is_within(ours: &serde_json::Value, theirs: &serde_json::Value) -> bool {
    use serde_json::Value;
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            ours.iter().all(|(key, value)| theirs.get(key).is_some_and(|found| is_within(value, found)))
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| is_within(ours, theirs))
        }
        // 1 and 1.0 are one number to the API.
        (Value::Number(ours), Value::Number(theirs)) => ours.as_f64() == theirs.as_f64(),
        (ours, theirs) => ours == theirs,
    }
}

fn permissions(facts: &Facts) -> Vec<Finding> {
    const ID: &str = "Permissions";
    let Rights { whose, mode, missing } = &facts.rights;
    let told = |Missing { right: Right { access, verb, resource, name }, error }: &Missing| {
        let group = if access.group.is_empty() { String::new() } else { format!(".{}", access.group) };
        let name = if name.is_empty() { String::new() } else { format!(" {name}") };
        let what = format!("{whose}: may not {} {resource}{group}{name}", verb.word());
        let fix = format!("ballast roles --mode {mode:?} | kubectl apply --server-side -f -");
        match error {
            None => Finding::fail(ID, format!("{what}, which is for this: {}", access.why), fix),
            Some(error) => Finding::warn(ID, format!("{what}, or that could not be told: {error}"), fix),
        }
    };
    or_ok(missing.iter().map(told).collect(), ID, || {
        format!("{whose}: everything that mode {mode:?} asks for")
    })
}

fn leader(facts: &Facts) -> Vec<Finding> {
    const ID: &str = "Leader";
    let silent = |holder: &Holder| holder.is_silent_for(facts.look.taken_at);
    vec![match &facts.look.leader {
        Ok(Some(holder)) if let Some(silence) = silent(holder) => Finding::fail(
            ID,
            format!(
                "{} held the lease and says nothing for {}: nobody leads",
                holder.identity,
                silence.rounded()
            ),
            "look at the log of `ballast run` and whether its pods run",
        ),
        Ok(Some(holder)) => Finding::ok(ID, format!("{} leads", holder.identity)),
        Ok(None) => Finding::warn(
            ID,
            "nobody leads",
            "in mode Observe nobody does; else look at the log of `ballast run`",
        ),
        Err(error) => {
            Finding::warn(ID, format!("cannot be told: {error}"), "it takes the right to get its lease")
        }
    }]
}

fn documents(facts: &Facts) -> Vec<Finding> {
    const ID: &str = "Documents";
    let told = |(document, fault): &(DocumentRef, Fault)| {
        let fix = "mend it: `ballast check -f FILE` shows the place in its file";
        Finding::fail(ID, format!("{document} is invalid: {}", fault.problem), fix)
    };
    or_ok(facts.look.faults.iter().map(told).collect(), ID, || "all can be read".to_owned())
}

fn policy(facts: &Facts, engine: &Engine) -> Vec<Finding> {
    const ID: &str = "Policy";
    let source = Source::kubernetes(ObjectKind::ClusterPolicy);
    let seen = facts.look.observations.iter().find(|seen| seen.source == source);
    if let Some(Err(error)) = seen.map(|seen| &seen.outcome) {
        return vec![Finding::fail(
            ID,
            format!("the ClusterPolicy cannot be seen: {error}"),
            "see Kinds and Permissions",
        )];
    }
    let policy = engine.policy();
    let is_limited = policy.limits.nodes.is_some() && policy.limits.cost_per_hour.is_some();
    vec![match policy.mode {
        Mode::Enforce if !is_limited => Finding::fail(
            ID,
            "mode Enforce without limits.nodes and limits.costPerHour does nothing",
            "set both in the ClusterPolicy `cluster`",
        ),
        mode => Finding::ok(ID, format!("mode {mode:?}")),
    }]
}

fn pools(facts: &Facts, engine: &Engine) -> Vec<Finding> {
    const ID: &str = "Pools";
    let pools = engine.pools();
    if pools.is_empty() {
        let fix = "write a VmPool: docs/reference/vm-pool.md has an example";
        return vec![Finding::warn(ID, "there is no VmPool: nothing can be added or removed", fix)];
    }
    let mut findings = Vec::new();
    for pool in &pools {
        let source = Source::instances(&pool.name);
        let seen = facts.look.observations.iter().find(|seen| seen.source == source);
        if let Some(Err(error)) = seen.map(|seen| &seen.outcome) {
            let fix = "look at spec.provider of the pool, and at allowedHosts of the ClusterPolicy";
            findings.push(Finding::fail(
                ID,
                format!("{}: its provider does not answer: {error}", pool.name),
                fix,
            ));
        }
    }
    or_ok(findings, ID, || format!("{}, and each provider answers", plural(pools.len() as u32, "pool")))
}

fn sources(view: &ballast_core::view::View) -> Vec<Finding> {
    const ID: &str = "Sources";
    let troubled = view.sources.iter().filter_map(|source| Some((source, source.trouble.as_deref()?)));
    let told = |(source, why): (&ballast_core::view::SourceView, &str)| {
        let fix =
            "what is unknown is never read as zero: nothing that depends on it is removed until it answers";
        Finding::fail(ID, format!("{} {why}", source.name), fix)
    };
    or_ok(troubled.map(told).collect(), ID, || format!("all {} answer", view.sources.len()))
}

/// The findings, or that all is well; of many the first are told.
pub(super) fn or_ok(
    mut findings: Vec<Finding>,
    id: &'static str,
    detail: impl FnOnce() -> String,
) -> Vec<Finding> {
    if findings.is_empty() {
        return vec![Finding::ok(id, detail())];
    }
    let more = findings.len().saturating_sub(TOLD_MAX);
    findings.truncate(TOLD_MAX);
    if let Some(last) = findings.last_mut().filter(|_| more > 0) {
        last.detail += &format!(" (and {more} more)");
    }
    findings
}
