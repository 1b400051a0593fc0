//! The life of pods and jobs: made, bound, started, at work, ended, evicted, lost, made anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_core::kube::{Name, OwnerReference};
use ballast_core::units::{Span, Time};

use super::World;
use super::devices::Taken;
use super::machine::NONE;
use super::pod::{Job, Life, Pod};
use super::queue::Event;
use crate::scenario::Owner;

/// The label and the annotation by which the pods of a gang say that they are one.
const GANG_LABEL: &str = "ballast.dev/gang";
const GANG_SIZE_ANNOTATION: &str = "ballast.dev/gang-size";

/// A job that is about to come.
pub(crate) struct NewJob {
    pub(crate) class: u32,
    pub(crate) name: Name,
    pub(crate) members: u32,
    pub(crate) gang: bool,
    /// The work of each pod, or of the gang.
    pub(crate) work: Option<Span>,
}

impl World {
    /// Makes a job and its pods.
    pub(crate) fn make_job(&mut self, new: NewJob) -> u32 {
        let class = &self.classes[new.class as usize];
        let kind = match class.owner {
            Owner::Job => Some("Job"),
            Owner::ReplicaSet => Some("ReplicaSet"),
            Owner::StatefulSet => Some("StatefulSet"),
            Owner::None => None,
        };
        let kind = if class.daemon { Some("DaemonSet") } else { kind };
        let owner = kind.map(|kind| OwnerReference {
            kind: self.text(kind),
            name: new.name.clone(),
            uid: new.name.clone(),
            controller: true,
        });
        let (mut labels, mut annotations) = (class.labels.clone(), class.annotations.clone());
        if new.gang {
            Arc::make_mut(&mut labels).insert(self.text(GANG_LABEL), new.name.clone());
            let size = new.members.to_string().into();
            Arc::make_mut(&mut annotations).insert(self.text(GANG_SIZE_ANNOTATION), size);
        }
        let job = self.jobs.insert(Job {
            class: new.class,
            name: new.name,
            owner,
            labels,
            annotations,
            members: new.members,
            pods: Vec::with_capacity(new.members as usize),
            made: 0,
            ended: 0,
            created: self.now,
            gang: new.gang,
            work: if new.gang { new.work } else { None },
            ends: new.work.is_some(),
            done: Span::ZERO,
            working_since: None,
            epoch: 0,
            is_blocked: false,
        });
        let own_work = if new.gang { None } else { new.work };
        for _ in 0..new.members {
            self.make_pod(job, own_work);
        }
        job
    }

    /// Makes a pod of a job; it waits, unless it is a daemon.
    pub(crate) fn make_pod(&mut self, job: u32, work_left: Option<Span>) -> u32 {
        self.serial += 1;
        let name = self.name_of_pod(job);
        let entry = &mut self.jobs[job];
        let (class, number) = (entry.class, entry.made);
        entry.made += 1;
        let pod = self.pods.insert(Pod {
            class,
            job,
            serial: self.serial,
            number,
            name,
            uid: format!("p{}", self.serial).into(),
            created: self.now,
            life: Life::Waiting,
            since: self.now,
            machine: NONE,
            taken: Taken::Nothing,
            epoch: 0,
            work_left,
            unschedulable: false,
            ran: false,
            dirty: false,
        });
        self.by_serial.insert(self.serial, pod);
        self.jobs[job].pods.push(pod);
        self.expect(class, 1);
        self.touch_pod(pod);
        if !self.classes[class as usize].daemon {
            self.meter.pod_waits(self.classes[class as usize].workload);
            self.enqueue(pod);
        }
        pod
    }

    /// The name of the next pod of a job: that of one that left in a StatefulSet, else one that was never there.
    fn name_of_pod(&self, job: u32) -> Name {
        let entry = &self.jobs[job];
        let numbered = |number: u32| -> Name { format!("{}-{number}", entry.name).into() };
        if self.classes[entry.class as usize].owner == Owner::StatefulSet {
            let is_taken = |name: &Name| entry.pods.iter().any(|&pod| self.pods[pod].name == *name);
            // Of so many members one is missing, so that one of the names is free.
            let free = (0..entry.members).map(numbered).find(|name| !is_taken(name));
            return free.unwrap_or_else(|| numbered(entry.made));
        }
        if entry.members == 1 && entry.made == 0 { entry.name.clone() } else { numbered(entry.made) }
    }

