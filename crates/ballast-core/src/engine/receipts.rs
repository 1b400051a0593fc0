//! Receipts into the ledger: what came of a procedure is what the next plan knows.

use crate::kube::Name;
use crate::memory::{BackOffKey, Launch, LaunchKind, Removal};
use crate::observation::ErrorClass;
use crate::policy::StopMode;
use crate::procedure::{GaveUp, Receipt, VmStop};
use crate::units::{Span, Time};

use super::executor::{Executor, Machine, Running};

/// How long the release of an instance is tried, and how long it then rests before it is tried again: it costs until it is
/// done, but whatever refused it for a quarter of an hour will not be mended within seconds.
const RELEASE_FOR: Span = Span::from_mins(15);
pub(super) const RELEASE_RESTS: Span = Span::from_mins(5);

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
                let Some(removal) = self.memory.ledger.removals.remove(name) else { return };
                self.writer.changed(now);
                self.removal_ended(now, name, removal, receipt);
            }
            Machine::Uncordon(_) => {}
        }
    }

    fn removal_ended(&mut self, now: Time, name: &Name, removal: Removal, receipt: Receipt) {
        let Receipt::GaveUp { why, .. } = receipt else { return };
        if removal.release && is_owed(why) {
            self.release_later(now, name, removal);
        } else if why == GaveUp::Outdated {
            // It never began: the next plan may decide the same, at the expense of the same budget.
            self.memory.ledger.take_back_removal(&removal);
        } else {
            // It is not tried again at once: the node has to be unneeded for the whole time anew.
            self.memory.history.idle_since.remove(name);
        }
    }

    /// What a launch brought up stays in the ledger until it is let go: nothing else tells that it is ours.
    fn release_later(&mut self, now: Time, name: &Name, mut removal: Removal) {
        let again = now + RELEASE_RESTS;
        removal.deadline = again + RELEASE_FOR;
        removal.stopping = false;
        let machine = Machine::Stop(VmStop::begin(name, &removal));
        self.memory.ledger.removals.insert(name.clone(), removal);
        self.insert(now, name.clone(), machine, false, true);
        self.postpone(name, again);
    }

    fn launch_ended(&mut self, now: Time, name: &Name, launch: &Launch, resumed: bool, receipt: Receipt) {
        match receipt {
            Receipt::Joined => {
                self.memory.ledger.note_success(&launch.pool, &launch.zone);
                if !resumed {
                    self.memory.history.note_boot(&launch.pool, launch.kind, now.since(launch.since));
                }
            }
            Receipt::LaunchFailed { class, release } => {
                self.memory.ledger.note_failure(place_of(launch), class, now);
                if release {
                    self.release(now, name, launch);
                }
            }
            Receipt::NeverJoined => {
                let patience = launch.deadline.since(launch.since);
                self.memory.history.note_missed_boot(&launch.pool, launch.kind, patience);
                // Launches of one batch that all come to nothing are one strike, not many in a row.
                let of_a_batch = self.memory.ledger.is_backed_off(&launch.pool, now);
                let strikes = self.memory.ledger.strikes.entry(launch.pool.clone()).or_default();
                *strikes = strikes.saturating_add(u32::from(!of_a_batch));
                let quarantined = *strikes >= self.strikes_max;
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
            waits_for: Vec::new(),
            stopping: false,
            displaces: Vec::new(),
            decision: launch.decision,
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

/// Whether a release that was given up is still to be done: nothing was seen that speaks against it.
fn is_owed(why: GaveUp) -> bool {
    match why {
        GaveUp::Deadline | GaveUp::StopStuck | GaveUp::Refused(_) | GaveUp::Cancelled | GaveUp::Outdated => {
            true
        }
        GaveUp::UnexpectedPod
        | GaveUp::Replaced
        | GaveUp::NodeGone
        | GaveUp::CordonedByOther
        | GaveUp::UncordonedByOther
        | GaveUp::JoinedLate => false,
    }
}

fn place_of(launch: &Launch) -> BackOffKey {
    BackOffKey {
        pool: launch.pool.clone(),
        instance_type: launch.instance_type.clone(),
        zone: launch.zone.clone(),
    }
}
