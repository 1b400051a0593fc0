//! Rooms: how far each pool may grow, and which limit binds first.

use std::collections::{BTreeMap, BTreeSet};

use crate::kube::Name;
use crate::memory::{Memory, Removal};
use crate::observation::{InstanceState, Source};
use crate::plan::{Limit, SkipReason};
use crate::policy::{ClusterPolicySpec, Direction};
use crate::resources::Resources;
use crate::snapshot::{BaseState, NodeEntry, PoolEntry, Snapshot};
use crate::units::{Money, Span, Time};

/// How far each pool may grow, and the cluster in all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rooms {
    /// One for each pool, in the snapshot's order.
    pub pools: Vec<Room>,
    nodes_left: Option<i64>,
    cores_left: Option<i64>,
    memory_left: Option<i64>,
    gpus_left: BTreeMap<Name, i64>,
    cost_left: Option<i64>,
    per_minute_left: i64,
}

/// How far one pool may grow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Room {
    /// Nodes that count against its maximum: all but those that are off.
    pub size: u32,
    /// The same before this plan: what removal budgets are shares of.
    pub size_before: u32,
    /// Of these, what is on its way out: removals under way, and nodes that we cordoned or whose machine goes down, which a
    /// list of instances may still call running.
    pub leaving: u32,
    /// Nodes that say nothing and that no list of instances names, while their machines may run all the same: they count
    /// against maximum and limits, and are no place for anything.
    missing: u32,
    /// Nodes that take pods.
    pub ready: u32,
    /// Nodes on their way up.
    pub starting: u32,
    /// Fewest nodes now.
    pub min: u32,
    /// Most nodes now.
    pub max: u32,
    /// Price of a node per hour.
    pub price: Money,
    /// Names of its machines that are being launched: they are not free to be started.
    launching: BTreeSet<Name>,
    /// Why it takes no launch at all now.
    pub closed: Option<SkipReason>,
    /// Why each of its zones takes no launch now, where launches failed there.
    pub backed_off: Vec<Option<SkipReason>>,
    /// The growth budget does not bind the gang that is being placed.
    gang_may_grow: bool,
    starting_left: i64,
    cores: i64,
    memory: i64,
    gpus: i64,
    model: Name,
}

impl Rooms {
    /// What may grow now, given how many nodes of each pool are on their way up.
    pub(crate) fn new(snapshot: &Snapshot, memory: &Memory, now: Time, starting: &[u32]) -> Self {
        let policy = &*snapshot.policy;
        let assumed = snapshot.assumed_price();
        let pools = snapshot.pools.iter().zip(starting);
        let pools = pools.map(|(pool, &starting)| Room::new(pool, snapshot, memory, now, assumed, starting));
        let pools: Vec<Room> = pools.collect();
        let managed: i64 = pools.iter().map(Room::counted).sum();
        let of_all = |each: &dyn Fn(&Room) -> i64| {
            let of_pools = pools.iter().map(|room| room.counted().saturating_mul(each(room)));
            of_pools.fold(0, i64::saturating_add)
        };
        let limits = &policy.limits;
        let used_gpus = |model: &Name| {
            of_all(&|room| if &**model == "*" || room.model == *model { room.gpus } else { 0 })
        };
        let gpus_left =
            limits.gpus.iter().map(|(model, &most)| (model.clone(), i64::from(most) - used_gpus(model)));
        let cost = of_all(&|room| room.price.as_micros());
        Self {
            nodes_left: limits.nodes.map(|most| i64::from(most) - managed),
            cores_left: limits.cores.map(|most| most.milli().saturating_sub(of_all(&|room| room.cores))),
            memory_left: limits.memory.map(|most| most.units().saturating_sub(of_all(&|room| room.memory))),
            gpus_left: gpus_left.collect(),
            cost_left: limits.cost_per_hour.map(|most| most.as_micros().saturating_sub(cost)),
            per_minute_left: per_minute(policy, memory, managed, now),
            pools,
        }
    }

    /// How many more nodes a pool may get, and the limit that says so.
    pub(crate) fn allowance(&self, pool: usize) -> (u32, Option<Limit>) {
        let room = &self.pools[pool];
        let mut least = (i64::from(room.max) - room.counted(), Limit::PoolMax);
        let mut bound = |left: i64, limit: Limit| {
            if left < least.0 {
                least = (left, limit);
            }
        };
        if !room.gang_may_grow {
            bound(room.starting_left, Limit::Growth);
            bound(self.per_minute_left, Limit::Growth);
        }
        let per_node = |left: Option<i64>, each: i64| match left {
            Some(left) if each > 0 => left / each,
            _ => i64::MAX,
        };
        bound(per_node(self.nodes_left, 1), Limit::Nodes);
        bound(per_node(self.cores_left, room.cores), Limit::Cores);
        bound(per_node(self.memory_left, room.memory), Limit::Memory);
        bound(per_node(self.cost_left, room.price.as_micros()), Limit::CostPerHour);
        for (model, &left) in &self.gpus_left {
            if room.gpus > 0 && (&**model == "*" || *model == room.model) {
                bound(left / room.gpus, Limit::Gpus(model.clone()));
            }
        }
        (least.0.clamp(0, i64::from(u32::MAX)) as u32, Some(least.1))
    }

