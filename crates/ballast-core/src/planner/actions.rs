//! Actions: what was decided, as changes to one identity each.

use std::collections::BTreeMap;

use super::gates::Gates;
use crate::grant::{Bins, Capacity, NewBin};
use crate::kube::Name;
use crate::memory::Memory;
use crate::observation::{InstanceState, ObjectKind, Source};
use crate::plan::{
    Action, ActionCode, ActionId, ActionKind, Input, Limit, Precondition, Reason, Shared, Target, TargetKind,
    UnsafeToRemove, plural,
};
use crate::policy::{Direction, StopMode};
use crate::scalers::nodes::{Going, NodeWishes, Removals, Why};
use crate::snapshot::{AskKind, Snapshot};
use crate::units::{Span, Time};

/// What launches are numbered and dated by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Numbering {
    /// Launches made so far.
    launches_made: u64,
    /// Age of what is known of pods.
    age: f64,
}

impl Numbering {
    pub(super) fn new(snapshot: &Snapshot, memory: &Memory, now: Time) -> Self {
        let age = source_age(snapshot, ObjectKind::Pod, now);
        Self { launches_made: memory.ledger.launches_made, age }
    }
}

/// The actions that start and make nodes; the first `rising` of the new nodes need none.
pub(super) fn launches(
    bins: &Bins<'_>,
    rising: usize,
    wishes: &NodeWishes,
    limits: &BTreeMap<Name, Limit>,
    numbering: Numbering,
) -> Vec<Action> {
    let snapshot = bins.snapshot;
    let waiting: u32 = wishes.wishes.iter().map(|wish| wish.pending).sum();
    let Numbering { launches_made: mut number, age } = numbering;
    let [absent, stopped, running, pods, pending] =
        ["Absent", "Stopped", "Running", "pods", "pending"].map(Name::from);
    let mut actions = Vec::with_capacity(bins.trial.new.len() - rising);
    for bin in &bins.trial.new[rising..] {
        let pool = &snapshot.pools[bin.pool as usize];
        let zone = pool.templates[bin.template as usize].zone.clone();
        let make = bin.capacity == Capacity::Creatable;
        let token: Name = loop {
            number = number.wrapping_add(1);
            let token: Name = format!("{}-{number}", pool.name).into();
            // Someone may have used such a name before us.
            if pool.instance_named(&token).is_none() && snapshot.node_named(&token).is_none() {
                break token;
            }
        };
        let name = if make { token.clone() } else { bin.name.clone() };
        let units = bin.units();
        let gang = bin.gang.map_or_else(Name::default, |gang| wishes.gangs[gang as usize].gang.key());
        let (code, message) = why(bin, wishes, &pool.name, &gang);
        let inputs = vec![
            Input { name: pods.clone(), value: units.into(), age_seconds: age },
            Input { name: pending.clone(), value: waiting.into(), age_seconds: age },
        ];
        actions.push(Action {
            id: ActionId(actions.len() as u32 + 1),
            kind: if make { ActionKind::CreateInstance } else { ActionKind::StartInstance },
            target: Target {
                kind: TargetKind::Instance,
                name,
                provider_id: bin.provider_id.clone(),
                pool: pool.name.clone(),
                zone,
                ..Target::default()
            },
            from: if make { absent.clone() } else { stopped.clone() },
            to: running.clone(),
            precondition: Precondition { token, ..Precondition::default() },
            after: Vec::new(),
            gang,
            reason: Reason { code, message, inputs, limit: limits.get(&pool.name).cloned() },
        });
    }
    actions
}

/// Why a node is launched: for the first in this order that it carries something for.
fn why(bin: &NewBin, wishes: &NodeWishes, pool: &Name, gang: &Name) -> (ActionCode, String) {
    let units = bin.units();
    let waits = bin.load.iter().any(|&(wish, _)| wishes.wishes[wish].pending > 0);
    let asked_by = |kind: AskKind| {
        let mut carried = bin.load.iter().map(|&(wish, _)| &wishes.wishes[wish]);
        let wish = carried.find(|wish| wish.object.as_ref().is_some_and(|of| &*of.kind == kind.name()))?;
        Some(format!("{}/{}", wish.namespace, wish.workload))
    };
    let missing = |what: String| format!("room is missing for {what}");
    if units == 0 {
        (ActionCode::BelowMinimum, format!("pool {pool} is below its minimum"))
    } else if let Some(request) = asked_by(AskKind::ProvisioningRequest) {
        let message = missing(format!("{} of request {request}", plural(units, "pod")));
        (ActionCode::ProvisioningRequest, message)
    } else if !gang.is_empty() {
        (ActionCode::PendingGang, missing(format!("{} of gang {gang}", plural(units, "member"))))
    } else if waits {
        (ActionCode::PendingPods, missing(plural(units, "pending pod")))
    } else if let Some(buffer) = asked_by(AskKind::CapacityBuffer) {
        (ActionCode::Headroom, missing(format!("{} of buffer {buffer}", plural(units, "pod"))))
    } else {
        (ActionCode::Headroom, missing(format!("{} of headroom of pool {pool}", plural(units, "unit"))))
    }
}