    /// Takes room on a machine for a pod; from now on it counts there for those that want to be near it or away from it.
    pub(crate) fn reserve(&mut self, pod: u32, machine: u32, device: usize) {
        let class = &self.classes[self.pods[pod].class as usize];
        let entry = &mut self.machines[machine as usize];
        entry.free.subtract(&class.requests, 1);
        entry.pods.push(pod);
        let taken = entry.devices.take(&class.need, device);
        let pod_entry = &mut self.pods[pod];
        pod_entry.taken = taken;
        pod_entry.machine = machine;
        self.rerank(machine);
    }

    /// Gives the room back.
    pub(crate) fn unreserve(&mut self, pod: u32) {
        let pod_entry = &mut self.pods[pod];
        let machine = std::mem::replace(&mut pod_entry.machine, NONE);
        let taken = std::mem::take(&mut pod_entry.taken);
        let entry = &mut self.machines[machine as usize];
        entry.free.add(&self.classes[self.pods[pod].class as usize].requests, 1);
        entry.devices.give_back(taken);
        entry.pods.retain(|&other| other != pod);
        self.rerank(machine);
    }

    /// Binds a pod to a machine on which it fits.
    pub(crate) fn bind(&mut self, pod: u32, machine: u32, device: usize) {
        self.reserve(pod, machine, device);
        let entry = &mut self.pods[pod];
        entry.life = Life::Starting;
        entry.since = self.now;
        entry.unschedulable = false;
        let (epoch, waited) = (entry.epoch, self.now.since(entry.created));
        let entity = format!("{}/{}", self.jobs[entry.job].name, entry.number);
        let mut dice = self.streams.stream("startUp", &entity);
        let class = &self.classes[entry.class as usize];
        let start_up = class.start_up.draw(&mut dice);
        let host = &mut self.machines[machine as usize];
        if !class.daemon {
            self.meter.pod_bound(class.workload, waited);
            self.meter.requested(class, 1);
            host.guests += 1;
            host.was_used = true;
            if host.guests == 1 {
                self.meter.machine_idle(&self.kinds[host.kind as usize], false);
            }
        }
        if host.power.is_on() && !host.hangs {
            self.queue.plan(self.now + start_up, Event::PodStarted { pod, epoch });
        } else {
            // The scheduler does not know yet that nobody is there who could start it.
            self.pod_lost(pod);
        }
        self.touch_pod(pod);
    }

    /// Binds pods of a job that has just come to the nodes on which they run already. Only room is asked for: a taint that
    /// came later does not drive away what runs.
    pub(crate) fn settle(&mut self, job: u32, runs_on: &BTreeMap<Name, u32>) {
        let mut pods = self.jobs[job].pods.clone().into_iter();
        let need = self.classes[self.jobs[job].class as usize].need;
        for (name, &count) in runs_on {
            let Some(&machine) = self.by_name.get(name) else { continue };
            for _ in 0..count {
                let class = &self.classes[self.jobs[job].class as usize];
                let host = &self.machines[machine as usize];
                let has_room = host.has_room(&self.kinds[host.kind as usize], &class.requests, &need);
                if !has_room || !host.power.is_on() {
                    break;
                }
                let Some(pod) = pods.next() else { return };
                let device = if need.is_share() { need.tightest(host.devices.left()) } else { 0 };
                self.dequeue(pod);
                self.bind(pod, machine, device);
            }
        }
    }

    /// A pod's containers have started.
    pub(crate) fn pod_started(&mut self, pod: u32, epoch: u32) {
        let Some(entry) = self.pods.get_mut(pod) else { return };
        if entry.epoch != epoch || entry.life != Life::Starting {
            return;
        }
        entry.life = Life::Running;
        entry.since = self.now;
        if let Some(left) = entry.work_left {
            self.queue.plan(self.now + left, Event::PodEnded { pod, epoch });
        }
        let (class, job) = (entry.class, entry.job);
        self.keep_healthy(class, 1);
        self.touch_pod(pod);
        self.gang_may_work(job);
    }

    /// A gang works while all its members run.
    fn gang_may_work(&mut self, job: u32) {
        let entry = &self.jobs[job];
        let running = |pod: &&u32| self.pods[**pod].life == Life::Running;
        if !entry.gang || entry.pods.iter().filter(running).count() < entry.members as usize {
            return;
        }
        let waited = self.now.since(entry.created);
        let first = !entry.was_assembled();
        let entry = &mut self.jobs[job];
        entry.working_since = Some(self.now);
        if let Some(work) = entry.work {
            let left = Span::from_millis((work.as_millis() - entry.done.as_millis()).max(0));
            let epoch = entry.epoch;
            self.queue.plan(self.now + left, Event::GangEnded { job, epoch });
        }
        if first {
            self.meter.gang_assembled(waited);
        }
    }