    /// The growth budget counts a gang whole: where any of it is left the gang may begin, and what follows waits until the
    /// budget is free again. A gang larger than the budget would else wait for ever.
    pub(crate) fn begin_gang(&mut self) {
        for room in &mut self.pools {
            room.gang_may_grow = room.starting_left > 0 && self.per_minute_left > 0;
        }
    }

    /// What comes next is bound by the growth budget again.
    pub(crate) fn end_gang(&mut self) {
        self.pools.iter_mut().for_each(|room| room.gang_may_grow = false);
    }

    /// Counts nodes that a pool gets (or, below zero, gives back).
    pub(crate) fn take(&mut self, pool: usize, nodes: i64) {
        let room = &mut self.pools[pool];
        let (cores, memory, gpus, price) = (room.cores, room.memory, room.gpus, room.price.as_micros());
        let model = room.model.clone();
        room.size = (i64::from(room.size) + nodes).max(0) as u32;
        room.starting = (i64::from(room.starting) + nodes).max(0) as u32;
        room.starting_left -= nodes;
        self.per_minute_left -= nodes;
        let less = |left: &mut Option<i64>, each: i64| {
            if let Some(left) = left {
                *left = left.saturating_sub(each.saturating_mul(nodes));
            }
        };
        less(&mut self.nodes_left, 1);
        less(&mut self.cores_left, cores);
        less(&mut self.memory_left, memory);
        less(&mut self.cost_left, price);
        for (limited, left) in &mut self.gpus_left {
            if &**limited == "*" || *limited == model {
                *left -= gpus * nodes;
            }
        }
    }
}

impl Room {
    /// Nodes that maximum and limits count.
    fn counted(&self) -> i64 {
        i64::from(self.size) + i64::from(self.missing)
    }

    /// Identities of the instances that are off and free to be started, in order of their names.
    pub(crate) fn startable<'p>(&'p self, pool: &'p PoolEntry) -> impl DoubleEndedIterator<Item = &'p Name> {
        pool.stopped.iter().filter(|id| !self.launching.contains(&pool.instances[*id].name))
    }

    fn new(
        pool: &PoolEntry,
        snapshot: &Snapshot,
        memory: &Memory,
        now: Time,
        assumed: Money,
        starting: u32,
    ) -> Self {
        let spec = &pool.spec;
        let counts = &pool.counts;
        let ready = counts.of(BaseState::Ready);
        let settled = ready
            + counts.of(BaseState::NotReady)
            + counts.of(BaseState::Cordoned)
            + counts.of(BaseState::CordonedByUs)
            + counts.of(BaseState::Stopping);
        // What we have under way counts until it has ended, also where no list shows it yet or any more; what is seen counts
        // once.
        let launches = memory.ledger.launches.iter().filter(|(_, launch)| launch.pool == pool.name);
        let removals = memory.ledger.removals.iter().filter(|(_, removal)| removal.pool == pool.name);
        let is_seen = |(name, id): &(&Name, &Name)| match snapshot.node_of_instance(id, name) {
            Some(node) => node.state != BaseState::Stopped,
            None => pool.state_of(id, name).is_some_and(|state| state != InstanceState::Stopped),
        };
        let under_way = launches.map(|(name, launch)| (name, &launch.provider_id));
        let under_way = under_way.chain(removals.map(|(name, removal)| (name, &removal.provider_id)));
        let unseen = under_way.filter(|machine| !is_seen(machine)).count() as u32;
        let (min, max) = spec.range_at(now);
        let growth = &snapshot.policy.growth;
        let allowed = growth.starting_share.of(u64::from(ready)).max(u64::from(growth.starting_minimum));
        let template = pool.templates.first();
        let has = template.map(|template| template.allocatable).unwrap_or_default();
        let size = settled + pool.nodeless.len() as u32 + unseen;
        Self {
            size,
            size_before: size,
            leaving: leaving(pool, snapshot, memory),
            missing: missing(pool, snapshot, memory, now),
            ready,
            starting,
            min,
            max,
            price: spec.price.per_hour.unwrap_or(assumed),
            launching: own_names(pool, memory.ledger.launches.keys()),
            closed: closed(pool, snapshot, memory, now),
            backed_off: pool.templates.iter().map(|new| backed_off(pool, &new.zone, memory, now)).collect(),
            gang_may_grow: false,
            starting_left: i64::try_from(allowed).unwrap_or(i64::MAX) - i64::from(starting),
            cores: has[Resources::CPU],
            memory: has[Resources::MEMORY],
            gpus: template.map_or(0, |template| template.gpus.count() as i64),
            model: spec.template.gpu_model.clone().unwrap_or_default(),
        }
    }
}

