//! Reasons: enums, worded once (in `words`), that serve as report entries, metric labels and documentation.
//!
//! Here: why something is done, held or waits. Why not is in `refusal`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::observation::ErrorClass;
use crate::policy::{Mode, ObjectReference};
use crate::units::{Span, Time};

/// Why an action is done: the rule, its inputs with their age, and the limit that bound it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reason {
    /// The rule.
    pub code: ActionCode,
    /// The rule in words, with its numbers.
    pub message: String,
    /// What it was decided from.
    pub inputs: Vec<Input>,
    /// The limit that kept it from being more, if one did.
    pub limit: Option<Limit>,
}

/// The rules that lead to actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ActionCode {
    /// Pods wait that fit nowhere.
    PendingPods,
    /// A gang waits that fits nowhere.
    PendingGang,
    /// Room is missing that was requested for pods that are still to come.
    ProvisioningRequest,
    /// The pool is below its minimum.
    BelowMinimum,
    /// The headroom is not there: a pool's own, or a buffer's.
    Headroom,
    /// A workload's wish was granted.
    Granted,
    /// The node has been unneeded for long enough.
    Unneeded,
    /// The pool is above its maximum.
    AboveMaximum,
    /// The instance never became a usable node.
    NeverJoined,
    /// A gang could not be completed by its deadline; its part is given back.
    GangGivenUp,
    /// Our own cordon is not needed any more.
    CordonNotNeeded,
    /// A workload makes room for another.
    Yielded,
    /// An elastic job takes what nobody else needs.
    Surplus,
    /// A metric is above its target.
    MetricAboveTarget,
    /// All metrics are below their targets.
    MetricsBelowTarget,
    /// A metric is in a band that grows or shrinks.
    Band,
    /// There is so much to serve.
    Demand,
    /// A schedule says so.
    Schedule,
    /// A source fails, and the fallback holds.
    Fallback,
    /// What was served is gone, so that there is no need to wait.
    Evidence,
    /// A Ray cluster's tasks, actors, gangs or constraints ask for it.
    RayDemand,
    /// So many workers shall stand ready beside those in use.
    IdleBuffer,
    /// The worker has been idle for long enough.
    Idle,
}

/// One number that a decision was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Input {
    /// What it is.
    pub name: Name,
    /// Its value.
    pub value: serde_json::Value,
    /// How old it was.
    pub age_seconds: f64,
}

/// The limits that bind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Limit {
    /// The pool's `max`.
    PoolMax,
    /// The pool's `min`.
    PoolMin,
    /// The cluster's nodes.
    Nodes,
    /// The cluster's cores.
    Cores,
    /// The cluster's memory.
    Memory,
    /// The cluster's GPUs of a model (`*`: all).
    Gpus(Name),
    /// The cluster's cost per hour.
    CostPerHour,
    /// The growth budget.
    Growth,
    /// The removal budget of the pool.
    PoolRemovalBudget,
    /// The removal budget of the cluster.
    ClusterRemovalBudget,
    /// The workload's most.
    WorkloadMax,
    /// The workload's least.
    WorkloadMin,
    /// The share of the cluster beyond which no job grows.
    MaxLoad,
    /// How fast the workload may change.
    Rate,
    /// What the namespace's quota allows.
    Quota,
    /// What the grant could give.
    Granted,
}

impl Limit {
    /// Which, without its model.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::PoolMax => "PoolMax",
            Self::PoolMin => "PoolMin",
            Self::Nodes => "Nodes",
            Self::Cores => "Cores",
            Self::Memory => "Memory",
            Self::Gpus(_) => "Gpus",
            Self::CostPerHour => "CostPerHour",
            Self::Growth => "Growth",
            Self::PoolRemovalBudget => "PoolRemovalBudget",
            Self::ClusterRemovalBudget => "ClusterRemovalBudget",
            Self::WorkloadMax => "WorkloadMax",
            Self::WorkloadMin => "WorkloadMin",
            Self::MaxLoad => "MaxLoad",
            Self::Rate => "Rate",
            Self::Quota => "Quota",
            Self::Granted => "Granted",
        }
    }

    /// Which, with its model: `Gpus/a100`.
    pub fn code(&self) -> Name {
        match self {
            Self::Gpus(model) => format!("Gpus/{model}").into(),
            other => other.kind().into(),
        }
    }
}

/// What a report entry speaks of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Subject {
    /// The whole cluster.
    Cluster,
    /// A pool.
    Pool {
        /// Its name.
        name: Name,
    },
    /// A node.
    Node {
        /// Its name.
        name: Name,
    },
    /// An instance.
    Instance {
        /// Its name.
        name: Name,
    },
    /// Pods of one class: alike in shape and constraints.
    Pods {
        /// Their namespace.
        namespace: Name,
        /// The workload they belong to, or the pod's own name.
        workload: Name,
        /// The name of the first of them.
        name: Name,
        /// How many.
        count: u32,
        /// The gang that they are members of; empty for none.
        #[serde(default, skip_serializing_if = "str::is_empty")]
        gang: Name,
    },
    /// A workload that wishes.
    Workload {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
        /// The object that it is, where it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<Arc<ObjectReference>>,
    },
}