/// The actions that take nodes back which we cordoned and which are needed again.
pub(super) fn take_backs(bins: &Bins<'_>, now: Time) -> Vec<Action> {
    let snapshot = bins.snapshot;
    let age = source_age(snapshot, ObjectKind::Pod, now);
    let needed = bins.trial.new.iter().filter(|bin| bin.returning.is_some() && !bin.load.is_empty());
    let take_back = |bin: &NewBin| {
        let units = bin.units();
        let node = snapshot.node_named(&bin.name);
        let uid = node.map(|node| node.uid()).unwrap_or_default();
        let inputs = vec![Input { name: "pods".into(), value: units.into(), age_seconds: age }];
        let message =
            format!("there is room for {} here; it was only running empty", plural(units, "pending pod"));
        Action {
            id: ActionId(0),
            kind: ActionKind::UncordonNode,
            target: Target {
                kind: TargetKind::Node,
                name: bin.name.clone(),
                uid: uid.clone(),
                pool: snapshot.pools[bin.pool as usize].name.clone(),
                ..Target::default()
            },
            from: "Cordoned".into(),
            to: "Ready".into(),
            precondition: Precondition { uid, ..Precondition::default() },
            after: Vec::new(),
            gang: Name::default(),
            reason: Reason { code: ActionCode::CordonNotNeeded, message, inputs, limit: None },
        }
    };
    needed.map(take_back).collect()
}

/// Instances of ours that are up and are no node, and since when they are seen to be so, by name.
pub(super) type Nodeless = BTreeMap<Name, Time>;

/// Instances that may have to be let go: they carry our token, run, are no node, and nothing is under way with them. Each
/// counts from when it was first seen so; one whose release was given up counts anew.
pub(super) fn nodeless(snapshot: &Snapshot, memory: &Memory, now: Time) -> Nodeless {
    let mut nodeless = Nodeless::new();
    for pool in &snapshot.pools {
        for instance in pool.nodeless.iter().map(|id| &pool.instances[id]) {
            // Only what carries our token is ours to let go.
            let ours = !instance.token.is_empty() && instance.state == InstanceState::Running;
            let busy = memory.ledger.launches.contains_key(&instance.name)
                || memory.ledger.removals.contains_key(&instance.name);
            if ours && !busy {
                let seen = memory.history.idle_since.get(&instance.name).copied().unwrap_or(now);
                nodeless.insert(instance.name.clone(), seen.max(instance.since.unwrap_or(seen)));
            }
        }
    }
    nodeless
}

/// The actions that let instances go which we made and which never became a node. Where removals are held nothing is released:
/// what is not known to be there may be a node all the same (seeds 1429 and 3260 of the storms: nodes were not listed, and their
/// machines looked as if they had never joined).
pub(super) fn releases(snapshot: &Snapshot, nodeless: &Nodeless, gates: &Gates, now: Time) -> Vec<Action> {
    let mut actions = Vec::new();
    if !gates.removals {
        return actions;
    }
    for (pool, held) in snapshot.pools.iter().zip(&gates.held_pools) {
        let pauses = [&pool.spec.pause, &snapshot.policy.pause];
        let is_paused = pauses.iter().any(|pause| pause.holds(Direction::Down, now));
        if *held || is_paused || pool.spec.lowers(snapshot.policy.mode) {
            continue;
        }
        let age = source_age_of(snapshot, &Source::instances(&pool.name), now);
        for instance in pool.nodeless.iter().map(|id| &pool.instances[id]) {
            let Some(up) = nodeless.get(&instance.name).map(|&since| now.since(since)) else { continue };
            if up <= pool.spec.times.boot_deadline {
                continue;
            }
            let inputs = vec![Input {
                name: "runningSeconds".into(),
                value: (up.as_millis() / 1000).into(),
                age_seconds: age,
            }];
            actions.push(Action {
                id: ActionId(0),
                kind: ActionKind::ReleaseInstance,
                target: Target {
                    kind: TargetKind::Instance,
                    name: instance.name.clone(),
                    provider_id: instance.id.clone(),
                    pool: pool.name.clone(),
                    zone: instance.zone.clone(),
                    ..Target::default()
                },
                from: "Running".into(),
                to: if pool.spec.stop == StopMode::Delete { "Deleted" } else { "Stopped" }.into(),
                precondition: Precondition { token: instance.token.clone(), ..Precondition::default() },
                after: Vec::new(),
                gang: Name::default(),
                reason: Reason {
                    code: ActionCode::NeverJoined,
                    message: format!("up for {} and never joined", up.rounded()),
                    inputs,
                    limit: None,
                },
            });
        }
    }
    actions
}

