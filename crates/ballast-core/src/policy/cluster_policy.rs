//! `ClusterPolicy`: the rules that hold for all scalers together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Tenant;
use crate::kube::{LabelSelector, Name};
use crate::units::{Money, Quantity, Share, Span, Time};

/// The rules that hold for all scalers together. Everything has a default; limits do not, on purpose: `Enforce` refuses to
/// start while no node and cost limit is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClusterPolicySpec {
    /// How far Ballast may go.
    pub mode: Mode,
    /// Currency of every price and cost limit.
    pub currency: Name,
    /// What is held still, for growth and removal apart.
    pub pause: Pause,
    /// What the cluster may never pass.
    pub limits: Limits,
    /// How much may be removed in how much time.
    pub removal: Removal,
    /// How much may be added in how much time.
    pub growth: Growth,
    /// When removals stop because too much is unwell.
    pub health: Health,
    /// How old what is seen may be.
    pub sources: Sources,
    /// Priorities of workloads, first match wins; else the pod's own priority holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityRule>,
    /// What some workloads can always have. Read and checked; no scaler acts on it yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guarantees: Vec<Guarantee>,
    /// Who makes room for whom. Read and checked; no scaler acts on it yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub yields: Vec<Yield>,
    /// Hosts that Ballast may call besides the Kubernetes API.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<Name>,
    /// What namespaces may do to the cluster, first match wins; else nothing is bound.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<Tenant>,
}

/// How far Ballast may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Mode {
    /// Writes nothing at all.
    #[default]
    Observe,
    /// Writes only Ballast's own objects and publishes the plan.
    Recommend,
    /// Acts.
    Enforce,
}

/// What is held still.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pause {
    /// Nothing is added.
    pub up: bool,
    /// Nothing is removed.
    pub down: bool,
    /// Why, for whoever finds it paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Name>,
    /// When it ends by itself; else it holds until it is lifted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// Which way a cluster is held still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Nothing is added.
    Up,
    /// Nothing is removed.
    Down,
}

impl Pause {
    /// Whether it holds one way at an instant.
    pub fn holds(&self, direction: Direction, now: Time) -> bool {
        let is_meant = match direction {
            Direction::Up => self.up,
            Direction::Down => self.down,
        };
        is_meant && self.until.is_none_or(|until| now < until)
    }

    /// What of it holds at an instant.
    #[must_use]
    pub fn at(&self, now: Time) -> Self {
        Self { up: self.holds(Direction::Up, now), down: self.holds(Direction::Down, now), ..self.clone() }
    }

    /// When it ends by itself, if it holds now and does.
    pub fn ends_at(&self, now: Time) -> Option<Time> {
        let holds = [Direction::Up, Direction::Down].into_iter().any(|way| self.holds(way, now));
        self.until.filter(|_| holds)
    }
}

/// What the cluster may never pass, counting what starts and what ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Managed nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// CPU cores of managed nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<Quantity>,
    /// Memory of managed nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    /// GPUs by model; `*` is all together.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub gpus: BTreeMap<Name, u32>,
    /// Money per hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_per_hour: Option<Money>,
}

/// How much may be removed in how much time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Removal {
    /// Of a pool, in a window. Default: 10 % in 10 minutes, at least one node.
    pub per_pool: RemovalBudget,
    /// Of all managed nodes, in a window. Default: 5 % in 10 minutes, at least one node.
    pub per_cluster: RemovalBudget,
}

/// A share that may be removed within a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemovalBudget {
    /// Share of the nodes, rounded up. A share above 34 % needs `unlimited`.
    pub share: Share,
    /// The window that slides; a minute at the least.
    pub window: Span,
    /// Lifts the ceiling of 34 %: for tests and for people who know why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlimited: bool,
}

/// How much may be added in how much time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Growth {
    /// Nodes of a pool that may be starting at once, as a share of those that are ready. Default 100 %.
    pub starting_share: Share,
    /// Nodes of a pool that may be starting at once whatever the share gives. A gang that needs more starts whole, once any of
    /// it is free. Default 2.
    pub starting_minimum: u32,
    /// Share of the cluster's managed nodes that may be added in a minute, where that is more than `perMinuteMinimum`.
    /// Default 10 %.
    pub per_minute_share: Share,
    /// Nodes that may be added in a minute whatever the share gives. Default 10.
    pub per_minute_minimum: u32,
}

/// When removals stop because too much is unwell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Health {
    /// Share of a pool's managed nodes, those stopped on purpose left out, that may be unwell. Default 20 %.
    pub max_unready_share: Share,
    /// Launches in a row that never join before the pool is quarantined. Default 3.
    pub strikes: u32,
}

/// How old what is seen may be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sources {
    /// Nothing is removed on what is older. Default 2 minutes.
    pub max_age: Span,
    /// A list that shrinks by more than this from one look to the next counts as unknown until a second look agrees.
    /// Where it is of nodes, pods or disruption budgets, nothing is removed for an hour. Default 50 %.
    pub max_shrink: Share,
}

/// A priority for the workloads it selects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriorityRule {
    /// Namespaces; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Name>,
    /// Labels of the pods.
    #[serde(default, skip_serializing_if = "LabelSelector::is_empty")]
    pub selector: LabelSelector,
    /// The priority; higher goes first.
    pub priority: i32,
}

/// What some workloads can always have: as long as they ask for no more than this together, they come before all others,
/// whatever the priorities, and make room for nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guarantee {
    /// Namespaces; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Name>,
    /// Labels of the pods.
    #[serde(default, skip_serializing_if = "LabelSelector::is_empty")]
    pub selector: LabelSelector,
    /// How much of each resource, for all that is selected together.
    pub resources: BTreeMap<Name, Quantity>,
}

/// Who makes room for whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Yield {
    /// Workloads that give.
    pub from: LabelSelector,
    /// Workloads that receive.
    pub to: LabelSelector,
    /// Share that the giver keeps. Default none.
    #[serde(default)]
    pub reserve: Share,
}

impl ClusterPolicySpec {
    /// The name of the one ClusterPolicy of a cluster.
    pub const NAME: &str = "cluster";
}

impl Default for ClusterPolicySpec {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            currency: "USD".into(),
            pause: Pause::default(),
            limits: Limits::default(),
            removal: Removal::default(),
            growth: Growth::default(),
            health: Health::default(),
            sources: Sources::default(),
            priorities: Vec::new(),
            guarantees: Vec::new(),
            yields: Vec::new(),
            allowed_hosts: Vec::new(),
            tenants: Vec::new(),
        }
    }
}

impl Default for Removal {
    fn default() -> Self {
        let window = Span::from_mins(10);
        Self {
            per_pool: RemovalBudget { share: Share::percent(10), window, unlimited: false },
            per_cluster: RemovalBudget { share: Share::percent(5), window, unlimited: false },
        }
    }
}

impl Default for Growth {
    fn default() -> Self {
        Self {
            starting_share: Share::percent(100),
            starting_minimum: 2,
            per_minute_share: Share::percent(10),
            per_minute_minimum: 10,
        }
    }
}

impl Default for Health {
    fn default() -> Self {
        Self { max_unready_share: Share::percent(20), strikes: 3 }
    }
}

impl Default for Sources {
    fn default() -> Self {
        Self { max_age: Span::from_mins(2), max_shrink: Share::percent(50) }
    }
}
