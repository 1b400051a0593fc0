//! What a Spark master and a Spark worker answer under `/json/`.

use serde::{Deserialize, Serialize};

use crate::kube::Name;

/// A Spark master's `/json/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkMaster {
    /// Where drivers and workers find it.
    pub url: Name,
    /// What it does at the moment; only an `ALIVE` master is believed.
    pub status: MasterStatus,
    /// Its workers, dead ones for a while among them.
    pub workers: Vec<SparkWorkerEntry>,
    /// Applications that wait or run.
    #[serde(default)]
    pub activeapps: Vec<SparkApplication>,
    /// Drivers that run inside the cluster.
    #[serde(default)]
    pub activedrivers: Vec<SparkDriver>,
    /// Cores of the workers that are alive.
    #[serde(default)]
    pub cores: u32,
    /// Cores in use of the workers that are alive.
    #[serde(default)]
    pub coresused: u32,
    /// Workers that are alive; absent in old versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aliveworkers: Option<u32>,
    /// Memory of the workers that are alive, in MiB.
    #[serde(default)]
    pub memory: u64,
    /// Memory in use of the workers that are alive, in MiB.
    #[serde(default)]
    pub memoryused: u64,
}

/// What a master does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MasterStatus {
    /// It stands by; its lists are empty.
    Standby,
    /// It serves.
    Alive,
    /// It reads what it remembered; its numbers are not to be believed.
    Recovering,
    /// It is about to serve.
    CompletingRecovery,
    /// A word that we do not know.
    #[serde(other)]
    Unknown,
}

/// A worker as its master sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkWorkerEntry {
    /// Identity.
    pub id: Name,
    /// Its host: the address of its pod.
    pub host: Name,
    /// Its port.
    pub port: u16,
    /// What it does; `coresused` of one that is not `ALIVE` is not to be believed.
    pub state: WorkerState,
    /// Cores it offers.
    pub cores: u32,
    /// Cores in use.
    pub coresused: u32,
    /// Memory it offers, in MiB.
    pub memory: u64,
    /// Memory in use, in MiB.
    pub memoryused: u64,
    /// Its web page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webuiaddress: Option<Name>,
    /// When it was last heard of, in milliseconds since 1970; absent in old versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lastheartbeat: Option<i64>,
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WorkerState {
    /// It takes executors.
    Alive,
    /// It is gone.
    Dead,
    /// It takes no more executors.
    Decommissioned,
    /// The master does not know, or says a word that we do not know.
    #[serde(other)]
    Unknown,
}

/// An application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkApplication {
    /// Identity.
    pub id: Name,
    /// Name.
    #[serde(default)]
    pub name: Name,
    /// Cores granted now; what it wishes for is told nowhere.
    pub cores: u32,
    /// What it does.
    pub state: ApplicationState,
    /// Memory of one executor, in MiB.
    #[serde(default)]
    pub memoryperexecutor: u64,
    /// When it began, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starttime: Option<i64>,
}

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ApplicationState {
    /// It waits for cores.
    Waiting,
    /// It runs.
    Running,
    /// It has ended well.
    Finished,
    /// It has ended badly.
    Failed,
    /// Somebody ended it.
    Killed,
    /// The master does not know, or says a word that we do not know.
    #[serde(other)]
    Unknown,
}

/// A driver that runs inside the cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkDriver {
    /// Identity.
    pub id: Name,
    /// What it does.
    #[serde(default)]
    pub state: Name,
    /// Cores.
    #[serde(default)]
    pub cores: u32,
    /// Memory in MiB.
    #[serde(default)]
    pub memory: u64,
    /// The worker it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<Name>,
}

/// A Spark worker's `/json/`: the truth about a worker that takes no more executors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkWorker {
    /// Identity.
    pub id: Name,
    /// Its master.
    #[serde(default)]
    pub masterurl: Name,
    /// Cores it offers.
    pub cores: u32,
    /// Cores in use.
    pub coresused: u32,
    /// Memory it offers, in MiB.
    #[serde(default)]
    pub memory: u64,
    /// Memory in use, in MiB.
    #[serde(default)]
    pub memoryused: u64,
    /// Executors that run.
    pub executors: Vec<SparkExecutor>,
    /// Executors that have ended; it forgets the oldest.
    #[serde(default)]
    pub finishedexecutors: Vec<SparkExecutor>,
}

/// An executor of a worker. Its command is not read: it holds the application's environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkExecutor {
    /// Its number within the application.
    pub id: u32,
    /// The application.
    pub appid: Name,
    /// Memory in MiB.
    #[serde(default)]
    pub memory: u64,
    /// What the application asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appdesc: Option<AppDescription>,
}

/// What an application asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppDescription {
    /// Name.
    #[serde(default)]
    pub name: Name,
    /// Most cores; 0 is without a limit.
    #[serde(default)]
    pub cores: u32,
    /// Memory of one executor, in MiB.
    #[serde(default)]
    pub memoryperexecutor: u64,
}
