//! Promise 6 for what is launched: a need stands behind every launch, and no need behind two. Promise 10: a gang is all there
//! before anything is launched for it.

use std::collections::{BTreeMap, BTreeSet};

use super::{fatal, is_launch, subject};
use crate::kube::Name;
use crate::plan::{Action, ActionCode, Plan, PromiseNote, Subject};
use crate::snapshot::{Ask, AskObject, AskRef, Class, PoolEntry, RequestClass, Snapshot, Template};

pub(super) fn check(snapshot: &Snapshot, plan: &Plan, sizes: &[u32], notes: &mut Vec<PromiseNote>) {
    let launches: Vec<&Action> = plan.actions.iter().filter(|action| is_launch(action)).collect();
    if launches.is_empty() {
        return;
    }
    counted(snapshot, &launches, notes);
    let mut by_pool: BTreeMap<&Name, Vec<&Action>> = BTreeMap::new();
    for &action in &launches {
        by_pool.entry(&action.target.pool).or_default().push(action);
    }
    for (pool, &size) in snapshot.pools.iter().zip(sizes) {
        if let Some(own) = by_pool.get(&pool.name) {
            of_pool(snapshot, plan, pool, size, own, notes);
        }
    }
    gathered(snapshot, &launches, notes);
}

/// A pod that waits is behind one launch at the most.
fn counted(snapshot: &Snapshot, launches: &[&Action], notes: &mut Vec<PromiseNote>) {
    let for_pods = launches.iter().filter(|action| is_for_pods(action)).count();
    let waiting: usize = waiting(snapshot).map(|(_, count)| count).sum();
    if for_pods > waiting {
        let message = format!("{for_pods} launches for {waiting} pods that wait");
        notes.push(fatal(6, Subject::Cluster, message));
    }
    let requested = launches.iter().filter(|action| is_for_request(action)).count();
    let sets = requests(snapshot).flat_map(|(_, ask)| &ask.sets);
    let units = sets.map(|set| set.count).fold(0, u32::saturating_add);
    if requested > units as usize {
        let message = format!("{requested} launches for {units} pods of requests");
        notes.push(fatal(6, Subject::Cluster, message));
    }
}

/// What is launched of a pool can carry what waits, fills no more than its minimum and its headroom.
fn of_pool(
    snapshot: &Snapshot,
    plan: &Plan,
    pool: &PoolEntry,
    size: u32,
    own: &[&Action],
    notes: &mut Vec<PromiseNote>,
) {
    let count = |code: ActionCode| own.iter().filter(|action| action.reason.code == code).count();
    let mut note = |message: String| notes.push(fatal(6, Subject::Pool { name: pool.name.clone() }, message));
    let (headroom, units) = (count(ActionCode::Headroom), pool.spec.headroom.iter().map(|own| own.count));
    let units = units.chain(snapshot.asks.values().map(buffered)).fold(0, u32::saturating_add);
    if headroom > units as usize {
        note(format!("{headroom} launches for {units} of headroom of pool {}", pool.name));
    }
    let (min, _) = pool.spec.range_at(plan.now);
    if count(ActionCode::BelowMinimum) > 0 && size as usize + own.len() > min as usize {
        note(format!("pool {} would be filled beyond its minimum of {min}", pool.name));
    }
    let is_for_units = |action: &&&Action| is_for_pods(action) || is_for_request(action);
    let zones: BTreeSet<&Name> = own.iter().filter(is_for_units).map(|action| &action.target.zone).collect();
    for zone in zones {
        let of_zone = pool.templates.iter().find(|template| template.zone == *zone);
        let units = requests(snapshot).flat_map(|(_, ask)| &ask.sets);
        let units = units.filter_map(|set| Some(snapshot.class(set.class?)));
        let classes: Vec<&Class> = waiting(snapshot).map(|(class, _)| class).chain(units).collect();
        let carries =
            |template: &&Template| classes.iter().any(|class| fits(snapshot, pool, template, class));
        if of_zone.or(pool.templates.first()).filter(carries).is_none() {
            note(format!(
                "a node of pool {} is launched for pods, and none that waits fits on it",
                pool.name
            ));
        }
    }
}

/// Promise 10: so many members of a gang as it says that it needs are there, none of them behind a gate.
fn gathered(snapshot: &Snapshot, launches: &[&Action], notes: &mut Vec<PromiseNote>) {
    let launched: BTreeMap<&Name, &Action> = launches
        .iter()
        .filter(|action| !action.gang.is_empty())
        .map(|action| (&action.gang, *action))
        .collect();
    if launched.is_empty() {
        return;
    }
    let mut present: BTreeMap<Name, (u32, u32)> = BTreeMap::new();
    for &slot in &snapshot.in_gangs {
        let class = snapshot.class(slot);
        let Some(gang) = &class.gang else { continue };
        let waiting = snapshot.pending.get(&slot).map_or(0, |queue| queue.len() as u32);
        let gated = if is_gated(class) { waiting } else { 0 };
        let (there, needed) = present.entry(gang.key()).or_default();
        *there += snapshot.class_keys.users(slot) - gated;
        *needed = gang.size.max(*needed);
    }
    // A request is all there by itself.
    let requested: BTreeSet<Name> = requests(snapshot).map(|(own, _)| own.gang_key()).collect();
    for (gang, action) in launched.into_iter().filter(|(gang, _)| !requested.contains(*gang)) {
        match present.get(gang) {
            Some((there, needed)) if there >= needed => {}
            Some((there, needed)) => {
                let message = format!("{there} of {needed} members of gang {gang} are there");
                notes.push(fatal(10, subject(action), message));
            }
            None => notes.push(fatal(6, subject(action), format!("there is no gang {gang}"))),
        }
    }
}

fn is_for_pods(action: &Action) -> bool {
    matches!(action.reason.code, ActionCode::PendingPods | ActionCode::PendingGang)
}

fn is_for_request(action: &Action) -> bool {
    action.reason.code == ActionCode::ProvisioningRequest
}

/// Requests for room on new nodes.
fn requests(snapshot: &Snapshot) -> impl Iterator<Item = (&AskRef, &Ask)> {
    let grows = |ask: &Ask| match &ask.object {
        AskObject::Buffer(_) => false,
        AskObject::Request(request) => request.class() == Some(RequestClass::AtomicScaleUp),
    };
    snapshot.asks.iter().filter(move |(_, ask)| grows(ask))
}

/// Pods that a buffer can ask for at the most; what is reckoned from others has no bound of its own.
fn buffered(ask: &Ask) -> u32 {
    let AskObject::Buffer(buffer) = &ask.object else { return 0 };
    match (buffer.spec.replicas, buffer.spec.percentage) {
        (Some(replicas), None) => replicas.max(0) as u32,
        _ => u32::MAX,
    }
}

fn is_gated(class: &Class) -> bool {
    !class.key.spec.scheduling_gates.is_empty()
}

/// Classes of pods that wait for a place, and how many of each do.
fn waiting(snapshot: &Snapshot) -> impl Iterator<Item = (&Class, usize)> {
    let all = snapshot.pending.iter().map(|(&slot, queue)| (snapshot.class(slot), queue.len()));
    all.filter(|(class, _)| !is_gated(class))
}

/// Whether a pod of a class fits on an empty node of a pool.
fn fits(snapshot: &Snapshot, pool: &PoolEntry, template: &Template, class: &Class) -> bool {
    let name = Name::default();
    let profile = template.profile(&name, &pool.spec.template.taints);
    class.requests.fits(&template.free)
        && template.gpus.fits(class.gpu)
        && snapshot.constraint(class.constraint).misfit(&profile).is_none()
}
