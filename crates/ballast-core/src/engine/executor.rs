//! The executor: runs procedures, sends their requests, and keeps the ledger ahead of them.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::kube::Name;
use crate::memory::{Approval, Ledger, Memory};
use crate::observation::{Body, Change, Object, Observation};
use crate::plan::DecisionId;
use crate::policy::Health;
use crate::procedure::{Next, Receipt, Reply, Request, Uncordon, VmStart, VmStop};
use crate::publish::LastAction;
use crate::snapshot::{NodeEntry, Snapshot};
use crate::units::{Span, Time};

use super::approvals::Unstored;
use super::history::HistoryWriter;
use super::writer::Writer;
use super::{Begun, Ended, RequestId};

/// Requests to be sent, with their names.
type Requests = Vec<(RequestId, Request)>;

/// After so long without a reply a request counts as timed out: every adapter answers within its own timeout, far below.
pub(super) const REPLY_LOST_AFTER: Span = Span::from_mins(5);
/// The shortest time from one step of a procedure to the next that something seen brings about.
const NUDGE_GAP: Span = Span::from_secs(1);
/// Version of the form of memory.
const MEMORY_VERSION: u32 = 1;

/// Runs procedures.
#[derive(Debug)]
pub(super) struct Executor {
    pub(super) memory: Memory,
    pub(super) running: BTreeMap<Name, Running>,
    pub(super) writer: Writer,
    /// What it may do.
    pub(super) may: Permissions,
    timers: BTreeSet<(Time, Name)>,
    owners: FxHashMap<RequestId, Owner>,
    requests_made: u64,
    requests: Vec<(RequestId, Request)>,
    /// What was begun since it was last taken, and the version of the ledger that must be durable before that is sure.
    pub(super) started: Vec<(u64, Begun)>,
    /// What has ended since it was last taken.
    ended: Vec<Ended>,
    /// What was last begun in each pool.
    pub(super) begun: BTreeMap<Name, LastAction>,
    /// The plan that was last approved and begun, while that is not sure.
    pub(super) unstored: Option<Unstored>,
    /// Approvals of which it has become sure what is done, since they were last taken.
    pub(super) settled: Vec<Approval>,
    /// The ledger is still on the time line of the process that wrote it.
    foreign: bool,
    pub(super) history: HistoryWriter,
    /// Launches in a row that never joined before a pool is left alone.
    pub(super) strikes_max: u32,
}

/// What an executor may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Permissions {
    /// Begin what the engine's own plans ask for.
    pub(super) begin: bool,
    /// Send requests: for what a person approved, and to keep memory.
    pub(super) send: bool,
}

impl Permissions {
    /// Everything.
    #[cfg(test)]
    pub(super) const ALL: Self = Self { begin: true, send: true };
}

/// A procedure under way.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) machine: Machine,
    /// The decision that it carries out.
    decision: Option<DecisionId>,
    /// The pool of its machine.
    pool: Name,
    /// Since when this process runs it.
    pub(super) since: Time,
    /// Found in the ledger of an earlier process.
    pub(super) resumed: bool,
    /// The version of the ledger that must be durable before it goes on, and what it is then told.
    gate: Option<(u64, Option<Reply>)>,
    asked: Option<RequestId>,
    timer: Option<Time>,
    /// It was put off: nothing that is seen meanwhile wakes it before its time.
    postponed: bool,
    stepped_at: Time,
}

impl Running {
    /// It waits for nothing but time.
    pub(super) fn rests(&self) -> bool {
        self.asked.is_none() && self.gate.is_none()
    }
}

/// The procedures.
#[derive(Clone, Debug)]
pub(super) enum Machine {
    Start(VmStart),
    Stop(VmStop),
    Uncordon(Uncordon),
}

#[derive(Clone, Debug)]
enum Owner {
    Ledger,
    History,
    Procedure(Name),
}

impl Machine {
    fn is_waiting_for_completion(&self) -> bool {
        matches!(self, Self::Stop(stop) if stop.is_waiting_for_completion())
    }

    fn step(self, now: Time, reply: Option<&Reply>) -> (Self, Next) {
        match self {
            Self::Start(machine) => {
                let (machine, next) = machine.step(now, reply);
                (Self::Start(machine), next)
            }
            Self::Stop(machine) => {
                let (machine, next) = machine.step(now, reply);
                (Self::Stop(machine), next)
            }
            Self::Uncordon(machine) => {
                let (machine, next) = machine.step(now, reply);
                (Self::Uncordon(machine), next)
            }
        }
    }
}

