//! `ballast replay`: what went into an engine goes into a fresh one; what comes out is compared, or what another policy would
//! have decided.

mod otherwise;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use ballast_core::record::{Difference, Replay, replay};

use super::policy_file::PolicyFile;
use super::{Outcome, Result};
use crate::present::format::{self, Format};
use crate::present::replay::Answer;
use crate::present::table::Table;
use crate::present::{Doing, Failure, Hint, Screen};
use crate::segments::segments;

/// Replay a record: does the same come out, or what would another policy have decided?
///
/// A record holds all that went into an engine and all that came out. The same program must decide the same again, byte for
/// byte. With `--policy`, every plan is made once more under that policy, from what was seen and had been begun at that moment,
/// and those that would have done something else are told. The recorded world does not follow the other policy; to see where it
/// would have led, simulate. Ends with exit code 3 where anything differs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A record, JSON lines, or a folder of them in the order of their names; `-` reads standard input
    record: PathBuf,
    /// A file with the ClusterPolicy or VmPools of another policy to decide by
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The form of the report
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  ballast simulate scenarios/demo.yaml --until 2h --record record.jsonl
  ballast replay record.jsonl
  ballast replay records/
  ballast replay record.jsonl --policy frugal.yaml";

/// What can be replayed.
const RECORDS: &str = "a record is what `ballast record` or `ballast simulate --record` wrote";

/// Letters of an entry that a table shows, from where the two begin to differ.
const SHOWN: usize = 60;

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let doing = || format!("cannot replay {}", args.record.display());
    if let Some(path) = &args.policy {
        let file = PolicyFile::load(path)?;
        return otherwise::run(&file, BufReader::new(open(&args.record)?), doing, args.output, screen);
    }
    let replayed = replay(BufReader::new(open(&args.record)?)).doing(doing).hint(|| RECORDS)?;
    let answer = Answer::again(&replayed);
    let numbers = replayed.differences.iter().map(|difference| difference.seq).collect();
    print(&answer, |_| tables(&replayed), numbers, args.output, screen)
}

/// Prints what was found, the numbers of the entries among it; nothing found is a good end.
fn print(
    answer: &Answer<'_>,
    tables: impl FnOnce(bool) -> String,
    numbers: Vec<u64>,
    output: Format,
    screen: &mut Screen,
) -> Result {
    if answer.is_cut {
        screen.note("note: the last line of the record is cut off and was left out");
    }
    // Nothing is as it was where there was nothing: a record that was cut off too early proves nothing.
    if answer.plans == 0 {
        let entries = counted(answer.entries, "entry", "entries");
        return Err(Failure::new(format!(
            "nothing was decided in this record: it holds {entries} and no plan"
        )));
    }
    match output {
        Format::Table | Format::Wide => screen.write(&tables(output == Format::Wide))?,
        Format::Name => numbers.iter().try_for_each(|seq| screen.write(&format!("entry/{seq}\n")))?,
        Format::Json => screen.write(&format::json(answer)?)?,
        Format::Yaml => screen.write(&format::yaml(answer)?)?,
    }
    Ok(if numbers.is_empty() { Outcome::Done } else { Outcome::Gate })
}

fn open(path: &Path) -> Result<Box<dyn Read>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    if path.is_dir() {
        let files = segments(path)?.into_iter().map(|file| open(&file)).collect::<Result<Vec<_>>>()?;
        return Ok(files
            .into_iter()
            .fold(Box::new(io::empty()), |before, file| Box::new(before.chain(file))));
    }
    Ok(Box::new(File::open(path).doing(|| format!("cannot read {}", path.display()))?))
}

fn tables(replayed: &Replay) -> String {
    let Replay { entries, plans, differences, .. } = replayed;
    let how_many =
        format!("{} and {}", counted(*entries, "entry", "entries"), counted(*plans, "plan", "plans"));
    if differences.is_empty() {
        return format!("{how_many}, all as they were\n");
    }
    let mut table = Table::new(&[">ENTRY", "AT", "RECORDED", "NOW"]);
    for difference in differences {
        let (recorded, now) = apart(difference);
        table.row([difference.seq.to_string(), difference.at.to_string(), recorded, now]);
    }
    let count = differences.len();
    format!("{}\n{how_many}, {count} came out otherwise\n", table.render())
}

/// A count with its noun.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Both sides, from shortly before the place where they differ.
fn apart(difference: &Difference) -> (String, String) {
    let Difference { recorded, replayed, .. } = difference;
    let same = recorded.chars().zip(replayed.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(SHOWN / 3);
    let cut = |text: &str| match text {
        "" => "nothing".to_owned(),
        text => {
            let lead = if from > 0 { "…" } else { "" };
            let shown: String = text.chars().skip(from).take(SHOWN).collect();
            let rest = if text.chars().nth(from + SHOWN).is_some() { "…" } else { "" };
            format!("{lead}{shown}{rest}")
        }
    };
    (cut(recorded), cut(replayed))
}
