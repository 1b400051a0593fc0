//! `ballast status`: one look, in a block of text.

use ballast_core::view::View;
use terminal_size::{Width, terminal_size};

use super::sight::{Looked, Sight};
use super::{Outcome, Result};
use crate::present::format::{self, Format};
use crate::present::{Screen, status as words};

/// Show a cluster as it is now: pools, what waits, what is planned and under way, what is held, and why.
///
/// It looks once, with your rights, and writes nothing. What Ballast would do is reckoned here, from what is seen and from what
/// the process that leads has stored.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    sight: Sight,
    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  ballast status
  ballast status --context staging -o json
  ballast status --from cluster/";

/// Columns where nobody knows how wide the screen is, and where it is wide.
const COLUMNS: usize = 120;
const COLUMNS_WIDE: usize = 240;

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let looked = args.sight.look(screen)?;
    let view = looked.engine(Vec::new(), false)?.view(looked.now);
    match args.output {
        Format::Table => print(&looked, &view, screen)?,
        Format::Wide => screen.write(&block(&looked, &view, COLUMNS_WIDE))?,
        Format::Json => screen.write(&format::json(&view)?)?,
        Format::Yaml => screen.write(&format::yaml(&view)?)?,
        Format::Name => {
            view.pools.iter().try_for_each(|pool| screen.write(&format!("vmpool/{}\n", pool.name)))?;
        }
    }
    Ok(Outcome::Done)
}

/// Prints a view as it fits the terminal.
pub(super) fn print(looked: &Looked, view: &View, screen: &mut Screen) -> Result<()> {
    let width = terminal_size().map_or(COLUMNS, |(Width(width), _)| width.into());
    Ok(screen.write(&block(looked, view, width))?)
}

fn block(looked: &Looked, view: &View, width: usize) -> String {
    let mode = format!("mode {:?}", view.mode);
    let head: Vec<&str> =
        [&*looked.place, &*mode, &*looked.leader].into_iter().filter(|part| !part.is_empty()).collect();
    let mut text = head.join("   ") + "\n";
    for line in words::block(view, std::iter::empty(), width).into_iter().chain(words::sources(view)) {
        text += &line;
        text.push('\n');
    }
    text
}
