//! The pages of `docs/reference`, written from the program itself: commands, documents, plans and reasons.

mod commands;
mod examples;
mod schema;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use ballast_core::memory::Memory;
use ballast_core::observation::{ErrorClass, ObservationSpec, bodies};
use ballast_core::plan::{
    ActionCode, DryRunRule, HoldReason, JobVerdict, Limit, MetricTroubleCode, Misfit, Plan, PodBlock,
    ReplicasVerdict, SkipReason, UnsafeToRemove, WaitingOn, WorkerStays,
};
use ballast_core::policy::{
    ClusterPolicySpec, ElasticJobPolicySpec, MetricScalerSpec, RayScalerSpec, SparkPoolSpec, VmPoolSpec,
};
use ballast_core::procedure::Request;
use ballast_sim::scenario::Scenario;
use ballast_sim::score::{Each, Figure, Unit};
use clap::Command;
use schemars::{Schema, schema_for};
use serde_json::Value;

use crate::present::format::json;

/// A file of the reference: its path in the folder and what it holds.
pub type Page = (PathBuf, String);

/// Every page.
pub fn pages(command: Command) -> Vec<Page> {
    let mut pages = vec![
        ("commands.md".into(), commands::page(command)),
        ("README.md".into(), index()),
        ("figures.md".into(), figures()),
        ("reasons.md".into(), reasons()),
        ("observation-bodies.md".into(), observation_bodies()),
    ];
    for (name, about, schema) in schemas() {
        let schema: Value = schema.into();
        let text = format!(
            "# {name}\n\nWritten by `cargo xtask generate` from the types themselves; the schema is in \
             [schemas/{name}.json](schemas/{name}.json).\n\n{about}\n{}\n## Fields\n\n{}",
            examples::section(name, "##"),
            schema::sections(&schema)
        );
        pages.push((format!("{}.md", kebab(name)).into(), text));
        // A schema of ours is plain data; writing it cannot fail.
        pages.push((format!("schemas/{name}.json").into(), json(&schema).unwrap_or_default()));
    }
    pages.extend(
        examples::EXAMPLES
            .iter()
            .map(|example| (PathBuf::from("examples").join(example.file), example.text.to_owned())),
    );
    pages
}

/// The page to begin with.
fn index() -> String {
    let mut text = String::from(
        "# Reference\n\nWritten by `cargo xtask generate` from the program itself. Keys are spelled in camelCase, words in \
         PascalCase; quantities are those of Kubernetes, durations are written `90s`, `5m`, `2h` or `7d`, times as in RFC 3339, \
         shares `10%` or `0.1`, money as a decimal number in the policy's currency.\n\n| page | what it tells |\n|---|---|\n\
         | [Commands](commands.md) | every command with its options |\n",
    );
    for (name, about, _) in schemas() {
        text.push_str(&format!("| [{name}]({}.md) | {about} |\n", kebab(name)));
    }
    text.push_str(
        "| [Bodies of Observations](observation-bodies.md) | What is read of each source's answer. |\n\
         | [Figures](figures.md) | What a simulation is told in, with units: for `expect` and `--fail-if`. |\n\
         | [Reasons](reasons.md) | Every code of an action, a hold, a refusal and a step. |\n\n\
         `ballast check -f FILE` tells everything that is wrong with a document, with its place. Every page has an example; all \
         of them are in [examples](examples), and the JSON schemas are in [schemas](schemas).\n",
    );
    text
}

/// The documents and answers that have a schema.
fn schemas() -> Vec<(&'static str, &'static str, Schema)> {
    vec![
        ("ClusterPolicy", "The `spec` of a ClusterPolicy.", schema_for!(ClusterPolicySpec)),
        ("VmPool", "The `spec` of a VmPool.", schema_for!(VmPoolSpec)),
        ("ElasticJobPolicy", "The `spec` of an ElasticJobPolicy.", schema_for!(ElasticJobPolicySpec)),
        ("MetricScaler", "The `spec` of a MetricScaler.", schema_for!(MetricScalerSpec)),
        ("RayScaler", "The `spec` of a RayScaler.", schema_for!(RayScalerSpec)),
        ("SparkPool", "The `spec` of a SparkPool.", schema_for!(SparkPoolSpec)),
        (
            "Observation",
            "The `spec` of an Observation; its `body` has the form of its source's kind.",
            schema_for!(ObservationSpec),
        ),
        ("Scenario", "A Scenario, for `ballast simulate`.", Scenario::schema()),
        (
            "Memory",
            "What goes from one plan to the next: `memory` in the answer, and `--memory` of `ballast plan`.",
            schema_for!(Memory),
        ),
        ("Plan", "What `ballast plan -o json` prints.", schema_for!(Plan)),
    ]
}

