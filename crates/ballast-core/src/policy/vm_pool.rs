//! `VmPool`: alike nodes on virtual machines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Mode, Pause, RemovalBudget, SecretKey};
use crate::kube::{LabelSelector, Labels, Name, Taint};
use crate::units::{Money, Quantity, Share, Span, Time};

/// Alike nodes on virtual machines that Ballast starts, creates, drains, stops and deletes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VmPoolSpec {
    /// Lowers the cluster's mode for this pool: its nodes are counted on as they are, and nothing is started or stopped there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What is held still in this pool.
    #[serde(default)]
    pub pause: Pause,
    /// Which nodes and instances belong to it.
    #[serde(default)]
    pub members: Members,
    /// Who runs its machines.
    pub provider: Provider,
    /// What a new node will look like.
    pub template: NodeTemplate,
    /// Fewest nodes.
    #[serde(default)]
    pub min: u32,
    /// Most nodes, counting what starts and what ends.
    pub max: u32,
    /// Whether machines may be created, or only those that exist be started. Default true.
    #[serde(default = "yes")]
    pub create: bool,
    /// What it costs.
    #[serde(default)]
    pub price: Price,
    /// How long things take.
    #[serde(default)]
    pub times: Times,
    /// What *stop* means. Default `Deallocate`.
    #[serde(default)]
    pub stop: StopMode,
    /// How it competes with other pools.
    #[serde(default)]
    pub strategy: Strategy,
    /// Higher is preferred under `Priority`.
    #[serde(default)]
    pub priority: i32,
    /// Pools of one balance group that serve alike at the same price grow evenly; the zones of one pool always do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance_group: Option<Name>,
    /// Room kept free for what may come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headroom: Vec<Headroom>,
    /// When and how nodes go.
    #[serde(default)]
    pub scale_down: ScaleDown,
    /// Other sizes at other times; the last that holds wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<ScheduleWindow>,
    /// A removal budget of its own, beside the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<RemovalBudget>,
}

/// Which nodes and instances belong to a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Members {
    /// Nodes by label; absent selects none by label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// The provider's group (scale set, Auto Scaling group) whose instances belong to it. Nothing is decided by it yet:
    /// a provider lists the instances of its pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Name>,
    /// Nodes and instances whose name starts so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_prefix: Option<Name>,
}

/// Who runs a pool's machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Provider {
    /// `External`, or `Simulated` in a simulation. `Azure`, `Aws`, `Aliyun`, `Exec` and `ExternalGrpc` are read and checked; this
    /// release has no adapter for them, and nothing would be started.
    pub kind: Name,
    /// What the provider needs to know, in its own words. `External` needs `endpoint`, an `http` or `https` address whose host is
    /// in `allowedHosts` of the ClusterPolicy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<Name, Name>,
    /// The bearer token that it is asked with: an entry of a Secret in the namespace that Ballast runs in, which is read again when
    /// it is needed. Where the entry is missing, nothing is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer: Option<SecretKey>,
}

impl Provider {
    /// The Secret that the roles of Ballast let it read, and no other: whoever may write pools can send what is in there to a host
    /// of the ClusterPolicy's list, so it holds nothing but what is meant for providers.
    pub const SECRET: &str = "ballast-providers";
    /// Every kind that a document may name.
    pub const KINDS: [&str; 7] = ["Simulated", "Azure", "Aws", "Aliyun", "External", "Exec", "ExternalGrpc"];
    /// Those that nobody here speaks to yet. An adapter that comes takes its name off this list: warnings, the refusal of a live
    /// process and the reference go by it.
    pub const WITHOUT_ADAPTER: [&str; 5] = ["Azure", "Aws", "Aliyun", "Exec", "ExternalGrpc"];

    /// Why nothing would be started by this provider, where that is so.
    pub fn without_adapter(&self) -> Option<String> {
        let kind = &*self.kind;
        Self::WITHOUT_ADAPTER
            .contains(&kind)
            .then(|| format!("no adapter for `{kind}` in this release: nothing would be started"))
    }
}

/// What a new node will look like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeTemplate {
    /// What pods may use, by resource name; `pods` defaults to 110.
    pub allocatable: BTreeMap<Name, Quantity>,
    /// Labels of the node, besides hostname, zone and instance type, which are added.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Taints of the node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// Taints that it has only while it starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub startup_taints: Vec<Taint>,
    /// Model of its GPUs, where `allocatable` has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_model: Option<Name>,
    /// Instance type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<Name>,
    /// Zones it can be made in; empty means one zone without a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<Name>,
}

/// What a node costs, in the currency of the ClusterPolicy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Price {
    /// While it runs. A pool without a price counts as the dearest pool that has one, and where none has one, each node as 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<Money>,
    /// While it is stopped: its disk.
    pub stopped_per_hour: Money,
    /// Its capacity can be reclaimed by the cloud. Nothing is decided by it yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub spot: bool,
}

