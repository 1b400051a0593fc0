//! What was seen: one outside system said this, then. An observation never decides anything.

pub mod bodies;
mod document;
mod instances;
mod object;

pub use document::ObservationSpec;
pub use instances::{Instance, InstanceState};
pub use object::{Change, Object, ObjectKey, ObjectKind};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::units::Time;

/// What one source said at one instant.
///
/// Changes are told on top of a complete list. After an error, and after any gap in a watch, whoever observes lists anew: until
/// then changes are taken in, but what was missed in between is not known, and neither is the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Who was asked.
    pub source: Source,
    /// When the answer was taken, on the engine's time line.
    pub taken_at: Time,
    /// The answer, or why there is none.
    pub outcome: Result<Body, SourceError>,
}

/// Who was asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// What kind of source it is.
    pub kind: SourceKind,
    /// Namespace of what it speaks of; empty where it has none.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub namespace: Name,
    /// Name of what it speaks of; empty where there is only one.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub name: Name,
}

/// The kinds of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SourceKind {
    /// Objects of one kind from the Kubernetes API; the source's name is the kind.
    Kubernetes,
    /// A provider's list of the instances of a pool.
    Instances,
    /// A Spark master's `/json/`.
    SparkMaster,
    /// A Spark worker's `/json/`.
    SparkWorker,
    /// A Ray GCS' cluster resource state.
    RayGcs,
    /// An answer of Prometheus to one query.
    PrometheusQuery,
    /// `metrics.k8s.io`.
    ResourceMetrics,
    /// `custom.metrics.k8s.io`.
    CustomMetrics,
    /// `external.metrics.k8s.io`.
    ExternalMetrics,
    /// A scale subresource.
    Scale,
    /// OpenPAI's virtual clusters.
    VirtualClusters,
    /// A cluster given by totals alone.
    ClusterInquiry,
}

/// What a source answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The complete list of one Kubernetes kind: what is not in it is not there.
    Listed(Vec<Object>),
    /// What changed of one Kubernetes kind since the last observation of the same source.
    Changed(Vec<Change>),
    /// The complete list of a pool's instances; the very same list again where nothing is known to have changed.
    Instances(Arc<[Instance]>),
    /// The answer of another system, word for word.
    Answer(serde_json::Value),
}

/// Why a source gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("{class:?}: {message}")]
pub struct SourceError {
    /// What kind of failure it is; it decides what happens next.
    pub class: ErrorClass,
    /// The source's own words.
    pub message: String,
}

/// The classes of failure of an outside system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ErrorClass {
    /// The cloud has no such machine to give: back off this pool, type and zone, try the next.
    StockOut,
    /// A quota is used up: back off, tell a person.
    Quota,
    /// Too many requests: slow down.
    Throttled,
    /// Something else changed it meanwhile: read again.
    Conflict,
    /// It is not there.
    NotFound,
    /// Not allowed: stop acting, keep observing.
    Auth,
    /// The request itself is wrong: never sent again.
    Invalid,
    /// A passing failure.
    Transient,
}

impl Source {
    /// The source of a Kubernetes kind.
    pub fn kubernetes(kind: ObjectKind) -> Self {
        Self { kind: SourceKind::Kubernetes, namespace: "".into(), name: kind.name().into() }
    }

    /// The source of a pool's instances.
    pub fn instances(pool: &Name) -> Self {
        Self { kind: SourceKind::Instances, namespace: "".into(), name: pool.clone() }
    }
}
