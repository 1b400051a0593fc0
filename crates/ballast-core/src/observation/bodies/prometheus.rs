//! What Prometheus answers to one query.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kube::Name;

/// A query and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrometheusQuery {
    /// The query that was sent.
    pub query: String,
    /// The body of `/api/v1/query`.
    pub response: PrometheusResponse,
}

/// The body of `/api/v1/query`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrometheusResponse {
    /// Whether it worked.
    pub status: PrometheusStatus,
    /// What came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<PrometheusData>,
    /// What kind of failure it was, such as `bad_data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<Name>,
    /// The failure in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What else it had to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Whether a query worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PrometheusStatus {
    /// It did.
    Success,
    /// It did not.
    Error,
}

/// What came out of a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PrometheusData {
    /// One sample for each series.
    Vector(Vec<Vector>),
    /// Many samples for each series.
    Matrix(Vec<Series>),
    /// One number.
    Scalar(Sample),
    /// One text.
    String(Sample),
}

/// One sample of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Vector {
    /// Labels of the series.
    pub metric: BTreeMap<Name, Name>,
    /// The sample.
    pub value: Sample,
}

/// Many samples of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// Labels of the series.
    pub metric: BTreeMap<Name, Name>,
    /// The samples.
    pub values: Vec<Sample>,
}

/// The time of the evaluation in seconds since 1970, and the value as a text: a number, `NaN`, `+Inf` or `-Inf`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample(pub f64, pub Name);