impl Executor {
    pub(super) fn new(ledger: Option<Ledger>) -> Self {
        let foreign = ledger.is_some();
        let ledger = ledger.unwrap_or_default();
        let writer = Writer::new(ledger.version);
        let memory = Memory { version: MEMORY_VERSION, ledger, ..Memory::default() };
        Self {
            memory,
            running: BTreeMap::new(),
            writer,
            may: Permissions::default(),
            timers: BTreeSet::new(),
            owners: FxHashMap::default(),
            requests_made: 0,
            requests: Vec::new(),
            started: Vec::new(),
            ended: Vec::new(),
            begun: BTreeMap::new(),
            unstored: None,
            settled: Vec::new(),
            foreign,
            history: HistoryWriter::default(),
            strikes_max: Health::default().strikes,
        }
    }

    /// One that begins anew with a ledger. It names no request as this one did: a late answer to one of those belongs to
    /// nothing any more.
    pub(super) fn successor(&self, ledger: Option<Ledger>) -> Self {
        Self { requests_made: self.requests_made, ..Self::new(ledger) }
    }

    /// The ledger as it was given, if it was.
    pub(super) fn stored(&self) -> Option<String> {
        self.foreign.then(|| serde_json::to_string(&self.memory.ledger).unwrap_or_default())
    }

    /// The first instant that this process knows: a stored ledger is put onto its time line.
    pub(super) fn arrive(&mut self, now: Time) {
        if std::mem::take(&mut self.foreign) {
            self.memory.ledger.rebase(now);
        }
        if let Some(history) = self.history.arrive(now) {
            self.memory.history = history;
        }
    }

    /// Begins or ceases to act. While nothing may be sent, what was under way waits in the ledger and is resumed later.
    pub(super) fn permit(&mut self, now: Time, may: Permissions) {
        if self.may == may {
            return;
        }
        self.may = may;
        self.drop_all();
        if may.send {
            self.resume_all(now);
        }
    }

    /// Lets go of every procedure; the ledger still knows them.
    pub(super) fn drop_all(&mut self) {
        self.running.clear();
        self.timers.clear();
        self.owners.clear();
        self.requests.clear();
        self.writer.interrupted();
    }

    /// Goes on with everything that the ledger knows; where only approvals are heeded, with what they began.
    pub(super) fn resume_all(&mut self, now: Time) {
        let ledger = &self.memory.ledger;
        let goes_on = |name: &Name| self.may.begin || ledger.is_approved(name);
        let starts = ledger
            .launches
            .iter()
            .filter(|(name, _)| goes_on(name))
            .map(|(name, launch)| (name.clone(), Machine::Start(VmStart::resume(name, launch))));
        let stops = ledger
            .removals
            .iter()
            .filter(|(name, _)| goes_on(name))
            .map(|(name, removal)| (name.clone(), Machine::Stop(VmStop::resume(name, removal))));
        let machines: Vec<(Name, Machine)> = starts.chain(stops).collect();
        let durable = self.writer.is_clean();
        for (name, machine) in machines {
            self.insert(now, name, machine, !durable, true);
        }
        if !durable {
            self.writer.want();
        }
    }

    /// Takes a procedure up. One whose mark is not durable yet waits for that.
    pub(super) fn insert(&mut self, now: Time, name: Name, machine: Machine, gated: bool, resumed: bool) {
        let gate = gated.then(|| (self.memory.ledger.version + 1, None));
        let mut running = Running {
            machine,
            decision: self.memory.ledger.decision_of(&name),
            pool: self.memory.ledger.pool_of(&name).cloned().unwrap_or_default(),
            since: now,
            resumed,
            gate,
            asked: None,
            timer: None,
            postponed: false,
            stepped_at: Time::ZERO,
        };
        if running.gate.is_none() {
            running.timer = Some(now);
            self.timers.insert((now, name.clone()));
        }
        self.running.insert(name, running);
    }

    /// Something is under way with a node.
    pub(super) fn is_busy(&self, name: &str) -> bool {
        let ledger = &self.memory.ledger;
        self.running.contains_key(name)
            || ledger.launches.contains_key(name)
            || ledger.removals.contains_key(name)
    }

    /// Whether anything may be begun that nobody approved.
    pub(super) fn may_begin(&self) -> bool {
        self.may.begin
    }

    /// Takes a forgotten cordon off.
    pub(super) fn uncordon(&mut self, now: Time, name: &Name) {
        if self.may.send && !self.writer.is_fenced() && !self.is_busy(name) {
            self.insert(now, name.clone(), Machine::Uncordon(Uncordon::begin(name, now)), false, false);
        }
    }

