//! The event queue: what happens next, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ballast_core::units::Time;

/// Something that happens in the world, or around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The next job of a workload comes.
    Arrives {
        /// The workload.
        source: u32,
    },
    /// A recorded job comes.
    Recorded {
        /// Its place in the list.
        job: u32,
    },
    /// A pod's containers have started.
    PodStarted {
        /// The pod.
        pod: u32,
        /// Void if the pod's epoch is another.
        epoch: u32,
    },
    /// A pod has done its work.
    PodEnded {
        /// The pod.
        pod: u32,
        /// Void if the pod's epoch is another.
        epoch: u32,
    },
    /// A pod that was told to leave is gone.
    PodGone {
        /// The pod.
        pod: u32,
        /// Void if the pod's epoch is another.
        epoch: u32,
    },
    /// A gang has done its work.
    GangEnded {
        /// Its job.
        job: u32,
        /// Void if the job's epoch is another.
        epoch: u32,
    },
    /// A machine is up and becomes a node.
    MachineUp {
        /// The machine.
        machine: u32,
        /// Void if the machine's epoch is another.
        epoch: u32,
    },
    /// A node's devices can be used, and its startup taints are gone.
    DevicesUp {
        /// The machine.
        machine: u32,
        /// Void if the machine's epoch is another.
        epoch: u32,
    },
    /// A machine is off.
    MachineDown {
        /// The machine.
        machine: u32,
        /// Void if the machine's epoch is another.
        epoch: u32,
    },
    /// The control plane notices that a node does not answer.
    NodeLost {
        /// The machine.
        machine: u32,
        /// Void if its kubelet was heard since, or fell silent once more.
        silence: u32,
    },
    /// The control plane gives up the pods of a node that does not answer.
    PodsLost {
        /// The machine.
        machine: u32,
        /// Void if its kubelet was heard since, or fell silent once more.
        silence: u32,
    },
    /// A node that was not ready is ready again.
    NodeBack {
        /// The machine.
        machine: u32,
        /// Void if the machine's epoch is another.
        epoch: u32,
    },
    /// Somebody has reset a machine that hung.
    Reset {
        /// The machine.
        machine: u32,
        /// Void if the machine's epoch is another.
        epoch: u32,
    },
    /// The cloud says that it will take a machine back.
    Noticed {
        /// The machine.
        machine: u32,
        /// Void if the machine's epoch is another.
        epoch: u32,
    },
    /// The cloud takes a machine back.
    Reclaimed {
        /// The machine.
        machine: u32,
        /// Void if the machine's epoch is another.
        epoch: u32,
    },
    /// People change a document.
    DocumentChanges {
        /// Its place in the scenario.
        change: u32,
    },
    /// A fault begins.
    FaultBegins {
        /// Its place in the scenario.
        fault: u32,
    },
    /// A fault is mended.
    FaultEnds {
        /// Its place in the scenario.
        fault: u32,
    },
    /// A request reaches the system it is for.
    RequestArrives {
        /// Its number.
        request: u64,
    },
    /// A reply reaches the controller.
    ReplyArrives {
        /// The number of its request.
        request: u64,
    },
    /// The controller looks.
    Tick {
        /// Void if another tick has been set since.
        epoch: u32,
    },
    /// The controller is started anew.
    Restart,
    /// The series take a sample.
    Sample,
}

/// What happens next: in order of time, and at one instant in the order in which it was planned.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<(Time, u64, Event)>>,
    planned: u64,
}

impl Queue {
    /// Plans an event.
    pub(crate) fn plan(&mut self, at: Time, event: Event) {
        self.planned += 1;
        self.heap.push(Reverse((at, self.planned, event)));
    }

    /// When the next event happens.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes the next event if it happens at or before `until`.
    pub(crate) fn take(&mut self, until: Time) -> Option<(Time, Event)> {
        if self.next_at()? > until {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
