//! The scheduler: pods that wait in, bindings out.
//!
//! It judges as kube-scheduler does: a pod goes to the best of the nodes on which it fits; one that fits nowhere waits until
//! something has changed. What is alike is tried once: a class that found no place is tried again only on nodes that have
//! more room since.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ballast_core::kube::Name;
use rand::RngExt;

use super::World;
use super::devices::Devices;
use super::machine::Machine;
use crate::placement::{Need, Placement, Room, Typical, best_fit, least_allocated, most_allocated};
use crate::random::{Stream, Streams};

/// Pods that wait, and nodes in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct Scheduler {
    placement: Placement,
    /// By workload: what is drawn for one changes the luck of no other.
    dice: Vec<Stream>,
    pub(crate) typical: Typical,
    /// Pods that wait, by class, the oldest first; those of gangs left out.
    waiting: Vec<VecDeque<u32>>,
    /// Classes with pods that wait: the higher priority first.
    classes: BTreeSet<(Reverse<i32>, u32)>,
    /// Gangs that wait: priority, time, job.
    gangs: BTreeSet<(Reverse<i32>, i64, u32)>,
    /// Classes that found no place: only nodes with more room since are tried.
    blocked: Vec<bool>,
    /// Nodes that take pods, by kind, the best first.
    order: Vec<BTreeSet<(i64, u32)>>,
    /// Nodes that have more room since the last pass.
    freed: Vec<u32>,
    /// Something has come or changed since the last pass.
    pub(crate) is_due: bool,
}

impl Scheduler {
    pub(crate) fn new(placement: Placement, streams: Streams, workloads: &[Name], typical: Typical) -> Self {
        Self {
            placement,
            dice: workloads.iter().map(|name| streams.stream("scheduler", name)).collect(),
            typical,
            waiting: Vec::new(),
            classes: BTreeSet::new(),
            gangs: BTreeSet::new(),
            blocked: Vec::new(),
            order: Vec::new(),
            freed: Vec::new(),
            is_due: false,
        }
    }

    pub(crate) fn resize(&mut self, classes: usize, kinds: usize) {
        self.waiting.resize_with(classes, VecDeque::new);
        self.blocked.resize(classes, false);
        self.order.resize_with(kinds, BTreeSet::new);
    }

    /// The key by which nodes of one kind are tried, the lowest first. Within a kind it ranks as the score does.
    fn rank(&self, room: &Room<'_>) -> i64 {
        let share =
            |left: i64, all: i64| if all > 0 { (left as i128 * 1_000_000 / all as i128) as i64 } else { 0 };
        let free = share(room.cpu_left, room.cpu) + share(room.memory_left, room.memory);
        match self.placement {
            Placement::LeastAllocated => -free,
            Placement::MostAllocated => free,
            Placement::BestFit => room.cpu_left * 1000 / 128 + room.gpu_left() * 1000 / 8,
            Placement::Fgd | Placement::Random => 0,
        }
    }
}

/// What is tried next.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// The job of a gang.
    Gang(u32),
    /// The pods of a class that are in no gang.
    Class(u32),
}

/// How good a node is for a pod, and the device for a share.
fn score(
    placement: Placement,
    typical: &Typical,
    room: &Room<'_>,
    devices: &Devices,
    need: &Need,
) -> (i64, usize) {
    let points = match placement {
        Placement::Fgd => return typical.score(room, need),
        Placement::Random => 0,
        Placement::LeastAllocated => least_allocated(room, need),
        Placement::MostAllocated => most_allocated(room, need),
        Placement::BestFit => best_fit(room, need),
    };
    (points, if need.is_share() { need.tightest(devices.left()) } else { 0 })
}

impl World {
    /// Puts a pod among those that wait.
    pub(crate) fn enqueue(&mut self, pod: u32) {
        let (class, job) = (self.pods[pod].class, self.pods[pod].job);
        let priority = Reverse(self.classes[class as usize].priority);
        self.scheduler.is_due = true;
        if self.jobs[job].gang && self.gang_scheduling {
            self.jobs[job].is_blocked = false;
            self.scheduler.gangs.insert((priority, self.jobs[job].created.as_millis(), job));
            return;
        }
        self.scheduler.waiting[class as usize].push_back(pod);
        self.scheduler.classes.insert((priority, class));
    }

    /// Takes a pod out of those that wait.
    pub(crate) fn dequeue(&mut self, pod: u32) {
        let (class, job) = (self.pods[pod].class, self.pods[pod].job);
        if self.jobs[job].gang && self.gang_scheduling {
            return;
        }
        let queue = &mut self.scheduler.waiting[class as usize];
        queue.retain(|&waiting| waiting != pod);
        if queue.is_empty() {
            self.scheduler.classes.remove(&(Reverse(self.classes[class as usize].priority), class));
        }
    }

