//! The `Observation` document: what a source outside Kubernetes said, word for word.

use serde::{Deserialize, Serialize};

use super::{Source, SourceError};
use crate::units::Time;

/// What a source outside Kubernetes said, word for word. Exactly one of `body` and `error` is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservationSpec {
    /// Who was asked.
    pub source: Source,
    /// When the answer was taken.
    pub taken_at: Time,
    /// The answer as JSON, in the form that belongs to the kind of source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<serde_json::Value>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<SourceError>,
}
