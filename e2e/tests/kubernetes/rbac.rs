//! The generated roles: what they grant is what is asked for, by the API server's own account.

use anyhow::{Context, Result, ensure};
use ballast_core::policy::Mode;
use ballast_e2e::cluster::{Asked, Daemon};
use ballast_live::kubernetes::access::{Rule, Scope, rules};

use crate::approve::{approve, plan, proposed};
use crate::asks;
use crate::stage::Stage;
use crate::status::{UNSERVED, apply_unserved};

pub(crate) const ACCOUNT: &str = "system:serviceaccount:ballast:ballast";

/// Runs as the service account with the roles of a mode, and its policy.
pub(crate) fn run(stage: &Stage, mode: Mode) -> Result<Daemon> {
    let word = format!("{mode:?}");
    let file = format!("{}/../deploy/rbac/{}.yaml", env!("CARGO_MANIFEST_DIR"), word.to_lowercase());
    stage.cluster.apply(&std::fs::read_to_string(&file).with_context(|| file.clone())?)?;
    stage.cluster.apply(&stage.policies(&word))?;
    stage.ballast_by("one", &stage.cluster.service_account("ballast")?)
}

/// One thing that a role allows.
#[derive(Debug)]
struct Grant {
    rule: Rule,
    scope: Scope,
    resource: &'static str,
    verb: &'static str,
    name: Option<&'static str>,
}

impl Grant {
    fn all(mode: Mode) -> Vec<Self> {
        let mut all = Vec::new();
        for scope in [Scope::Cluster, Scope::Own] {
            for rule in rules(mode, scope) {
                let names: Vec<Option<&str>> = match &rule.names[..] {
                    [] => vec![None],
                    names => names.iter().copied().map(Some).collect(),
                };
                for &resource in &rule.resources {
                    for verb in rule.verbs.iter().map(|verb| verb.word()) {
                        let grant = |&name| Self { rule: rule.clone(), scope, resource, verb, name };
                        all.extend(names.iter().map(grant));
                    }
                }
            }
        }
        all
    }

    fn covers(&self, asked: &Asked) -> bool {
        let place = self.scope == Scope::Cluster || asked.to.namespace == "ballast";
        let name = self.name.is_none_or(|name| asked.to.name == name);
        place
            && name
            && self.verb == asked.verb
            && self.rule.group == asked.to.group
            && self.resource == asked.to.resource()
    }
}

/// What is granted is what was asked for: nothing less, and nothing more.
fn is_exact(stage: &Stage, mode: Mode) -> Result<()> {
    let asked = stage.cluster.asked_by(ACCOUNT)?;
    let denied: Vec<&Asked> = asked.iter().filter(|asked| asked.is_denied()).collect();
    ensure!(denied.is_empty(), "{mode:?}: denied were {denied:#?}");
    let grants = Grant::all(mode);
    let beyond: Vec<&Asked> =
        asked.iter().filter(|asked| !grants.iter().any(|grant| grant.covers(asked))).collect();
    ensure!(beyond.is_empty(), "{mode:?}: asked for, and not in the table: {beyond:#?}");
    let unused: Vec<&Grant> =
        grants.iter().filter(|grant| !asked.iter().any(|asked| grant.covers(asked))).collect();
    ensure!(unused.is_empty(), "{mode:?}: granted, and never asked for: {unused:#?}");
    Ok(())
}

/// Waits until something of which the test cannot see the end has been asked for.
fn waits_for(stage: &Stage, what: &str, is_it: impl Fn(&Asked) -> bool, ballast: &Daemon) -> Result<()> {
    let waited = stage.cluster.wait(what, |cluster| Ok(cluster.asked_by(ACCOUNT)?.iter().any(&is_it)));
    waited.with_context(|| format!("ballast said last:\n{}", ballast.last_lines()))
}

/// Every kind is watched.
fn sees(stage: &Stage, ballast: &Daemon) -> Result<()> {
    for grant in Grant::all(Mode::Observe).into_iter().filter(|grant| grant.verb == "watch") {
        waits_for(stage, grant.resource, |asked| grant.covers(asked), ballast)?;
    }
    Ok(())
}

#[test]
fn observe_with_the_read_only_role_is_denied_nothing_and_writes_nothing() -> Result<()> {
    let stage = Stage::set()?;
    asks::install(&stage)?;
    let ballast = run(&stage, Mode::Observe)?;
    stage.deployment("web", 1, "2")?;
    stage.cluster.wait("a plan", |_| Ok(ballast.log()?.contains("would=CreateInstance")))?;
    sees(&stage, &ballast)?;
    is_exact(&stage, Mode::Observe)?;
    let written: Vec<Asked> = stage.cluster.asked_by(ACCOUNT)?.into_iter().filter(Asked::writes).collect();
    ensure!(written.is_empty(), "written was {written:#?}");
    ensure!(stage.cloud.machines().asked.is_empty(), "the cloud was asked for something");
    Ok(())
}