    /// A gang stops work because a member is missing; what was done since the last checkpoint is lost.
    fn gang_stops(&mut self, job: u32) {
        let entry = &mut self.jobs[job];
        let Some(since) = entry.working_since.take() else { return };
        entry.epoch += 1;
        let class = &self.classes[entry.class as usize];
        let (kept, lost) = kept_and_lost(self.now.since(since), class.checkpoint);
        entry.done = entry.done + kept;
        self.meter.work_lost(lost.times(i64::from(entry.members)), class.need.gpu_total());
    }

    /// A pod has done its work.
    pub(crate) fn pod_ended(&mut self, pod: u32, epoch: u32) {
        let Some(entry) = self.pods.get(pod) else { return };
        if entry.epoch != epoch || entry.life != Life::Running {
            return;
        }
        let job = entry.job;
        self.release(pod);
        self.remove_pod(pod);
        self.jobs[job].ended += 1;
        if self.jobs[job].ended == self.jobs[job].members {
            self.end_job(job);
        }
    }

    /// A gang has done its work.
    pub(crate) fn gang_ended(&mut self, job: u32, epoch: u32) {
        let Some(entry) = self.jobs.get(job) else { return };
        if entry.epoch != epoch || entry.working_since.is_none() {
            return;
        }
        for pod in entry.pods.clone() {
            self.release(pod);
            self.remove_pod(pod);
        }
        self.end_job(job);
    }

    /// A job is done. What is left of it on machines that do not answer goes with it.
    fn end_job(&mut self, job: u32) {
        for pod in self.jobs[job].pods.clone() {
            self.release(pod);
            self.remove_pod(pod);
        }
        if let Some(entry) = self.jobs.remove(job) {
            self.meter.job_ended(self.now.since(entry.created));
        }
    }

    /// Tells a pod to leave: it has some grace, and its controller is told.
    pub(crate) fn tell_to_leave(&mut self, pod: u32) {
        let entry = &self.pods[pod];
        let (class, job, life) = (entry.class, entry.job, entry.life);
        if matches!(life, Life::Leaving | Life::Lost | Life::Stranded) {
            return;
        }
        if life == Life::Waiting {
            self.dequeue(pod);
            self.meter.pod_withdrawn(self.classes[class as usize].workload);
            self.remove_pod(pod);
            return;
        }
        let grace = self.classes[class as usize].grace;
        self.interrupt(pod);
        let entry = &mut self.pods[pod];
        entry.life = Life::Leaving;
        entry.since = self.now;
        entry.epoch += 1;
        let epoch = entry.epoch;
        self.queue.plan(self.now + grace, Event::PodGone { pod, epoch });
        self.touch_pod(pod);
        if self.classes[class as usize].owner == Owner::ReplicaSet {
            let work_left = self.pods[pod].work_left;
            self.make_up_for_one(job, work_left);
        }
    }

    /// A controller makes a pod where it has fewer than it should.
    fn make_up_for_one(&mut self, job: u32, work_left: Option<Span>) {
        let entry = &self.jobs[job];
        let kept = entry.pods.iter().filter(|&&pod| !self.pods[pod].is_told_to_leave()).count();
        if kept + (entry.ended as usize) < entry.members as usize {
            self.make_pod(job, work_left);
        }
    }

    /// The work of a pod stops; what it has done since the last checkpoint is lost.
    fn interrupt(&mut self, pod: u32) {
        let entry = &mut self.pods[pod];
        let (class, job) = (entry.class, entry.job);
        entry.ran = entry.life == Life::Running;
        if !entry.ran {
            return;
        }
        let worked = self.now.since(entry.since);
        let class_entry = &self.classes[class as usize];
        if let Some(left) = &mut entry.work_left {
            let (kept, lost) = kept_and_lost(worked, class_entry.checkpoint);
            *left = Span::from_millis((left.as_millis() - kept.as_millis()).max(0));
            self.meter.work_lost(lost, class_entry.need.gpu_total());
        }
        self.keep_healthy(class, -1);
        if self.jobs[job].gang {
            self.gang_stops(job);
        }
    }

