//! `ballast check`: are these documents good? Every problem with its place, or a count of what was read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ballast_core::documents::{Documents, Problems};

use super::{Outcome, Result, load};
use crate::present::table::Table;
use crate::present::{Failure, Screen};

/// Check documents: their form, their values, and whether they fit together.
///
/// Reads YAML and JSON, one document or many, Lists, and what `kubectl get -o json|yaml` prints. A problem is told with file,
/// line and column, the text in question, what is allowed, and what was probably meant. What is allowed and probably not meant
/// (work that no machine could do, a template unlike the pool's nodes) is told as a warning and changes no exit code.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files or folders; `-` reads standard input
    #[arg(short, long = "file", value_name = "PATH", num_args = 1..)]
    files: Vec<PathBuf>,
    /// The same, without `-f`
    #[arg(value_name = "PATH", required_unless_present = "files")]
    paths: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ballast check -f policy.yaml
  ballast check scenarios
  kubectl get vmpools,nodes,pods -A -o yaml | ballast check -f -";

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let documents = load::load(&[&args.files[..], &args.paths[..]].concat())?;
    let mut all = Problems { list: Vec::new(), more: false };
    let mut doubts = documents.doubts.clone();
    for placed in &documents.scenarios {
        match load::scenario(placed) {
            Ok(scenario) => doubts.extend(load::doubts(placed, &scenario)),
            Err(problems) => {
                all.list.extend(problems.list);
                all.more |= problems.more;
            }
        }
    }
    if !all.list.is_empty() {
        return Err(load::refused(&all));
    }
    let counts = counts(&documents);
    if counts.is_empty() {
        return Err(nothing_read(&documents));
    }
    load::tell(&doubts, screen);
    let mut table = Table::new(&["KIND", ">GOOD"]);
    for (kind, count) in counts {
        table.row([kind, count.to_string()]);
    }
    for ((api_version, kind), count) in &documents.ignored {
        table.row([format!("{kind} ({api_version}, not read)"), count.to_string()]);
    }
    screen.write(&table.render())?;
    Ok(Outcome::Done)
}

/// In CI a wrong folder must not pass.
fn nothing_read(documents: &Documents) -> Failure {
    let ignored = &documents.ignored;
    let kinds = ignored.iter().map(|((version, kind), count)| format!("{count} {kind} ({version})"));
    match kinds.collect::<Vec<_>>().join(", ") {
        kinds if kinds.is_empty() => Failure::new("there is no document in what was given"),
        kinds => Failure::new(format!("nothing in what was given is read: {kinds}"))
            .hint("docs/reference says which kinds are; workloads are known by their pods"),
    }
}

fn counts(documents: &Documents) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for object in &documents.objects {
        *counts.entry(object.value.kind().name().to_owned()).or_default() += 1;
    }
    let others = [
        ("PodGroup", documents.pod_groups.len()),
        ("ElasticJobPolicy", documents.elastic_job_policies.len()),
        ("MetricScaler", documents.metric_scalers.len()),
        ("RayScaler", documents.ray_scalers.len()),
        ("SparkPool", documents.spark_pools.len()),
        ("Observation", documents.observations.len()),
        ("Scenario", documents.scenarios.len()),
    ];
    counts
        .extend(others.into_iter().filter(|other| other.1 > 0).map(|(kind, count)| (kind.to_owned(), count)));
    counts
}
