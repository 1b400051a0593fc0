//! Pools and nodes as a scenario writes them.

use serde::{Deserialize, Serialize};

use super::Distribution;
use ballast_core::kube::Name;
use ballast_core::policy::{NodeTemplate, Price, VmPoolSpec};
use ballast_core::units::{Money, Span};

/// A pool: its document, what exists at the start, and how its cloud behaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioPool {
    /// Its name.
    pub name: Name,
    /// The `spec` of its VmPool document.
    pub spec: VmPoolSpec,
    /// Machines that run at the start. Default none.
    #[serde(default)]
    pub running: u32,
    /// Machines that exist but are off at the start. Default none.
    #[serde(default)]
    pub stopped: u32,
    /// How its cloud behaves.
    #[serde(default)]
    pub cloud: Cloud,
}

/// What a fifth more or less than the usual boot time is, as the spread of a logarithm.
const BOOT_SIGMA: f64 = 0.2;

impl ScenarioPool {
    /// The same machines under another policy: what the cloud gives, what that costs and how long it takes stays as it was, so
    /// that no policy gains by what it believes of them.
    #[must_use]
    pub fn with_spec(mut self, spec: VmPoolSpec) -> Self {
        let (boot, stop) = (self.boot(), self.stop());
        let (template, price) = (self.template().clone(), self.price());
        let cloud = &mut self.cloud;
        (cloud.boot, cloud.stop, cloud.template, cloud.price) =
            (Some(boot), Some(stop), Some(template), Some(price));
        self.spec = spec;
        self
    }

    /// From the start request to a node that is ready.
    pub(crate) fn boot(&self) -> Distribution {
        let usual = match self.spec.times.boot {
            Span::ZERO => Distribution::Fixed(Span::ZERO),
            median => Distribution::Lognormal { median, sigma: BOOT_SIGMA, most: None },
        };
        self.cloud.boot.unwrap_or(usual)
    }

    /// From the stop request to a machine that is off.
    pub(crate) fn stop(&self) -> Distribution {
        self.cloud.stop.unwrap_or(Distribution::Fixed(self.spec.times.stop))
    }

    /// What its machines look like.
    pub(crate) fn template(&self) -> &NodeTemplate {
        self.cloud.template.as_ref().unwrap_or(&self.spec.template)
    }

    /// What they cost.
    pub fn price(&self) -> Price {
        self.cloud.price.unwrap_or(self.spec.price)
    }
}

/// How the cloud of a pool behaves, whatever its policy believes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cloud {
    /// From the start request to a node that is ready. Default: around the pool's own `times.boot`, a fifth more or less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<Distribution>,
    /// From a ready node to devices that can be used, and to the end of its startup taints. Default at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<Distribution>,
    /// From the stop request to a machine that is off. Default the pool's own `times.stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Distribution>,
    /// How long a request takes. Default 1 second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Span>,
    /// What its machines look like. Default as the pool's own `template` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<NodeTemplate>,
    /// What they cost. Default the pool's own `price`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// How long a machine of a spot pool lives until the cloud says that it takes it back two minutes later. Default forever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reclaim: Option<Distribution>,
    /// Node objects stay when their machine is gone for good: no cloud controller runs that would delete them. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nodes_stay: bool,
}

/// Nodes that belong to no pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeGroup {
    /// The name of the node, or what the names begin with where there are several.
    pub name: Name,
    /// How many. Default 1.
    #[serde(default = "one")]
    pub count: u32,
    /// What they look like; with several zones they take turns.
    pub template: NodeTemplate,
    /// What one costs in an hour. Default nothing.
    #[serde(default)]
    pub per_hour: Money,
}

fn one() -> u32 {
    1
}
