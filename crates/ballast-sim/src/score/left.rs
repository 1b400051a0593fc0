//! Why pods still waited when a run ended.

use serde::Serialize;

use ballast_core::kube::Name;

/// Pods of a workload that are stuck alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Left {
    /// Their workload.
    pub workload: Name,
    /// The pool that speaks of them, where it is one.
    pub pool: Name,
    /// Why they waited, as the last plan said.
    pub why: String,
    /// How many.
    pub pods: u64,
}