    /// A pod that was told to leave is gone; its controller makes it anew.
    pub(crate) fn pod_gone(&mut self, pod: u32, epoch: u32) {
        let Some(entry) = self.pods.get(pod) else { return };
        if entry.epoch != epoch || !matches!(entry.life, Life::Leaving | Life::Lost | Life::Stranded) {
            return;
        }
        let (job, class, work_left) = (entry.job, entry.class, entry.work_left);
        self.release(pod);
        self.remove_pod(pod);
        let owner = self.classes[class as usize].owner;
        if self.classes[class as usize].daemon || owner == Owner::None {
            if self.jobs[job].pods.is_empty() {
                self.jobs.remove(job);
            }
        } else {
            self.make_up_for_one(job, work_left);
        }
    }

    /// The control plane tells a pod to leave whose machine does not answer. Its controller makes another; the object stays
    /// until the machine is back, or its node is gone.
    pub(crate) fn strand(&mut self, pod: u32) {
        let entry = &self.pods[pod];
        let (class, job) = (entry.class, entry.job);
        // Daemons tolerate that their node does not answer.
        if entry.life == Life::Stranded || self.classes[class as usize].daemon {
            return;
        }
        self.pod_lost(pod);
        let entry = &mut self.pods[pod];
        entry.life = Life::Stranded;
        entry.since = self.now;
        let work_left = entry.work_left;
        self.touch_pod(pod);
        if self.classes[class as usize].owner != Owner::None {
            self.make_up_for_one(job, work_left);
        }
    }

    /// The machine of a pod does not answer any more: its work stops, but nobody knows yet.
    pub(crate) fn pod_lost(&mut self, pod: u32) {
        match self.pods[pod].life {
            Life::Lost | Life::Stranded => return,
            Life::Leaving => {}
            _ => self.interrupt(pod),
        }
        let entry = &mut self.pods[pod];
        entry.life = Life::Lost;
        entry.since = self.now;
        entry.epoch += 1;
    }

    /// Gives back what a pod has on its machine.
    fn release(&mut self, pod: u32) {
        let entry = &self.pods[pod];
        if !entry.is_bound() {
            return;
        }
        let (machine, class) = (entry.machine, entry.class);
        if entry.life == Life::Running {
            self.keep_healthy(class, -1);
        }
        self.unreserve(pod);
        let class = &self.classes[class as usize];
        let host = &mut self.machines[machine as usize];
        if !class.daemon {
            host.guests -= 1;
            if host.is_ready() {
                self.meter.requested(class, -1);
            }
            if host.guests == 0 && host.is_ready() {
                self.meter.machine_idle(&self.kinds[host.kind as usize], true);
            }
        }
        self.freed(machine);
    }

    /// Takes a pod out of the world; it is on no machine any more.
    fn remove_pod(&mut self, pod: u32) {
        let Some(entry) = self.pods.remove(pod) else { return };
        self.by_serial.remove(&entry.serial);
        self.expect(entry.class, -1);
        if let Some(job) = self.jobs.get_mut(entry.job) {
            job.pods.retain(|&other| other != pod);
        }
        let namespace = self.classes[entry.class as usize].namespace.clone();
        self.changes.pod_gone(&entry, namespace);
    }

    /// A budget covers one pod more, or one less.
    fn expect(&mut self, class: u32, by: i64) {
        for &budget in &self.classes[class as usize].budgets {
            let budget = &mut self.budgets[budget as usize];
            budget.expected += by;
            budget.dirty = true;
        }
    }

    /// One pod of a budget more is healthy, or one less.
    fn keep_healthy(&mut self, class: u32, by: i64) {
        for &budget in &self.classes[class as usize].budgets {
            let budget = &mut self.budgets[budget as usize];
            budget.healthy += by;
            budget.dirty = true;
        }
    }

    /// A text that is used again and again, shared.
    pub(crate) fn text(&self, text: &'static str) -> Name {
        self.texts.get(text).cloned().unwrap_or_else(|| text.into())
    }
}

/// Of a stretch of work that is interrupted: what is kept and what is lost.
fn kept_and_lost(worked: Span, checkpoint: Option<Span>) -> (Span, Span) {
    let kept = match checkpoint {
        Some(every) if every > Span::ZERO => {
            Span::from_millis(worked.as_millis() / every.as_millis() * every.as_millis())
        }
        _ => Span::ZERO,
    };
    (kept, Span::from_millis(worked.as_millis() - kept.as_millis()))
}

/// Until when a pod that was told to leave may stay.
pub(crate) fn leaves_at(pod: &Pod, grace: Span) -> Option<Time> {
    pod.is_told_to_leave().then(|| pod.since + grace)
}
