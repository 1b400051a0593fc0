//! The history of what scales within the cluster: metrics, jobs, Ray and Spark. What is missing of it counts against a shrink, so
//! that its loss only delays one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::policy::SpeedUp;
use crate::units::{Quantity, Time};

/// What is remembered of a MetricScaler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricHistory {
    /// Since when it has been kept; a window or period that begins before waits. Absent: nothing is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// What was recommended within the longest window, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recommendations: Vec<Recommendation>,
    /// What was added within the longest period, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scale_ups: Vec<ScaleEvent>,
    /// What was taken away within the longest period, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scale_downs: Vec<ScaleEvent>,
    /// Bands in which a metric is, or that moved something a while ago.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<BandHistory>,
    /// Since when a source has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Time>,
    /// Since when nothing has been read of a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread_since: Option<Time>,
    /// The size of the Dataset when it was last known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset_size: Option<Quantity>,
}

/// A size that was recommended, before windows and policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recommendation {
    /// When.
    pub at: Time,
    /// How many replicas.
    pub replicas: i32,
}

/// A change of size that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleEvent {
    /// When.
    pub at: Time,
    /// By how many replicas, from 1.
    pub change: i32,
}

/// What is remembered of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BandHistory {
    /// Number of the band in `bands`, from 0.
    pub band: u32,
    /// Since when its metric has been in it; absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// When it last changed the size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_at: Option<Time>,
}

/// What is remembered of an elastic job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobHistory {
    /// When it last grew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grew_at: Option<Time>,
    /// When it last shrank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrank_at: Option<Time>,
    /// How much faster so many workers are than one, as was learned of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<SpeedUp>,
}

/// What is remembered of a RayCluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayHistory {
    /// The session of its GCS.
    pub session: Name,
    /// Since when this session has been heard.
    pub since: Time,
    /// Since when workers have been seen idle, by pod.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub idle_since: BTreeMap<Name, Time>,
}

/// What is remembered of a SparkPool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparkHistory {
    /// The incarnation of its master: the identity of its pod and how often that was started, or the address of one outside.
    pub master: Name,
    /// Since when this master has been heard.
    pub since: Time,
    /// Since when workers have been seen idle, by the master's id of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub idle_since: BTreeMap<Name, Time>,
    /// The applications that workers have served, for whose shuffle data they may be needed, by the master's id of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub served: BTreeMap<Name, BTreeSet<Name>>,
}

impl MetricHistory {
    pub(super) fn times(&mut self) -> impl Iterator<Item = &mut Time> {
        let events = self.scale_ups.iter_mut().chain(&mut self.scale_downs).map(|event| &mut event.at);
        let bands = self.bands.iter_mut().flat_map(|band| [&mut band.since, &mut band.moved_at]);
        let single = [&mut self.since, &mut self.failing_since, &mut self.unread_since];
        let past = self.recommendations.iter_mut().map(|past| &mut past.at);
        past.chain(events).chain(bands.chain(single).flatten())
    }
}

impl JobHistory {
    pub(super) fn times(&mut self) -> impl Iterator<Item = &mut Time> {
        [&mut self.grew_at, &mut self.shrank_at].into_iter().flatten()
    }
}

impl RayHistory {
    pub(super) fn times(&mut self) -> impl Iterator<Item = &mut Time> {
        self.idle_since.values_mut().chain([&mut self.since])
    }
}

impl SparkHistory {
    pub(super) fn times(&mut self) -> impl Iterator<Item = &mut Time> {
        self.idle_since.values_mut().chain([&mut self.since])
    }
}
