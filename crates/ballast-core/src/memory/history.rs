//! The history: since when nodes have been unneeded, how long boots took. Its loss only delays a removal.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::units::{Span, Time};

/// What may be lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct History {
    /// Since when nodes have been unneeded, by name.
    pub idle_since: BTreeMap<Name, Time>,
    /// The last boot times of each pool, the newest last, at most [`History::BOOTS_KEPT`].
    pub boots: BTreeMap<Name, Vec<Span>>,
    /// What was launched for gangs that still wait, by gang as `namespace/name`.
    pub gangs: BTreeMap<Name, GangHold>,
}

/// Nodes that are kept for a gang until all of it fits, or until its deadline has passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GangHold {
    /// When the first of them was launched.
    pub since: Time,
    /// Their names.
    pub nodes: BTreeSet<Name>,
}

impl History {
    /// How many boot times are kept for each pool: enough for a 95th percentile, few enough to follow a change.
    pub const BOOTS_KEPT: usize = 20;

    /// Notes how long a boot took.
    pub fn note_boot(&mut self, pool: &Name, took: Span) {
        let boots = self.boots.entry(pool.clone()).or_default();
        boots.push(took);
        if boots.len() > Self::BOOTS_KEPT {
            boots.remove(0);
        }
    }

    /// The 95th percentile of a pool's boot times; `None` where none is known.
    pub fn boot_p95(&self, pool: &str) -> Option<Span> {
        let mut boots = self.boots.get(pool)?.clone();
        boots.sort_unstable();
        let at = (boots.len() * 95).div_ceil(100).saturating_sub(1);
        boots.get(at).copied()
    }
}
