//! Nodes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Meta, Name};
use crate::units::{Quantity, Time};

/// A machine in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// Name, labels, identity.
    pub metadata: Meta,
    /// What was asked of it.
    pub spec: NodeSpec,
    /// What is seen of it.
    pub status: NodeStatus,
}

/// What was asked of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// The cloud's name of the instance below.
    #[serde(rename = "providerID", skip_serializing_if = "super::str_is_empty")]
    pub provider_id: Name,
    /// Cordoned.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unschedulable: bool,
    /// Taints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

/// A taint: it keeps pods away that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Taint {
    /// Key.
    pub key: Name,
    /// Value.
    #[serde(default, skip_serializing_if = "super::str_is_empty")]
    pub value: Name,
    /// What happens to pods that do not tolerate it.
    pub effect: TaintEffect,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TaintEffect {
    /// They are not placed here.
    NoSchedule,
    /// They are placed elsewhere where possible; no reason to refuse.
    PreferNoSchedule,
    /// They are not placed here, and those that run here leave.
    NoExecute,
}

/// What is seen of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// What pods may use.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub allocatable: BTreeMap<Name, Quantity>,
    /// What the machine has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<Name, Quantity>,
    /// Ready and others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<NodeCondition>,
}

/// A condition of a node or pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeCondition {
    /// Type, such as `Ready`.
    #[serde(rename = "type")]
    pub kind: Name,
    /// `True`, `False` or `Unknown`.
    pub status: Name,
    /// Reason code.
    #[serde(skip_serializing_if = "super::str_is_empty")]
    pub reason: Name,
    /// When it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

impl Node {
    /// The condition of a type.
    pub fn condition(&self, kind: &str) -> Option<&NodeCondition> {
        self.status.conditions.iter().find(|condition| &*condition.kind == kind)
    }

    /// Whether the kubelet says it is ready.
    pub fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|condition| &*condition.status == "True")
    }
}
