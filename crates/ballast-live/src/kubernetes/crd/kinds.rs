//! The table of kinds.

use schemars::{Schema, schema_for};

use ballast_core::policy::{
    ClusterPolicySpec, ElasticJobPolicySpec, MetricScalerSpec, RayScalerSpec, SparkPoolSpec, VmPoolSpec,
};

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
    /// Columns of `kubectl get`: name, type, path.
    pub(super) columns: &'static [(&'static str, &'static str, &'static str)],
}

const READY: (&str, &str, &str) = ("Ready", "string", ".status.conditions[?(@.type==\"Ready\")].status");
const MODE: (&str, &str, &str) = ("Mode", "string", ".status.mode");
const CURRENT: (&str, &str, &str) = ("Current", "integer", ".status.current");
const DESIRED: (&str, &str, &str) = ("Desired", "integer", ".status.desired");
const LIMITED: (&str, &str, &str) = ("Limited by", "string", ".status.limitedBy");

/// Of every kind, the last column…
pub(super) const AGE: (&str, &str, &str) = ("Age", "date", ".metadata.creationTimestamp");
/// …and those before it that are shown by `-o wide` alone.
pub(super) const WIDE: &[(&str, &str, &str)] = &[
    ("Pending", "integer", ".status.pending"),
    ("Cost/h", "string", ".status.costPerHour"),
    ("Paused", "string", ".status.conditions[?(@.type==\"Paused\")].status"),
    ("Degraded", "string", ".status.conditions[?(@.type==\"Degraded\")].reason"),
    ("Last action", "string", ".status.lastAction.kind"),
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
            ("Mode", "string", ".spec.mode"),
            CURRENT,
            DESIRED,
            ("Plan", "string", ".status.plan.state"),
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
            ("Min", "integer", ".spec.min"),
            ("Max", "integer", ".spec.max"),
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
            ("Min", "integer", ".spec.minReplicas"),
            ("Max", "integer", ".spec.maxReplicas"),
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
