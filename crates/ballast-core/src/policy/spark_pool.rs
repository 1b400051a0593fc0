//! `SparkPool`: a Spark standalone master and its workers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Mode, Pause, SecretKey};
use crate::kube::{LabelSelector, Labels, Name, Toleration};
use crate::units::{Quantity, Span};

/// A Spark standalone master and its workers: as many as are in use, and `idle` more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkPoolSpec {
    /// Lowers the cluster's mode for this pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What is held still.
    #[serde(default)]
    pub pause: Pause,
    /// Workers that stand ready beside those in use.
    pub idle: u32,
    /// Fewest workers. Default 0.
    #[serde(default)]
    pub min: u32,
    /// Most workers, counting what starts and what is drained.
    pub max: u32,
    /// Higher goes first. Default 0.
    #[serde(default)]
    pub priority: i32,
    /// The master.
    pub master: SparkMaster,
    /// The workers.
    pub workers: SparkWorkers,
    /// How long workers above the wished number must have been idle. Default 60 seconds.
    #[serde(default = "one_minute")]
    pub idle_grace: Span,
    /// How long after the master was first seen, or came back, none is removed. Default 60 seconds.
    #[serde(default = "one_minute")]
    pub settle: Span,
    /// Whether an application that waits without cores is demand on top of `idle`. Default true.
    #[serde(default = "yes")]
    pub serve_waiting: bool,
    /// Other numbers at other times; the last that holds wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<SparkWindow>,
    /// How a worker is kept from new work before it is removed. Default `Endpoint`.
    #[serde(default)]
    pub fence: Fence,
    /// Whether workers keep shuffle data for applications whose executors have gone. Default `External`.
    #[serde(default)]
    pub shuffle: Shuffle,
    /// How the pages of the master and the workers are opened.
    #[serde(default)]
    pub access: SparkAccess,
}

/// The master of a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkMaster {
    /// Whether Ballast makes and keeps it, or takes one that is there.
    pub kind: MasterKind,
    /// Where drivers and workers find it; needed to adopt one, such as `spark://spark-master:7077`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Name>,
    /// Its web page; needed to adopt one, such as `http://spark-webui:8080`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_ui: Option<Name>,
    /// Image; needed to make one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Name>,
    /// What its container asks for.
    #[serde(default)]
    pub resources: PodResources,
    /// Where it may run.
    #[serde(default)]
    pub placement: PodPlacement,
    /// More properties of Spark, such as `spark.deploy.recoveryMode: FILESYSTEM`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<Name, Name>,
}

/// Whose the master is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MasterKind {
    /// Ballast makes it: a Deployment, a Service on 7077, one for the page on 8080, a NetworkPolicy.
    Create,
    /// It is there already.
    Adopt,
}

/// The workers of a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkWorkers {
    /// Cores that a worker offers.
    pub cores: u32,
    /// Memory that a worker offers.
    pub memory: Quantity,
    /// Image.
    pub image: Name,
    /// What its container asks for; empty means `cores` and `memory`.
    #[serde(default)]
    pub resources: PodResources,
    /// Where they may run.
    #[serde(default)]
    pub placement: PodPlacement,
    /// More properties of Spark.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<Name, Name>,
    /// Workers that are there already and belong to the pool, by the labels of their pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopt: Option<LabelSelector>,
    /// Service account of the pods; empty means one that Ballast makes, without any right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<Name>,
    /// What has not registered by then is given up. Default 5 minutes.
    #[serde(default = "five_minutes")]
    pub start_deadline: Span,
}

/// What a container asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PodResources {
    /// Requests.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<Name, Quantity>,
    /// Limits.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<Name, Quantity>,
}

/// Where pods may run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PodPlacement {
    /// Labels of the node.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub node_selector: Labels,
    /// Taints that they bear.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// Priority class of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<Name>,
}

/// Other numbers of workers at other times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkWindow {
    /// When it begins: five cron fields, minute first.
    pub start: Name,
    /// How long it holds.
    pub duration: Span,
    /// Time zone as a fixed offset such as `+08:00`; default UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Name>,
    /// Workers that stand ready meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<u32>,
    /// Fewest workers meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<u32>,
    /// Most workers meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

/// How a worker is kept from new work before it is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Fence {
    /// The master's `/workers/kill/`: certain (default).
    #[default]
    Endpoint,
    /// A signal to the worker: certain too, but it cannot be taken back.
    Signal,
    /// No fence: only workers idle for `idleGrace` are removed, and one that gets work in that moment loses it. For Spark below
    /// 3.1, and never without these words.
    NotRaceFree,
}

/// Whether workers keep shuffle data for applications whose executors have gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Shuffle {
    /// The external shuffle service may be on: a worker that served a live application stays (default).
    #[default]
    External,
    /// Shuffle data goes with the executors: an idle worker holds nothing.
    WithExecutors,
}

/// How the pages of the master and the workers are opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkAccess {
    /// A bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer: Option<SecretKey>,
    /// A name and a password, as `name:password`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic: Option<SecretKey>,
    /// Certificates that are trusted instead of the usual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<SecretKey>,
    /// Whether the pages of workers are read through the master's reverse proxy. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub through_master: bool,
}

fn yes() -> bool {
    true
}

fn one_minute() -> Span {
    Span::from_secs(60)
}

fn five_minutes() -> Span {
    Span::from_mins(5)
}
