//! The view: one instant of the cluster and the plan, as a person wants to see it. The console, `top`, `status` and the
//! demo show nothing else.

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::plan::{Action, Hold, Infeasible, PromiseNote, Subject, Waiting};
use crate::policy::Mode;
use crate::units::{Money, Span, Time};

/// One instant of the cluster and the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// The instant.
    pub now: Time,
    /// The cluster's mode.
    pub mode: Mode,
    /// Currency of all prices.
    pub currency: Name,
    /// What the cluster costs per hour.
    pub cost_per_hour: Money,
    /// How many plans have been made.
    pub plans: u64,
    /// Pools, by name.
    pub pools: Vec<PoolView>,
    /// Nodes and instances, by pool and name.
    pub nodes: Vec<NodeView>,
    /// Pods that wait, by class, the longest first.
    pub pending: Vec<PendingView>,
    /// What is planned now.
    pub actions: Vec<Action>,
    /// What is under way.
    pub in_flight: Vec<InFlightView>,
    /// What is held, and why.
    pub holds: Vec<Hold>,
    /// Broken promises; always empty.
    pub promises: Vec<PromiseNote>,
    /// Sources and how old their last answer is.
    pub sources: Vec<SourceView>,
    /// When it looks again, at the latest.
    pub next_look: Option<Time>,
}

/// A pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolView {
    /// Its name.
    pub name: Name,
    /// Fewest nodes.
    pub min: u32,
    /// Most nodes.
    pub max: u32,
    /// Nodes in each state.
    pub ready: u32,
    /// Starting.
    pub starting: u32,
    /// Draining or stopping.
    pub leaving: u32,
    /// Stopped.
    pub stopped: u32,
    /// Unwell.
    pub unready: u32,
    /// Price of one node per hour.
    pub price_per_hour: Option<Money>,
    /// What the pool costs per hour.
    pub cost_per_hour: Money,
    /// Requests and what there is.
    pub usage: Usage,
    /// Why it takes no more launches, in words.
    pub backed_off: Option<String>,
}

/// Requests and what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Requested CPU in thousandths of a core.
    pub cpu_requested: i64,
    /// Allocatable CPU in thousandths of a core.
    pub cpu: i64,
    /// Requested memory in bytes.
    pub memory_requested: i64,
    /// Allocatable memory in bytes.
    pub memory: i64,
    /// Requested GPUs in thousandths of a device.
    pub gpu_requested: i64,
    /// GPUs in thousandths of a device.
    pub gpu: i64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // Taken apart in full, so that no field is left out of a sum.
        let Self { cpu_requested, cpu, memory_requested, memory, gpu_requested, gpu } = other;
        self.cpu_requested += cpu_requested;
        self.cpu += cpu;
        self.memory_requested += memory_requested;
        self.memory += memory;
        self.gpu_requested += gpu_requested;
        self.gpu += gpu;
    }
}

/// A node or an instance that is not a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    /// Its name.
    pub name: Name,
    /// Its pool; empty where it is not managed.
    pub pool: Name,
    /// Zone.
    pub zone: Name,
    /// Where it is in its life.
    pub state: NodeState,
    /// Requests and what there is.
    pub usage: Usage,
    /// Pods on it, daemons left out.
    pub pods: u32,
    /// Since when it has been unneeded.
    pub idle_since: Option<Time>,
    /// Why it is not removed, in words; empty where it is not a candidate.
    pub kept_because: Option<String>,
}

impl NodeView {
    /// Where it stands among the others: by pool, then by name, and by the number at its end, so that 2 comes before 18.
    pub fn rank(&self) -> (&str, &str, u64, &str) {
        let stem = self.name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        // A number beyond all bounds is no number that anybody counts by.
        (&self.pool, stem, self.name[stem.len()..].parse().unwrap_or(u64::MAX), &self.name)
    }
}

/// Where a machine is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NodeState {
    /// Starting, or up without the devices it promised.
    Starting,
    /// Ready for pods.
    Ready,
    /// Unwell.
    Unready,
    /// Cordoned by someone else.
    Cordoned,
    /// Cordoned by us; running empty or being drained.
    Draining,
    /// On its way down.
    Stopping,
    /// Off.
    Stopped,
}

impl NodeState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Starting,
        Self::Ready,
        Self::Unready,
        Self::Cordoned,
        Self::Draining,
        Self::Stopping,
        Self::Stopped,
    ];
}

/// Pods of one class that wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingView {
    /// Namespace.
    pub namespace: Name,
    /// Workload, or the pod's own name.
    pub workload: Name,
    /// Names of the pods, the first hundred.
    pub pods: Vec<Name>,
    /// How many.
    pub count: u32,
    /// What one of them asks for, in words.
    pub requests: String,
    /// How long the first of them has waited, where it says when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<Span>,
    /// What they wait for.
    pub waiting: Vec<Waiting>,
    /// Why nothing can serve them.
    pub infeasible: Option<Infeasible>,
}

impl PendingView {
    /// The gang that they are members of, by what a plan says of them.
    pub fn gang(&self) -> Option<&Name> {
        let subjects = self.waiting.iter().map(|waiting| &waiting.subject);
        subjects.chain(self.infeasible.iter().map(|left| &left.subject)).find_map(|subject| match subject {
            Subject::Pods { gang, .. } if !gang.is_empty() => Some(gang),
            _ => None,
        })
    }

    /// Who waits: the gang, or the workload.
    pub fn who(&self) -> String {
        match self.gang() {
            Some(gang) => format!("gang {}/{gang}", self.namespace),
            None => format!("{}/{}", self.namespace, self.workload),
        }
    }
}

/// A procedure under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InFlightView {
    /// What it does, such as `StopInstance`.
    pub kind: Name,
    /// To whom.
    pub target: Name,
    /// The step it is in, in words.
    pub step: String,
    /// Since when.
    pub since: Time,
    /// When it is given up.
    pub deadline: Option<Time>,
}

/// A source and how old its last answer is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceView {
    /// The source.
    pub name: String,
    /// Age of its last good answer.
    pub age: Option<Span>,
    /// What is wrong with it, in words.
    pub trouble: Option<String>,
}
