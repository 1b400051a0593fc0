//! `ballast plan`: one plan from documents or of a cluster, and what would follow from it.

mod notes;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use ballast_core::check::check;
use ballast_core::documents::{self, Documents};
use ballast_core::memory::Memory;
use ballast_core::plan::{Plan, Severity};
use ballast_core::planner;
use ballast_core::snapshot::Store;
use ballast_core::units::{Span, Time};

use super::sight::{Sight, newest, wall_clock};
use super::{Outcome, Result, input, load};
use crate::present::format::{self, Format};
use crate::present::{Failure, Screen, plan as words};

/// Make one plan: what would be done, what would not, and why.
///
/// Nothing is changed. Without `-f` it looks at the cluster once, with your rights, and takes up what the process that leads has
/// stored. With `-f` no cluster is needed: it reads Kubernetes objects as `kubectl get` prints them, policies, and Observations
/// of other sources. Ends with exit code 2 when something would change.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Plan for documents instead of a cluster: files or folders; `-` reads standard input
    #[arg(short, long = "file", value_name = "PATH", num_args = 1.., conflicts_with = "from")]
    #[cfg_attr(feature = "live", arg(conflicts_with_all = ["kubeconfig", "context"]))]
    files: Vec<PathBuf>,
    /// The instant to plan for: a time, or a duration after the newest Observation or the answer given as `--memory`; by default
    /// that of the newest Observation, or else now
    #[arg(long, value_name = "T", requires = "files")]
    now: Option<Now>,
    /// What was known before: a memory, or an earlier answer with `-o json`; the file is never written
    #[arg(long, value_name = "FILE", requires = "files")]
    memory: Option<PathBuf>,
    #[command(flatten)]
    sight: Sight,
    /// The form of the plan
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  ballast plan
  ballast plan -f cluster/
  kubectl get nodes,pods,pdb -A -o json | ballast plan -f - -f policy.yaml
  ballast plan -f cluster/ --now 2026-11-15T06:00:00Z -o json > first.json
  ballast plan -f cluster/ --memory first.json --now 10m -o wide";

/// An instant on the command line.
#[derive(Clone, Copy, Debug)]
enum Now {
    At(Time),
    Later(Span),
}

impl FromStr for Now {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let later = text.parse().map(Self::Later);
        let at = text.parse().map(Self::At);
        later
            .ok()
            .or(at.ok())
            .ok_or_else(|| "write a time such as 2026-11-15T06:00:00Z or a duration such as 10m".to_owned())
    }
}

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    if args.files.is_empty() {
        let looked = args.sight.look(screen)?;
        let engine = looked.engine(Vec::new(), false)?;
        let Some(plan) = engine.last_plan() else {
            return Err(Failure::new(format!("no plan was made by the end of {}", looked.place)));
        };
        return print(plan, engine.memory(), args.output, screen);
    }
    let documents = load::cluster(&args.files)?;
    load::tell(&documents.doubts, screen);
    for note in notes::all(&documents) {
        screen.note(format_args!("note: {note}"));
    }
    let (memory, before) = args.memory.as_deref().map(remembered).transpose()?.unwrap_or_default();
    let now = match (args.now, newest(&documents)) {
        (Some(Now::At(time)), _) => time,
        (Some(Now::Later(span)), newest) => newest.max(before).unwrap_or_else(wall_clock) + span,
        (None, newest) => newest.unwrap_or_else(wall_clock),
    };
    if let Some(before) = before.filter(|before| now < *before) {
        let failure = Failure::new(format!(
            "the plan would be for {now}, before {before}, up to which the memory remembers"
        ));
        return Err(
            failure.hint("give a later time, such as `--now 10m`: a duration counts from the memory's time")
        );
    }
    let (plan, memory) = planned(documents, memory, now);
    print(&plan, &memory, args.output, screen)
}

fn print(plan: &Plan, memory: &Memory, output: Format, screen: &mut Screen) -> Result {
    match output {
        Format::Table => screen.write(&words::tables(plan, false))?,
        Format::Wide => screen.write(&words::tables(plan, true))?,
        Format::Name => screen.write(&words::names(plan))?,
        Format::Json => screen.write(&format::json(&words::Answer { plan, memory })?)?,
        Format::Yaml => screen.write(&format::yaml(&words::Answer { plan, memory })?)?,
    }
    if plan.report.promises.iter().any(|note| note.severity == Severity::Fatal) {
        return Err(Failure::new("the plan would break a promise and would not be applied"));
    }
    Ok(if plan.actions.is_empty() { Outcome::Done } else { Outcome::WouldChange })
}

fn planned(documents: Documents, mut memory: Memory, now: Time) -> (Plan, Memory) {
    memory.version = Memory::VERSION;
    let mut store = Store::new();
    for observation in documents.into_observations(now) {
        store.observe(observation);
    }
    let snapshot = store.snapshot();
    let (mut plan, history) = planner::plan(&snapshot, &memory, now, &mut planner::Scratch::default());
    plan.report.promises.extend(check(&snapshot, &memory, &plan));
    memory.history = history;
    (plan, memory)
}

/// A memory, bare or within an earlier answer, and when that was. What is no memory is refused: a plan without it would be
/// another one.
fn remembered(path: &Path) -> Result<(Memory, Option<Time>)> {
    let files = input::read(&[path.to_owned()])?;
    let [file] = &files[..] else {
        return Err(Failure::new(format!("{} is not one file", path.display())));
    };
    let refused = |problems| {
        load::refused(&problems).hint("give what `ballast plan -o json` printed, or the `memory` in it")
    };
    let whole = documents::whole(file).map_err(refused)?;
    let before = whole.field("now").and_then(|now| now.read().ok());
    let memory: Memory = whole.field("memory").unwrap_or(whole).read().map_err(refused)?;
    if memory.version > Memory::VERSION {
        let newer = format!("{} is a memory of version {}", path.display(), memory.version);
        return Err(Failure::new(newer).hint(format!("this program knows version {}", Memory::VERSION)));
    }
    Ok((memory, before))
}