    /// Takes a gang out of those that wait.
    pub(crate) fn dequeue_gang(&mut self, job: u32) {
        let key = self.gang_key(job);
        self.scheduler.gangs.remove(&key);
    }

    fn gang_key(&self, job: u32) -> (Reverse<i32>, i64, u32) {
        let job_entry = &self.jobs[job];
        let priority = self.classes[job_entry.class as usize].priority;
        (Reverse(priority), job_entry.created.as_millis(), job)
    }

    /// Puts a machine into the scheduler's order, moves it within, or takes it out.
    pub(crate) fn rerank(&mut self, machine: u32) {
        let entry = &self.machines[machine as usize];
        let kind = entry.kind as usize;
        let rank =
            entry.takes_pods(&self.kinds[kind]).then(|| self.scheduler.rank(&entry.room(&self.kinds[kind])));
        if rank == entry.rank {
            return;
        }
        let order = &mut self.scheduler.order[kind];
        if let Some(old) = self.machines[machine as usize].rank {
            order.remove(&(old, machine));
        }
        if let Some(new) = rank {
            order.insert((new, machine));
        }
        self.machines[machine as usize].rank = rank;
    }

    /// Notes that a machine has more room, or takes pods again.
    pub(crate) fn freed(&mut self, machine: u32) {
        self.rerank(machine);
        if self.machines[machine as usize].rank.is_some() {
            self.scheduler.freed.push(machine);
            self.scheduler.is_due = true;
        }
    }

    /// Places what can be placed.
    pub(crate) fn schedule(&mut self) {
        if !std::mem::take(&mut self.scheduler.is_due) {
            return;
        }
        let mut freed = std::mem::take(&mut self.scheduler.freed);
        freed.sort_unstable();
        freed.dedup();
        for turn in self.turns() {
            match turn {
                Turn::Gang(job) => self.schedule_gang(job, &freed),
                Turn::Class(class) => self.schedule_class(class, &freed),
            }
        }
        // Binding frees nothing, so that what was freed meanwhile came from elsewhere and is kept for the next pass.
    }

    /// Everything that waits, the higher priority first; of the same priority gangs, which are the harder to place.
    fn turns(&self) -> Vec<Turn> {
        let gangs = self.scheduler.gangs.iter().map(|(priority, _, job)| (*priority, Turn::Gang(*job)));
        let classes = self.scheduler.classes.iter().map(|(priority, class)| (*priority, Turn::Class(*class)));
        let mut turns: Vec<(Reverse<i32>, Turn)> = gangs.chain(classes).collect();
        turns.sort_by_key(|(priority, _)| *priority);
        turns.into_iter().map(|(_, turn)| turn).collect()
    }

    fn schedule_class(&mut self, class: u32, freed: &[u32]) {
        let index = class as usize;
        let on_freed = self.scheduler.blocked[index] && !self.classes[index].is_picky;
        while let Some(&pod) = self.scheduler.waiting[index].front() {
            let found = if on_freed { self.best_of(class, freed) } else { self.best(class) };
            let Some((machine, device)) = found else { break };
            self.scheduler.waiting[index].pop_front();
            self.bind(pod, machine, device);
        }
        let is_blocked = !self.scheduler.waiting[index].is_empty();
        self.scheduler.blocked[index] = is_blocked;
        if !is_blocked {
            self.scheduler.classes.remove(&(Reverse(self.classes[index].priority), class));
            return;
        }
        let queue = std::mem::take(&mut self.scheduler.waiting[index]);
        // From the newest: those before the first that knows it know it too.
        for &pod in queue.iter().rev() {
            if std::mem::replace(&mut self.pods[pod].unschedulable, true) {
                break;
            }
            self.touch_pod(pod);
        }
        self.scheduler.waiting[index] = queue;
    }

