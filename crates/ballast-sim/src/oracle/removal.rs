//! Checks on what is removed: identity, order, what is in use, minimum sizes, budgets, and sight.

use ballast_core::kube::Name;
use ballast_core::policy::{BarePods, LocalStorage, StopMode};
use ballast_core::units::{Span, Time};

use super::Oracle;
use crate::scenario::{FaultKind, Owner, View};
use crate::watch::Watch;
use crate::world::{Class, Life, Machine, NONE, Power, Ready, World};

/// How old a live read may be when a machine is stopped: five seconds by promise, and a request's way.
const READ_WITHIN: Span = Span::from_secs(7);
/// How long after the decision a cordon comes at the latest: five seconds by promise, and a request's way.
const CORDON_WITHIN: Span = Span::from_secs(7);
/// How long after a view broke a request may still arrive that was decided before.
const SIGHT_GRACE: Span = Span::from_secs(5);
/// After how long a list that shrank has been told twice.
const SECOND_LOOK: Span = Span::from_secs(30);

/// How long a loss may go unseen: until its cloud is asked again, or its node is given up, and a plan is made.
const LOSS_KNOWN_WITHIN: Span = Span::from_secs(75);

impl Oracle {
    pub(super) fn check_stop(&mut self, world: &World, pool: &Name, id: &Name, mode: StopMode) {
        if id.is_empty() {
            return self.breach(world, "I-2", format!("a stop in pool `{pool}` names no machine"));
        }
        let Some(&at) = world.by_id.get(id) else { return };
        let machine = &world.machines[at as usize];
        let kind = &world.kinds[machine.kind as usize];
        if kind.pool == NONE || world.pools[kind.pool as usize].name != *pool {
            return self.breach(
                world,
                "I-13",
                format!("`{}` is not a machine of pool `{pool}`", machine.name),
            );
        }
        if matches!(machine.power, Power::Stopping(_) | Power::Stopped | Power::Gone) {
            return;
        }
        let rules = &self.pools[kind.pool as usize];
        // What never was a node may go for good: nothing is lost with it.
        let was_node = machine.has_been_whole || machine.token.is_empty();
        if mode == StopMode::Delete && rules.spec.stop != StopMode::Delete && was_node {
            self.breach(world, "I-19", format!("`{}` is deleted, its pool says deallocate", machine.name));
        }
        self.check_order(world, machine);
        if machine.is_whole() {
            self.check_minimum(world, kind.pool, machine);
        }
    }

    /// I-1, I-3, I-19: cordon, drain, live read, then stop.
    fn check_order(&mut self, world: &World, machine: &Machine) {
        let Some(node) = &machine.node else { return };
        let guests =
            machine.pods.iter().filter(|&&pod| !world.classes[world.pods[pod].class as usize].daemon);
        let alive =
            guests.filter(|&&pod| !matches!(world.pods[pod].life, Life::Lost | Life::Stranded)).count();
        if alive > 0 {
            self.breach(world, "I-1", format!("`{}` is stopped with {alive} pods on it", machine.name));
        }
        // A node that does not answer cannot be drained, and nothing is placed on it.
        if node.ready == Ready::Unknown {
            return;
        }
        if !node.cordoned {
            self.breach(world, "I-19", format!("`{}` is stopped without a cordon", machine.name));
        }
        let read = self.reads.get(&machine.name).is_some_and(|&at| world.now.since(at) <= READ_WITHIN);
        if !read {
            self.breach(
                world,
                "I-3",
                format!("`{}` is stopped without a live read just before", machine.name),
            );
        }
    }

    /// I-6: a pool does not fall below its minimum by our hand. What its cloud took a moment ago nobody can know yet.
    fn check_minimum(&mut self, world: &World, pool: u32, machine: &Machine) {
        let rules = &self.pools[pool as usize];
        // Which window of a schedule holds is the planner's to judge; below the lowest minimum of all of them it may never be.
        let windows = rules.spec.schedule.iter().filter_map(|window| window.min);
        let least = i64::from(windows.fold(rules.spec.min, u32::min));
        let power = &world.meter.pools[pool as usize].power;
        let taken = world.pools[pool as usize].taken_back.iter().rev();
        let unseen = taken.take_while(|at| world.now.since(**at) <= LOSS_KNOWN_WITHIN).count() as i64;
        let left = power[0] + power[1] - 1 + unseen;
        if left < least {
            let message = format!("`{}` is stopped, {left} are left of at least {least}", machine.name);
            self.breach(world, "I-6", message);
        }
    }

