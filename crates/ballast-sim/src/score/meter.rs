//! The meter: it is told of every change and adds up what goes on in between.

use ballast_core::kube::Name;
use ballast_core::resources::Resources;
use ballast_core::units::{Span, Time};

use super::series::{PoolSizes, Sample};
use crate::world::{Class, Kind, NONE, Power};

/// A change of direction within this time of the last change is a reversal: shorter than a working day's wave, longer than
/// boots, cool-downs and idle times together.
const REVERSAL_WITHIN: Span = Span::from_mins(30);

/// What goes on now, and what it has come to.
#[derive(Debug)]
pub(crate) struct Meter {
    /// One for each pool, and a last one for nodes of no pool.
    pub(crate) pools: Vec<PoolMeter>,
    /// Pods that wait, by workload.
    pub(crate) waiting: Vec<u32>,
    /// How long pods waited in milliseconds, by workload.
    pub(crate) waits: Vec<Vec<i64>>,
    pub(crate) workloads: Vec<Name>,
    /// Of pods on nodes that are ready, daemons left out.
    requested: Amounts,
    /// Of nodes that are ready.
    offered: Amounts,
    /// What was requested and offered, times milliseconds.
    pub(crate) requested_sum: [f64; 3],
    pub(crate) offered_sum: [f64; 3],
    /// Pods that wait, times milliseconds.
    pub(crate) waiting_sum: f64,
    pub(crate) counts: Counts,
    /// How long gangs took to come together, in milliseconds.
    pub(crate) assemblies: Vec<i64>,
    /// Fragmented and idle GPUs, summed over samples.
    pub(crate) fragmentation: (f64, f64),
}

/// CPU in thousandths, memory in bytes, GPUs in thousandths.
#[derive(Clone, Copy, Debug, Default)]
struct Amounts([i64; 3]);

impl Amounts {
    fn add(&mut self, requests: &Resources, gpu_milli: i64, times: i64) {
        self.0[0] += requests[Resources::CPU] * times;
        self.0[1] += requests[Resources::MEMORY] * times;
        self.0[2] += gpu_milli * times;
    }
}

/// Things that happened, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) adds: u64,
    pub(crate) removals: u64,
    pub(crate) reversals: u64,
    pub(crate) unused_launches: u64,
    pub(crate) evictions: u64,
    pub(crate) reclaims: u64,
    pub(crate) jobs_ended: u64,
    pub(crate) completion_ms: i64,
    /// Work that was lost, in milliseconds of pods and of GPUs.
    pub(crate) lost_ms: i64,
    pub(crate) lost_gpu_ms: f64,
}

/// What goes on in a pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolMeter {
    /// Machines by power: starting, running, stopping, stopped.
    pub(crate) power: [i64; 4],
    /// Nodes that are ready.
    pub(crate) ready: i64,
    /// Nodes that are ready and have no guest.
    pub(crate) idle: i64,
    /// Millionths an hour that are paid now, and of those for idle nodes.
    rate: i64,
    idle_rate: i64,
    /// Millionths times milliseconds an hour.
    pub(crate) cost: i128,
    pub(crate) idle_cost: i128,
    last: Option<(bool, Time)>,
}

impl Meter {
    pub(crate) fn new(workloads: &[Name], kinds: &[Kind]) -> Self {
        let pools =
            kinds.iter().filter(|kind| kind.pool != NONE).map(|kind| kind.pool + 1).max().unwrap_or(0);
        Self {
            pools: vec![PoolMeter::default(); pools as usize + 1],
            waiting: vec![0; workloads.len()],
            waits: vec![Vec::new(); workloads.len()],
            workloads: workloads.to_vec(),
            requested: Amounts::default(),
            offered: Amounts::default(),
            requested_sum: [0.0; 3],
            offered_sum: [0.0; 3],
            waiting_sum: 0.0,
            counts: Counts::default(),
            assemblies: Vec::new(),
            fragmentation: (0.0, 0.0),
        }
    }

    /// What came before the first instant does not count.
    pub(crate) fn begin(&mut self) {
        self.counts = Counts::default();
        for pool in &mut self.pools {
            pool.last = None;
        }
    }

    /// Adds up what goes on from one instant to another.
    pub(crate) fn advance(&mut self, from: Time, to: Time) {
        let span = to.since(from).as_millis();
        if span == 0 {
            return;
        }
        for pool in &mut self.pools {
            pool.cost += i128::from(pool.rate) * i128::from(span);
            pool.idle_cost += i128::from(pool.idle_rate) * i128::from(span);
        }
        for at in 0..3 {
            self.requested_sum[at] += self.requested.0[at] as f64 * span as f64;
            self.offered_sum[at] += self.offered.0[at] as f64 * span as f64;
        }
        let waiting: u32 = self.waiting.iter().sum();
        self.waiting_sum += f64::from(waiting) * span as f64;
    }

