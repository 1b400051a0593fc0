//! Checks on what is added: limits, and one launch for one need.

use std::collections::BTreeMap;

use ballast_core::kube::Name;
use ballast_core::resources::Resources;

use super::{Oracle, PoolRules};
use crate::world::{Kind, NONE, Power, World};

impl Oracle {
    pub(super) fn check_start(&mut self, world: &World, id: &Name) {
        let Some(&machine) = world.by_id.get(id) else { return };
        if world.machines[machine as usize].power != Power::Stopped {
            return;
        }
        self.check_launch(world, world.machines[machine as usize].kind);
    }

    pub(super) fn check_create(&mut self, world: &World, pool: &Name, token: &Name) {
        if token.is_empty() {
            self.breach(world, "I-8", format!("a machine of pool `{pool}` is made without a token"));
        }
        if world.knows_token(token) {
            return;
        }
        let of_pool = |kind: &Kind| kind.pool != NONE && world.pools[kind.pool as usize].name == *pool;
        if let Some(kind) = world.kinds.iter().position(of_pool) {
            self.check_launch(world, kind as u32);
        }
    }

    fn check_launch(&mut self, world: &World, kind: u32) {
        self.check_limits(world, &world.kinds[kind as usize]);
        self.check_need(world);
    }

    /// I-6, I-27: the limits of the cluster, counting what starts and what ends.
    fn check_limits(&mut self, world: &World, new: &Kind) {
        let limits = self.policy.limits.clone();
        let (mut nodes, mut cores, mut cost) = (0u64, 0i64, 0i64);
        let mut gpus: BTreeMap<&str, u64> = BTreeMap::new();
        let machines = world.pools.iter().flat_map(|pool| &pool.machines);
        let up = machines.map(|&machine| &world.machines[machine as usize]);
        let up = up.filter(|machine| machine.power.counts());
        for kind in up.map(|machine| &world.kinds[machine.kind as usize]).chain([new]) {
            nodes += 1;
            cores += kind.room[Resources::CPU];
            cost += kind.per_hour.as_micros();
            for model in ["*", kind.gpu_model()] {
                *gpus.entry(model).or_default() += u64::from(kind.gpus);
            }
        }
        if limits.nodes.is_some_and(|most| nodes > u64::from(most)) {
            self.breach(world, "I-6", format!("{nodes} nodes are more than {:?}", limits.nodes));
        }
        if limits.cores.is_some_and(|most| cores > most.milli()) {
            self.breach(world, "I-6", format!("{} cores are more than allowed", cores / 1000));
        }
        for (model, &most) in &limits.gpus {
            let there = gpus.get(&**model).copied().unwrap_or(0);
            // A launch of another model passes no limit of this one.
            if there > u64::from(most) && (&**model == "*" || **model == *new.gpu_model()) {
                self.breach(world, "I-6", format!("{there} GPUs of `{model}` are more than {most}"));
            }
        }
        if limits.cost_per_hour.is_some_and(|most| cost > most.as_micros()) {
            self.breach(world, "I-27", format!("{:.2} an hour are more than allowed", cost as f64 / 1e6));
        }
    }

    /// I-8: there are never more machines on their way than pods that could be behind them, since the first of those machines
    /// was launched, and what minimum sizes and headroom ask for. One that has not come by its deadline is given up: it is
    /// being let go, and the pods behind it may have another.
    fn check_need(&mut self, world: &World) {
        let pools = &self.pools;
        self.launched
            .retain(|&machine, _| is_starting(world, machine) && !is_given_up(world, pools, machine));
        let starting = self.launched.len() as i64;
        let base = self.launched.values().copied().min().unwrap_or(self.needed_before(world));
        let by_pods = world.pods_made() as i64 - base;
        let mut by_rule = 0;
        for rules in &self.pools {
            let schedules = rules.spec.schedule.iter().filter_map(|window| window.min).max().unwrap_or(0);
            by_rule += i64::from(rules.spec.min.max(schedules));
            by_rule += rules.spec.headroom.iter().map(|headroom| i64::from(headroom.count)).sum::<i64>();
        }
        if starting + 1 > by_pods + by_rule {
            let message = format!(
                "{} machines on their way for {by_pods} pods and {by_rule} of minimum sizes and headroom",
                starting + 1
            );
            self.breach(world, "I-8", message);
        }
    }

    /// Notes a machine that was launched just now, with the pods that cannot be what it was launched for.
    pub(super) fn note_launch(&mut self, world: &World, id: &Name) {
        let base = self.needed_before(world);
        if let Some(&machine) = world.by_id.get(id).filter(|machine| is_starting(world, **machine)) {
            self.launched.entry(machine).or_insert(base);
        }
    }

    /// Pods that had come and did not wait when what is asked for now was decided, a moment ago.
    fn needed_before(&self, world: &World) -> i64 {
        let waiting = self.recent.iter().map(|(_, waiting)| *waiting).max().unwrap_or(0);
        world.pods_made() as i64 - waiting
    }
}

/// Whether a machine is on its way: launched, and not yet all that it promised to be.
fn is_starting(world: &World, machine: u32) -> bool {
    let machine = &world.machines[machine as usize];
    matches!(machine.power, Power::Starting | Power::Running) && !machine.has_been_whole
}

/// Whether a machine has not come by the deadline of its pool.
fn is_given_up(world: &World, pools: &[PoolRules], machine: u32) -> bool {
    let machine = &world.machines[machine as usize];
    let rules = pools.get(world.kinds[machine.kind as usize].pool as usize);
    rules.is_some_and(|rules| world.now.since(machine.started_at) > rules.spec.times.boot_deadline)
}

#[cfg(test)]
mod tests {
    use ballast_core::procedure::Request;
    use serde_json::json;

    use super::*;
    use crate::scenario::Scenario;
    use crate::watch::Watch;

    #[test]
    fn a_limit_on_one_model_of_gpus_binds_that_model() {
        let pool = |name: &str, model: &str| {
            json!({"name": name, "running": 1, "stopped": 1, "spec": {
                "provider": {"kind": "Simulated"}, "max": 4, "template": {"gpuModel": model,
                    "allocatable": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "4"}}}})
        };
        let document = json!({
            "apiVersion": "ballast.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "s"}, "spec": {
                "until": "1h", "pools": [pool("new", "H100"), pool("old", "T4")],
                "policy": {"mode": "Enforce", "limits": {"nodes": 9, "costPerHour": 9, "gpus": {"H100": 7}}},
            },
        });
        let scenario = Scenario::from_value(document).expect("a good scenario");
        let world = World::new(&scenario, 1);
        let mut oracle = Oracle::new(&scenario.spec);
        let mut broken = |pool: &str| {
            let id = format!("sim://{pool}/{pool}-1").into();
            let request = Request::StartInstance { pool: pool.into(), id };
            oracle.before(&world, &Watch::new(&scenario.spec), &request);
            oracle.breaches().iter().filter(|breach| breach.promise == "I-6").count()
        };
        assert_eq!(broken("old"), 0);
        assert_eq!(broken("new"), 1);
    }
}
