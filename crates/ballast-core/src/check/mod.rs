//! The check: a second pair of eyes that knows only the promises. It looks at a plan, whoever made it, and says what it would
//! break; a fatal note stops the plan.
//!
//! It shares no judgement with the planner. What it leans on is what both are told: the snapshot with the traits of pods, the
//! constraints of nodes and the troubles of sources, and the range that a document gives a pool at an instant.

mod growth;
mod needs;
mod release;
mod removal;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::memory::Memory;
use crate::plan::{Action, ActionKind, Plan, PromiseNote, Severity, Subject, Target, TargetKind};
use crate::snapshot::Snapshot;

/// What a plan would break. Empty is good.
pub fn check(snapshot: &Snapshot, memory: &Memory, plan: &Plan) -> Vec<PromiseNote> {
    let mut notes = Vec::new();
    identities(plan, &mut notes);
    reasons(plan, &mut notes);
    modes(snapshot, plan, &mut notes);
    let sizes = growth::sizes(snapshot, memory);
    growth::check(snapshot, memory, plan, &sizes, &mut notes);
    needs::check(snapshot, plan, &sizes, &mut notes);
    removal::check(snapshot, memory, plan, &sizes, &mut notes);
    release::check(snapshot, plan, &mut notes);
    notes
}

/// Promise 2: every destructive action names one identity and carries a precondition. And no two actions have one target.
fn identities(plan: &Plan, notes: &mut Vec<PromiseNote>) {
    let (mut things, mut machines) = (BTreeSet::new(), BTreeSet::new());
    for action in &plan.actions {
        let Target { name, provider_id, .. } = &action.target;
        if !things.insert(thing(&action.target)) || !provider_id.is_empty() && !machines.insert(provider_id) {
            notes.push(fatal(2, subject(action), format!("{name} is the target of two actions")));
        }
        if let Some(wrong) = without_identity(action) {
            notes.push(fatal(2, subject(action), format!("{name} {wrong}")));
        }
    }
}

/// What a target is, whatever is done to it: a node and its instance are one thing, a Deployment and a StatefulSet of one name
/// are two.
fn thing(target: &Target) -> impl Ord + use<'_> {
    let kind = match target.kind {
        TargetKind::Node => TargetKind::Instance,
        kind => kind,
    };
    (kind, &target.namespace, &target.object, &target.name)
}

/// What an action lacks of the identity that it has to name.
fn without_identity(action: &Action) -> Option<&'static str> {
    let Action { target, precondition, .. } = action;
    let is_known = !target.uid.is_empty() && precondition.uid == target.uid;
    let (is_named, wrong) = match action.kind {
        ActionKind::StartInstance | ActionKind::CreateInstance | ActionKind::UncordonNode => return None,
        ActionKind::ReleaseInstance => (
            !target.provider_id.is_empty() && !precondition.token.is_empty(),
            "is let go without its identity",
        ),
        ActionKind::StopInstance | ActionKind::CordonNode => {
            (is_known && !target.provider_id.is_empty(), "is removed without its identity")
        }
        ActionKind::RemoveRayWorker | ActionKind::RemoveSparkWorker => {
            (is_known && !target.worker_id.is_empty(), "is removed without its identity")
        }
        ActionKind::ResizeJob | ActionKind::SetReplicas | ActionKind::ResizeRayGroup => {
            let is_certain = precondition.size.is_some() && !precondition.resource_version.is_empty();
            (is_known && is_certain && target.object.is_some(), "is resized from a size that is not certain")
        }
        ActionKind::CreateSparkWorker => (!precondition.token.is_empty(), "is made without a token"),
    };
    (!is_named).then_some(wrong)
}

/// Promise 15: every action says its rule and its inputs, and the plan when it looks again.
fn reasons(plan: &Plan, notes: &mut Vec<PromiseNote>) {
    if plan.report.next_look.is_none_or(|at| at <= plan.now) {
        notes.push(fatal(15, Subject::Cluster, "the plan does not say when it looks again".into()));
    }
    for action in &plan.actions {
        if action.reason.message.is_empty() || action.reason.inputs.is_empty() {
            notes.push(fatal(15, subject(action), format!("{} does not say why", action.id)));
        }
    }
}

/// Promise 14: nothing is done in a pool whose document lowers the mode for itself.
fn modes(snapshot: &Snapshot, plan: &Plan, notes: &mut Vec<PromiseNote>) {
    let does = |action: &&Action| {
        is_launch(action) || is_removal(action) || action.kind == ActionKind::ReleaseInstance
    };
    for action in plan.actions.iter().filter(does) {
        let mode = snapshot.pool_named(&action.target.pool).and_then(|pool| pool.spec.mode);
        if mode.is_some_and(|mode| mode < snapshot.policy.mode) {
            let message = format!("pool {} allows no more than {mode:?}", action.target.pool);
            notes.push(fatal(14, subject(action), message));
        }
    }
}

fn is_removal(action: &Action) -> bool {
    matches!(action.kind, ActionKind::StopInstance | ActionKind::CordonNode)
}

fn is_launch(action: &Action) -> bool {
    matches!(action.kind, ActionKind::StartInstance | ActionKind::CreateInstance)
}

fn subject(action: &Action) -> Subject {
    let Target { kind, namespace, name, object, .. } = action.target.clone();
    match kind {
        TargetKind::Instance => Subject::Instance { name },
        TargetKind::Node => Subject::Node { name },
        TargetKind::Job
        | TargetKind::Scale
        | TargetKind::RayGroup
        | TargetKind::RayWorker
        | TargetKind::SparkWorker => Subject::Workload { namespace, name, object },
    }
}

fn fatal(promise: u8, subject: Subject, message: String) -> PromiseNote {
    PromiseNote { promise, severity: Severity::Fatal, message, subject }
}
