//! Pods and the jobs that make them.

use std::sync::Arc;

use ballast_core::kube::{Labels, Name, OwnerReference};
use ballast_core::units::{Span, Time};

use super::devices::Taken;

/// Where a pod is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// It waits for a node.
    Waiting,
    /// It is bound, its containers start.
    Starting,
    /// It runs.
    Running,
    /// It was told to leave and has some grace.
    Leaving,
    /// Its machine does not answer; the control plane does not know yet.
    Lost,
    /// Its machine does not answer, and the control plane told it to leave: nobody confirms that it is gone.
    Stranded,
}

/// A pod.
#[derive(Debug)]
pub(crate) struct Pod {
    /// Its class.
    pub(crate) class: u32,
    /// Its job.
    pub(crate) job: u32,
    /// Counts all pods of the run: the number in its identity.
    pub(crate) serial: u64,
    /// Counts the pods that its job ever had.
    pub(crate) number: u32,
    /// Its name.
    pub(crate) name: Name,
    /// Its identity.
    pub(crate) uid: Name,
    /// When it was made.
    pub(crate) created: Time,
    /// Where it is in its life.
    pub(crate) life: Life,
    /// Since when.
    pub(crate) since: Time,
    /// Its machine, or none.
    pub(crate) machine: u32,
    /// What it has taken of the devices.
    pub(crate) taken: Taken,
    /// Events of an earlier part of its life are void.
    pub(crate) epoch: u32,
    /// What is left of its own work; `None` where it runs on, or its gang has the work.
    pub(crate) work_left: Option<Span>,
    /// It has been told that it fits nowhere.
    pub(crate) unschedulable: bool,
    /// It was running when it was told to leave, or when its machine went off.
    pub(crate) ran: bool,
    /// It is on the list of changed pods.
    pub(crate) dirty: bool,
}

impl Pod {
    /// Whether it was told to leave, so that its controller does not count it any more.
    pub(crate) fn is_told_to_leave(&self) -> bool {
        matches!(self.life, Life::Leaving | Life::Stranded)
    }

    /// Whether it is on a machine.
    pub(crate) fn is_bound(&self) -> bool {
        self.life != Life::Waiting
    }
}

/// A job: pods that belong together.
#[derive(Debug)]
pub(crate) struct Job {
    /// The class of its pods.
    pub(crate) class: u32,
    /// Its name.
    pub(crate) name: Name,
    /// The controller of its pods; `None` for bare pods.
    pub(crate) owner: Option<OwnerReference>,
    /// Labels of its pods.
    pub(crate) labels: Arc<Labels>,
    /// Annotations of its pods.
    pub(crate) annotations: Arc<Labels>,
    /// How many pods it has.
    pub(crate) members: u32,
    /// Pods that are there.
    pub(crate) pods: Vec<u32>,
    /// Pods that were made, for names.
    pub(crate) made: u32,
    /// Members that have ended.
    pub(crate) ended: u32,
    /// When it came.
    pub(crate) created: Time,
    /// Whether it is a gang.
    pub(crate) gang: bool,
    /// Of a gang: the whole work; `None` where it runs on.
    pub(crate) work: Option<Span>,
    /// Whether its work ends, so that it will be done one day.
    pub(crate) ends: bool,
    /// Of a gang: the work that is done and kept.
    pub(crate) done: Span,
    /// Of a gang: since when it works.
    pub(crate) working_since: Option<Time>,
    /// Of a gang: events of an earlier stretch of work are void.
    pub(crate) epoch: u32,
    /// Of a gang that waits: it found no place, and nothing helped since.
    pub(crate) is_blocked: bool,
}

impl Job {
    /// Whether all members of a gang have ever run together.
    pub(crate) fn was_assembled(&self) -> bool {
        self.working_since.is_some() || self.epoch > 0
    }
}
