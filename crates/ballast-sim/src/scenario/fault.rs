//! What breaks, and when.

use serde::{Deserialize, Serialize};

use ballast_core::kube::Name;
use ballast_core::observation::ErrorClass;
use ballast_core::units::{Share, Span};

/// Something that breaks at a time and, where it lasts, is mended after a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fault {
    /// What breaks.
    pub kind: FaultKind,
    /// When, after the start.
    pub at: Span,
    /// For how long. Absent: to the end, or for a kind that is an instant no time at all.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Span>,
    /// In which pool. Absent: in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Name>,
    /// In which zone. Absent: in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<Name>,
    /// Which view, for what befalls views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
    /// How requests fail, for `CloudErrors` and `ApiErrors`, and how views fail, for `FailedView`. Default `Transient`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<ErrorClass>,
    /// What share of requests, launches or machines it befalls. Default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// How many machines may exist, for `Quota`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The length that the kind speaks of: the notice of `SpotReclaim` (default 2 minutes), the time down of `NodeFlap` and
    /// `ControllerCrash` (default 1 minute), the delay of `LateJoins` and `StateLag` (default 10 minutes), the time until
    /// somebody resets what `NodeHangs` befell (default never).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

impl Fault {
    /// Whether its kind looks at a field, besides `kind`, `at` and `for`.
    pub(crate) fn heeds(&self, field: &str) -> bool {
        let fields: &[&str] = match self.kind {
            FaultKind::StockOut => &["pool", "zone"],
            FaultKind::Quota => &["pool", "limit"],
            FaultKind::NeverJoins => &["pool", "zone", "share"],
            FaultKind::LateJoins | FaultKind::SpotReclaim | FaultKind::NodeFlap | FaultKind::NodeHangs => {
                &["pool", "zone", "share", "span"]
            }
            FaultKind::CloudErrors => &["pool", "class", "share"],
            FaultKind::CloudTimeouts => &["pool", "share"],
            FaultKind::StateLag => &["pool", "span"],
            FaultKind::ApiErrors => &["class", "share"],
            FaultKind::ControllerCrash => &["span"],
            // Only the instances are seen pool by pool.
            FaultKind::FailedView if self.view == Some(View::Instances) => &["pool", "view", "class"],
            FaultKind::FailedView => &["view", "class"],
            _ if self.view == Some(View::Instances) => &["pool", "view"],
            _ => &["view"],
        };
        fields.contains(&field)
    }

    /// One that befalls a view, from now on and for some time.
    pub(crate) fn of_view(kind: FaultKind, view: View, lasts: Span) -> Self {
        Self {
            kind,
            at: Span::ZERO,
            lasts: Some(lasts),
            pool: None,
            zone: None,
            view: Some(view),
            class: None,
            share: None,
            limit: None,
            span: None,
        }
    }
}

/// What breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FaultKind {
    /// The cloud has no machines to give, neither new ones nor those that are stopped.
    StockOut,
    /// No more machines than `limit` may exist.
    Quota,
    /// Machines start and never become nodes.
    NeverJoins,
    /// Machines become nodes `span` later than they should.
    LateJoins,
    /// Requests to the cloud fail.
    CloudErrors,
    /// Requests to the cloud are carried out and not answered.
    CloudTimeouts,
    /// The cloud tells of states as they were `span` ago.
    StateLag,
    /// The cloud takes machines back, after a notice of `span`.
    SpotReclaim,
    /// Nodes are not ready for `span`.
    NodeFlap,
    /// Machines hang: their work stops and nobody answers on them any more, while the cloud says that they run.
    /// After `span` somebody resets them.
    NodeHangs,
    /// Requests to Kubernetes fail.
    ApiErrors,
    /// A view stands still.
    StaleView,
    /// A view cannot be had.
    FailedView,
    /// A view is suddenly empty.
    EmptyView,
    /// A view holds less than half of what there is.
    TruncatedView,
    /// The controller ends, and is started anew after `span`.
    ControllerCrash,
}

/// What a controller sees the world by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum View {
    /// The nodes.
    Nodes,
    /// The pods.
    Pods,
    /// The disruption budgets.
    Budgets,
    /// The instances of pools.
    Instances,
}

impl View {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Nodes, Self::Pods, Self::Budgets, Self::Instances];
}

impl FaultKind {
    /// Whether it befalls a view.
    pub fn is_of_view(self) -> bool {
        matches!(self, Self::StaleView | Self::FailedView | Self::EmptyView | Self::TruncatedView)
    }

    /// Whether it happens at an instant instead of lasting.
    pub fn is_instant(self) -> bool {
        matches!(self, Self::SpotReclaim | Self::NodeFlap | Self::NodeHangs | Self::ControllerCrash)
    }
}
