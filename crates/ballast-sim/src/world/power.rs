//! The life of machines: started, joined, devices up, lost, stopped, taken back.

use std::sync::Arc;

use ballast_core::kube::Name;
use ballast_core::snapshot::HOSTNAME_LABEL;
use ballast_core::units::Span;

use super::devices::Devices;
use super::lifecycle::NewJob;
use super::machine::{Machine, NONE, NodeObject, Power, Ready};
use super::queue::Event;
use super::{NOTICE, World};

/// From a kubelet's last word to `Ready: Unknown`: kube-controller-manager's `--node-monitor-grace-period`.
const UNKNOWN_AFTER: Span = Span::from_secs(50);
/// From there until its pods are given up: the toleration that admission adds to every pod.
const PODS_LOST_AFTER: Span = Span::from_secs(300);
/// From a machine that is gone for good to a node object that is: the cloud's node controller looks now and then.
const NODE_GONE_AFTER: Span = Span::from_secs(10);

impl World {
    /// Adds a machine that is off.
    pub(crate) fn add_machine(&mut self, kind: u32, name: Name, id: Name) -> u32 {
        let at = self.machines.len() as u32;
        let machine = Machine::new(kind, name.clone(), id.clone(), self.now);
        self.by_name.insert(name, at);
        self.by_id.insert(id, at);
        self.machines.push(machine);
        let pool = self.kinds[kind as usize].pool;
        if pool != NONE {
            self.pools[pool as usize].machines.push(at);
            self.pools[pool as usize].dirty = true;
        }
        self.meter.power(&self.kinds[kind as usize], None, Some(Power::Stopped));
        at
    }

    /// Changes the power of a machine; what was planned for its earlier life is void.
    pub(crate) fn set_power(&mut self, machine: u32, power: Power) {
        let entry = &mut self.machines[machine as usize];
        let kind = &self.kinds[entry.kind as usize];
        let before = std::mem::replace(&mut entry.power, power);
        entry.since = self.now;
        entry.epoch += 1;
        let gone = |power: Power| (power != Power::Gone).then_some(power);
        self.meter.power(kind, gone(before), gone(power));
        if kind.pool != NONE {
            self.pools[kind.pool as usize].dirty = true;
        }
    }

    /// Puts a machine on its way up.
    pub(crate) fn power_on(&mut self, machine: u32) {
        self.set_power(machine, Power::Starting);
        let entry = &mut self.machines[machine as usize];
        entry.started_at = self.now;
        entry.was_launched = true;
        entry.was_used = false;
        entry.has_been_whole = false;
        entry.doomed = false;
        entry.hangs = false;
        let (epoch, kind) = (entry.epoch, &self.kinds[entry.kind as usize]);
        let pool = &self.pools[kind.pool as usize];
        self.meter.added(kind.pool, self.now);
        let mut dice = self.streams.stream("boot", &format!("{}/{epoch}", entry.name));
        let boot = pool.boot.draw(&mut dice);
        let fate = self.faults.fate_of_launch(&pool.name, &kind.zone, &mut dice);
        match fate {
            Some(delay) => self.queue.plan(self.now + boot + delay, Event::MachineUp { machine, epoch }),
            // It runs and costs, and never joins; the cloud says that it is up.
            None => self.queue.plan(self.now + boot, Event::NodeBack { machine, epoch }),
        }
    }

    /// A machine that never joins is up as far as its cloud knows; a node that flapped is back.
    pub(crate) fn node_back(&mut self, machine: u32, epoch: u32) {
        let entry = &self.machines[machine as usize];
        if entry.epoch != epoch {
            return;
        }
        if entry.power == Power::Starting {
            self.set_power(machine, Power::Running);
        } else if entry.power == Power::Running && !entry.hangs {
            self.set_ready(machine, Ready::Yes);
        }
    }

    /// A machine is up and becomes a node.
    pub(crate) fn machine_up(&mut self, machine: u32, epoch: u32) {
        if self.machines[machine as usize].epoch != epoch {
            return;
        }
        self.give_up_pods(machine);
        self.set_power(machine, Power::Running);
        self.join(machine);
        let entry = &self.machines[machine as usize];
        let (epoch, kind) = (entry.epoch, &self.kinds[entry.kind as usize]);
        let mut devices = Span::ZERO;
        if kind.pool != NONE {
            let pool = &self.pools[kind.pool as usize];
            let mut dice = self.streams.stream("devices", &format!("{}/{epoch}", entry.name));
            devices = pool.devices.draw(&mut dice);
            if let Some(reclaim) = pool.reclaim {
                let lives = reclaim.draw(&mut dice);
                self.queue.plan(self.now + lives, Event::Noticed { machine, epoch });
            }
        }
        if devices == Span::ZERO {
            self.devices_up(machine, epoch);
        } else {
            self.queue.plan(self.now + devices, Event::DevicesUp { machine, epoch });
        }
    }

