//! What the namespaces of a cluster may do to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ClusterPolicySpec;
use crate::kube::Name;
use crate::units::Quantity;

/// What a namespace may do to the cluster. Whoever writes pods can ask for machines and keep them; this is how far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tenant {
    /// Namespaces, each of which may do so much on its own; empty means all that no rule before names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Name>,
    /// How much its pods may ask for together, such as `cpu`, `memory`, `nvidia.com/gpu` and `pods`: no machine is started for what
    /// goes beyond. What is not named is not bound.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub quota: BTreeMap<Name, Quantity>,
    /// On how many nodes the annotations of its pods (`do-not-disrupt`, `safe-to-evict` of `"false"` or `"on-completion"`) are heeded,
    /// those first whose annotated pods are there longest. On others its pods are moved like any others. Absent: on all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected_nodes: Option<u32>,
    /// Accounts, besides `default`, that pods may run as which Ballast makes for documents of the namespace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_accounts: Vec<Name>,
    /// The Pod Security Standard that such pods keep at the least. Default `Restricted`.
    pub pod_security: PodSecurity,
}

/// A Pod Security Standard of Kubernetes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PodSecurity {
    /// What is hardened.
    #[default]
    Restricted,
    /// What gains no known privilege.
    Baseline,
    /// Anything.
    Privileged,
}

impl ClusterPolicySpec {
    /// The rule for a namespace: the first that applies.
    pub fn tenant(&self, namespace: &str) -> Option<&Tenant> {
        self.tenants.iter().find(|rule| {
            rule.namespaces.is_empty() || rule.namespaces.iter().any(|name| &**name == namespace)
        })
    }
}
