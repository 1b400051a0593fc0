//! The world: the true state of a simulated cluster, and how it changes with time and with what is asked of it.
//!
//! ```text
//! events (time) ──▶            ──▶ changes, for whoever watches
//!                     World
//! requests (asked) ─▶          ──▶ replies
//! ```
//!
//! What a controller sees of it is made elsewhere and may be old, torn or wrong; what is here is the truth.

mod budget;
mod build;
mod changes;
mod class;
mod devices;
mod faults;
mod fit;
mod lifecycle;
mod machine;
mod objects;
mod pod;
mod power;
mod queue;
mod requests;
mod schedule;
mod slab;

pub(crate) use build::daemon_template;
pub(crate) use class::Class;
pub(crate) use machine::{Kind, Machine, NONE, Power, Ready};
pub(crate) use pod::{Life, Pod};
pub(crate) use queue::Event;

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::RngExt;
use rustc_hash::FxHashMap;

use ballast_core::kube::{Name, NodeCondition};
use ballast_core::units::{Span, Time};

use self::budget::BudgetState;
use self::changes::Changes;
use self::faults::Faults;
use self::lifecycle::NewJob;
pub(crate) use self::pod::Job;
use self::queue::Queue;
use self::requests::LedgerStore;
use self::schedule::Scheduler;
use self::slab::Slab;
use crate::placement::Typical;
use crate::random::{Stream, Streams};
use crate::scenario::{Arrivals, Distribution, FaultKind, TracedJob};
use crate::score::Meter;

/// The true state of a simulated cluster.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) start: Time,
    pub(crate) streams: Streams,
    pub(crate) queue: Queue,
    gang_scheduling: bool,
    pub(crate) pools: Vec<Pool>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) machines: Vec<Machine>,
    pub(crate) by_name: FxHashMap<Name, u32>,
    pub(crate) by_id: FxHashMap<Name, u32>,
    by_token: FxHashMap<Name, u32>,
    pub(crate) classes: Vec<Class>,
    sources: Vec<Source>,
    recorded: Vec<(TracedJob, u32)>,
    pub(crate) jobs: Slab<Job>,
    pub(crate) pods: Slab<Pod>,
    pub(crate) by_serial: FxHashMap<u64, u32>,
    serial: u64,
    nodes_made: u64,
    instances_made: u64,
    pub(crate) scheduler: Scheduler,
    /// The shapes of pods with GPUs that usually come.
    pub(crate) gpu_shapes: Typical,
    pub(crate) budgets: Vec<BudgetState>,
    daemons: Vec<u32>,
    daemon_names: Vec<Name>,
    pub(crate) faults: Faults,
    pub(crate) changes: Changes,
    pub(crate) ledger: LedgerStore,
    /// The durable history, once it was written.
    pub(crate) history: Option<Arc<str>>,
    pub(crate) meter: Meter,
    texts: FxHashMap<&'static str, Name>,
    digits: Vec<Name>,
    pub(crate) empty: Name,
    unschedulable: NodeCondition,
}

/// How long before it takes a machine back a cloud says so, where the scenario does not say.
const NOTICE: Span = Span::from_mins(2);

/// A pool at work.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Its name.
    pub(crate) name: Name,
    /// Its kinds of machines, one a zone.
    pub(crate) kinds: Vec<u32>,
    /// Its machines, those that are gone for good left out.
    pub(crate) machines: Vec<u32>,
    boot: Distribution,
    devices: Distribution,
    stop: Distribution,
    /// How long a request takes.
    pub(crate) latency: Span,
    reclaim: Option<Distribution>,
    /// Whether stopping means deleting.
    pub(crate) deletes: bool,
    /// Whether node objects stay when their machine is gone for good.
    nodes_stay: bool,
    /// Its machines have changed since somebody last looked.
    pub(crate) dirty: bool,
    /// When its cloud took machines back, the latest last.
    pub(crate) taken_back: Vec<Time>,
}

/// A workload at work: it makes jobs.
#[derive(Debug)]
pub(crate) struct Source {
    name: Name,
    arrivals: Arrivals,
    duration: Option<Distribution>,
    gang: bool,
    /// Where pods of its first job run from the start.
    runs_on: BTreeMap<Name, u32>,
    sizes: Vec<SourceSize>,
    dice: Stream,
    /// How often jobs came.
    came: usize,
    /// How many jobs came.
    made: u64,
}

/// One size of a workload's jobs.
#[derive(Debug)]
pub(crate) struct SourceSize {
    class: u32,
    weight: u32,
    members: u32,
}

