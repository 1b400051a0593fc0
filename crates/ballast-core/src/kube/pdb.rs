//! PodDisruptionBudgets.

use serde::{Deserialize, Serialize};

use super::{LabelSelector, Meta};

/// How many pods of a selection may be disrupted at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudget {
    /// Name and namespace.
    pub metadata: Meta,
    /// Which pods.
    pub spec: PdbSpec,
    /// What the disruption controller says.
    pub status: PdbStatus,
}

/// Which pods a budget covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PdbSpec {
    /// The pods; absent selects none, empty all of the namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// What the disruption controller says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PdbStatus {
    /// How many more pods may be disrupted now.
    pub disruptions_allowed: i64,
    /// Which generation of the spec this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
