//! Gates: what may be done at all, given what is known, what is paused and what is unwell.

use std::collections::BTreeMap;

use crate::kube::Name;
use crate::memory::Memory;
use crate::observation::{Instance, InstanceState, ObjectKind, Source};
use crate::plan::{Hold, HoldReason, Report, SourceTrouble, Subject};
use crate::policy::{Direction, Mode};
use crate::scalers::nodes::is_young;
use crate::snapshot::{BaseState, PoolEntry, Snapshot};
use crate::units::Time;

/// What may be done at all, given what is known.
pub(super) struct Gates {
    /// Nodes or pods are unknown: nothing can be said.
    pub(super) blind: bool,
    /// Nodes may be removed.
    pub(super) removals: bool,
    /// Pools in which nothing is removed.
    pub(super) held_pools: Vec<bool>,
}

impl Gates {
    pub(super) fn judge(snapshot: &Snapshot, memory: &Memory, now: Time, report: &mut Report) -> Self {
        let policy = &snapshot.policy;
        let mut known = |subject: Subject, source: Source| match snapshot.trouble(&source, now) {
            Some(why) => {
                let source = format!("{:?}/{}", source.kind, source.name);
                report.holds.push(Hold {
                    subject,
                    reason: HoldReason::SourceUnknown { source, why },
                    until: None,
                });
                false
            }
            None => true,
        };
        let nodes = known(Subject::Cluster, Source::kubernetes(ObjectKind::Node));
        let pods = known(Subject::Cluster, Source::kubernetes(ObjectKind::Pod));
        let others = besides(snapshot).fold(true, |all, source| known(Subject::Cluster, source) & all);
        let mut held_pools = Vec::new();
        for pool in &snapshot.pools {
            let subject = Subject::Pool { name: pool.name.clone() };
            held_pools.push(!known(subject, Source::instances(&pool.name)));
        }
        let settled = settled(snapshot, now, report);
        for (pool, held) in snapshot.pools.iter().zip(&mut held_pools) {
            if let Some(reason) = unwell(snapshot, pool, now) {
                let subject = Subject::Pool { name: pool.name.clone() };
                report.holds.push(Hold { subject, reason, until: None });
                *held = true;
            }
        }
        report.holds.extend(snapshot.pools.iter().filter_map(|pool| strangers(pool, memory, now)));
        report.holds.extend(ghosts(snapshot));
        for pool in snapshot.pools.iter().filter(|pool| pool.spec.lowers(policy.mode)) {
            let subject = Subject::Pool { name: pool.name.clone() };
            let reason = HoldReason::LowerMode { mode: pool.spec.mode.unwrap_or_default() };
            report.holds.push(Hold { subject, reason, until: None });
        }
        let pools = snapshot.pools.iter().map(|pool| {
            let subject = Subject::Pool { name: pool.name.clone() };
            (subject, &pool.spec.pause)
        });
        for (subject, pause) in std::iter::once((Subject::Cluster, &policy.pause)).chain(pools) {
            if [Direction::Up, Direction::Down].into_iter().any(|way| pause.holds(way, now)) {
                let reason = HoldReason::Paused { reason: pause.reason.clone().unwrap_or_default() };
                report.holds.push(Hold { subject, reason, until: pause.until });
            }
        }
        let unlimited = policy.limits.nodes.is_none() || policy.limits.cost_per_hour.is_none();
        if policy.mode == Mode::Enforce && unlimited {
            report.holds.push(Hold {
                subject: Subject::Cluster,
                reason: HoldReason::LimitsNotSet,
                until: None,
            });
        }
        Self {
            blind: !nodes || !pods,
            removals: others && settled && !policy.pause.holds(Direction::Down, now),
            held_pools,
        }
    }
}

/// What removals need to know besides nodes and pods.
fn besides(snapshot: &Snapshot) -> impl Iterator<Item = Source> {
    // A pause or a lower limit that was written meanwhile may not have been seen.
    let needed = [ObjectKind::PodDisruptionBudget, ObjectKind::ClusterPolicy, ObjectKind::VmPool];
    // Room may be held that was not told of. Where nobody tells of these kinds at all, there is none.
    let asks = ObjectKind::ASKS.map(Source::kubernetes).into_iter();
    needed
        .map(Source::kubernetes)
        .into_iter()
        .chain(asks.filter(|source| snapshot.sources.contains_key(source)))
}