/// The actions that remove nodes.
pub(super) fn stops(snapshot: &Snapshot, removals: &Removals, now: Time) -> Vec<Action> {
    let age = source_age(snapshot, ObjectKind::Node, now);
    let limits = limits_of(snapshot, removals);
    let identities = |pods: &[u32]| pods.iter().map(|&pod| snapshot.pod(pod).uid.clone()).collect();
    let stop = |going: &Going| {
        let node = snapshot.node(going.slot);
        let object = node.node.as_ref().expect("a candidate is there");
        let pool = &snapshot.pools[node.pool.expect("a candidate has a pool") as usize];
        let idle = now.since(going.idle_since);
        let moved = going.displaces.len();
        let (code, message) = match &going.why {
            Why::AboveMaximum => (
                ActionCode::AboveMaximum,
                format!("pool {} is above its maximum of {}", pool.name, pool.spec.max),
            ),
            Why::GangGivenUp { gang, since } => (
                ActionCode::GangGivenUp,
                format!(
                    "started for gang {gang}, which could not be completed within {}",
                    now.since(*since).rounded()
                ),
            ),
            Why::Unneeded => (ActionCode::Unneeded, unneeded(idle, moved, going.waits_for.len())),
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
        let waits = !going.waits_for.is_empty();
        let to = match (waits, pool.spec.stop) {
            (true, _) => "Cordoned",
            (false, StopMode::Deallocate) => "Stopped",
            (false, StopMode::Delete) => "Deleted",
        };
        Action {
            id: ActionId(0),
            kind: if waits { ActionKind::CordonNode } else { ActionKind::StopInstance },
            target: Target {
                kind: if waits { TargetKind::Node } else { TargetKind::Instance },
                name: node.name.clone(),
                uid: object.metadata.uid.clone(),
                provider_id: object.spec.provider_id.clone(),
                pool: pool.name.clone(),
                ..Target::default()
            },
            from: "Running".into(),
            to: to.into(),
            precondition: Precondition {
                uid: object.metadata.uid.clone(),
                displaces: identities(&going.displaces),
                waits_for: identities(&going.waits_for),
                ..Precondition::default()
            },
            after: Vec::new(),
            gang: Name::default(),
            reason: Reason { code, message, inputs, limit: limits.get(&node.pool).cloned() },
        }
    };
    removals.nodes.iter().map(stop).collect()
}

/// Why a node goes that nobody needs: it is empty, or what is on it fits elsewhere, or ends.
fn unneeded(idle: Span, moved: usize, waited_for: usize) -> String {
    let idle = idle.rounded();
    if moved + waited_for == 0 {
        return format!("empty for {idle}");
    }
    let told = |count: usize, one: &str, many: &str| {
        let does = if count == 1 { one } else { many };
        (count > 0).then(|| format!("{} {does}", plural(count as u32, "pod")))
    };
    let parts = [
        told(moved, "fits elsewhere", "fit elsewhere"),
        told(waited_for, "runs to its end", "run to their end"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("unneeded for {idle}; its {}", parts.join(" and "))
}

/// Actions in the order in which they are done, numbered. Launches alone are numbered already.
pub(super) fn in_order(
    first: Vec<Action>,
    launches: &Shared<Action>,
    last: impl IntoIterator<Item = Action>,
) -> Shared<Action> {
    let mut last = last.into_iter().peekable();
    if first.is_empty() && last.peek().is_none() {
        return launches.clone();
    }
    let mut all = first;
    all.extend(launches.iter().cloned());
    all.extend(last);
    for (at, action) in all.iter_mut().enumerate() {
        action.id = ActionId(at as u32 + 1);
    }
    Shared::from(all)
}

/// What kept more nodes of each pool from going: a budget, or its minimum.
fn limits_of(snapshot: &Snapshot, removals: &Removals) -> BTreeMap<Option<u32>, Limit> {
    let mut limits = BTreeMap::new();
    if removals.nodes.is_empty() {
        return limits;
    }
    for candidate in &removals.candidates {
        let limit = match &candidate.unsafe_to_remove {
            Some(UnsafeToRemove::Budget { limit }) => limit.clone(),
            Some(UnsafeToRemove::AtMinimum) => Limit::PoolMin,
            _ => continue,
        };
        let pool = snapshot.node_named(&candidate.node).and_then(|node| node.pool);
        limits.entry(pool).or_insert(limit);
    }
    limits
}

fn source_age(snapshot: &Snapshot, kind: ObjectKind, now: Time) -> f64 {
    source_age_of(snapshot, &Source::kubernetes(kind), now)
}

fn source_age_of(snapshot: &Snapshot, source: &Source, now: Time) -> f64 {
    let at = snapshot.sources.get(source).and_then(|state| state.good_at);
    at.map_or(0.0, |at| now.since(at).as_secs_f64())
}
