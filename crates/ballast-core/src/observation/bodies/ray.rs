//! What a Ray GCS answers to `GetClusterResourceState`, as protobuf-JSON with the field names of the proto.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::kube::Name;

/// The reply to `GetClusterResourceState`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayGcs {
    /// The state.
    pub cluster_resource_state: RayClusterState,
}

/// A whole number of 64 bits; protobuf-JSON writes it as a text, people as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Int64(pub i64);

/// What a Ray cluster has, does and waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayClusterState {
    /// Grows with every change.
    pub cluster_resource_state_version: Int64,
    /// Version of the last report of an autoscaler.
    pub last_seen_autoscaler_state_version: Int64,
    /// Its nodes, dead ones among them.
    pub node_states: Vec<RayNode>,
    /// Tasks and actors that wait, by shape.
    pub pending_resource_requests: Vec<ResourceRequestByCount>,
    /// Placement groups that wait.
    pub pending_gang_resource_requests: Vec<GangResourceRequest>,
    /// What `request_resources` asked for; at most one.
    pub cluster_resource_constraints: Vec<RayConstraint>,
    /// Name of the session: another one is another cluster.
    pub cluster_session_name: Name,
}

/// A node of a Ray cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayNode {
    /// Identity: 28 bytes in hexadecimal.
    pub node_id: Name,
    /// Name of its pod.
    pub instance_id: Name,
    /// Name of its worker group.
    pub ray_node_type_name: Name,
    /// What is free; what is wholly in use is not listed.
    pub available_resources: BTreeMap<Name, f64>,
    /// What it has.
    pub total_resources: BTreeMap<Name, f64>,
    /// Labels that come and go with placement groups.
    pub dynamic_labels: BTreeMap<Name, Name>,
    /// Grows with every change.
    pub node_state_version: Int64,
    /// What it does.
    pub status: RayNodeStatus,
    /// How long it has been idle, in milliseconds.
    pub idle_duration_ms: Int64,
    /// Its address.
    pub node_ip_address: Name,
    /// Instance type.
    pub instance_type_name: Name,
    /// Why it is not idle, in words.
    pub node_activity: Vec<Name>,
    /// Labels.
    pub labels: BTreeMap<Name, Name>,
}

/// What a Ray node does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RayNodeStatus {
    /// It works.
    Running,
    /// It is gone.
    Dead,
    /// It does nothing.
    Idle,
    /// It takes nothing new.
    Draining,
    /// Not said, or a word that we do not know.
    #[default]
    #[serde(other)]
    Unspecified,
}

/// What one task, actor or bundle asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResourceRequest {
    /// Amounts by name.
    pub resources_bundle: BTreeMap<Name, f64>,
    /// Relations to other bundles.
    pub placement_constraints: Vec<PlacementConstraint>,
    /// Labels its node must have: alternatives, the first preferred.
    pub label_selectors: Vec<RayLabelSelector>,
}

/// So many requests of one shape.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResourceRequestByCount {
    /// The shape.
    pub request: ResourceRequest,
    /// How many.
    pub count: Int64,
}

/// A relation to other bundles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacementConstraint {
    /// Away from those with this label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anti_affinity: Option<RayAffinity>,
    /// Together with those with this label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<RayAffinity>,
}

/// A label that bundles share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayAffinity {
    /// Key.
    pub label_name: Name,
    /// Value.
    pub label_value: Name,
}

/// Labels that must all match; without any it matches every node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayLabelSelector {
    /// The requirements.
    pub label_constraints: Vec<LabelConstraint>,
}

/// A requirement on one label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabelConstraint {
    /// Key.
    pub label_key: Name,
    /// How the value is judged.
    pub operator: LabelOperator,
    /// Values to judge by.
    pub label_values: Vec<Name>,
}

/// How the value of a Ray label is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LabelOperator {
    /// One of the values.
    #[serde(rename = "LABEL_OPERATOR_IN", alias = "IN")]
    In,
    /// None of the values.
    #[serde(rename = "LABEL_OPERATOR_NOT_IN", alias = "NOT_IN")]
    NotIn,
    /// Not said, or a word that we do not know.
    #[default]
    #[serde(rename = "LABEL_OPERATOR_UNSPECIFIED", other)]
    Unspecified,
}

/// A placement group that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GangResourceRequest {
    /// The bundles; an old copy without labels.
    pub requests: Vec<ResourceRequest>,
    /// Identity, strategy and state, such as `6f…:STRICT_SPREAD|PENDING`.
    pub details: Name,
    /// The bundles with their labels; only the first is used.
    pub bundle_selectors: Vec<BundleSelector>,
}

/// The bundles of a placement group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BundleSelector {
    /// The bundles.
    pub resource_requests: Vec<ResourceRequest>,
}

/// What `request_resources` asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RayConstraint {
    /// The shapes.
    pub resource_requests: Vec<ResourceRequestByCount>,
}

impl<'de> Deserialize<'de> for Int64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Int64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, also as a text")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Int64, E> {
                Ok(Int64(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Int64, E> {
                i64::try_from(value)
                    .map(Int64)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Int64, E> {
                text.parse().map(Int64).map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Int64 {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Int64".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["integer", "string"], "pattern": "^-?[0-9]+$"})
    }
    fn inline_schema() -> bool {
        true
    }
}
