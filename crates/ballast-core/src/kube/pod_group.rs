//! PodGroups: how many pods of a gang there have to be.

use serde::{Deserialize, Serialize};

use super::Meta;

/// A gang as the coscheduling plugin and Volcano describe it; what is read of it is the same in both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodGroup {
    /// Name and namespace.
    pub metadata: Meta,
    /// What it asks for.
    pub spec: PodGroupSpec,
}

/// What a gang asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodGroupSpec {
    /// How many pods it cannot begin without; 0 says nothing.
    pub min_member: u32,
}
