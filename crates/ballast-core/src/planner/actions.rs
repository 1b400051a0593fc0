//! Actions: what was decided, as changes to one identity each.

use crate::grant::{Bins, Capacity};
use crate::kube::Name;
use crate::memory::Memory;
use crate::observation::{ObjectKind, Source};
use crate::plan::{
    Action, ActionCode, ActionId, ActionKind, Input, Precondition, Reason, Target, TargetKind,
};
use crate::policy::StopMode;
use crate::scalers::nodes::{Going, NodeWishes, Removals};
use crate::snapshot::Snapshot;
use crate::units::Time;

/// The actions that start and make nodes.
pub(super) fn launches(
    bins: &Bins<'_>,
    starting: usize,
    memory: &Memory,
    wishes: &NodeWishes,
    now: Time,
) -> Vec<Action> {
    let snapshot = bins.snapshot;
    let waiting: u32 = wishes.wishes.iter().map(|wish| wish.pending).sum();
    let age = source_age(snapshot, ObjectKind::Pod, now);
    let mut number = memory.ledger.launches_made;
    let [absent, stopped, running, pods, pending] =
        ["Absent", "Stopped", "Running", "pods", "pending"].map(Name::from);
    let nothing = Name::default();
    let mut actions = Vec::with_capacity(bins.new.len() - starting);
    for bin in &bins.new[starting..] {
        let pool = &snapshot.pools[bin.pool as usize];
        let zone = pool.templates[bin.template as usize].zone.clone();
        number += 1;
        let make = bin.capacity == Capacity::Creatable;
        let token: Name = format!("{}-{number}", pool.name).into();
        let name = if make { token.clone() } else { bin.name.clone() };
        let units = bin.units();
        let waits = bin.load.iter().any(|&(wish, _)| wishes.wishes[wish].pending > 0);
        let (code, message) = match (units, bin.gang) {
            (0, _) => (ActionCode::BelowMinimum, format!("pool {} is below its minimum", pool.name)),
            (units, Some(gang)) => {
                let gang = &wishes.gangs[gang as usize].gang;
                let message = format!("{units} members of gang {}/{} fit nowhere", gang.namespace, gang.name);
                (ActionCode::PendingGang, message)
            }
            (units, None) if waits => {
                (ActionCode::PendingPods, format!("{units} pending pods fit nowhere else"))
            }
            (units, None) => (
                ActionCode::Headroom,
                format!("{units} units of headroom of pool {} are not there", pool.name),
            ),
        };
        let inputs = vec![
            Input { name: pods.clone(), value: units.into(), age_seconds: age },
            Input { name: pending.clone(), value: waiting.into(), age_seconds: age },
        ];
        actions.push(Action {
            id: ActionId(0),
            kind: if make { ActionKind::CreateInstance } else { ActionKind::StartInstance },
            target: Target {
                kind: TargetKind::Instance,
                namespace: nothing.clone(),
                name,
                uid: nothing.clone(),
                provider_id: bin.provider_id.clone(),
                pool: pool.name.clone(),
                zone,
            },
            from: if make { absent.clone() } else { stopped.clone() },
            to: running.clone(),
            precondition: Precondition {
                instance_state: if make { nothing.clone() } else { stopped.clone() },
                token,
                uid: nothing.clone(),
                resource_version: nothing.clone(),
                displaces: Vec::new(),
            },
            after: Vec::new(),
            reason: Reason { code, message, inputs, limit: None },
        });
    }
    actions
}

/// The actions that remove nodes.
pub(super) fn stops(snapshot: &Snapshot, removals: &Removals, now: Time) -> Vec<Action> {
    let age = source_age(snapshot, ObjectKind::Node, now);
    let stop = |going: &Going| {
        let node = snapshot.node(going.slot);
        let object = node.node.as_ref().expect("a candidate is there");
        let pool = &snapshot.pools[node.pool.expect("a candidate has a pool") as usize];
        let idle = now.since(going.idle_since);
        let moved = going.displaces.len();
        let (code, message) = match (going.above_maximum, moved) {
            (true, _) => (
                ActionCode::AboveMaximum,
                format!("pool {} is above its maximum of {}", pool.name, pool.spec.max),
            ),
            (false, 0) => (ActionCode::Unneeded, format!("empty for {idle}")),
            (false, pods) => {
                (ActionCode::Unneeded, format!("unneeded for {idle}; its {pods} pods fit elsewhere"))
            }
        };
        let inputs = vec![
            Input { name: "idleSeconds".into(), value: (idle.as_millis() / 1000).into(), age_seconds: age },
            Input {
                name: "utilisation".into(),
                value: (f64::from(node.utilisation_milli()) / 1000.0).into(),
                age_seconds: age,
            },
            Input { name: "displaced".into(), value: moved.into(), age_seconds: age },
        ];
        let to = match (going.waits, pool.spec.stop) {
            (true, _) => "Cordoned",
            (false, StopMode::Deallocate) => "Stopped",
            (false, StopMode::Delete) => "Deleted",
        };
        Action {
            id: ActionId(0),
            kind: if going.waits { ActionKind::CordonNode } else { ActionKind::StopInstance },
            target: Target {
                kind: if going.waits { TargetKind::Node } else { TargetKind::Instance },
                namespace: Name::default(),
                name: node.name.clone(),
                uid: object.metadata.uid.clone(),
                provider_id: object.spec.provider_id.clone(),
                pool: pool.name.clone(),
                zone: Name::default(),
            },
            from: "Running".into(),
            to: to.into(),
            precondition: Precondition {
                uid: object.metadata.uid.clone(),
                resource_version: object.metadata.resource_version.clone(),
                instance_state: "Running".into(),
                displaces: going.displaces.iter().map(|&pod| snapshot.pod(pod).uid.clone()).collect(),
                token: Name::default(),
            },
            after: Vec::new(),
            reason: Reason { code, message, inputs, limit: None },
        }
    };
    removals.nodes.iter().map(stop).collect()
}

fn source_age(snapshot: &Snapshot, kind: ObjectKind, now: Time) -> f64 {
    let at = snapshot.sources.get(&Source::kubernetes(kind)).and_then(|state| state.good_at);
    at.map_or(0.0, |at| now.since(at).as_secs_f64())
}