impl Subject {
    /// How many pods it is: one where it is not counted in pods.
    pub fn pods(&self) -> u32 {
        if let Self::Pods { count, .. } = self { *count } else { 1 }
    }
}

/// Why nothing is done about a subject, deliberately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HoldReason {
    /// A source is unsynced, failed, old, torn or suddenly empty: unknown, never zero.
    SourceUnknown {
        /// The source.
        source: String,
        /// What is wrong with it.
        why: SourceTrouble,
    },
    /// Paused by a person.
    Paused {
        /// Their words.
        reason: Name,
    },
    /// The pool's document allows less than the cluster's policy: its nodes are counted on as they are, and nothing is done.
    LowerMode {
        /// What it allows.
        mode: Mode,
    },
    /// `Enforce` without a node limit and a cost limit.
    LimitsNotSet,
    /// Too many nodes are unwell.
    HealthGate {
        /// How many are unwell.
        unready: u32,
        /// Of how many.
        managed: u32,
    },
    /// Instances run that are no nodes. Ballast did not make them, so that they are not its own to let go.
    NeverANode {
        /// How many.
        count: u32,
        /// The name of the first.
        first: Name,
    },
    /// Nodes are left whose machines are gone: they count for nothing, and whoever runs the cluster has to delete them.
    MachineGone {
        /// How many.
        count: u32,
        /// The name of the first.
        first: Name,
    },
    /// The budget for removals is spent.
    RemovalBudget {
        /// Which limit bound.
        limit: Limit,
    },
    /// The budget for growth is spent.
    GrowthBudget,
    /// A node was added a short while ago.
    CoolDown,
    /// The annotations of a namespace's pods keep only as many nodes as the ClusterPolicy allows it.
    ProtectionCap {
        /// The namespace.
        namespace: Name,
        /// Nodes with such pods.
        nodes: u32,
        /// Nodes on which they are heeded, those whose annotated pods are there longest.
        cap: u32,
    },
    /// The count of steps for one plan was used up; the rest follows next time.
    StepsUsedUp,
    /// As much is under way as can be kept in mind at once; the rest follows as it ends.
    TooMuchUnderWay {
        /// How many actions wait.
        waiting: u32,
    },
    /// The check found a broken promise in the plan; it is not applied.
    PlanRefused,
    /// Another autoscaler acts on the same target.
    Conflict {
        /// Who.
        with: Name,
    },
    /// A size was written a while ago and is not followed: no further move until it is.
    NotFollowed {
        /// The size that was written.
        size: i64,
        /// When.
        since: Time,
    },
    /// The last change of the workload has not ended.
    Changing,
    /// A foreign controller picks who goes, and one that it could pick must stay.
    NotAllRemovable {
        /// Its name.
        name: Name,
    },
    /// A master or GCS began a short while ago; what it says is not complete yet.
    Settling,
    /// A metric of the workload cannot be reckoned, so that it does not shrink.
    MetricUnknown {
        /// Number of the metric, from 0.
        metric: u32,
    },
    /// What a cache would lose costs more than it saves.
    LossDoesNotPay,
    /// The workload's document or the object that it speaks of is not valid.
    Invalid {
        /// What is wrong, in words.
        message: String,
    },
}

/// What is wrong with a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SourceTrouble {
    /// It has not answered yet.
    NotSynced,
    /// It failed.
    Failed(ErrorClass),
    /// Its answer is too old.
    Stale(Span),
    /// Its answer is from the future.
    Ahead(Span),
    /// It shrank suddenly, and no second look has agreed yet; or looks agree, but not for an hour, and nothing is removed.
    SuddenlyShrunk,
}

/// What a subject waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WaitingOn {
    /// It fits on what is there: the scheduler will place it.
    Scheduler {
        /// How many of them fit.
        count: u32,
    },
    /// Nodes that are starting.
    Starting {
        /// How many of them wait for those.
        count: u32,
        /// The pool that starts.
        pool: Name,
        /// When they should be ready.
        ready_at: Time,
    },
    /// Nodes that this plan starts.
    Planned {
        /// How many of them wait for those.
        count: u32,
        /// The pool.
        pool: Name,
    },
    /// Its turn: as many nodes are starting as the growth budget allows at once.
    Growth {
        /// How many of them wait for it.
        count: u32,
        /// The pool that may start more then.
        pool: Name,
        /// When the first of what is starting should be ready, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ready_at: Option<Time>,
    },
    /// The quota that the ClusterPolicy gives its namespace: no machine is started for what goes beyond.
    Quota {
        /// How many of them go beyond.
        count: u32,
        /// What there is too little of.
        resource: Name,
    },
    /// The other members of its gang.
    Gang {
        /// Members that are there.
        present: u32,
        /// Members needed.
        needed: u32,
    },
    /// A drain.
    Drain {
        /// Pods that are still there.
        pods: u32,
    },
    /// The end of the work on a cordoned node.
    Completion {
        /// Pods that are still there.
        pods: u32,
    },
    /// A gate on the pod that somebody else opens.
    SchedulingGate,
    /// A claim that has to be bound before the scheduler looks at the pod.
    VolumeBinding {
        /// The claim.
        claim: Name,
    },
    /// The scheduler has chosen a node that is there and makes room on it by preemption.
    Preemption {
        /// For how many of them.
        count: u32,
        /// The first of the nodes by name.
        node: Name,
    },
}
