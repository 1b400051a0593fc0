//! `cargo xtask screenshots`: the pictures of the documentation, taken anew of the real demo.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::test::{Size, Surroundings, check};
use crate::{component, workspace};

/// Builds the program, runs its demo and looks at it with a browser; `Ok(false)` when that failed.
pub(crate) fn run() -> Result<bool> {
    let components = component::check_all(&["console"]);
    let surroundings = Surroundings { size: Size::Ci, components: &components };
    ensure!(surroundings.has("Chromium"), "no browser is here to look with: install the package `chromium`");
    let folder = workspace::root().join("docs/images");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--release", "--package=ballast"]);
    let mut take = workspace::cargo();
    take.args(["run", "--quiet", "--package=ballast-e2e", "--example=screenshots", "--"]).arg(&folder);
    for command in [&mut build, &mut take] {
        if check(command, &surroundings)?.failed > 0 {
            return Ok(false);
        }
    }
    println!("{}: look at them before they are committed", folder.display());
    Ok(true)
}
