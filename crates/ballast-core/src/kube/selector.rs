//! Label selectors and node selectors, as the API server evaluates them.

use serde::{Deserialize, Serialize};

use super::{Labels, Name};

/// A label selector. An empty one matches everything; an absent one nothing: that is the caller's `Option`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabelSelector {
    /// Labels that must have exactly these values.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub match_labels: Labels,
    /// Further requirements; all must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
}

/// Alternatives of node selector terms: one of them must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelector {
    /// The alternatives.
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Requirements on a node that must all hold. A term without any matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelectorTerm {
    /// On the node's labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    /// On the node's fields; Kubernetes knows only `metadata.name`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

/// One requirement on a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeSelectorRequirement {
    /// The label's key.
    pub key: Name,
    /// How its value is judged.
    pub operator: NodeSelectorOperator,
    /// The values to judge by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Name>,
}

/// How a label's value is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum NodeSelectorOperator {
    /// The value is one of these.
    In,
    /// The value is none of these, or the label is absent.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
    /// The value is a greater integer.
    Gt,
    /// The value is a smaller integer.
    Lt,
}

impl LabelSelector {
    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Whether these labels are selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self
                .match_expressions
                .iter()
                .all(|requirement| requirement.matches(labels.get(&requirement.key)))
    }
}

impl NodeSelector {
    /// Whether a node of this name and these labels is selected.
    pub fn matches(&self, name: &Name, labels: &Labels) -> bool {
        self.node_selector_terms.iter().any(|term| term.matches(name, labels))
    }
}

impl NodeSelectorTerm {
    fn matches(&self, name: &Name, labels: &Labels) -> bool {
        let empty = self.match_expressions.is_empty() && self.match_fields.is_empty();
        !empty
            && self
                .match_expressions
                .iter()
                .all(|requirement| requirement.matches(labels.get(&requirement.key)))
            && self
                .match_fields
                .iter()
                .all(|requirement| &*requirement.key == "metadata.name" && requirement.matches(Some(name)))
    }
}

impl NodeSelectorRequirement {
    /// Whether a label with this value (or none) meets the requirement.
    pub fn matches(&self, value: Option<&Name>) -> bool {
        match self.operator {
            NodeSelectorOperator::In => value.is_some_and(|value| self.values.contains(value)),
            NodeSelectorOperator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            NodeSelectorOperator::Exists => value.is_some(),
            NodeSelectorOperator::DoesNotExist => value.is_none(),
            NodeSelectorOperator::Gt => self.compares(value, |node, bound| node > bound),
            NodeSelectorOperator::Lt => self.compares(value, |node, bound| node < bound),
        }
    }

    fn compares(&self, value: Option<&Name>, holds: fn(i64, i64) -> bool) -> bool {
        let bound = self.values.first().and_then(|bound| bound.parse().ok());
        let value = value.and_then(|value| value.parse().ok());
        matches!((value, bound), (Some(value), Some(bound)) if holds(value, bound))
    }
}
