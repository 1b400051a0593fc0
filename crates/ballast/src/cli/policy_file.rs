//! A file with another policy, for `--policy`: the ClusterPolicy, VmPools, or both.

use std::collections::BTreeMap;
use std::path::Path;

use ballast_core::kube::Name;
use ballast_core::observation::Object;
use ballast_core::policy::{ClusterPolicySpec, VmPoolSpec};

use super::{Result, load};
use crate::present::Failure;

/// What the file says.
pub(super) struct PolicyFile {
    /// The file.
    pub(super) name: String,
    /// The cluster's policy, where it holds one.
    pub(super) cluster: Option<ClusterPolicySpec>,
    /// Pools by name.
    pub(super) pools: BTreeMap<Name, VmPoolSpec>,
}

impl PolicyFile {
    pub(super) fn load(path: &Path) -> Result<Self> {
        let mut file = Self { name: path.display().to_string(), cluster: None, pools: BTreeMap::new() };
        for placed in load::load(&[path.to_owned()])?.objects {
            match placed.value {
                Object::ClusterPolicy(policy) => file.cluster = Some(policy.spec),
                Object::VmPool(pool) => drop(file.pools.insert(pool.name, pool.spec)),
                _ => {}
            }
        }
        if file.cluster.is_none() && file.pools.is_empty() {
            return Err(Failure::new(format!("there is no policy in {}", file.name))
                .hint("`--policy` takes a file with a ClusterPolicy, with VmPools, or with both"));
        }
        Ok(file)
    }

    /// A pool that `whose` does not have is a slip: its policy would change nothing.
    pub(super) fn refuse_unknown(&self, known: &[&str], whose: &str) -> Result<()> {
        let Some(name) = self.pools.keys().find(|name| !known.contains(&&***name)) else { return Ok(()) };
        let failure =
            Failure::new(format!("{} speaks of a pool `{name}` that {whose} does not have", self.name));
        Err(failure.hint(match known {
            [] => "it has no pool at all".to_owned(),
            known => format!("its pools are {}", known.join(", ")),
        }))
    }
}
