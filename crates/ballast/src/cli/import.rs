//! `ballast import`: a real cluster, or a record of one, turned into a scenario.

use std::fs;
use std::path::{Path, PathBuf};

use ballast_core::documents::{NAME_ALLOWED, name_trouble};
use ballast_core::observation::Object;
use ballast_sim::import::{self, Imported};
use ballast_sim::scenario::Scenario;

use super::{Outcome, Result, load};
use crate::present::format::yaml;
use crate::present::{Doing, Failure, Screen};

/// Turn a cluster, or a record of one, into a scenario for `ballast simulate`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    from: From,
}

const EXAMPLES: &str = "\
Examples:
  kubectl get nodes,pods,pdb,daemonsets -A -o json | ballast import kubectl - pools.yaml --to today.yaml
  ballast import openb openb_node_list_all_node.csv openb_pod_list_default.csv --to openb.yaml";

#[derive(clap::Subcommand)]
enum From {
    Openb(Openb),
    Kubectl(Kubectl),
}

/// The public trace of Alibaba's GPU cluster of 2023 (openb).
#[derive(clap::Args)]
#[command(after_help = OPENB)]
struct Openb {
    /// The list of nodes
    nodes: PathBuf,
    /// The list of pods
    pods: PathBuf,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

const OPENB: &str = "\
Examples:
  ballast import openb openb_node_list_all_node.csv openb_pod_list_default.csv --to openb.yaml
  ballast simulate openb.yaml --until 2d

The files are in cluster-trace-gpu-v2023/csv of https://github.com/alibaba/clusterdata";

/// What `kubectl get` printed: nodes, pods, disruption budgets, pools.
#[derive(clap::Args)]
#[command(after_help = KUBECTL)]
struct Kubectl {
    /// Files or folders; `-` reads standard input
    #[arg(required = true, value_name = "DUMP")]
    dumps: Vec<PathBuf>,
    /// The name of the scenario
    #[arg(long, default_value = "imported", value_parser = name)]
    name: String,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

const KUBECTL: &str = "\
Examples:
  kubectl get nodes,pods,pdb,daemonsets -A -o json | ballast import kubectl - --to today.yaml
  ballast import kubectl dump.json pools.yaml --name today --to today.yaml";

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let (scenario, to) = match &args.from {
        From::Openb(openb) => {
            let read = |path: &Path| fs::read(path).doing(|| format!("cannot read {}", path.display()));
            let (nodes, pods) = (read(&openb.nodes)?, read(&openb.pods)?);
            let doing = || format!("cannot import {} and {}", openb.nodes.display(), openb.pods.display());
            (import::openb(&nodes, &pods).doing(doing)?, &openb.to)
        }
        From::Kubectl(kubectl) => (from_kubectl(kubectl, screen)?, &kubectl.to),
    };
    let text = yaml(&scenario.to_value())?;
    match to {
        Some(path) => fs::write(path, text).doing(|| format!("cannot write {}", path.display()))?,
        None => screen.write(&text)?,
    }
    Ok(Outcome::Done)
}

fn name(text: &str) -> std::result::Result<String, String> {
    match name_trouble(text) {
        None => Ok(text.to_owned()),
        Some(trouble) => Err(format!("{trouble}: write {NAME_ALLOWED}")),
    }
}

fn from_kubectl(args: &Kubectl, screen: &mut Screen) -> Result<Scenario> {
    let documents = load::load(&args.dumps)?;
    for ((api_version, kind), count) in &documents.ignored {
        screen.note(format_args!("note: not read: {count} {kind} ({api_version})"));
    }
    if documents.is_without_cluster() {
        return Err(Failure::new("there is nothing of a cluster in what was given")
            .hint("give what `kubectl get nodes,pods,pdb,daemonsets -A -o json` printed"));
    }
    let objects: Vec<Object> = documents.objects.into_iter().map(|placed| placed.value).collect();
    let imported = import::kubectl(args.name.as_str().into(), &objects);
    let Imported { scenario, notes } = imported.doing(|| "cannot make a scenario of this cluster")?;
    for note in notes {
        screen.note(format_args!("note: {note}"));
    }
    Ok(scenario)
}
