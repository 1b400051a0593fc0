//! `cargo xtask image`: the container image as an OCI archive, made without a container daemon, with its bill of materials.
//!
//! In go the program, linked to nothing outside itself, and the roots that it trusts; out come bytes that depend on nothing
//! but the commit, the compiler and where cargo keeps its sources. [Design note 9](../../../docs/design/0009-image-and-chart.md)
//! says why it is made here and what is not in it.

mod archive;
mod bill;
mod digest;
mod elf;
mod layer;
mod origin;
mod program;
mod roots;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::test::{Counts, Size, Surroundings};
use crate::workspace;
use bill::Bill;
use origin::Origin;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder that gets the archive and the bill [default: `image` beside the build results]
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

/// The archive and what it is made of.
pub(crate) const ARCHIVE: &str = "ballast.oci.tar";
const BILL: &str = "ballast.cdx.json";

/// What is shipped.
struct Image {
    archive: Vec<u8>,
    /// By which a registry names it.
    digest: String,
    bill: Vec<u8>,
}

/// The verb.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let folder = match &args.to {
        Some(folder) => folder.clone(),
        None => folder()?,
    };
    let image = image(&program::build(&workspace::target()?)?, &Origin::of_here()?)?;
    write(&image, &folder)?;
    Ok(true)
}

/// Where the image lies unless it is said otherwise.
pub(crate) fn folder() -> Result<PathBuf> {
    Ok(workspace::target()?.join("image"))
}

fn image(program: &[u8], origin: &Origin) -> Result<Image> {
    let layer = layer::pack(program, origin)?;
    let (archive, digest) = archive::pack(&layer, origin)?;
    let bill = Bill::of_here()?.text(program, &digest, origin)?;
    Ok(Image { archive, digest, bill })
}

fn write(image: &Image, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, bytes) in [(ARCHIVE, &image.archive), (BILL, &image.bill)] {
        let file = folder.join(name);
        fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))?;
        println!("{}: {} bytes", file.display(), bytes.len());
    }
    println!("{}", image.digest);
    Ok(())
}

/// The step of the suite: the image is made twice of one build, at size full of two builds in two folders, and left for the
/// tests that unpack and run it.
pub(crate) fn check(surroundings: &Surroundings<'_>) -> Result<Counts> {
    let (target, origin) = (workspace::target()?, Origin::of_here()?);
    let program = program::build(&target)?;
    let first = image(&program, &origin)?;
    write(&first, &folder()?)?;

    let elsewhere = tempfile::tempdir_in(&target).context("cannot make a folder")?;
    let again = match surroundings.size {
        Size::Ci => program.clone(),
        Size::Full => program::build(elsewhere.path())?,
    };
    let second = image(&again, &origin)?;
    let same = first.archive == second.archive && first.bill == second.bill;
    let unnamed = unnamed(&program, &Bill::of_here()?);
    if !same {
        println!("error: two images of one commit differ: {} and {}", first.digest, second.digest);
    }
    for name in &unnamed {
        println!("error: {name} is linked in, and the bill does not name it");
    }
    Ok([same, unnamed.is_empty()].iter().fold(Counts::default(), |mut counts, good| {
        counts += if *good { Counts::passed(1) } else { Counts::failed(1) };
        counts
    }))
}

/// Crates that left the name of a source file in the program, as a panic does, but are not in the bill.
fn unnamed(program: &[u8], bill: &Bill) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(program);
    let folders = text.split("/registry/src/").skip(1).filter_map(|rest| rest.split('/').nth(1));
    folders.filter(|folder| !bill.names_folder(folder)).map(str::to_owned).collect()
}
