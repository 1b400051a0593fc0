//! Checks on what is added: limits, and one launch for one need.

use std::collections::{BTreeMap, BTreeSet};

use ballast_core::kube::Name;
use ballast_core::plan::{Action, ActionKind, Plan};
use ballast_core::resources::Resources;
use ballast_core::units::Span;

use super::layout::{Layout, by_size};
use super::{Decided, Oracle, PoolRules};
use crate::world::{Kind, Life, NONE, Power, World};

/// More machines than pods would need, laid out one by one, are allowed up to this factor: a scheduler does not pack as well as
/// one who knows all that comes, and a plan may choose small machines for their price.
const LOOSENESS: usize = 2;

/// How long a decision is kept: a cloud that fails is asked again until the deadline of the launch.
const DECISIONS_KEPT: Span = Span::from_hours(1);

impl Oracle {
    pub(super) fn check_start(&mut self, world: &World, id: &Name) {
        let Some(&machine) = world.by_id.get(id) else { return };
        if world.machines[machine as usize].power != Power::Stopped {
            return;
        }
        self.check_launch(world, world.machines[machine as usize].kind, id);
    }

    pub(super) fn check_create(&mut self, world: &World, pool: &Name, zone: &Name, token: &Name) {
        self.judge(world, "I-2", !token.is_empty(), || {
            format!("a machine of pool `{pool}` is made without a token")
        });
        if world.knows_token(token) {
            return;
        }
        if let Some(kind) = kind_of(world, pool, zone) {
            self.check_launch(world, kind, token);
        }
    }

    fn check_launch(&mut self, world: &World, kind: u32, identity: &Name) {
        self.check_limits(world, &world.kinds[kind as usize]);
        self.check_need(world, identity);
    }

    /// I-6, I-27: the limits of the cluster, counting what starts and what ends.
    fn check_limits(&mut self, world: &World, new: &Kind) {
        let limits = self.policy.limits.clone();
        let (mut nodes, mut cores, mut memory, mut cost) = (0u64, 0i64, 0i64, 0i64);
        let mut gpus: BTreeMap<&str, u64> = BTreeMap::new();
        let machines = world.pools.iter().flat_map(|pool| &pool.machines);
        let up = machines.map(|&machine| &world.machines[machine as usize]);
        let up = up.filter(|machine| machine.power.counts());
        for kind in up.map(|machine| &world.kinds[machine.kind as usize]).chain([new]) {
            nodes += 1;
            cores += kind.room[Resources::CPU];
            memory += kind.room[Resources::MEMORY];
            cost += kind.per_hour.as_micros();
            for model in ["*", kind.gpu_model()] {
                *gpus.entry(model).or_default() += u64::from(kind.gpus);
            }
        }
        let mut bound = |is_within: bool, what: String| self.judge(world, "I-6", is_within, || what);
        bound(
            limits.nodes.is_none_or(|most| nodes <= u64::from(most)),
            format!("{nodes} nodes are too many"),
        );
        let whole = cores / 1000;
        bound(limits.cores.is_none_or(|most| cores <= most.milli()), format!("{whole} cores are too many"));
        bound(
            limits.memory.is_none_or(|most| memory <= most.units()),
            format!("{memory} bytes are too many"),
        );
        for (model, &most) in &limits.gpus {
            let there = gpus.get(&**model).copied().unwrap_or(0);
            // A launch of another model passes no limit of this one.
            let concerns = &**model == "*" || **model == *new.gpu_model();
            bound(!concerns || there <= u64::from(most), format!("{there} GPUs of `{model}` are too many"));
        }
        let is_paid = limits.cost_per_hour.is_none_or(|most| cost <= most.as_micros());
        self.judge(world, "I-27", is_paid, || {
            format!("{:.2} an hour are more than allowed", cost as f64 / 1e6)
        });
    }

    /// I-8: there are never more machines on their way than pods that could be behind them, since the first of those machines
    /// was decided on, and what minimum sizes and headroom ask for. One that has not come by its deadline is given up: it is
    /// being let go, and the pods behind it may have another.
    fn check_need(&mut self, world: &World, identity: &Name) {
        let pools = &self.pools;
        self.launched.retain(|&machine, decided| {
            is_starting(world, machine) && !is_given_up(world, pools, machine, *decided)
        });
        let starting = self.launched.len() as i64 + 1;
        let new = self.decided(world, identity);
        let base = self.launched.values().chain([&new]).map(|decided| decided.base).min().unwrap_or(0);
        let by_pods = world.pods_made() as i64 - base;
        let by_rule = self.needed_by_rule(world);
        self.judge(world, "I-8", starting <= by_pods + by_rule, || {
            format!("{starting} machines on their way for {by_pods} pods and {by_rule} by rule")
        });
    }

