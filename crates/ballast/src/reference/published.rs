//! The schemas that are published, each with its version in its `$id`: of documents whole, of what a source answers, and of what
//! commands print.

use ballast_core::documents::DocumentKind;
use ballast_core::memory::Memory;
use ballast_core::observation::{ObservationSpec, bodies};
use ballast_core::plan::Plan;
use ballast_core::policy::{
    API_VERSION, ClusterPolicySpec, ElasticJobPolicySpec, MetricScalerSpec, RayScalerSpec, SparkPoolSpec,
    VmPoolSpec,
};
use ballast_core::record::{Entry, RECORD_VERSION};
use ballast_sim::scenario::ScenarioSpec;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, json_schema, schema_for};
use serde_json::Value;

use crate::present::plan::Answer;
use crate::present::{replay, simulation};

/// Versions are the paths of this place; nothing has to be there to be read.
const PLACE: &str = "https://ballast.dev/schemas";

/// A schema that is published.
pub(super) struct Published {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) schema: Value,
}

impl Published {
    /// Of version `version`, in the folder `folder`; each but the version may be empty.
    fn new(name: &'static str, about: &'static str, version: &str, folder: &str, mut schema: Schema) -> Self {
        schema.insert("$id".into(), format!("{PLACE}/{version}/{folder}{name}.json").into());
        schema.insert("title".into(), name.into());
        Self { name, about, schema: schema.into() }
    }
}

/// Documents and answers: each has a page of its own.
pub(super) fn schemas() -> Vec<Published> {
    let answers = [
        Published::new(
            "Memory",
            "What goes from one plan to the next: `memory` in the answer, and `--memory` of `ballast plan`.",
            &format!("v{}", Memory::VERSION),
            "",
            schema_for!(Memory),
        ),
        Published::new(
            "Plan",
            "What `ballast plan -o json` prints.",
            &format!("v{}", Plan::VERSION),
            "",
            schema_for!(Answer<'_>),
        ),
        Published::new(
            "Simulation",
            "What `ballast simulate -o json` prints.",
            &format!("v{}", simulation::Answer::VERSION),
            "",
            schema_for!(simulation::Answer<'_>),
        ),
        Published::new(
            "Replay",
            "What `ballast replay -o json` prints.",
            &format!("v{}", replay::Answer::VERSION),
            "",
            schema_for!(replay::Answer<'_>),
        ),
        Published::new(
            "Record",
            "What `ballast record` and `ballast simulate --record` write: one such entry a line, as JSON.",
            &format!("v{RECORD_VERSION}"),
            "",
            schema_for!(Entry),
        ),
    ];
    DocumentKind::ALL.into_iter().map(document).chain(answers).collect()
}

/// What sources answer: a section each on one page.
pub(super) fn bodies() -> [Published; 11] {
    [
        body::<bodies::InstanceList>("Instances"),
        body::<bodies::SparkMaster>("SparkMaster"),
        body::<bodies::SparkWorker>("SparkWorker"),
        body::<bodies::RayGcs>("RayGcs"),
        body::<bodies::PrometheusQuery>("PrometheusQuery"),
        body::<bodies::ResourceMetrics>("ResourceMetrics"),
        body::<bodies::CustomMetrics>("CustomMetrics"),
        body::<bodies::ExternalMetrics>("ExternalMetrics"),
        body::<bodies::Scale>("Scale"),
        body::<bodies::VirtualClusters>("VirtualClusters"),
        body::<bodies::ClusterInquiry>("ClusterInquiry"),
    ]
}

fn body<T: JsonSchema>(source: &'static str) -> Published {
    Published::new(source, "", version(), "bodies/", schema_for!(T))
}

/// The version of all documents.
fn version() -> &'static str {
    API_VERSION.rsplit('/').next().unwrap_or(API_VERSION)
}

fn document(kind: DocumentKind) -> Published {
    let (about, schema) = match kind {
        DocumentKind::ClusterPolicy => {
            ("The rules for all scalers together.", wrapped::<ClusterPolicySpec>(kind))
        }
        DocumentKind::VmPool => ("Alike nodes on virtual machines.", wrapped::<VmPoolSpec>(kind)),
        DocumentKind::ElasticJobPolicy => {
            ("Which training jobs are elastic.", wrapped::<ElasticJobPolicySpec>(kind))
        }
        DocumentKind::MetricScaler => ("Replicas by metrics.", wrapped::<MetricScalerSpec>(kind)),
        DocumentKind::RayScaler => ("Which Ray clusters are served.", wrapped::<RayScalerSpec>(kind)),
        DocumentKind::SparkPool => ("A Spark master and its workers.", wrapped::<SparkPoolSpec>(kind)),
        DocumentKind::Observation => (
            "What a source outside Kubernetes said; its `body` has the form of its source's kind.",
            wrapped::<ObservationSpec>(kind),
        ),
        DocumentKind::Scenario => {
            ("A simulated world, for `ballast simulate`.", wrapped::<ScenarioSpec>(kind))
        }
    };
    Published::new(kind.name(), about, version(), "", schema)
}

/// The schema of a whole document, so that an editor can check a file with it.
fn wrapped<Spec: JsonSchema>(kind: DocumentKind) -> Schema {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let spec = generator.subschema_for::<Spec>();
    let mut definitions = generator.take_definitions(true);
    definitions.insert("Metadata".into(), metadata(kind).into());
    json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "additionalProperties": false,
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": kind.name()},
            "metadata": {"$ref": "#/$defs/Metadata"},
            "spec": spec,
            "status": {"type": "object", "description": "What was said of it in a cluster; passed over."},
        },
        "$defs": definitions,
    })
}

/// What is read of the metadata; whatever else Kubernetes writes there is passed over.
fn metadata(kind: DocumentKind) -> Schema {
    let mut schema = json_schema!({
        "type": "object",
        "description": "What it is called. Whatever else Kubernetes writes here is passed over.",
        "required": ["name"],
        "properties": {"name": {"type": "string", "description": "Its name."}},
    });
    if kind.is_namespaced()
        && let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut)
    {
        let namespace =
            json_schema!({"type": "string", "description": "Its namespace.", "default": "default"});
        properties.insert("namespace".into(), namespace.into());
    }
    schema
}