/// Those of names that instances of a pool have.
fn own_names<'n>(pool: &PoolEntry, names: impl Iterator<Item = &'n Name>) -> BTreeSet<Name> {
    names.filter(|name| pool.instance_named(name).is_some()).cloned().collect()
}

/// Why a zone of a pool takes no launch now.
fn backed_off(pool: &PoolEntry, zone: &Name, memory: &Memory, now: Time) -> Option<SkipReason> {
    let entry = memory.ledger.backed_off(&pool.name, pool.instance_type(), zone, now)?;
    Some(SkipReason::BackOff { class: entry.class, until: entry.until })
}

fn leaving(pool: &PoolEntry, snapshot: &Snapshot, memory: &Memory) -> u32 {
    let is_seen = |name: &Name| {
        let state = snapshot.node_named(name).map(|node| node.state);
        matches!(state, Some(BaseState::CordonedByUs | BaseState::Stopping))
    };
    // The node may be gone, and the removal over, while the newest list of instances still shows the machine going down.
    let goes_down = |id: &Name| pool.state_of(id, "") == Some(InstanceState::Stopping);
    let nodeless: BTreeSet<&Name> = pool.nodeless.iter().filter(|id| goes_down(id)).collect();
    let own = memory.ledger.removals.iter().filter(|(_, removal)| removal.pool == pool.name);
    let is_unseen =
        |(name, removal): &(&Name, &Removal)| !is_seen(name) && !nodeless.contains(&removal.provider_id);
    let unseen = own.filter(is_unseen).count() + nodeless.len();
    unseen as u32 + pool.counts.of(BaseState::CordonedByUs) + pool.counts.of(BaseState::Stopping)
}

/// How long after it came a node may be missing from lists of instances: clouds lag behind.
const LISTS_LAG: Span = Span::from_hours(1);

/// Nodes that say nothing and that no list names, though their machines may run; what is under way is counted there.
///
/// Of two storms: nodes were silent, the list of instances was empty or lagged, and a pool got a machine more than its maximum
/// (seeds 773 and 4116).
fn missing(pool: &PoolEntry, snapshot: &Snapshot, memory: &Memory, now: Time) -> u32 {
    let may_lack = snapshot.may_lack(&Source::instances(&pool.name), now);
    let is_own =
        |node: &&NodeEntry| node.pool.is_some_and(|at| snapshot.pools[at as usize].name == pool.name);
    let is_new = |node: &NodeEntry| {
        let created = node.node.as_ref().and_then(|node| node.metadata.creation_timestamp);
        created.is_some_and(|at| now.since(at) < LISTS_LAG)
    };
    let ledger = &memory.ledger;
    let is_busy = |name: &Name| ledger.launches.contains_key(name) || ledger.removals.contains_key(name);
    let is_counted = |node: &&NodeEntry| is_busy(&node.name) || is_busy(snapshot.machine_of(node));
    let ghosts = snapshot.ghosts.iter().map(|&slot| snapshot.node(slot)).filter(is_own);
    ghosts.filter(|node| (may_lack || is_new(node)) && !is_counted(node)).count() as u32
}

/// Why a pool takes no launch at all now.
fn closed(pool: &PoolEntry, snapshot: &Snapshot, memory: &Memory, now: Time) -> Option<SkipReason> {
    let policy = &snapshot.policy;
    let paused = [(true, &policy.pause), (false, &pool.spec.pause)]
        .into_iter()
        .find(|(_, pause)| pause.holds(Direction::Up, now));
    if let Some((cluster, pause)) = paused {
        return Some(SkipReason::Paused { cluster, reason: pause.reason.clone().unwrap_or_default() });
    }
    if pool.spec.lowers(policy.mode) {
        return Some(SkipReason::Mode);
    }
    let strikes = memory.ledger.strikes.get(&pool.name).copied().unwrap_or(0);
    let backs_off = || memory.ledger.backed_off(&pool.name, pool.instance_type(), "", now).is_some();
    if strikes >= policy.health.strikes.max(1) && backs_off() {
        return Some(SkipReason::Quarantined { strikes });
    }
    let source = Source::instances(&pool.name);
    snapshot.trouble(&source, now).map(|_| SkipReason::Unknown)
}

fn per_minute(policy: &ClusterPolicySpec, memory: &Memory, managed: i64, now: Time) -> i64 {
    let growth = &policy.growth;
    let share = growth.per_minute_share.of(managed.max(0) as u64);
    let allowed = share.max(u64::from(growth.per_minute_minimum));
    let since = now - Span::from_mins(1);
    let added = memory.ledger.added.iter().filter(|added| added.at > since).count() as i64;
    i64::try_from(allowed).unwrap_or(i64::MAX) - added
}