    /// Makes the node object where there is none.
    pub(crate) fn make_node(&mut self, machine: u32, ready: Ready) {
        let entry = &self.machines[machine as usize];
        if entry.node.is_some() {
            return;
        }
        let mut labels = self.kinds[entry.kind as usize].labels.clone();
        labels.insert(self.text(HOSTNAME_LABEL), entry.name.clone());
        self.nodes_made += 1;
        let node = NodeObject {
            uid: format!("n{}", self.nodes_made).into(),
            labels: Arc::new(labels),
            ready,
            since: self.now,
            created: self.now,
            cordoned: false,
            mark: Name::default(),
            devices_up: false,
        };
        self.machines[machine as usize].node = Some(node);
        self.touch_node(machine);
    }

    /// Makes the node object, or takes up the one that is there.
    fn join(&mut self, machine: u32) {
        self.make_node(machine, Ready::No);
        let entry = &mut self.machines[machine as usize];
        let kind = &self.kinds[entry.kind as usize];
        if let Some(node) = &mut entry.node {
            node.devices_up = kind.gpus == 0 && kind.startup_taints.is_empty();
        }
        entry.free = kind.room;
        entry.devices = Devices::default();
        entry.silence += 1;
        self.set_ready(machine, Ready::Yes);
        self.start_daemons(machine);
        self.freed(machine);
    }

    /// The devices of a node can be used, and its startup taints are gone.
    pub(crate) fn devices_up(&mut self, machine: u32, epoch: u32) {
        let entry = &mut self.machines[machine as usize];
        if entry.epoch != epoch {
            return;
        }
        let Some(node) = &mut entry.node else { return };
        node.devices_up = true;
        entry.has_been_whole |= node.ready == Ready::Yes;
        entry.devices = Devices::new(self.kinds[entry.kind as usize].gpus);
        self.touch_node(machine);
        self.freed(machine);
    }

    fn start_daemons(&mut self, machine: u32) {
        for at in 0..self.daemons.len() {
            let class = self.daemons[at];
            let kind = self.machines[machine as usize].kind as usize;
            let fits = self.allows(class, kind) && self.is_open(class, machine);
            if fits {
                let name =
                    format!("{}-{}", self.daemon_names[at], self.machines[machine as usize].name).into();
                let job = self.make_job(NewJob { class, name, members: 1, gang: false, work: None });
                let pod = self.jobs[job].pods[0];
                self.bind(pod, machine, 0);
            }
        }
    }

    /// Changes what the control plane thinks of a node.
    pub(crate) fn set_ready(&mut self, machine: u32, ready: Ready) {
        let entry = &mut self.machines[machine as usize];
        let idle = entry.guests == 0;
        let Some(node) = &mut entry.node else { return };
        if node.ready == ready {
            return;
        }
        let before = std::mem::replace(&mut node.ready, ready);
        node.since = self.now;
        entry.has_been_whole |= ready == Ready::Yes && node.devices_up;
        let kind = &self.kinds[entry.kind as usize];
        if before == Ready::Yes || ready == Ready::Yes {
            let is_ready = ready == Ready::Yes;
            self.meter.machine_ready(kind, is_ready, idle);
            let classes = entry.pods.iter().map(|&pod| &self.classes[self.pods[pod].class as usize]);
            for class in classes.filter(|class| !class.daemon) {
                self.meter.requested(class, if is_ready { 1 } else { -1 });
            }
        }
        self.touch_node(machine);
        self.freed(machine);
    }

    /// A machine is off: its pods do no more work, and the control plane will notice.
    pub(crate) fn machine_down(&mut self, machine: u32, epoch: u32) {
        let entry = &self.machines[machine as usize];
        if entry.epoch != epoch {
            return;
        }
        let for_good = entry.power == Power::Stopping(true);
        for pod in entry.pods.clone() {
            self.pod_lost(pod);
        }
        self.set_power(machine, if for_good { Power::Gone } else { Power::Stopped });
        let entry = &mut self.machines[machine as usize];
        entry.silence += 1;
        let silence = entry.silence;
        if entry.node.is_some() {
            let pool = self.kinds[self.machines[machine as usize].kind as usize].pool;
            let stays = pool != NONE && self.pools[pool as usize].nodes_stay;
            let after = if for_good && !stays { NODE_GONE_AFTER } else { UNKNOWN_AFTER };
            self.queue.plan(self.now + after, Event::NodeLost { machine, silence });
            if for_good && stays {
                self.forget(machine);
            }
        } else if for_good {
            self.forget(machine);
        }
    }

