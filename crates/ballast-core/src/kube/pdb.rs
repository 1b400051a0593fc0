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

impl PodDisruptionBudget {
    /// How many pods may be disrupted now. A status that speaks of an older spec says nothing: none may.
    pub fn allows(&self) -> i64 {
        let spoken_of = self.status.observed_generation.unwrap_or(i64::MAX);
        if spoken_of < self.metadata.generation.unwrap_or(0) {
            0
        } else {
            self.status.disruptions_allowed.max(0)
        }
    }
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