impl World {
    /// Lets an event happen; returns it where it is not the world's own.
    pub(crate) fn happen(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Arrives { source } => self.arrives(source),
            Event::Recorded { job } => self.recorded_arrives(job),
            Event::PodStarted { pod, epoch } => self.pod_started(pod, epoch),
            Event::PodEnded { pod, epoch } => self.pod_ended(pod, epoch),
            Event::PodGone { pod, epoch } => self.pod_gone(pod, epoch),
            Event::GangEnded { job, epoch } => self.gang_ended(job, epoch),
            Event::MachineUp { machine, epoch } => self.machine_up(machine, epoch),
            Event::DevicesUp { machine, epoch } => self.devices_up(machine, epoch),
            Event::MachineDown { machine, epoch } => self.machine_down(machine, epoch),
            Event::NodeLost { machine, silence } => self.node_lost(machine, silence),
            Event::PodsLost { machine, silence } => self.pods_lost(machine, silence),
            Event::NodeBack { machine, epoch } => self.node_back(machine, epoch),
            Event::Reset { machine, epoch } => self.reset(machine, epoch),
            Event::Noticed { machine, epoch } => self.noticed(machine, epoch),
            Event::Reclaimed { machine, epoch } => self.reclaimed(machine, epoch),
            other => return Some(other),
        }
        None
    }

    /// Moves the clock; what goes on meanwhile is metered.
    pub(crate) fn advance(&mut self, to: Time) {
        self.meter.advance(self.now, to);
        self.now = to;
    }

    /// How many pods have ever been made.
    pub(crate) fn pods_made(&self) -> u64 {
        self.serial
    }

    /// Whether a machine was made by a launch with this token.
    pub(crate) fn knows_token(&self, token: &Name) -> bool {
        self.by_token.contains_key(token)
    }

    /// Plans the next arrival of a workload.
    fn plan_arrival(&mut self, source: u32) {
        let entry = &mut self.sources[source as usize];
        let arrivals = &entry.arrivals;
        let once = arrivals.at.is_empty() && arrivals.every.is_none() && arrivals.per_hour.is_none();
        let next = match once {
            true => (entry.came == 0).then_some(self.start + arrivals.from),
            false => arrivals.next(self.start, self.now, entry.came, &mut entry.dice),
        };
        if let Some(at) = next {
            self.queue.plan(at.max(self.now), Event::Arrives { source });
        }
    }

    /// Jobs of a workload come.
    fn arrives(&mut self, source: u32) {
        let entry = &mut self.sources[source as usize];
        entry.came += 1;
        for _ in 0..self.sources[source as usize].arrivals.count {
            let entry = &mut self.sources[source as usize];
            let weights: u64 = entry.sizes.iter().map(|size| u64::from(size.weight)).sum();
            let mut drawn = if weights > 1 { entry.dice.random_range(0..weights) } else { 0 };
            let size = entry.sizes.iter().find(|size| {
                let here = drawn < u64::from(size.weight);
                drawn = drawn.saturating_sub(u64::from(size.weight));
                here
            });
            let Some(&SourceSize { class, members, .. }) = size else { return };
            let work = entry.duration.map(|duration| duration.draw(&mut entry.dice));
            let name = format!("{}-{}", entry.name, entry.made).into();
            entry.made += 1;
            let gang = entry.gang;
            let runs_on = std::mem::take(&mut entry.runs_on);
            let job = self.make_job(NewJob { class, name, members, gang, work });
            self.settle(job, &runs_on);
        }
        self.plan_arrival(source);
    }

    /// What a fault does to machines at the instant at which it begins.
    pub(crate) fn strike(&mut self, fault: u32) {
        let mut dice = self.streams.stream("faults", &self.faults.entity(fault));
        let fault = self.faults.get(fault).clone();
        let hit = |machine: &Machine, world: &Self| {
            let kind = &world.kinds[machine.kind as usize];
            kind.pool != NONE
                && fault.pool.as_ref().is_none_or(|pool| world.pools[kind.pool as usize].name == *pool)
                && fault.zone.as_ref().is_none_or(|zone| kind.zone == *zone)
                && machine.power == Power::Running
        };
        let mut machines: Vec<u32> =
            (0..).zip(&self.machines).filter(|(_, machine)| hit(machine, self)).map(|(at, _)| at).collect();
        if let Some(share) = fault.share {
            let kept = share.of(machines.len() as u64) as usize;
            // A random part: each time one of the rest is drawn.
            for at in 0..kept {
                let other = dice.random_range(at..machines.len());
                machines.swap(at, other);
            }
            machines.truncate(kept);
            machines.sort_unstable();
        }
        for machine in machines {
            match fault.kind {
                FaultKind::SpotReclaim => self.give_notice(machine, fault.span.unwrap_or(NOTICE)),
                FaultKind::NodeHangs => self.hang(machine, fault.span),
                _ => self.flap(machine, fault.span.unwrap_or(Span::from_mins(1))),
            }
        }
    }
}