    /// The control plane notices that a node does not answer, or that its machine is gone for good.
    pub(crate) fn node_lost(&mut self, machine: u32, silence: u32) {
        let entry = &self.machines[machine as usize];
        if entry.silence != silence {
            return;
        }
        let pool = self.kinds[entry.kind as usize].pool;
        let stays = pool != NONE && self.pools[pool as usize].nodes_stay;
        if entry.power == Power::Gone && !stays {
            self.give_up_pods(machine);
            self.set_ready(machine, Ready::Unknown);
            self.forget(machine);
        } else {
            self.set_ready(machine, Ready::Unknown);
            self.queue.plan(self.now + PODS_LOST_AFTER, Event::PodsLost { machine, silence });
        }
    }

    /// The control plane tells the pods of a node that does not answer to leave.
    pub(crate) fn pods_lost(&mut self, machine: u32, silence: u32) {
        if self.machines[machine as usize].silence == silence {
            for pod in self.machines[machine as usize].pods.clone() {
                self.strand(pod);
            }
        }
    }

    /// Nothing of what was on a machine is there any more: its kubelet is new, or its node is gone.
    fn give_up_pods(&mut self, machine: u32) {
        for pod in self.machines[machine as usize].pods.clone() {
            self.pod_lost(pod);
            let epoch = self.pods[pod].epoch;
            self.pod_gone(pod, epoch);
        }
    }

    /// Takes the node object and the names of a machine that is gone for good out of the world.
    fn forget(&mut self, machine: u32) {
        let entry = &mut self.machines[machine as usize];
        let pool = self.kinds[entry.kind as usize].pool;
        let stays = pool != NONE && self.pools[pool as usize].nodes_stay;
        if let Some(node) = entry.node.take_if(|_| !stays) {
            self.changes.node_gone(entry.name.clone(), node.uid);
        }
        if entry.node.is_none() {
            self.by_name.remove(&entry.name);
        }
        self.by_id.remove(&entry.id);
        self.by_token.remove(&entry.token);
        self.rerank(machine);
        if pool != NONE {
            self.pools[pool as usize].machines.retain(|&other| other != machine);
            self.pools[pool as usize].dirty = true;
        }
    }

    /// A machine has lived as long as its cloud lets it.
    pub(crate) fn noticed(&mut self, machine: u32, epoch: u32) {
        if self.machines[machine as usize].epoch == epoch {
            self.give_notice(machine, NOTICE);
        }
    }

    /// The cloud says that it will take a machine back. Its node is tainted, so that nothing more is placed there.
    pub(crate) fn give_notice(&mut self, machine: u32, notice: Span) {
        let entry = &mut self.machines[machine as usize];
        entry.doomed = true;
        let epoch = entry.epoch;
        self.queue.plan(self.now + notice, Event::Reclaimed { machine, epoch });
        self.touch_node(machine);
        self.rerank(machine);
    }

    /// The cloud takes a machine back: it is gone for good where the pool deletes, else off.
    pub(crate) fn reclaimed(&mut self, machine: u32, epoch: u32) {
        let entry = &self.machines[machine as usize];
        if entry.epoch != epoch || !matches!(entry.power, Power::Running | Power::Starting) {
            return;
        }
        let pool = self.kinds[entry.kind as usize].pool;
        let for_good = self.pools[pool as usize].deletes;
        self.meter.reclaimed();
        self.pools[pool as usize].taken_back.push(self.now);
        self.set_power(machine, Power::Stopping(for_good));
        let epoch = self.machines[machine as usize].epoch;
        self.machine_down(machine, epoch);
    }

    /// A machine hangs: its work stops, its kubelet says nothing any more, and its cloud says that it runs. Somebody may reset
    /// it in the end.
    pub(crate) fn hang(&mut self, machine: u32, reset_after: Option<Span>) {
        let entry = &mut self.machines[machine as usize];
        if entry.node.is_none() || entry.hangs {
            return;
        }
        entry.hangs = true;
        entry.silence += 1;
        let (silence, epoch) = (entry.silence, entry.epoch);
        for pod in entry.pods.clone() {
            self.pod_lost(pod);
        }
        self.queue.plan(self.now + UNKNOWN_AFTER, Event::NodeLost { machine, silence });
        if let Some(after) = reset_after {
            self.queue.plan(self.now + after, Event::Reset { machine, epoch });
        }
    }

