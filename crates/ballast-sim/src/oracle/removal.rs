//! Checks on what is removed: identity, order, what is in use, minimum sizes, budgets, and sight.

use std::collections::BTreeSet;

use ballast_core::kube::Name;
use ballast_core::policy::{BarePods, LocalStorage, RemovalBudget, StopMode};
use ballast_core::units::{Share, Span, Time};

use super::Oracle;
use crate::scenario::{FaultKind, Owner, View};
use crate::watch::Watch;
use crate::world::{Class, Job, Life, Machine, NONE, Power, Ready, World};

/// How old a live read may be when a machine is stopped: five seconds by promise, and a request's way.
const READ_WITHIN: Span = Span::from_secs(7);
/// How long after the decision a cordon comes at the latest: five seconds by promise, and a request's way.
const CORDON_WITHIN: Span = Span::from_secs(7);
/// How long after a view broke a request may still arrive that was decided before.
const SIGHT_GRACE: Span = Span::from_secs(5);
/// After how long a list that shrank has been told twice.
const SECOND_LOOK: Span = Span::from_secs(30);
/// After how long a list that is empty is believed to be.
const SHRINK_SETTLES: Span = Span::from_hours(1);

/// The most that goes of a pool or cluster within a window where its document does not lift the ceiling.
const CEILING: Share = Share::percent(34);
/// Labels of machines that run the control plane.
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
/// The label of Ballast's own pods.
const OWN: (&str, &str) = ("app.kubernetes.io/name", "ballast");

impl Oracle {
    pub(super) fn check_stop(
        &mut self,
        world: &World,
        watch: &Watch,
        pool: &Name,
        id: &Name,
        mode: StopMode,
    ) {
        self.judge(world, "I-2", !id.is_empty(), || format!("a stop in pool `{pool}` names no machine"));
        let Some(&at) = world.by_id.get(id) else { return };
        let machine = &world.machines[at as usize];
        let kind = &world.kinds[machine.kind as usize];
        let is_of_pool = kind.pool != NONE && world.pools[kind.pool as usize].name == *pool;
        self.judge(world, "I-13", is_of_pool, || {
            format!("`{}` is not a machine of pool `{pool}`", machine.name)
        });
        if !is_of_pool || matches!(machine.power, Power::Stopping(_) | Power::Stopped | Power::Gone) {
            return;
        }
        self.check_untouchable(world, machine);
        let rules = &self.pools[kind.pool as usize];
        // What never was a node may go for good: nothing is lost with it.
        let was_node = machine.has_been_whole || machine.token.is_empty();
        let is_lost = mode == StopMode::Delete && rules.spec.stop != StopMode::Delete && was_node;
        self.judge(world, "I-19", !is_lost, || {
            format!("`{}` is deleted, its pool says deallocate", machine.name)
        });
        self.check_order(world, machine);
        if machine.is_whole() {
            self.check_minimum(world, watch, kind.pool, machine);
        }
    }

    /// I-1, I-3, I-19: cordon, drain, live read, then stop.
    fn check_order(&mut self, world: &World, machine: &Machine) {
        let Some(node) = &machine.node else { return };
        let guests =
            machine.pods.iter().filter(|&&pod| !world.classes[world.pods[pod].class as usize].daemon);
        let alive =
            guests.filter(|&&pod| !matches!(world.pods[pod].life, Life::Lost | Life::Stranded)).count();
        self.judge(world, "I-1", alive == 0, || {
            format!("`{}` is stopped with {alive} pods on it", machine.name)
        });
        // A node that does not answer cannot be drained, and nothing is placed on it.
        if node.ready == Ready::Unknown {
            return;
        }
        self.judge(world, "I-19", node.cordoned, || {
            format!("`{}` is stopped without a cordon", machine.name)
        });
        let is_read = self.reads.get(&machine.name).is_some_and(|&at| world.now.since(at) <= READ_WITHIN);
        self.judge(world, "I-3", is_read, || {
            format!("`{}` is stopped without a live read just before", machine.name)
        });
    }

    /// I-13: the control plane and Ballast's own node are never touched.
    fn check_untouchable(&mut self, world: &World, machine: &Machine) {
        let kind = &world.kinds[machine.kind as usize];
        let rules_all = CONTROL_PLANE.iter().any(|role| kind.labels.contains_key(*role));
        let is_own = |pod: &u32| {
            let labels = &world.classes[world.pods[*pod].class as usize].labels;
            labels.get(OWN.0).is_some_and(|value| &**value == OWN.1)
        };
        let carries_us = machine.pods.iter().any(is_own);
        self.judge(world, "I-13", !rules_all && !carries_us, || {
            format!("`{}` runs the control plane or Ballast itself", machine.name)
        });
    }

