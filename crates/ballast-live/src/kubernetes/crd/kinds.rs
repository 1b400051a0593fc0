//! The table of kinds.

use schemars::{Schema, schema_for};

use ballast_core::policy::{
    ClusterPolicySpec, ElasticJobPolicySpec, MetricScalerSpec, RayScalerSpec, SparkPoolSpec, VmPoolSpec,
};

use super::Column;

/// A kind of ours as Kubernetes knows it.
pub struct Kind {
    /// Its name.
    pub kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) short: &'static [&'static str],
    pub(super) namespaced: bool,
    /// What it is, for `kubectl explain`.
    pub(super) about: &'static str,
    pub(super) schema: fn() -> Schema,
    /// What the API itself refuses: the rule in CEL over the spec, and the message.
    pub(super) rules: &'static [(&'static str, &'static str)],
    /// The only name that one may have, where there is only one.
    pub(super) only: Option<&'static str>,
    /// Columns of `kubectl get` that are its own.
    pub(super) columns: &'static [Column],
}

const READY: Column = Column::condition("Ready", "status");
const MODE: Column = Column::text("Mode", "status.mode");
const CURRENT: Column = Column::number("Current", "status.current");
const DESIRED: Column = Column::number("Desired", "status.desired");
const LIMITED: Column = Column::text("Limited by", "status.limitedBy");

/// Of every kind, the last column…
pub(super) const AGE: Column = Column::date("Age", "metadata.creationTimestamp");
/// …and those before it that are shown by `-o wide` alone.
pub(super) const WIDE: &[Column] = &[
    Column::number("Pending", "status.pending"),
    Column::text("Cost/h", "status.costPerHour"),
    Column::condition("Paused", "status"),
    Column::condition("Degraded", "reason"),
    Column::text("Last action", "status.lastAction.kind"),
];

/// Every kind.
pub const KINDS: &[Kind] = &[
    Kind {
        kind: "ClusterPolicy",
        plural: "clusterpolicies",
        short: &["cpol"],
        namespaced: false,
        about: "The rules that hold for all scalers together: mode, pause, limits, budgets.",
        schema: || schema_for!(ClusterPolicySpec),
        rules: &[(
            "!has(self.mode) || self.mode != 'Enforce' || (has(self.limits) && has(self.limits.nodes) && \
             has(self.limits.costPerHour))",
            "mode Enforce needs limits.nodes and limits.costPerHour",
        )],
        only: Some(ClusterPolicySpec::NAME),
        // Its own mode is what holds; in `Observe` nothing is written that could tell it.
        columns: &[
            Column::text("Mode", "spec.mode"),
            CURRENT,
            DESIRED,
            Column::text("Plan", "status.plan.state"),
            LIMITED,
            READY,
        ],
    },
    Kind {
        kind: "VmPool",
        plural: "vmpools",
        short: &["vmp"],
        namespaced: false,
        about: "Alike nodes on virtual machines that Ballast starts, creates, drains, stops and deletes.",
        schema: || schema_for!(VmPoolSpec),
        rules: &[("!has(self.min) || self.min <= self.max", "min must not be above max")],
        only: None,
        columns: &[
            MODE,
            CURRENT,
            DESIRED,
            Column::number("Min", "spec.min"),
            Column::number("Max", "spec.max"),
            LIMITED,
            READY,
        ],
    },
    Kind {
        kind: "ElasticJobPolicy",
        plural: "elasticjobpolicies",
        short: &["ejp"],
        namespaced: true,
        about: "Which training jobs are elastic, and by which rule capacity is shared between them.",
        schema: || schema_for!(ElasticJobPolicySpec),
        rules: &[],
        only: None,
        columns: &[MODE, CURRENT, DESIRED, LIMITED, READY],
    },
    Kind {
        kind: "MetricScaler",
        plural: "metricscalers",
        short: &["msc"],
        namespaced: true,
        about: "Replicas of a workload by metrics: the HorizontalPodAutoscaler's spec, and more.",
        schema: || schema_for!(MetricScalerSpec),
        rules: &[(
            "!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",
            "minReplicas must not be above maxReplicas",
        )],
        only: None,
        columns: &[
            MODE,
            CURRENT,
            DESIRED,
            Column::number("Min", "spec.minReplicas"),
            Column::number("Max", "spec.maxReplicas"),
            LIMITED,
            READY,
        ],
    },
    Kind {
        kind: "RayScaler",
        plural: "rayscalers",
        short: &["rsc"],
        namespaced: true,
        about: "Which Ray clusters Ballast scales, and their defaults.",
        schema: || schema_for!(RayScalerSpec),
        rules: &[],
        only: None,
        columns: &[MODE, CURRENT, DESIRED, LIMITED, READY],
    },
    Kind {
        kind: "SparkPool",
        plural: "sparkpools",
        short: &["spool"],
        namespaced: true,
        about: "A Spark standalone master and its workers: those in use, and some idle ones.",
        schema: || schema_for!(SparkPoolSpec),
        rules: &[],
        only: None,
        columns: &[MODE, CURRENT, DESIRED, LIMITED, READY],
    },
];