    /// A gang gets all its members placed or none. One that found no place is tried again when a node with more room since
    /// can take a member, or where a change elsewhere may matter to it.
    fn schedule_gang(&mut self, job: u32, freed: &[u32]) {
        let class = self.jobs[job].class;
        let helps = |machine: &u32| {
            let entry = &self.machines[*machine as usize];
            entry.rank.is_some() && self.allows(class, entry.kind as usize) && self.is_open(class, *machine)
        };
        let on_freed = self.jobs[job].is_blocked && !self.classes[class as usize].is_picky;
        if on_freed && !freed.iter().any(helps) {
            return;
        }
        let waiting: Vec<u32> =
            self.jobs[job].pods.iter().copied().filter(|&pod| !self.pods[pod].is_bound()).collect();
        let mut placed: Vec<(u32, u32, usize)> = Vec::new();
        for &pod in &waiting {
            let Some((machine, device)) = self.best(class) else { break };
            self.reserve(pod, machine, device);
            placed.push((pod, machine, device));
        }
        let all = placed.len() == waiting.len();
        self.jobs[job].is_blocked = !all;
        for &(pod, ..) in &placed {
            self.unreserve(pod);
        }
        if all {
            self.dequeue_gang(job);
            for (pod, machine, device) in placed {
                self.bind(pod, machine, device);
            }
            return;
        }
        for pod in waiting {
            if !std::mem::replace(&mut self.pods[pod].unschedulable, true) {
                self.touch_pod(pod);
            }
        }
    }

    /// The best machine for a pod of a class, among all.
    pub(crate) fn best(&mut self, class: u32) -> Option<(u32, usize)> {
        let kinds: Vec<usize> = (0..self.kinds.len()).filter(|&kind| self.allows(class, kind)).collect();
        if matches!(self.scheduler.placement, Placement::Random | Placement::Fgd) {
            let all =
                kinds.iter().flat_map(|&kind| self.scheduler.order[kind].iter().map(|(_, machine)| *machine));
            let all: Vec<u32> = all.collect();
            return self.best_of(class, &all);
        }
        let mut best: Option<(i64, u32, usize)> = None;
        for kind in kinds {
            let order = &self.scheduler.order[kind];
            let Some(&(_, machine)) = order.iter().find(|(_, machine)| self.is_open(class, *machine)) else {
                continue;
            };
            let (points, device) = self.score(class, &self.machines[machine as usize]);
            if best.is_none_or(|(most, ..)| points > most) {
                best = Some((points, machine, device));
            }
        }
        best.map(|(_, machine, device)| (machine, device))
    }

    /// The best machine for a pod of a class, among these.
    fn best_of(&mut self, class: u32, machines: &[u32]) -> Option<(u32, usize)> {
        let fitting: Vec<u32> = machines
            .iter()
            .copied()
            .filter(|&machine| {
                let entry = &self.machines[machine as usize];
                entry.rank.is_some()
                    && self.allows(class, entry.kind as usize)
                    && self.is_open(class, machine)
            })
            .collect();
        if fitting.is_empty() {
            return None;
        }
        if self.scheduler.placement == Placement::Random {
            return self.draw(class, &fitting);
        }
        let mut best: Option<(i64, u32, usize)> = None;
        for machine in fitting {
            let (points, device) = self.score(class, &self.machines[machine as usize]);
            if best.is_none_or(|(most, ..)| points > most) {
                best = Some((points, machine, device));
            }
        }
        best.map(|(_, machine, device)| (machine, device))
    }

    fn draw(&mut self, class: u32, fitting: &[u32]) -> Option<(u32, usize)> {
        let class = &self.classes[class as usize];
        let (need, dice) = (class.need, &mut self.scheduler.dice[class.workload as usize]);
        let machine = fitting[dice.random_range(0..fitting.len())];
        let mut device = 0;
        if need.is_share() {
            let left = self.machines[machine as usize].devices.left();
            let devices: Vec<usize> =
                (0..left.len()).filter(|&device| left[device] >= need.gpu_milli).collect();
            device = devices[dice.random_range(0..devices.len())];
        }
        Some((machine, device))
    }

    fn score(&self, class: u32, machine: &Machine) -> (i64, usize) {
        let Scheduler { placement, typical, .. } = &self.scheduler;
        let kind = &self.kinds[machine.kind as usize];
        score(*placement, typical, &machine.room(kind), &machine.devices, &self.classes[class as usize].need)
    }

    /// Whether machines of a kind are ever for a class.
    pub(crate) fn allows(&self, class: u32, kind: usize) -> bool {
        self.classes[class as usize].fits[kind]
    }

    /// Whether a pod of a class fits on a machine now.
    pub(crate) fn is_open(&self, class: u32, machine: u32) -> bool {
        let (class, machine) = (&self.classes[class as usize], &self.machines[machine as usize]);
        machine.has_room(&self.kinds[machine.kind as usize], &class.requests, &class.need)
            && (!class.is_picky || self.fits_machine(class, machine))
    }

    /// Nodes that take pods, as the scheduler sees them.
    pub(crate) fn open_machines(&self) -> BTreeMap<u32, &Machine> {
        let all = self.scheduler.order.iter().flatten().map(|(_, machine)| *machine);
        all.map(|machine| (machine, &self.machines[machine as usize])).collect()
    }
}
