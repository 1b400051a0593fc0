//! Reasons why not: why an option was passed over, why a pod does not fit, why a node or a pod stays.

use serde::{Deserialize, Serialize};

use super::Limit;
use crate::kube::Name;
use crate::observation::ErrorClass;
use crate::policy::Strategy;
use crate::units::{Money, Share, Time};

/// Why an option was passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SkipReason {
    /// A limit leaves too little room: none at all, or not enough for a gang or a request as a whole.
    AtLimit {
        /// Which.
        limit: Limit,
    },
    /// A launch failed; it is tried again later.
    BackOff {
        /// How it failed.
        class: ErrorClass,
        /// When it is tried again.
        until: Time,
    },
    /// Launch after launch never joined.
    Quarantined {
        /// Launches in a row.
        strikes: u32,
    },
    /// The pool, or the whole cluster, is paused by a person.
    Paused {
        /// Whether the whole cluster is.
        cluster: bool,
        /// Their words.
        reason: Name,
    },
    /// The pool's document lowers the mode for itself, so that it is not counted on.
    Mode,
    /// A node of the pool would not do.
    DoesNotFit {
        /// Why not.
        misfit: Misfit,
    },
    /// Only a part of the gang could be served.
    PartOfGang {
        /// How many of its members.
        members: u32,
    },
    /// Another pool served better.
    NotBest {
        /// Which.
        chosen: Name,
        /// The rule by which they were held against each other.
        by: Strategy,
        /// What one of its nodes would have carried and cost.
        offer: Offer,
        /// The same of the pool that was chosen.
        better: Offer,
    },
    /// Nothing can be made and nothing is stopped that could be started.
    NothingToStart,
    /// What could be started is in a zone that its provider does not tell, and this need demands one.
    ZoneUnknown,
    /// The pool's instances are not known.
    Unknown,
}

/// What one node of a pool would carry of what waits, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Offer {
    /// Pods that it would carry.
    pub pods: u32,
    /// Its price per hour.
    pub price: Money,
    /// Its unused share, in thousandths.
    pub waste_milli: u32,
}

/// Why a pod does not fit a node, in the order in which the scheduler asks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Misfit {
    /// The node is cordoned.
    Unschedulable,
    /// A taint that it does not bear.
    Taint(Name),
    /// The node selector or node affinity does not match.
    NodeAffinity,
    /// A volume is bound to another zone or node.
    Volume,
    /// A port of the node is taken.
    HostPort,
    /// Too little of this.
    Resource(Name),
    /// No device with enough free share, or not enough free devices.
    GpuDevices,
    /// Required affinity to other pods.
    PodAffinity,
    /// Required distance from other pods.
    PodAntiAffinity,
    /// The spread would become too uneven.
    TopologySpread,
}

/// Why a node is not removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum UnsafeToRemove {
    /// No pool of ours.
    NotManaged,
    /// The pool's document says no.
    ScaleDownOff,
    /// Annotated so.
    DoNotDisrupt,
    /// It runs the control plane or Ballast itself.
    ControlPlane,
    /// The pool would fall below its minimum.
    AtMinimum,
    /// It is in use.
    Utilised {
        /// Share of the scarcest.
        share: Share,
    },
    /// It has not been unneeded for long enough.
    TooSoon {
        /// When it will have been.
        at: Time,
    },
    /// A pod must stay.
    PodBlocks {
        /// The pod.
        pod: Name,
        /// Its namespace.
        namespace: Name,
        /// Why it must stay.
        why: PodBlock,
    },
    /// Its pods fit nowhere else.
    NoPlaceFor {
        /// The first pod that fits nowhere.
        pod: Name,
        /// Its namespace.
        namespace: Name,
    },
    /// A granted pod or gang will need it.
    NeededByGrant,
    /// It was launched for a gang of which not all fits yet.
    HeldForGang {
        /// The gang, as `namespace/name`.
        gang: Name,
        /// When it is given back.
        until: Time,
    },
    /// It would have to be started again too soon, or too much work would be lost, to save anything.
    DoesNotPay {
        /// What would be saved.
        saves: Money,
        /// What stopping, starting and the work that is lost cost.
        costs: Money,
    },
    /// It may go, but its pool's document lowers the mode for itself.
    Mode,
    /// A budget is spent.
    Budget {
        /// Which.
        limit: Limit,
    },
    /// A node was added to the pool a short while ago.
    CoolDown {
        /// Until when.
        until: Time,
    },
    /// Too much of the pool is unwell.
    HealthGate,
    /// It is on its way already.
    BeingRemoved,
    /// Its instance is not known.
    InstanceUnknown,
    /// Another Node object stands for the same machine.
    SharedMachine,
    /// Someone else cordoned it.
    CordonedByOther,
}

/// Why a pod must stay where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PodBlock {
    /// It has no controller that would make it anew.
    Bare,
    /// Annotated `karpenter.sh/do-not-disrupt` or `ballast.dev/do-not-disrupt`.
    DoNotDisrupt,
    /// Annotated `cluster-autoscaler.kubernetes.io/safe-to-evict: "false"`.
    NotSafeToEvict,
    /// It has local data.
    LocalStorage,
    /// A system pod without a disruption budget.
    System,
    /// A disruption budget allows none.
    DisruptionBudget,
    /// More than one disruption budget covers it, or may: the eviction API then refuses.
    SeveralBudgets,
    /// Its volume claims or their volumes are not known, and so where else it could go.
    VolumeUnknown,
    /// A member of a running gang.
    GangMember,
    /// It shall run to its end.
    OnCompletion,
}