    fn pool(&mut self, pool: u32) -> &mut PoolMeter {
        let last = self.pools.len() - 1;
        &mut self.pools[if pool == NONE { last } else { pool as usize }]
    }

    pub(crate) fn pod_waits(&mut self, workload: u32) {
        self.waiting[workload as usize] += 1;
    }

    pub(crate) fn pod_bound(&mut self, workload: u32, waited: Span) {
        self.waiting[workload as usize] -= 1;
        self.waits[workload as usize].push(waited.as_millis());
    }

    pub(crate) fn pod_withdrawn(&mut self, workload: u32) {
        self.waiting[workload as usize] -= 1;
    }

    /// A pod on a node that is ready is there, or is there no more: it came or left, or the node's readiness did.
    pub(crate) fn requested(&mut self, class: &Class, by: i64) {
        self.requested.add(&class.requests, class.need.gpu_total(), by);
    }

    pub(crate) fn power(&mut self, kind: &Kind, before: Option<Power>, after: Option<Power>) {
        let pool = self.pool(kind.pool);
        for (power, by) in [(before, -1), (after, 1)] {
            let Some(power) = power else { continue };
            let (at, price) = match power {
                Power::Starting => (0, kind.per_hour),
                Power::Running => (1, kind.per_hour),
                Power::Stopping(_) => (2, kind.per_hour),
                Power::Stopped => (3, kind.stopped_per_hour),
                Power::Gone => continue,
            };
            pool.power[at] += by;
            pool.rate += price.as_micros() * by;
        }
    }

    pub(crate) fn machine_ready(&mut self, kind: &Kind, ready: bool, idle: bool) {
        let by = if ready { 1 } else { -1 };
        self.offered.add(&kind.room, i64::from(kind.gpus) * 1000, by);
        self.pool(kind.pool).ready += by;
        if idle {
            self.machine_idle(kind, ready);
        }
    }

    pub(crate) fn machine_idle(&mut self, kind: &Kind, idle: bool) {
        let by = if idle { 1 } else { -1 };
        let pool = self.pool(kind.pool);
        pool.idle += by;
        pool.idle_rate += kind.per_hour.as_micros() * by;
    }

    pub(crate) fn added(&mut self, pool: u32, now: Time) {
        self.counts.adds += 1;
        self.turn(pool, true, now);
    }

    /// A machine is being removed; `unused` where it was launched for nothing: it never had a guest.
    pub(crate) fn removed(&mut self, pool: u32, now: Time, unused: bool) {
        self.counts.removals += 1;
        self.counts.unused_launches += u64::from(unused);
        self.turn(pool, false, now);
    }

    fn turn(&mut self, pool: u32, up: bool, now: Time) {
        let last = self.pool(pool).last.replace((up, now));
        let reversed = last.is_some_and(|(before, at)| before != up && now.since(at) < REVERSAL_WITHIN);
        self.counts.reversals += u64::from(reversed);
    }

    pub(crate) fn reclaimed(&mut self) {
        self.counts.reclaims += 1;
    }

    pub(crate) fn evicted(&mut self) {
        self.counts.evictions += 1;
    }

    pub(crate) fn gang_assembled(&mut self, waited: Span) {
        self.assemblies.push(waited.as_millis());
    }

    pub(crate) fn work_lost(&mut self, lost: Span, gpu_milli: i64) {
        self.counts.lost_ms += lost.as_millis();
        self.counts.lost_gpu_ms += lost.as_millis() as f64 * gpu_milli as f64 / 1000.0;
    }

    pub(crate) fn job_ended(&mut self, took: Span) {
        self.counts.jobs_ended += 1;
        self.counts.completion_ms = self.counts.completion_ms.saturating_add(took.as_millis());
    }

    /// What goes on now, as one point of the series.
    pub(crate) fn sample(&self, at: Time) -> Sample {
        let shares = [0, 1, 2].map(|at| match self.offered.0[at] {
            0 => 0.0,
            offered => self.requested.0[at] as f64 / offered as f64,
        });
        let rate: i64 = self.pools.iter().map(|pool| pool.rate).sum();
        let size = |pool: &PoolMeter| PoolSizes {
            starting: (pool.power[0] + (pool.power[1] - pool.ready).max(0)) as u32,
            ready: pool.ready.max(0) as u32,
            leaving: pool.power[2] as u32,
            stopped: pool.power[3] as u32,
        };
        Sample {
            at,
            pools: self.pools[..self.pools.len() - 1].iter().map(size).collect(),
            unmanaged: self.pools.last().map_or(0, |last| last.ready.max(0) as u32),
            pending: self.waiting.clone(),
            cost_per_hour: rate as f64 / 1e6,
            cpu: shares[0],
            memory: shares[1],
            gpu: shares[2],
        }
    }
}