    /// Somebody has reset a machine that hung.
    pub(crate) fn reset(&mut self, machine: u32, epoch: u32) {
        let entry = &mut self.machines[machine as usize];
        if entry.epoch != epoch {
            return;
        }
        entry.hangs = false;
        self.give_up_pods(machine);
        self.join(machine);
        self.devices_up(machine, epoch);
    }

    /// A node is not ready for a while; what runs there goes on.
    pub(crate) fn flap(&mut self, machine: u32, down: Span) {
        let entry = &self.machines[machine as usize];
        if !entry.is_ready() {
            return;
        }
        let epoch = entry.epoch;
        self.set_ready(machine, Ready::No);
        self.queue.plan(self.now + down, Event::NodeBack { machine, epoch });
    }
}

#[cfg(test)]
mod tests {
    use ballast_core::policy::StopMode;
    use ballast_core::procedure::Request;
    use serde_json::json;

    use super::*;
    use crate::scenario::{Owner, Scenario};

    /// Two nodes, of which the first has one pod of this owner with half an hour of work.
    fn world(owner: Owner) -> World {
        let document = json!({
            "apiVersion": "ballast.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "s"}, "spec": {
                "until": "1d", "controller": "None",
                "pools": [{"name": "p", "running": 2, "spec": {"provider": {"kind": "Simulated"}, "max": 2,
                    "template": {"allocatable": {"cpu": "8", "memory": "32Gi"}}}}],
                "workloads": [{"name": "w", "owner": owner, "requests": {"cpu": "5"}, "duration": "30m"}],
                "faults": [{"kind": "NeverJoins", "at": "0s"}],
            },
        });
        let mut world = World::new(&Scenario::from_value(document).expect("a good scenario"), 1);
        world.faults.set(0, true);
        run(&mut world, 10 * 60);
        world
    }

    fn run(world: &mut World, seconds: i64) {
        let until = world.now + Span::from_secs(seconds);
        while let Some((at, event)) = world.queue.take(until) {
            world.advance(at);
            world.happen(event);
            world.schedule();
        }
        world.advance(until);
    }

    fn names(world: &World) -> Vec<&str> {
        world.pods.iter().map(|(_, pod)| &*pod.name).collect()
    }

    #[test]
    fn a_machine_that_is_started_anew_is_silent_until_it_joins() {
        let mut world = world(Owner::Job);
        let machine = world.pods.iter().next().expect("one pod").1.machine;
        let epoch = world.machines[machine as usize].epoch;
        world.reclaimed(machine, epoch);
        run(&mut world, 20);
        assert!(world.machines[machine as usize].is_ready(), "nobody has noticed yet");
        world.power_on(machine);
        run(&mut world, 40);
        assert!(!world.machines[machine as usize].is_ready(), "it does not answer while it boots");
        assert_eq!(names(&world), ["w-0"]);
        run(&mut world, 400);
        assert_eq!(
            names(&world),
            ["w-0", "w-0-1"],
            "another pod is made; nobody confirms that the first is gone"
        );
        assert_eq!(world.machines[machine as usize].guests, 1);
    }

    #[test]
    fn a_machine_is_removed_once_whatever_is_asked_of_it() {
        let mut world = world(Owner::Job);
        let stop = |world: &mut World, machine: usize, mode| {
            let id = world.machines[machine].id.clone();
            world.carry_out(&Request::StopInstance { pool: "p".into(), id, mode })
        };
        let free = (0..2).find(|&machine| world.machines[machine].guests == 0).expect("one is free");
        stop(&mut world, free, StopMode::Deallocate);
        run(&mut world, 600);
        let counts = |world: &World| (world.meter.counts.removals, world.meter.counts.unused_launches);
        assert_eq!(counts(&world), (1, 0), "nobody launched it");
        world.power_on(free as u32);
        run(&mut world, 600);
        stop(&mut world, free, StopMode::Deallocate);
        run(&mut world, 600);
        stop(&mut world, free, StopMode::Delete);
        run(&mut world, 600);
        assert_eq!(world.machines[free].power, Power::Gone);
        assert_eq!(counts(&world), (2, 1), "it was launched and never joined");
    }

    #[test]
    fn what_is_told_to_leave_takes_its_work_and_a_stateful_pod_its_name_along() {
        for (owner, name) in [(Owner::ReplicaSet, "w-0-1"), (Owner::StatefulSet, "w-0-0")] {
            let mut world = world(owner);
            world.tell_to_leave(0);
            run(&mut world, 60);
            assert_eq!(names(&world), [name], "{owner:?}");
            run(&mut world, 3600);
            assert_eq!((names(&world).len(), world.meter.counts.jobs_ended), (0, 1), "{owner:?}");
        }
    }
}
