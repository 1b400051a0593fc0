//! Receipts into the ledger: what came of a procedure is what the next plan knows.

use crate::kube::Name;
use crate::memory::{BackOffKey, Launch, LaunchKind, Removal};
use crate::observation::ErrorClass;
use crate::policy::StopMode;
use crate::procedure::{Receipt, VmStop};
use crate::units::{Span, Time};

use super::executor::{Executor, Machine, Running};

/// How long the release of an instance is tried before it is left to the next plan.
const RELEASE_FOR: Span = Span::from_mins(15);
/// Launches in a row that never joined before the whole pool is left alone: the default of the policy, which the planner
/// applies exactly.
const STRIKES_FOR_POOL: u32 = 3;

impl Executor {
    /// Notes what came of a procedure.
    pub(super) fn receive(&mut self, now: Time, name: &Name, running: &Running, receipt: Receipt) {
        match &running.machine {
            Machine::Start(start) => {
                let Some(mut launch) = self.memory.ledger.launches.remove(name) else { return };
                launch.provider_id = start.provider_id().clone();
                self.writer.changed(now);
                self.launch_ended(now, name, &launch, running.resumed, receipt);
            }
            Machine::Stop(_) => {
                self.memory.ledger.removals.remove(name);
                self.writer.changed(now);
                if let Receipt::GaveUp { .. } = receipt {
                    // It is not tried again at once: the node has to be unneeded for the whole time anew.
                    self.memory.history.idle_since.remove(name);
                }
            }
            Machine::Uncordon(_) => {}
        }
    }

    fn launch_ended(&mut self, now: Time, name: &Name, launch: &Launch, resumed: bool, receipt: Receipt) {
        match receipt {
            Receipt::Joined => {
                self.memory.ledger.note_success(&launch.pool, &launch.zone);
                if !resumed {
                    self.memory.history.note_boot(&launch.pool, now.since(launch.since));
                }
            }
            Receipt::LaunchFailed { class, release } => {
                self.memory.ledger.note_failure(place_of(launch), class, now);
                if release {
                    self.release(now, name, launch);
                }
            }
            Receipt::NeverJoined => {
                let strikes = self.memory.ledger.strikes.entry(launch.pool.clone()).or_default();
                *strikes = strikes.saturating_add(1);
                let quarantined = *strikes >= STRIKES_FOR_POOL;
                self.memory.ledger.note_failure(place_of(launch), ErrorClass::Transient, now);
                if quarantined && !launch.zone.is_empty() {
                    let pool = BackOffKey { pool: launch.pool.clone(), ..BackOffKey::default() };
                    self.memory.ledger.note_failure(pool, ErrorClass::Transient, now);
                }
                self.release(now, name, launch);
            }
            _ => {}
        }
    }

    /// Lets go of what a launch may have brought up: what was made is deleted, what was started is stopped again.
    fn release(&mut self, now: Time, name: &Name, launch: &Launch) {
        let mode = match launch.kind {
            LaunchKind::Create => StopMode::Delete,
            LaunchKind::Start => StopMode::Deallocate,
        };
        let removal = Removal {
            pool: launch.pool.clone(),
            uid: Name::default(),
            provider_id: launch.provider_id.clone(),
            token: launch.token.clone(),
            mark: self.next_mark(),
            mode,
            release: true,
            since: now,
            deadline: now + RELEASE_FOR,
            waits: false,
            stopping: false,
            displaces: Vec::new(),
        };
        let machine = Machine::Stop(VmStop::begin(name, &removal));
        self.memory.ledger.removals.insert(name.clone(), removal);
        self.insert(now, name.clone(), machine, true, false);
        self.writer.want();
    }

    /// A mark that no earlier removal had.
    pub(super) fn next_mark(&mut self) -> Name {
        self.memory.ledger.removals_made += 1;
        format!("stop-{}", self.memory.ledger.removals_made).into()
    }
}

fn place_of(launch: &Launch) -> BackOffKey {
    BackOffKey {
        pool: launch.pool.clone(),
        instance_type: launch.instance_type.clone(),
        zone: launch.zone.clone(),
    }
}