    /// I-8, of a plan: no more is launched than what waits needs, laid out on machines of the kinds that are launched, and
    /// what minimum sizes and headroom ask for.
    pub(super) fn check_need_of_plan(&mut self, world: &World, kinds: &[u32]) {
        let by_rule = self.needed_by_rule(world) as usize;
        let mut waiting: Vec<u32> =
            world.pods.iter().filter(|(_, pod)| pod.life == Life::Waiting).map(|(pod, _)| pod).collect();
        by_size(world, &mut waiting);
        let mut smallest = kinds.to_vec();
        smallest.sort_by_key(|&kind| (world.kinds[kind as usize].room[Resources::CPU], kind));
        smallest.dedup();
        // A cheap machine may be launched for what would also fit beside something that needs a dear one of another pool.
        let pools: BTreeSet<u32> = kinds.iter().map(|&kind| world.kinds[kind as usize].pool).collect();
        let mixed = usize::from(pools.len() > 1);
        let is_enough = |machines: usize| kinds.len() <= LOOSENESS * machines + mixed + by_rule;
        let (mut layout, mut alone) = (Layout::new(world), 0);
        for pod in waiting {
            if is_enough(layout.len() + alone) {
                break;
            }
            let class = &world.classes[world.pods[pod].class as usize];
            if class.is_picky {
                // It may have to stand apart from others.
                alone += 1;
            } else if !layout.take(pod, true) {
                let carries = |kind: &&u32| {
                    let mut empty = Layout::new(world);
                    empty.open(**kind);
                    empty.take(pod, true)
                };
                if let Some(&kind) = smallest.iter().find(carries) {
                    layout.open(kind);
                    layout.take(pod, true);
                }
            }
        }
        let machines = layout.len() + alone;
        self.judge(world, "I-8", is_enough(machines), || {
            format!("{} launches where {machines} machines and {by_rule} by rule would do", kinds.len())
        });
    }

    /// Machines that minimum sizes lack, and units of headroom.
    fn needed_by_rule(&self, world: &World) -> i64 {
        let each = self.pools.iter().enumerate().map(|(at, rules)| {
            let (min, min_before) =
                (rules.spec.range_at(world.now).0, rules.spec.range_at(world.now - super::DECIDED_WITHIN).0);
            let lacks = i64::from(min.max(min_before)) - up(world, at);
            let headroom: u32 = rules.spec.headroom.iter().map(|headroom| headroom.count).sum();
            lacks.max(0) + i64::from(headroom)
        });
        each.sum()
    }

    /// Notes a machine that was launched just now, with what was known when it was decided.
    pub(super) fn note_launch(&mut self, world: &World, id: &Name, identity: &Name) {
        let decided = self.decided(world, identity);
        if let Some(&machine) = world.by_id.get(id).filter(|machine| is_starting(world, **machine)) {
            self.launched.entry(machine).or_insert(decided);
        }
    }

    /// Notes that it was decided to launch a machine.
    pub(super) fn note_decision(&mut self, world: &World, identity: &Name) {
        let decided = Decided { at: world.now, base: self.needed_before(world) };
        self.decided.retain(|_, decided| world.now.since(decided.at) <= DECISIONS_KEPT);
        self.decided.insert(identity.clone(), decided);
    }

    fn decided(&self, world: &World, identity: &Name) -> Decided {
        let now = || Decided { at: world.now, base: self.needed_before(world) };
        self.decided.get(identity).copied().unwrap_or_else(now)
    }

    /// Pods that had come and did not wait when what is asked for now was decided, a moment ago or in this instant, of which
    /// `recent` does not know yet.
    fn needed_before(&self, world: &World) -> i64 {
        let recent = self.recent.iter().map(|(_, waiting)| *waiting);
        let waiting = recent.max().unwrap_or(0).max(super::waiting(world));
        world.pods_made() as i64 - waiting
    }
}

/// Machines of a pool that run and are ready. The node of one that its cloud took away is ready for some seconds more.
fn up(world: &World, pool: usize) -> i64 {
    let machines = world.pools[pool].machines.iter().map(|&machine| &world.machines[machine as usize]);
    machines.filter(|machine| machine.power == Power::Running && machine.is_ready()).count() as i64
}

/// The kind of machine that a plan launches.
pub(super) fn kind_launched(world: &World, action: &Action) -> Option<u32> {
    let target = &action.target;
    match action.kind {
        ActionKind::StartInstance => {
            world.by_id.get(&target.provider_id).map(|&machine| world.machines[machine as usize].kind)
        }
        ActionKind::CreateInstance => kind_of(world, &target.pool, &target.zone),
        _ => None,
    }
}

/// The kinds of machines that a plan launches, one for each launch.
pub(super) fn kinds_launched(world: &World, plan: &Plan) -> Vec<u32> {
    plan.actions.iter().filter_map(|action| kind_launched(world, action)).collect()
}

fn kind_of(world: &World, pool: &Name, zone: &Name) -> Option<u32> {
    let is_it = |kind: &Kind| {
        kind.pool != NONE && world.pools[kind.pool as usize].name == *pool && kind.zone == *zone
    };
    world.kinds.iter().position(is_it).map(|kind| kind as u32)
}

/// Whether a machine is on its way: launched, and not yet all that it promised to be.
pub(super) fn is_starting(world: &World, machine: u32) -> bool {
    let machine = &world.machines[machine as usize];
    matches!(machine.power, Power::Starting | Power::Running) && !machine.has_been_whole
}

/// Whether a machine has not come by the deadline of its pool, which is counted from the decision.
fn is_given_up(world: &World, pools: &[PoolRules], machine: u32, decided: Decided) -> bool {
    let machine = &world.machines[machine as usize];
    let rules = pools.get(world.kinds[machine.kind as usize].pool as usize);
    rules.is_some_and(|rules| world.now.since(decided.at) > rules.spec.times.boot_deadline)
}