/// Whether what removals from a pool are decided by is not known now.
pub(crate) fn is_blind(snapshot: &Snapshot, pool: &Name, now: Time) -> bool {
    let seen = [ObjectKind::Node, ObjectKind::Pod].map(Source::kubernetes).into_iter();
    let mut sources = seen.chain(besides(snapshot)).chain([Source::instances(pool)]);
    let is_troubled = |source: Source| {
        snapshot.trouble(&source, now).is_some()
            || (SETTLING.map(Source::kubernetes).contains(&source)
                && snapshot.settles_at(&source, now).is_some())
    };
    sources.any(is_troubled)
}

/// Instances of a pool that run for long, are no nodes, and are not ours to let go.
fn strangers(pool: &PoolEntry, memory: &Memory, now: Time) -> Option<Hold> {
    let ledger = &memory.ledger;
    let is_stranger = |instance: &&Instance| {
        instance.state == InstanceState::Running
            && instance.token.is_empty()
            && !is_young(pool, instance.since, now)
            && !ledger.launches.contains_key(&instance.name)
            && !ledger.removals.contains_key(&instance.name)
    };
    let mut strangers = pool.nodeless.iter().map(|id| &pool.instances[id]).filter(is_stranger);
    let first = strangers.next()?.name.clone();
    let reason = HoldReason::NeverANode { count: 1 + strangers.count() as u32, first };
    Some(Hold { subject: Subject::Pool { name: pool.name.clone() }, reason, until: None })
}

/// Nodes of each pool whose machine is gone.
fn ghosts(snapshot: &Snapshot) -> Vec<Hold> {
    let mut by_pool: BTreeMap<u32, (u32, &Name)> = BTreeMap::new();
    for node in snapshot.ghosts.iter().map(|&slot| snapshot.node(slot)) {
        let Some(pool) = node.pool else { continue };
        let (count, first) = by_pool.entry(pool).or_insert((0, &node.name));
        (*count, *first) = (*count + 1, (*first).min(&node.name));
    }
    let hold = |(pool, (count, first)): (u32, (u32, &Name))| {
        let subject = Subject::Pool { name: snapshot.pools[pool as usize].name.clone() };
        Hold { subject, reason: HoldReason::MachineGone { count, first: first.clone() }, until: None }
    };
    by_pool.into_iter().map(hold).collect()
}

/// Kinds of which a list that was suddenly much shorter is not built on for a while.
const SETTLING: [ObjectKind; 3] = [ObjectKind::Node, ObjectKind::Pod, ObjectKind::PodDisruptionBudget];

/// Whether no list of what lives in Kubernetes was suddenly much shorter a while ago.
fn settled(snapshot: &Snapshot, now: Time, report: &mut Report) -> bool {
    let unsettled = SETTLING.into_iter().find_map(|kind| {
        let source = Source::kubernetes(kind);
        let is_believed = snapshot.trouble(&source, now).is_none();
        snapshot.settles_at(&source, now).filter(|_| is_believed).map(|until| (source, until))
    });
    let Some((source, until)) = unsettled else { return true };
    let source = format!("{:?}/{}", source.kind, source.name);
    let reason = HoldReason::SourceUnknown { source, why: SourceTrouble::SuddenlyShrunk };
    report.holds.push(Hold { subject: Subject::Cluster, reason, until: Some(until) });
    false
}

/// The health gate: too many of a pool's nodes, those stopped on purpose left out, are unwell.
fn unwell(snapshot: &Snapshot, pool: &PoolEntry, now: Time) -> Option<HoldReason> {
    let counts = &pool.counts;
    let not_ready = counts.of(BaseState::NotReady);
    if not_ready == 0 {
        return None;
    }
    let index = snapshot.pools.iter().position(|entry| entry.name == pool.name)? as u32;
    let is_unwell = |&&slot: &&u32| {
        let node = snapshot.node(slot);
        let created = node.node.as_ref().and_then(|node| node.metadata.creation_timestamp);
        let young = created.is_some_and(|at| now.since(at) <= pool.spec.times.boot_deadline);
        node.pool == Some(index) && node.state == BaseState::NotReady && !young
    };
    let unready = snapshot.unsettled.iter().filter(is_unwell).count() as u32;
    let managed = counts.of(BaseState::Ready) + not_ready + counts.of(BaseState::Cordoned);
    let allowed = snapshot.policy.health.max_unready_share.of(u64::from(managed)).max(1);
    (u64::from(unready) > allowed).then_some(HoldReason::HealthGate { unready, managed })
}
