//! `ballast crd`: the custom resources that a cluster needs to hold documents of ours.

use std::fs;
use std::path::PathBuf;

use ballast_live::kubernetes::crd::KINDS;

use super::{Outcome, Result};
use crate::present::{Doing, Screen};

/// Print the CustomResourceDefinitions, for `kubectl apply -f -`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Write them into this folder instead, a file each
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ballast crd | kubectl apply --server-side -f -
  ballast crd --to deploy/crds";

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    for kind in KINDS {
        let text = serde_saphyr::to_string(&kind.definition()).doing(|| "cannot write YAML")?;
        let Some(folder) = &args.to else {
            screen.write(&format!("---\n{text}"))?;
            continue;
        };
        fs::create_dir_all(folder).doing(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(format!("{}.yaml", kind.name()));
        fs::write(&path, text).doing(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Outcome::Done)
}
