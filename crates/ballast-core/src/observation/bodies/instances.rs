//! A provider's list of the instances of a pool.

use serde::{Deserialize, Serialize};

use crate::observation::Instance;

/// A provider's complete list of the instances of a pool: what is not in it is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstanceList {
    /// The instances.
    pub items: Vec<Instance>,
}