#[test]
fn what_is_granted_is_what_is_asked_for() -> Result<()> {
    let stage = Stage::set()?;
    asks::install(&stage)?;
    // First in Recommend: it leads, knows what was stored, and carries out what is approved.
    let ballast = run(&stage, Mode::Recommend)?;
    waits_for(
        &stage,
        "a leader",
        |asked| asked.verb == "update" && asked.to.resource() == "leases",
        &ballast,
    )?;
    // A plan is proposed, and that is told.
    stage.deployment("told", 1, "2")?;
    waits_for(&stage, "an event", |asked| asked.to.resource() == "events", &ballast)?;
    stage.deployment("told", 0, "2")?;
    for name in ["ballast-ledger", "ballast-history"] {
        waits_for(&stage, name, |asked| asked.to.name == name, &ballast)?;
    }
    // Documents that this release does not act on are told so.
    apply_unserved(&stage)?;
    let unserved = UNSERVED.map(|(resource, _)| format!("{resource}/status"));
    let served = ["clusterpolicies/status", "vmpools/status"].map(str::to_owned);
    for resource in served.into_iter().chain(unserved) {
        let resource = &*resource;
        waits_for(&stage, resource, |asked| asked.to.resource() == resource, &ballast)?;
    }
    sees(&stage, &ballast)?;
    a_launch_is_approved_and_done(&stage, &ballast)?;
    a_removal_is_approved_and_refused(&stage)?;
    is_exact(&stage, Mode::Recommend)?;
    drop(ballast);
    let ballast = run(&stage, Mode::Enforce)?;
    room_is_asked_for_and_answered(&stage, &ballast)?;
    stage.deployment("web", 3, "1900m")?;
    stage.settles("web", 3, 2, &ballast)?;
    // One pod is left on each machine, below half of it: one machine is drained and goes.
    stage.deployment("web", 2, "1900m")?;
    stage.settles("web", 2, 1, &ballast)?;
    waits_for(
        &stage,
        "the history to be kept",
        |asked| asked.verb == "patch" && asked.to.name == "ballast-history",
        &ballast,
    )?;
    is_exact(&stage, Mode::Enforce)
}

/// Others' objects are answered where somebody acts on them.
fn room_is_asked_for_and_answered(stage: &Stage, ballast: &Daemon) -> Result<()> {
    asks::template(stage, "whole", "4")?;
    asks::buffer(stage, "none", 1)?;
    asks::request(stage, "once", "check-capacity", 9, "noRetry: 'true'")?;
    for resource in ["capacitybuffers/status", "provisioningrequests/status"] {
        waits_for(stage, resource, |asked| asked.to.resource() == resource, ballast)?;
    }
    Ok(())
}

/// What Recommend may do suffices for an approved launch.
fn a_launch_is_approved_and_done(stage: &Stage, ballast: &Daemon) -> Result<()> {
    stage.deployment("web", 1, "2")?;
    let id = proposed(stage, 1, "CreateInstance")?["id"].clone();
    let told = approve(stage, &[id.as_str().unwrap_or_default(), "--wait", "100s"])?;
    let said = String::from_utf8_lossy(&told.stdout).into_owned() + &String::from_utf8_lossy(&told.stderr);
    ensure!(told.status.success() && said.ends_with("done\n"), "{said}{}", ballast.last_lines());
    stage.settles("web", 1, 1, ballast)?;
    let keeps = |asked: &Asked| asked.verb == "patch" && asked.to.name == "ballast-history";
    waits_for(stage, "the history to be kept", keeps, ballast)
}

/// A removal takes more: that is said, and nothing is tried.
fn a_removal_is_approved_and_refused(stage: &Stage) -> Result<()> {
    stage.deployment("web", 0, "2")?;
    let id = proposed(stage, 1, "StopInstance")?["id"].clone();
    let told = approve(stage, &[id.as_str().unwrap_or_default(), "--wait", "100s"])?;
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    let why = "the plan is refused: Ballast may not patch nodes, create pods/eviction: give it the roles";
    ensure!(!told.status.success() && said.contains(why), "{said}");
    ensure!(stage.cloud.running() == 1 && stage.cordoned()?.is_empty(), "{:#}", plan(stage)?);
    Ok(())
}
