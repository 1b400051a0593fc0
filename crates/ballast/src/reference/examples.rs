//! An example of every document, of every answer of a source, of what commands print and write, and of a memory. A test loads each of them and holds it
//! against the schema that stands beside it.

/// An example: its file, what it shows (a kind of document, or the kind of source of an Observation), and its text.
pub(super) struct Example {
    pub(super) file: &'static str,
    pub(super) shows: &'static str,
    pub(super) text: &'static str,
}

macro_rules! examples {
    ($($shows:literal: $file:literal),+ $(,)?) => {
        &[$(Example { file: $file, shows: $shows, text: include_str!(concat!("examples/", $file)) }),+]
    };
}

/// Every example.
pub(super) const EXAMPLES: &[Example] = examples! {
    "ClusterPolicy": "cluster-policy.yaml",
    "VmPool": "vm-pool.yaml",
    "ElasticJobPolicy": "elastic-job-policy.yaml",
    "MetricScaler": "metric-scaler.yaml",
    "RayScaler": "ray-scaler.yaml",
    "SparkPool": "spark-pool.yaml",
    "Scenario": "scenario.yaml",
    "Observation": "observation-failed.yaml",
    "Instances": "observation-instances.yaml",
    "SparkMaster": "observation-spark-master.yaml",
    "SparkWorker": "observation-spark-worker.yaml",
    "RayGcs": "observation-ray-gcs.yaml",
    "PrometheusQuery": "observation-prometheus-query.yaml",
    "ResourceMetrics": "observation-resource-metrics.yaml",
    "CustomMetrics": "observation-custom-metrics.yaml",
    "ExternalMetrics": "observation-external-metrics.yaml",
    "Scale": "observation-scale.yaml",
    "VirtualClusters": "observation-virtual-clusters.yaml",
    "ClusterInquiry": "observation-cluster-inquiry.yaml",
    "Plan": "plan.json",
    "Memory": "memory.json",
    "Simulation": "simulation.json",
    "Replay": "replay.json",
    "Record": "record.jsonl",
};

/// The section of a page that shows the example of something; `level` is the mark of its heading.
pub(super) fn section(shows: &str, level: &str) -> String {
    let Some(Example { file, text, .. }) = EXAMPLES.iter().find(|example| example.shows == shows) else {
        return String::new();
    };
    let form = file.rsplit('.').next().unwrap_or_default();
    format!(
        "\n{level} Example\n\n[examples/{file}](examples/{file})\n\n```{form}\n{}\n```\n",
        text.trim_end()
    )
}