    /// Wakes the procedures of nodes of which an observation tells something new.
    pub(super) fn note(&mut self, now: Time, observation: &Observation) {
        if self.running.is_empty() {
            return;
        }
        let Ok(Body::Changed(changes)) = &observation.outcome else { return };
        for change in changes {
            let Change::Applied(Object::Node(node)) = change else { continue };
            let name = &node.metadata.name;
            if self.running.get(name).is_some_and(|running| !running.machine.is_waiting_for_completion()) {
                self.nudge(now, name);
            }
        }
    }

    /// Wakes the procedures that wait for a node to run empty, where it looks empty.
    pub(super) fn note_empty(&mut self, now: Time, snapshot: &Snapshot) {
        let is_empty =
            |name: &Name| snapshot.node_named(name).is_none_or(|node| is_without_guests(node, snapshot));
        let waits = |running: &Running| running.machine.is_waiting_for_completion();
        let empty: Vec<Name> = self
            .running
            .iter()
            .filter(|(name, running)| waits(running) && is_empty(name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in empty {
            self.nudge(now, &name);
        }
    }

    /// Lets a procedure that only waits go on with this tick, at most once a second.
    pub(super) fn nudge(&mut self, now: Time, name: &Name) {
        let Some(running) = self.running.get_mut(name) else { return };
        let waits = running.asked.is_none() && !running.postponed;
        let Some(timer) = running.timer.filter(|_| waits) else { return };
        let soon = now.max(running.stepped_at + NUDGE_GAP);
        if soon < timer {
            self.timers.remove(&(timer, name.clone()));
            self.timers.insert((soon, name.clone()));
            running.timer = Some(soon);
        }
    }

    /// Lets a procedure that asked for nothing yet go on later.
    pub(super) fn postpone(&mut self, name: &Name, at: Time) {
        let Some(running) = self.running.get_mut(name) else { return };
        if let Some(timer) = running.timer.replace(at) {
            self.timers.remove(&(timer, name.clone()));
        }
        running.postponed = true;
        self.timers.insert((at, name.clone()));
    }

    /// Goes on with everything that is due.
    pub(super) fn wake(&mut self, now: Time) {
        if !self.may.send {
            return;
        }
        while let Some((at, name)) = self.timers.first().cloned() {
            if at > now {
                break;
            }
            self.timers.pop_first();
            let lost = match self.running.get_mut(&name) {
                None => continue,
                Some(running) => {
                    running.timer = None;
                    running.postponed = false;
                    running.asked.take()
                }
            };
            match lost {
                Some(id) => {
                    self.owners.remove(&id);
                    self.step(now, &name, Some(&Reply::TimedOut));
                }
                None => self.step(now, &name, None),
            }
        }
    }

    /// Takes the reply to a request.
    pub(super) fn settle(&mut self, now: Time, id: RequestId, reply: &Reply) {
        match self.owners.remove(&id) {
            None => {}
            Some(Owner::Ledger) => self.settle_ledger(now, reply),
            Some(Owner::History) => self.history.settle(reply),
            Some(Owner::Procedure(name)) => {
                if let Some(running) = self.running.get_mut(&name) {
                    running.asked = None;
                    if let Some(timer) = running.timer.take() {
                        self.timers.remove(&(timer, name.clone()));
                    }
                    self.step(now, &name, Some(reply));
                }
            }
        }
    }

    /// Lets everything go on that waited for the ledger to become durable.
    pub(super) fn pass_gates(&mut self, now: Time) {
        let durable = self.writer.durable();
        let open = |running: &Running| running.gate.as_ref().is_some_and(|(version, _)| *version <= durable);
        let free: Vec<Name> =
            self.running.iter().filter(|(_, running)| open(running)).map(|(name, _)| name.clone()).collect();
        for name in free {
            let gate = self.running.get_mut(&name).and_then(|running| running.gate.take());
            if let Some((_, reply)) = gate {
                self.step(now, &name, reply.as_ref());
            }
        }
    }

    /// One step of one procedure.
    pub(super) fn step(&mut self, now: Time, name: &Name, reply: Option<&Reply>) {
        let Some(mut running) = self.running.remove(name) else { return };
        running.stepped_at = now;
        let (machine, next) = running.machine.step(now, reply);
        running.machine = machine;
        match next {
            Next::Done(receipt) => {
                self.receive(now, name, &running, receipt);
                self.note_end(name, &running, receipt);
                return;
            }
            Next::Request(request) => {
                running.asked = Some(self.send(request, Owner::Procedure(name.clone())));
                self.set_timer(&mut running, name, now + REPLY_LOST_AFTER);
            }
            Next::WaitUntil(at) => self.set_timer(&mut running, name, at.max(now)),
            Next::Persist => {
                if let Some(removal) = self.memory.ledger.removals.get_mut(name) {
                    removal.stopping = true;
                }
                running.gate = Some((self.memory.ledger.version + 1, Some(Reply::Done)));
                self.writer.want();
            }
        }
        self.keep_identity(now, name, &running.machine);
        self.running.insert(name.clone(), running);
    }

    /// Ends a procedure that has asked for nothing yet.
    pub(super) fn end(&mut self, now: Time, name: &Name, receipt: Receipt) {
        let Some(running) = self.running.remove(name) else { return };
        if let Some(timer) = running.timer {
            self.timers.remove(&(timer, name.clone()));
        }
        self.receive(now, name, &running, receipt);
        self.note_end(name, &running, receipt);
    }

    fn note_end(&mut self, name: &Name, running: &Running, receipt: Receipt) {
        let is_well = matches!(receipt, Receipt::Joined | Receipt::Stopped | Receipt::Uncordoned);
        // A release that is owed goes on.
        let is_over =
            !matches!(running.machine, Machine::Stop(_)) || !self.memory.ledger.removals.contains_key(name);
        if let Some(decision) = running.decision.filter(|_| !is_well && is_over) {
            self.memory.ledger.note_failed(decision);
        }
        let (node, pool, decision) = (name.clone(), running.pool.clone(), running.decision);
        self.ended.push(Ended { node, pool, receipt, decision });
    }

    /// The decision that a request belongs to.
    pub(super) fn decision_of(&self, id: RequestId) -> Option<DecisionId> {
        self.running.get(self.owner_of(id)?)?.decision
    }

    /// The node whose procedure has sent a request.
    pub(super) fn owner_of(&self, id: RequestId) -> Option<&Name> {
        match self.owners.get(&id)? {
            Owner::Procedure(name) => Some(name),
            Owner::Ledger | Owner::History => None,
        }
    }

    fn set_timer(&mut self, running: &mut Running, name: &Name, at: Time) {
        running.timer = Some(at);
        self.timers.insert((at, name.clone()));
    }

    /// The provider's identity of a launch is worth keeping once it is known.
    fn keep_identity(&mut self, now: Time, name: &Name, machine: &Machine) {
        if let (Machine::Start(start), Some(launch)) = (machine, self.memory.ledger.launches.get_mut(name))
            && launch.provider_id != *start.provider_id()
        {
            launch.provider_id = start.provider_id().clone();
            self.writer.changed(now);
        }
    }

    fn send(&mut self, request: Request, owner: Owner) -> RequestId {
        self.requests_made += 1;
        let id = RequestId(self.requests_made);
        self.owners.insert(id, owner);
        self.requests.push((id, request));
        id
    }

    /// Sends a request of the writer, which waits for the answer to its latest alone.
    pub(super) fn send_for_ledger(&mut self, request: Request) {
        self.owners.retain(|_, owner| !matches!(owner, Owner::Ledger));
        self.send(request, Owner::Ledger);
    }

    /// What is to be sent and what has ended; the ledger is written first where it must be.
    pub(super) fn take(&mut self, now: Time) -> (Requests, Vec<Ended>) {
        if self.may.send {
            self.flush(now);
            let write = self.history.write(now, &self.memory.history);
            if let Some(body) = write.filter(|_| !self.writer.is_fenced()) {
                self.send(Request::WriteHistory { body: body.into() }, Owner::History);
            }
        }
        (std::mem::take(&mut self.requests), std::mem::take(&mut self.ended))
    }

    /// When something is due.
    pub(super) fn wake_at(&self) -> Time {
        if !self.may.send {
            return Time::FAR_FUTURE;
        }
        let timer = self.timers.first().map_or(Time::FAR_FUTURE, |(at, _)| *at);
        timer.min(self.writer.wake_at())
    }
}

/// Whether nothing runs on a node but what runs on every one.
fn is_without_guests(node: &NodeEntry, snapshot: &Snapshot) -> bool {
    node.pods.iter().all(|&pod| {
        let traits = &snapshot.class(snapshot.pod(pod).class).traits;
        traits.daemon || traits.mirror
    })
}
