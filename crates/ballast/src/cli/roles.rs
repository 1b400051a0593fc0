//! `ballast roles`: the service account of `ballast run` with what a mode needs, and no more.

use std::fs;
use std::path::PathBuf;

use ballast_core::policy::Mode;
use ballast_live::kubernetes::access;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::{Outcome, Result};
use crate::present::{Doing, Screen};

/// Print the service account and the roles that a mode needs, for `kubectl apply -f -`.
///
/// They have the same names for every mode: those of another mode take their place.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The mode of the ClusterPolicy: Observe reads and writes nothing, Recommend writes only what is Ballast's own, Enforce acts
    #[arg(long, value_name = "MODE", default_value = "Observe", value_parser = mode(), hide_possible_values = true)]
    mode: Mode,
    /// The namespace that Ballast lives in
    #[arg(long, value_name = "NAME", default_value = "ballast")]
    namespace: String,
    /// Write those of every mode into this folder instead, a file each
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ballast roles | kubectl apply --server-side -f -
  ballast roles --mode Enforce --namespace autoscaling
  ballast roles --to deploy/rbac";

const MODES: [(&str, Mode); 3] =
    [("Observe", Mode::Observe), ("Recommend", Mode::Recommend), ("Enforce", Mode::Enforce)];

/// A mode by its name.
pub(super) fn mode() -> impl TypedValueParser<Value = Mode> {
    let named = |name: String| {
        MODES.iter().find(|(known, _)| *known == name).map_or(Mode::Observe, |(_, mode)| *mode)
    };
    PossibleValuesParser::new(MODES.map(|(name, _)| name)).map(named)
}

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let Some(folder) = &args.to else {
        screen.write(&documents(args.mode, &args.namespace)?)?;
        return Ok(Outcome::Done);
    };
    fs::create_dir_all(folder).doing(|| format!("cannot make {}", folder.display()))?;
    for (name, mode) in MODES {
        let path = folder.join(format!("{}.yaml", name.to_lowercase()));
        fs::write(&path, documents(mode, &args.namespace)?)
            .doing(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Outcome::Done)
}

fn documents(mode: Mode, namespace: &str) -> Result<String> {
    let mut text = String::new();
    for role in access::roles(mode, namespace) {
        text += "---\n";
        text += &serde_saphyr::to_string(&role).doing(|| "cannot write YAML")?;
    }
    Ok(text)
}
