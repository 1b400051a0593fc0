//! `ballast simulate`: scenarios in virtual time, under one policy or several, with a report and gates.

mod policies;
mod run;
mod verdict;

use std::path::PathBuf;

use ballast_core::foreign::plain;
use ballast_core::units::Span;

use super::policy_file::PolicyFile;
use super::{Outcome, Result};
use crate::gate::Gate;
use crate::present::format::{self, Format};
use crate::present::judged::Judged;
use crate::present::score::Simulated;
use crate::present::simulation::Answer;
use crate::present::{Doing, Failure, Screen, report, score};
use crate::set::Set;
use policies::{Loaded, Policy};

/// Run scenarios in virtual time and report what they come to.
///
/// The scenario's own policy is A; each `--policy` adds B, C, … and every policy meets the same seeds, so that differences
/// are taken pair by pair.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files or folders with scenarios; `-` reads standard input
    #[arg(required = true, value_name = "SCENARIO|FOLDER")]
    scenarios: Vec<PathBuf>,
    /// A file with the ClusterPolicy or VmPools of another policy to compare with
    #[arg(long = "policy", value_name = "FILE")]
    policies: Vec<PathBuf>,
    /// Change a field before the run; KIND is Scenario, ClusterPolicy, VmPool or Workload, and VALUE is YAML
    #[arg(long, value_name = "KIND/NAME.path=VALUE")]
    set: Vec<Set>,
    /// The seed of all chance; by default the scenario's own
    #[arg(long, value_name = "N", conflicts_with = "seeds", value_parser = seed)]
    seed: Option<u64>,
    /// Run with this many seeds, from the first on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    seeds: Option<u32>,
    /// How long the scenario lasts; by default as it says itself. Its ranges are judged at its own length alone
    #[arg(long, value_name = "T")]
    until: Option<Span>,
    /// Write a page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Keep a record of the first run, for `ballast replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// End with exit code 3 if this holds, such as `B.cost > A.cost * 1.02 || pendingP95 > 300s`
    #[arg(long, value_name = "EXPR", value_parser = crate::gate::parse)]
    fail_if: Vec<Gate>,
    /// The form of the report
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  ballast simulate scenarios/gpu-gangs.yaml
  ballast simulate scenarios/gpu-gangs.yaml --seeds 10 --html report.html
  ballast simulate scenarios/gpu-gangs.yaml --policy frugal.yaml --seeds 20
  ballast simulate scenarios/gpu-gangs.yaml --set VmPool/h100.max=10 --fail-if 'assemblyP95 > 10m'

The figures of `--fail-if` are those of the table (`-o wide` for all), also for one pool, workload or kind of request:
`cost.POOL`, `pendingP95.WORKLOAD`, `requests.KIND`. Money and counts are plain numbers, times `90s` or `5m`, shares `80%`.";

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let Loaded { scenarios, notes } = policies::load(&args.scenarios, &args.set, args.until)?;
    notes.iter().for_each(|note| screen.note(note));
    let others: Vec<_> = args.policies.iter().map(|path| PolicyFile::load(path)).collect::<Result<_>>()?;
    if (args.html.is_some() || args.record.is_some()) && scenarios.len() > 1 {
        return Err(Failure::new("`--html` and `--record` write one file, and there are several scenarios")
            .hint("name one scenario"));
    }
    let mut worlds = Vec::new();
    for scenario in scenarios {
        for doubt in scenario.spec.doubts() {
            screen.note(format_args!("warning: {}: {doubt}", scenario.name));
        }
        let policies = Policy::all(&scenario, &others, &args.set)?;
        args.fail_if.iter().try_for_each(|gate| verdict::check(gate, &policies))?;
        for why in policies.iter().filter_map(Policy::why_idle) {
            screen.note(format_args!("note: {why}"));
        }
        worlds.push((scenario, policies));
    }
    let mut all = Vec::new();
    for (scenario, policies) in worlds {
        let seeds = seeds(args, scenario.spec.seed);
        if let Some(path) = &args.record {
            run::record(&scenario, seeds[0], path)?;
        }
        all.push(run::run(&scenario, policies, &seeds, screen.notes_are_seen()));
    }
    let gates = |simulated| args.fail_if.iter().map(move |gate| Judged::new(gate, simulated)).collect();
    let gates: Vec<Vec<Judged>> = all.iter().map(gates).collect();
    if let (Some(path), [simulated], [gates]) = (&args.html, &all[..], &gates[..]) {
        std::fs::write(path, report::render(simulated, gates))
            .doing(|| format!("cannot write {}", path.display()))?;
    }
    print(&all, &gates, args.output, screen)?;
    screen.finish()?;
    let mut outcome = Outcome::Done;
    for (simulated, gates) in all.iter().zip(gates) {
        if verdict::judge(simulated, gates, screen)? {
            outcome = Outcome::Gate;
        }
    }
    Ok(outcome)
}

fn seed(text: &str) -> std::result::Result<u64, String> {
    text.parse().map_err(|_| "write a whole number such as 7".to_owned())
}

fn seeds(args: &Args, own: u64) -> Vec<u64> {
    let first = args.seed.unwrap_or(own);
    (0..u64::from(args.seeds.unwrap_or(1))).map(|at| first.wrapping_add(at)).collect()
}

fn print(all: &[Simulated], gates: &[Vec<Judged>], format: Format, screen: &mut Screen) -> Result<()> {
    match format {
        Format::Table | Format::Wide => {
            for simulated in all {
                screen.note(simulated.how_long());
                if let Some(prices) = &simulated.prices {
                    screen.note(format_args!("note: {prices}"));
                }
                screen.write(&score::tables(&simulated.policies, format == Format::Wide))?;
            }
        }
        Format::Json => screen.write(&format::json(&Answer::of(all, gates))?)?,
        Format::Yaml => screen.write(&format::yaml(&Answer::of(all, gates))?)?,
        Format::Name => {
            for simulated in all {
                screen.write(&format!("scenario/{}\n", plain(&simulated.name)))?;
            }
        }
    }
    Ok(())
}
