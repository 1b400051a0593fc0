//! The pages of `docs/reference`, written from the program itself: commands, documents, plans and reasons.

#[cfg(feature = "live")]
mod access;
mod commands;
mod events;
mod examples;
#[cfg(feature = "live")]
mod metrics;
mod published;
mod schema;

use std::path::PathBuf;

use ballast_core::observation::ErrorClass;
use ballast_core::plan::{
    ActionCode, DryRunRule, HoldReason, JobVerdict, Limit, MetricTroubleCode, Misfit, PodBlock,
    ReplicasVerdict, SkipReason, UnsafeToRemove, WaitingOn, WorkerStays,
};
use ballast_core::procedure::Request;
use ballast_sim::score::{Each, Figure, Unit};
use clap::Command;
use schemars::schema_for;
use serde_json::Value;

use self::published::{Published, bodies, schemas};
use crate::present::format::json;

/// A file of the reference: its path in the folder and what it holds.
pub type Page = (PathBuf, String);

/// Every page.
pub fn pages(command: Command) -> Vec<Page> {
    let mut pages = vec![
        ("commands.md".into(), commands::page(command)),
        ("README.md".into(), index()),
        ("events.md".into(), events::page()),
        ("figures.md".into(), figures()),
        ("reasons.md".into(), reasons()),
        ("observation-bodies.md".into(), observation_bodies()),
    ];
    #[cfg(feature = "live")]
    pages.extend([("access.md".into(), access::page()), ("metrics.md".into(), metrics::page())]);
    for Published { name, about, schema } in schemas() {
        let text = format!(
            "# {name}\n\nWritten by `cargo xtask generate` from the types themselves; the schema is in \
             [schemas/{name}.json](schemas/{name}.json).\n\n{about}\n{}\n## Fields\n\n{}",
            examples::section(name, "##"),
            schema::sections(&schema)
        );
        pages.push((format!("{}.md", kebab(name)).into(), text));
        pages.push((format!("schemas/{name}.json").into(), written(&schema)));
    }
    pages.extend(
        bodies().map(|body| (format!("schemas/bodies/{}.json", body.name).into(), written(&body.schema))),
    );
    pages.extend(
        examples::EXAMPLES
            .iter()
            .map(|example| (PathBuf::from("examples").join(example.file), example.text.to_owned())),
    );
    pages
}

/// A schema of ours is plain data; writing it cannot fail.
fn written(schema: &Value) -> String {
    json(schema).unwrap_or_default()
}

/// The page to begin with.
fn index() -> String {
    let mut text = String::from(
        "# Reference\n\nWritten by `cargo xtask generate` from the program itself. Keys are spelled in camelCase, words in \
         PascalCase; quantities are those of Kubernetes, durations are written `90s`, `5m`, `2h` or `7d`, times as in RFC 3339, \
         shares `10%` or `0.1`, money as a decimal number in the policy's currency.\n\n| page | what it tells |\n|---|---|\n\
         | [Commands](commands.md) | every command with its options |\n",
    );
    for Published { name, about, .. } in schemas() {
        text.push_str(&format!("| [{name}]({}.md) | {about} |\n", kebab(name)));
    }
    text.push_str(
        "| [Bodies of Observations](observation-bodies.md) | What is read of each source's answer. |\n\
         | [Figures](figures.md) | What a simulation is told in, with units: for `expect` and `--fail-if`. |\n\
         | [Reasons](reasons.md) | Every code of an action, a hold, a refusal and a step. |\n\
         | [Events](events.md) | What is told on pools, nodes and pods, by every reason there is. |\n\
         | [Access](access.md) | What is asked of the Kubernetes API in each mode, and the roles for it. |\n\
         | [Metrics and health](metrics.md) | What `ballast run` serves to Prometheus and to probes. |\n\n\
         `ballast check -f FILE` tells everything that is wrong with a document, with its place. Every document, body \
         and answer has an example in [examples](examples), to be checked one by one, since together they are no cluster and answers \
         are no documents, and a JSON schema in [schemas](schemas), with its version in `$id`. Those \
         of documents are of whole files, so that an editor can check one: many heed a first line \
         `# yaml-language-server: $schema=…/VmPool.json`.\n",
    );
    text
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
    let mut text = String::from(
        "# Bodies of Observations\n\nWritten by `cargo xtask generate` from the types themselves. The `body` of an \
         [Observation](observation.md) is the answer of its source, word for word; this is what Ballast reads of it. \
         The schemas are in [schemas/bodies](schemas/bodies).\n",
    );
    for Published { name: kind, schema, .. } in bodies() {
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
