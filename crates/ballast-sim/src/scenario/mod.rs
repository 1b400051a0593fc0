//! Scenarios: what people write to describe a world, typed and checked.
//!
//! A scenario holds the cluster (pools with their policy and how their cloud behaves, nodes that nobody manages), what
//! arrives, what breaks, until when, and the ranges in which the figures have to land.

mod arrivals;
mod change;
mod check;
mod distribution;
mod document;
mod doubts;
mod fault;
mod figures;
mod gpu_share;
mod pool;
mod trace;
mod workload;

pub use arrivals::Arrivals;
pub use change::DocumentChange;
pub use check::{Complaint, MachinesMax};
pub use distribution::Distribution;
pub use document::{ResolveError, Scenario, ScenarioError};
pub use fault::{Fault, FaultKind, View};
pub use pool::{Cloud, NodeGroup, ScenarioPool};
pub use trace::{OpenbTrace, TracedJob};
pub use workload::{Budget, Daemon, Owner, Size, Workload};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use ballast_core::kube::Name;
use ballast_core::policy::ClusterPolicySpec;
use ballast_core::units::{Span, Time};

use crate::placement::Placement;
use crate::score::Amount;

/// A simulated world: its cluster, what arrives, what breaks, until when, and where the figures have to land.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioSpec {
    /// What it is about, in words.
    #[serde(default)]
    pub story: String,
    /// The instant at which it begins. Default a Monday at midnight, 2026-01-05T00:00:00Z.
    #[serde(default = "monday")]
    pub start: Time,
    /// How long it lasts.
    pub until: Span,
    /// The seed of all chance. Default 1.
    #[serde(default = "one")]
    pub seed: u64,
    /// How the scheduler chooses among nodes. Default `LeastAllocated`.
    #[serde(default)]
    pub placement: Placement,
    /// Whether the scheduler binds the pods of a gang all together or not at all. Default true.
    #[serde(default = "yes")]
    pub gang_scheduling: bool,
    /// Who decides. Default `Ballast`.
    #[serde(default)]
    pub controller: Controller,
    /// How often the controller may think.
    #[serde(default)]
    pub pace: Pace,
    /// The cluster's policy.
    #[serde(default)]
    pub policy: ClusterPolicySpec,
    /// Pools of virtual machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<ScenarioPool>,
    /// Nodes that belong to no pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeGroup>,
    /// Daemon sets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemons: Vec<Daemon>,
    /// Disruption budgets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<Budget>,
    /// What arrives, by rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<Workload>,
    /// What arrives, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<TracedJob>,
    /// Files of the openb trace that nodes and jobs are taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openb: Option<OpenbTrace>,
    /// What breaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Documents that people change meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<DocumentChange>,
    /// Where the figures have to land: name → least and greatest, as plain numbers in the figure's own unit, durations or
    /// percentages.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<Name, [Amount; 2]>,
}

/// Who decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Controller {
    /// Ballast's own engine.
    #[default]
    Ballast,
    /// The rule of the OpenPAI autoscaler, as it was, for comparison: every five minutes all machines on, or the first idle
    /// ones above five off.
    OpenPai,
    /// Nobody: what runs at the start runs to the end.
    None,
}

/// How often the controller may think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pace {
    /// How long after a change it looks. Default 1 second.
    pub debounce: Span,
    /// How much time lies between two looks at the least. Default 5 seconds.
    pub interval: Span,
    /// How often pools ask their cloud for their instances. Default 1 minute.
    pub instances: Span,
}

impl Default for Pace {
    fn default() -> Self {
        Self { debounce: Span::from_secs(1), interval: Span::from_secs(5), instances: Span::from_secs(60) }
    }
}

/// The first Monday of 2026: a day on which daily and weekly waves begin together.
pub(crate) fn monday() -> Time {
    Time::from_secs(1_767_571_200)
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}