impl Price {
    /// What a node counts as in an hour where its pool has no price. It may be as dear as anything; and where nothing has a
    /// price, all nodes are worth the same, so that costs are told in hours of nodes and removals still have to pay.
    pub fn assumed(all: impl IntoIterator<Item = Self>) -> Money {
        let known = all.into_iter().filter_map(|price| price.per_hour);
        known.max().unwrap_or(Money::from_micros(1_000_000))
    }
}

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Times {
    /// From the start request to a ready node, usually. Default 3 minutes.
    pub boot: Span,
    /// What has not joined by then is released and the pool backed off. Default 15 minutes.
    pub boot_deadline: Span,
    /// From the stop request to stopped, usually. Default 1 minute.
    pub stop: Span,
    /// How long a drain may take before it is given up and the node uncordoned. Default 15 minutes.
    pub drain_deadline: Span,
    /// How long a gang may hold a partial set of nodes before they are given back. Default 30 minutes.
    pub gang_deadline: Span,
}

/// What *stop* means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StopMode {
    /// The machine keeps its disk and name and costs only its disk.
    #[default]
    Deallocate,
    /// The machine is gone.
    Delete,
}

/// How a pool is chosen when several could serve. Pools of one strategy are held against each other by it; between the best of
/// each strategy the price decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Strategy {
    /// The lowest price for what is placed; then the least waste (default).
    #[default]
    Price,
    /// The least unused share on the new nodes; then the price.
    LeastWaste,
    /// The highest `priority`; then the price.
    Priority,
}

/// Room kept free for what may come: as if `count` pods of this shape waited, at the lowest priority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Headroom {
    /// Requests of one unit.
    pub requests: BTreeMap<Name, Quantity>,
    /// How many units.
    pub count: u32,
}

/// When and how nodes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleDown {
    /// Whether nodes go at all. Default true.
    pub enabled: bool,
    /// How long a node must have been unneeded; at least twice the boot time is used. Default 10 minutes.
    pub idle_after: Span,
    /// How long an unready node must have been unneeded. Default 20 minutes.
    pub unready_after: Span,
    /// A node whose requests are below this share of what it has (the greater of CPU, memory and GPU) may be emptied.
    /// Default 50 %.
    pub utilisation: Share,
    /// How long after a node was added to the pool none is removed. Default 10 minutes.
    pub cool_down: Span,
    /// Cordons and waits until batch work has ended instead of evicting it: pods of jobs of any kind, and pods that are not
    /// always restarted. Services, which never end, are moved as ever. Default false.
    pub wait_for_completion: bool,
    /// Whether pods without a controller keep their node. Default `Block`.
    pub bare_pods: BarePods,
    /// Whether pods with local data keep their node. Default `Block`.
    pub local_storage: LocalStorage,
    /// A removal must save, until the node is likely needed again, more than it costs to stop and start it and to do the work
    /// again that its batch pods have done so far. Default true.
    pub payback: bool,
}

/// What pods without a controller mean for their node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BarePods {
    /// They keep it: nobody would make them anew.
    #[default]
    Block,
    /// They are evicted like others.
    Evict,
}

/// What pods with local data mean for their node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LocalStorage {
    /// They keep it: the data would be lost.
    #[default]
    Block,
    /// They are evicted like others.
    Evict,
}

/// Other sizes at other times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScheduleWindow {
    /// When it begins: five cron fields, minute first.
    pub start: Name,
    /// How long it holds.
    pub duration: Span,
    /// Time zone as a fixed offset such as `+08:00`; default UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Name>,
    /// Fewest nodes meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<u32>,
    /// Most nodes meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

impl VmPoolSpec {
    /// Whether its document lowers the mode for itself: Ballast then does nothing with it that the cluster's mode would allow.
    pub fn lowers(&self, cluster: Mode) -> bool {
        self.mode.is_some_and(|own| own < cluster)
    }

    /// Fewest and most nodes at a point in time: the last schedule window that holds then wins.
    pub fn range_at(&self, now: Time) -> (u32, u32) {
        let (mut min, mut max) = (self.min, self.max);
        for window in self.schedule.iter().filter(|window| window.holds_at(now)) {
            min = window.min.unwrap_or(min);
            max = window.max.unwrap_or(max);
        }
        (min.min(max), max)
    }
}

fn yes() -> bool {
    true
}

impl Default for Times {
    fn default() -> Self {
        Self {
            boot: Span::from_mins(3),
            boot_deadline: Span::from_mins(15),
            stop: Span::from_mins(1),
            drain_deadline: Span::from_mins(15),
            gang_deadline: Span::from_mins(30),
        }
    }
}

impl Default for ScaleDown {
    fn default() -> Self {
        Self {
            enabled: true,
            idle_after: Span::from_mins(10),
            unready_after: Span::from_mins(20),
            utilisation: Share::percent(50),
            cool_down: Span::from_mins(10),
            wait_for_completion: false,
            bare_pods: BarePods::default(),
            local_storage: LocalStorage::default(),
            payback: true,
        }
    }
}
