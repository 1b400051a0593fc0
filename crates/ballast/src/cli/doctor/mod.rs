//! `ballast doctor`: what stands in Ballast's way in a cluster, and what to do about it.

mod checks;
mod workloads;

use ballast_core::policy::Mode;
use ballast_live::doctor::gather;
use serde::Serialize;

use super::roles::mode;
use super::sight::Cluster;
use super::{Outcome, Result};
use crate::present::Screen;
use crate::present::format::{self, Format};
use crate::present::table::Table;

/// Look for what stands in Ballast's way: rights, kinds, policies, pools, sources, other autoscalers, workloads.
///
/// It asks with your rights and writes nothing. Ends with exit code 1 where a check fails.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    cluster: Cluster,
    /// The namespace that Ballast lives in, and its service account `ballast`
    #[arg(long, value_name = "NAME", env = "BALLAST_NAMESPACE", default_value = "ballast")]
    namespace: String,
    /// Look for the rights that this mode needs: Observe, Recommend or Enforce [default: the ClusterPolicy's]
    #[arg(long, value_name = "MODE", value_parser = mode(), hide_possible_values = true)]
    mode: Option<Mode>,
    /// The form of the findings
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  ballast doctor
  ballast doctor --mode Enforce
  ballast doctor -o json";

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
enum Verdict {
    /// Nothing stands in the way.
    Ok,
    /// It goes on, and somebody should look.
    Warn,
    /// Something does not work.
    Fail,
}

/// What a check found.
#[derive(Debug, Serialize)]
struct Finding {
    id: &'static str,
    result: Verdict,
    detail: String,
    /// What to do about it; empty where there is nothing to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    fix: String,
}

impl Finding {
    fn ok(id: &'static str, detail: impl Into<String>) -> Self {
        Self { id, result: Verdict::Ok, detail: detail.into(), fix: String::new() }
    }

    fn warn(id: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id, result: Verdict::Warn, detail: detail.into(), fix: fix.into() }
    }

    fn fail(id: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id, result: Verdict::Fail, detail: detail.into(), fix: fix.into() }
    }
}

/// What `-o json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    schema_version: u32,
    findings: &'a [Finding],
}

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let facts =
        args.cluster.talk(async |connection| Ok(gather(&connection, &args.namespace, args.mode).await))?;
    let findings = checks::all(&facts);
    let answer = Answer { schema_version: 1, findings: &findings };
    match args.output {
        Format::Table | Format::Wide => screen.write(&table(&findings))?,
        Format::Json => screen.write(&format::json(&answer)?)?,
        Format::Yaml => screen.write(&format::yaml(&answer)?)?,
        Format::Name => {
            let bad = findings.iter().filter(|finding| finding.result != Verdict::Ok);
            bad.map(|finding| format!("{}\n", finding.id)).try_for_each(|line| screen.write(&line))?;
        }
    }
    let failed = findings.iter().any(|finding| finding.result == Verdict::Fail);
    Ok(if failed { Outcome::Error } else { Outcome::Done })
}

/// A row a finding, and below each that is not well what to do about it.
fn table(findings: &[Finding]) -> String {
    let mut table = Table::new(&["CHECK", "RESULT", "DETAIL"]);
    for Finding { id, result, detail, fix } in findings {
        let word = format!("{result:?}").to_lowercase();
        table.row([(*id).to_owned(), word, detail.clone()]);
        if !fix.is_empty() {
            table.row([String::new(), String::new(), format!("→ {fix}")]);
        }
    }
    table.render()
}