    /// I-7: removal budgets hold over every window, whatever restarted meanwhile. Capacity is removed when its node is cordoned,
    /// however long it then takes to run empty.
    fn check_budgets(&mut self, world: &World, pool: u32, machine: &Machine) {
        let now = world.now;
        let own = self.pools[pool as usize].budget.clone();
        let all = self.policy.removal.per_cluster.clone();
        let longest = own.window.max(all.window).max(Span::from_hours(1));
        while self.removed.front().is_some_and(|(at, _)| now.since(*at) > longest) {
            self.removed.pop_front();
        }
        self.removed.push_back((now, pool));
        let within = |window: Span, of: Option<u32>| {
            // Budgets are spent when a removal is decided; its cordon follows at once or not at all.
            let window = Span::from_millis(window.as_millis() - CORDON_WITHIN.as_millis());
            let counted =
                |(at, pool): &&(Time, u32)| now.since(*at) < window && of.is_none_or(|of| *pool == of);
            self.removed.iter().filter(counted).count() as u64
        };
        let size = |pool: usize| {
            let power = &world.meter.pools[pool].power;
            (power[0] + power[1] + power[2]) as u64
        };
        let in_pool = within(own.window, Some(pool));
        // What was removed within the window belonged to the size that the share is taken of.
        let of_pool = own.share.of(size(pool as usize) + in_pool).max(1);
        let in_all = within(all.window, None);
        let of_all = all.share.of((0..self.pools.len()).map(size).sum::<u64>() + in_all).max(1);
        if !own.unlimited && in_pool > of_pool {
            let message = format!("`{}` is the {in_pool}th of its pool in {}", machine.name, own.window);
            self.breach(world, "I-7", message);
        }
        if !all.unlimited && in_all > of_all {
            self.breach(
                world,
                "I-7",
                format!("`{}` is the {in_all}th of all in {}", machine.name, all.window),
            );
        }
    }

    pub(super) fn check_cordon(&mut self, world: &World, watch: &Watch, name: &Name) {
        let Some(&at) = world.by_name.get(name) else { return };
        let machine = &world.machines[at as usize];
        let pool = world.kinds[machine.kind as usize].pool;
        if pool == NONE {
            return self.breach(world, "I-13", format!("`{name}` belongs to no pool and is cordoned"));
        }
        let node = machine.node.as_ref();
        if node.is_some_and(|node| !node.cordoned) && machine.is_whole() {
            self.check_budgets(world, pool, machine);
        }
        // What never was a usable node since it was started takes no capacity with it, and is let go by live reads alone.
        if !machine.has_been_whole {
            return;
        }
        for view in View::ALL {
            let Some((kind, since)) = watch.trouble(view, Some(pool as usize)) else { continue };
            let lasted = world.now.since(since);
            let shows_no_truth = match kind {
                FaultKind::StaleView => lasted > self.policy.sources.max_age + SIGHT_GRACE,
                // A list that shrank is believed when a second look agrees; live reads guard what follows.
                FaultKind::EmptyView | FaultKind::TruncatedView => {
                    lasted > SIGHT_GRACE && lasted < SECOND_LOOK
                }
                // States that lag are still states of the same machines.
                FaultKind::StateLag => false,
                _ => lasted > SIGHT_GRACE,
            };
            if shows_no_truth {
                let message =
                    format!("a removal of `{name}` begins while the view of {view:?} shows no truth");
                self.breach(world, "I-4", message);
            }
        }
    }

    pub(super) fn check_evict(&mut self, world: &World, namespace: &Name, name: &Name, uid: &Name) {
        if uid.is_empty() {
            return self.breach(
                world,
                "I-2",
                format!("an eviction of `{namespace}/{name}` names no identity"),
            );
        }
        let Some(at) = world.pod_of(uid) else { return };
        let pod = &world.pods[at];
        if !pod.is_bound() || matches!(pod.life, Life::Leaving | Life::Lost | Life::Stranded) {
            return;
        }
        let machine = &world.machines[pod.machine as usize];
        let pool = world.kinds[machine.kind as usize].pool;
        let class = &world.classes[pod.class as usize];
        if let Some(why) = self.protected(world, at, class, pool) {
            self.breach(world, "I-1", format!("`{namespace}/{name}` is evicted although {why}"));
        }
        if !machine.node.as_ref().is_some_and(|node| node.cordoned) {
            self.breach(
                world,
                "I-19",
                format!("`{namespace}/{name}` is evicted from a node without a cordon"),
            );
        }
    }

    /// Why a pod must live.
    fn protected(&self, world: &World, pod: u32, class: &Class, pool: u32) -> Option<&'static str> {
        let says = |key: &str, value: &str| class.annotations.get(key).is_some_and(|said| &**said == value);
        if says("karpenter.sh/do-not-disrupt", "true") || says("ballast.dev/do-not-disrupt", "true") {
            return Some("it says do-not-disrupt");
        }
        if says("cluster-autoscaler.kubernetes.io/safe-to-evict", "false") {
            return Some("it is not safe to evict");
        }
        if pool == NONE {
            return Some("its node is not managed");
        }
        let job = &world.jobs[world.pods[pod].job];
        if job.gang && job.working_since.is_some() {
            return Some("its gang is at work");
        }
        let safe = says("cluster-autoscaler.kubernetes.io/safe-to-evict", "true");
        let rules = &self.pools[pool as usize].spec.scale_down;
        if class.owner == Owner::None && rules.bare_pods == BarePods::Block && !safe {
            return Some("nobody would make it anew");
        }
        let local =
            class.spec.volumes.iter().any(|volume| volume.empty_dir.is_some() || volume.host_path.is_some());
        (local && rules.local_storage == LocalStorage::Block && !safe).then_some("it has local data")
    }
}