    /// I-6: a pool does not fall below its minimum by our hand. What its cloud took a moment ago nobody can know yet.
    fn check_minimum(&mut self, world: &World, watch: &Watch, pool: u32, machine: &Machine) {
        let (least, _) = self.pools[pool as usize].range(world.now);
        let power = &world.meter.pools[pool as usize].power;
        let left = power[0] + power[1] - 1 + unseen_losses(world, watch, pool);
        self.judge(world, "I-6", left >= i64::from(least), || {
            format!("`{}` is stopped, {left} are left of at least {least}", machine.name)
        });
    }

    /// I-7: removal budgets hold over every window, whatever restarted meanwhile. Capacity is removed when its node is cordoned,
    /// however long it then takes to run empty.
    fn check_budgets(&mut self, world: &World, watch: &Watch, pool: u32, machine: &Machine) {
        let now = world.now;
        let all = self.policy.removal.per_cluster.clone();
        let own = self.pools[pool as usize].spec.budget.as_ref();
        let own = own.unwrap_or(&self.policy.removal.per_pool).clone();
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
        let (in_pool, in_all) = (within(own.window, Some(pool)), within(all.window, None));
        let base = |pool: u32| {
            let to_come = self.still_to_come().filter(|&kind| world.kinds[kind as usize].pool == pool);
            staying(world, watch, pool) + to_come.count() as u64
        };
        // The one that goes is still among those that stay.
        let of_pool = allowed(&own, base(pool) + in_pool - 1);
        let of_all = allowed(&all, (0..self.pools.len() as u32).map(base).sum::<u64>() + in_all - 1);
        self.judge(world, "I-7", in_pool <= of_pool, || {
            format!("`{}` is the {in_pool}th of its pool in {}, {of_pool} may go", machine.name, own.window)
        });
        self.judge(world, "I-7", in_all <= of_all, || {
            format!("`{}` is the {in_all}th of all in {}, {of_all} may go", machine.name, all.window)
        });
    }

    pub(super) fn check_cordon(&mut self, world: &World, watch: &Watch, name: &Name) {
        let Some(&at) = world.by_name.get(name) else { return };
        let machine = &world.machines[at as usize];
        let pool = world.kinds[machine.kind as usize].pool;
        self.judge(world, "I-13", pool != NONE, || format!("`{name}` belongs to no pool and is cordoned"));
        if pool == NONE {
            return;
        }
        self.check_untouchable(world, machine);
        let begins = machine.node.as_ref().is_some_and(|node| !node.cordoned);
        if begins && machine.is_whole() {
            self.check_budgets(world, watch, pool, machine);
            self.check_hold(world, pool, name);
        }
        // What never was a usable node since it was started takes no capacity with it, and is let go by live reads alone.
        if machine.has_been_whole {
            self.check_sight(world, watch, pool, name);
        }
    }

    /// I-4: no removal begins while a view shows no truth.
    fn check_sight(&mut self, world: &World, watch: &Watch, pool: u32, name: &Name) {
        for view in View::ALL {
            let lie = watch.trouble(view, Some(pool as usize)).filter(|(kind, since)| {
                let lasted = world.now.since(*since);
                match kind {
                    FaultKind::StaleView => lasted > self.policy.sources.max_age + SIGHT_GRACE,
                    // Who came while a list was empty has nothing to hold it against; live reads guard what follows. An
                    // empty list of instances makes them unknown, and what is unknown stays.
                    FaultKind::EmptyView if *since > watch.since && view != View::Instances => {
                        lasted > SIGHT_GRACE && lasted < SHRINK_SETTLES
                    }
                    // A list of which half is left may have been just within what is believed.
                    FaultKind::EmptyView | FaultKind::TruncatedView => {
                        lasted > SIGHT_GRACE && lasted < SECOND_LOOK
                    }
                    // States that lag are still states of the same machines.
                    FaultKind::StateLag => false,
                    _ => lasted > SIGHT_GRACE,
                }
            });
            self.judge(world, "I-4", lie.is_none(), || {
                format!("a removal of `{name}` begins while the view of {view:?} shows no truth")
            });
        }
    }

    pub(super) fn check_evict(&mut self, world: &World, namespace: &Name, name: &Name, uid: &Name) {
        self.judge(world, "I-2", !uid.is_empty(), || {
            format!("an eviction of `{namespace}/{name}` names no identity")
        });
        let Some(at) = world.pod_of(uid) else { return };
        let pod = &world.pods[at];
        if !pod.is_bound() || matches!(pod.life, Life::Leaving | Life::Lost | Life::Stranded) {
            return;
        }
        let machine = &world.machines[pod.machine as usize];
        let pool = world.kinds[machine.kind as usize].pool;
        let class = &world.classes[pod.class as usize];
        let why = self.protected(world, at, class, pool);
        self.judge(world, "I-1", why.is_none(), || {
            format!("`{namespace}/{name}` is evicted although {}", why.unwrap_or_default())
        });
        let is_cordoned = machine.node.as_ref().is_some_and(|node| node.cordoned);
        self.judge(world, "I-19", is_cordoned, || {
            format!("`{namespace}/{name}` is evicted from a node without a cordon")
        });
    }

