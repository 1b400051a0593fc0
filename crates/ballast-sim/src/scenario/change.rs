//! Documents that people change while a scenario runs.

use serde::{Deserialize, Serialize};

use ballast_core::kube::Name;
use ballast_core::policy::{ClusterPolicySpec, VmPoolSpec};
use ballast_core::units::Span;

/// A document that takes another's place at a time: the cluster's policy, or a pool's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DocumentChange {
    /// When, after the start.
    pub at: Span,
    /// The `spec` of the ClusterPolicy from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<ClusterPolicySpec>,
    /// The pool whose document changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Name>,
    /// The `spec` of its VmPool document from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<VmPoolSpec>,
}