/// The kinds of source, each with the schema of what it answers.
fn bodies() -> [(&'static str, Schema); 11] {
    [
        ("Instances", schema_for!(bodies::InstanceList)),
        ("SparkMaster", schema_for!(bodies::SparkMaster)),
        ("SparkWorker", schema_for!(bodies::SparkWorker)),
        ("RayGcs", schema_for!(bodies::RayGcs)),
        ("PrometheusQuery", schema_for!(bodies::PrometheusQuery)),
        ("ResourceMetrics", schema_for!(bodies::ResourceMetrics)),
        ("CustomMetrics", schema_for!(bodies::CustomMetrics)),
        ("ExternalMetrics", schema_for!(bodies::ExternalMetrics)),
        ("Scale", schema_for!(bodies::Scale)),
        ("VirtualClusters", schema_for!(bodies::VirtualClusters)),
        ("ClusterInquiry", schema_for!(bodies::ClusterInquiry)),
    ]
}

/// What a simulation is told in.
fn figures() -> String {
    let mut text = String::from(
        "# Figures\n\nWritten by `cargo xtask generate` from the program itself. `ballast simulate` tells these figures; \
         `expect` of a [Scenario](scenario.md) and `--fail-if` speak of them by name. A figure has one unit, and what has \
         another is refused. A figure of which there was nothing to measure, such as the use of GPUs where there are none, has \
         no value: it shows as `·`, as `null` in JSON, misses every range, and no `--fail-if` can be judged by it.\n\n\
         Of several seeds `--fail-if` takes the mean, and `expect` has to hold for each. With several policies a letter in \
         front says whose figure is meant, as in `B.cost > A.cost * 1.02`; without one it is that of A.\n\n\
         | figure | counted in | what it tells |\n|---|---|---|\n",
    );
    for Figure { name, unit, about, each, .. } in Figure::ALL {
        let one = match each {
            Some(Each::Pool) => format!(", `{name}.POOL`"),
            Some(Each::Workload) => format!(", `{name}.WORKLOAD`"),
            Some(Each::Request) => format!(", `{name}.KIND`"),
            None => String::new(),
        };
        let unit = match unit {
            Unit::Money => "money, in the currency of the policy: `12.5`",
            Unit::Share => "a share: `80%` or `0.8`",
            Unit::Seconds => "seconds: `5m`, `300s` or `300`",
            Unit::Hours => "hours: `1.5`",
            Unit::Count => "a number: `3`",
        };
        text.push_str(&format!("| `{name}`{one} | {unit} | {about} |\n"));
    }
    text.push_str(&format!(
        "\nThe kinds of request are {}.\n",
        Request::KINDS.map(|kind| format!("`{kind}`")).join(", ")
    ));
    text
}

/// What a source answers, by its kind.
fn observation_bodies() -> String {
    let parts = bodies();
    let mut text = String::from(
        "# Bodies of Observations\n\nWritten by `cargo xtask generate` from the types themselves. The `body` of an \
         [Observation](observation.md) is the answer of its source, word for word; this is what Ballast reads of it.\n",
    );
    for (kind, schema) in parts {
        let schema: Value = schema.into();
        let about = schema["description"].as_str().unwrap_or_default();
        let example = examples::section(kind, "###");
        text.push_str(&format!("\n## {kind}\n\n{about}\n{example}\n{}", schema::sections(&schema)));
    }
    text
}

/// Every reason, with what it means.
fn reasons() -> String {
    let parts = [
        ("Why something is done", "The `code` of an action's `reason`.", schema_for!(ActionCode)),
        ("Why nothing is done", "The `reason` of `report.holds`.", schema_for!(HoldReason)),
        (
            "Why an option was passed over",
            "The `reason` of `report.skipped` and of what is infeasible.",
            schema_for!(SkipReason),
        ),
        ("Why a node is kept", "What `report.trace` says of each candidate.", schema_for!(UnsafeToRemove)),
        ("What is waited for", "The `on` of `report.waiting`.", schema_for!(WaitingOn)),
        ("Why a pod must stay", "The `why` of a node that a pod keeps.", schema_for!(PodBlock)),
        ("Why a pod does not fit a node", "The `misfit` of what is infeasible.", schema_for!(Misfit)),
        ("Which limit bound", "The `limit` of a reason.", schema_for!(Limit)),
        (
            "Why a Ray or Spark worker is kept",
            "The `stays` of a step of the trace.",
            schema_for!(WorkerStays),
        ),
        (
            "Whether the size of a job may change",
            "The `verdict` of a step `JobCandidate`.",
            schema_for!(JobVerdict),
        ),
        ("Rules of a dry run", "The `rule` of a step `DryRun`.", schema_for!(DryRunRule)),
        (
            "Why a size is not what was asked for",
            "The `verdict` of a step `Replicas`.",
            schema_for!(ReplicasVerdict),
        ),
        (
            "Why a metric could not be reckoned",
            "The `trouble` of a step `Metric`.",
            schema_for!(MetricTroubleCode),
        ),
        ("How an outside system failed", "The `class` of an error.", schema_for!(ErrorClass)),
    ];
    let mut text = String::from(
        "# Reasons\n\nWritten by `cargo xtask generate` from the types themselves. Every decision and every refusal carries \
         one of these codes; they are the labels of metrics too.\n",
    );
    for (title, about, schema) in parts {
        let schema: Value = schema.into();
        text.push_str(&format!("\n## {title}\n\n{about}\n\n{}", schema::sections(&schema)));
    }
    text
}

fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(letter.to_lowercase());
    }
    text
}