    /// Whether a namespace keeps as many nodes by annotations as it may at the most, those that are drained left out.
    fn keeps_enough(&self, world: &World, namespace: &Name) -> bool {
        let cap = self.policy.tenant(namespace).and_then(|tenant| tenant.protected_nodes);
        let Some(cap) = cap else { return false };
        let mut kept = BTreeSet::new();
        for (_, pod) in
            world.pods.iter().filter(|(_, pod)| matches!(pod.life, Life::Starting | Life::Running))
        {
            let class = &world.classes[pod.class as usize];
            let node = world.machines[pod.machine as usize].node.as_ref();
            // What a person cordoned keeps its pods.
            let stays = node.is_some_and(|node| !node.cordoned || node.mark.is_empty());
            let is_kept = is_annotated(class) || is_alone(&world.jobs[pod.job]);
            if class.namespace == *namespace && is_kept && stays {
                kept.insert(pod.machine);
            }
        }
        kept.len() >= cap as usize
    }

    /// Why a pod must live.
    fn protected(&self, world: &World, pod: u32, class: &Class, pool: u32) -> Option<&'static str> {
        let said = |key: &str| class.annotations.get(key).map(|value| &**value);
        let safe = said("cluster-autoscaler.kubernetes.io/safe-to-evict");
        let is_capped = self.keeps_enough(world, &class.namespace);
        if is_annotated(class) && !is_capped {
            return Some("it is annotated to be kept");
        }
        if pool == NONE {
            return Some("its node is not managed");
        }
        let job = &world.jobs[world.pods[pod].job];
        if job.gang && job.working_since.is_some() && !(is_capped && is_alone(job)) {
            return Some("its gang is at work");
        }
        let rules = &self.pools[pool as usize].spec.scale_down;
        let volumes = &class.spec.volumes;
        let is_local = volumes.iter().any(|volume| volume.empty_dir.is_some() || volume.host_path.is_some());
        match safe {
            Some("true") => None,
            _ if class.owner == Owner::None && rules.bare_pods == BarePods::Block => {
                Some("nobody would make it anew")
            }
            _ if &*class.namespace == "kube-system" && class.budgets.is_empty() => {
                Some("it is of the system, and no budget speaks for it")
            }
            _ => (is_local && rules.local_storage == LocalStorage::Block).then_some("it has local data"),
        }
    }
}

/// Whether pods of a class say that nobody shall remove their node.
fn is_annotated(class: &Class) -> bool {
    let said = |key: &str| class.annotations.get(key).map(|value| &**value);
    let keeps = |key: &str| said(key).is_some_and(|value| value != "false");
    keeps("karpenter.sh/do-not-disrupt")
        || keeps("ballast.dev/do-not-disrupt")
        || matches!(said("cluster-autoscaler.kubernetes.io/safe-to-evict"), Some("false" | "on-completion"))
}

/// Whether a job is a gang of which one pod is all there is.
fn is_alone(job: &Job) -> bool {
    job.gang && job.pods.len() == 1
}

/// How many may go within a window of a budget, of so many.
fn allowed(budget: &RemovalBudget, nodes: u64) -> u64 {
    let share = if budget.unlimited { budget.share } else { budget.share.min(CEILING) };
    if share == Share::default() { 0 } else { share.of(nodes).max(1) }
}

/// Machines of a pool that are not on their way out, and those whose loss nobody can know yet.
fn staying(world: &World, watch: &Watch, pool: u32) -> u64 {
    let stays = |&&machine: &&u32| {
        let machine = &world.machines[machine as usize];
        let is_marked = machine.node.as_ref().is_some_and(|node| node.cordoned && !node.mark.is_empty());
        match machine.power {
            // The node of one that was stopped keeps our mark until it is back.
            Power::Starting => true,
            Power::Running => !is_marked,
            _ => false,
        }
    };
    let there = world.pools[pool as usize].machines.iter().filter(stays).count();
    there as u64 + unseen_losses(world, watch, pool) as u64
}

/// Machines that the cloud of a pool took since it last told of them in time for what is asked for now.
fn unseen_losses(world: &World, watch: &Watch, pool: u32) -> i64 {
    let told_at = watch.told_at(pool as usize, world.now - READ_WITHIN);
    let taken = world.pools[pool as usize].taken_back.iter().rev();
    taken.take_while(|&&at| told_at.is_none_or(|told_at| at > told_at)).count() as i64
}
