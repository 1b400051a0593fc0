//! `ballast record`: what a cluster looks like, kept for later: one look, or everything that is seen for a while.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ballast_core::engine::{Engine, Outcome as Came};
use ballast_core::record::Entry;
use ballast_core::units::{Span, Time};
use ballast_live::kubernetes::{Connection, LeaseTimes};
use ballast_live::runner::{Listener, Options, Runner};
use tokio_util::sync::CancellationToken;

use super::sight::{Sight, segment_number, segments};
use super::{Outcome, Result};
use crate::present::{Doing, Failure, Screen};
use crate::run::stop_on_signals;

/// Keep what is seen of a cluster, and the plans that follow from it, in a folder: for `replay`, `plan --from`, and questions.
///
/// Without `--follow` it looks once. With it, it watches until it is told to stop, in segments that are each complete in
/// themselves; the oldest go. It never leads and writes nothing to the cluster. No secret is kept: of annotations only those
/// that decisions read, of a provider's settings only the names.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The folder
    folder: PathBuf,
    /// Watch on, until SIGTERM or Ctrl-C
    #[arg(long, conflicts_with = "from")]
    follow: bool,
    /// Watch for so long
    #[arg(long = "for", value_name = "T", requires = "follow")]
    lasts: Option<Span>,
    /// MiB after which a new segment begins; each holds at least as much again as the lists at its start
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    size: u64,
    /// Segments that are kept
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    keep: u64,
    #[command(flatten)]
    sight: Sight,
}

const EXAMPLES: &str = "\
Examples:
  ballast record records/
  ballast record records/ --follow --for 1h
  ballast replay records/";

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    fs::create_dir_all(&args.folder).doing(|| format!("cannot make {}", args.folder.display()))?;
    if args.follow {
        return args.sight.cluster.talk(async |connection| follow(args, connection).await);
    }
    let looked = args.sight.look(screen)?;
    let mut engine = looked.engine(Vec::new(), true)?;
    let entries = engine.recorder().map(|recorder| recorder.take()).unwrap_or_default();
    let mut segment = Segment::begin(&args.folder)?;
    segment.write(&entries)?;
    segment.file.flush().doing(|| "cannot write the record")?;
    screen.line(format!("{}: {} entries", segment.path.display(), entries.len()))?;
    Ok(Outcome::Done)
}

/// Watches segment after segment: each begins with an engine that knows nothing, and with complete lists.
async fn follow(args: &Args, connection: Connection) -> Result {
    let stop = stop_on_signals()?;
    if let Some(lasts) = args.lasts {
        let stop = stop.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(lasts.as_millis().unsigned_abs())).await;
            stop.cancel();
        });
    }
    while !stop.is_cancelled() {
        let over = stop.child_token();
        let segment = Segment::begin(&args.folder)?;
        let fill = Fill { size: args.size << 20, written: 0, start: None };
        let keeper = Keeper { segment, fill, over: over.clone(), trouble: Default::default() };
        let trouble = keeper.trouble.clone();
        Runner::start(connection.clone(), options(&args.sight.namespace), keeper).run(over).await?;
        if let Some(error) = trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
            return Err(error);
        }
        forget(&args.folder, args.keep)?;
    }
    Ok(Outcome::Done)
}

/// How to watch without ever writing to the cluster.
pub(super) fn options(namespace: &str) -> Options {
    Options {
        namespace: namespace.to_owned(),
        identity: "recorder".to_owned(),
        lease: LeaseTimes::default(),
        instances_every: Duration::from_secs(20),
        grace: Duration::ZERO,
        only_watches: true,
    }
}

/// Removes the oldest segments beyond those that are kept.
fn forget(folder: &Path, keep: u64) -> Result<()> {
    let segments = segments(folder)?;
    let many = segments.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    for path in &segments[..many] {
        fs::remove_file(path).doing(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

/// A file of entries.
struct Segment {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Segment {
    /// The next of a folder, for the eyes of its owner alone.
    fn begin(folder: &Path) -> Result<Self> {
        let last = segments(folder)?.iter().filter_map(|path| segment_number(path)).max().unwrap_or(0);
        let path = folder.join(format!("ballast-{:08}.jsonl", last + 1));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = BufWriter::new(file.doing(|| format!("cannot make {}", path.display()))?);
        Ok(Self { path, file })
    }

    /// Appends entries; how many bytes they are.
    fn write(&mut self, entries: &[Entry]) -> Result<u64> {
        let mut bytes = 0;
        for entry in entries {
            let line = entry.to_line() + "\n";
            bytes += line.len() as u64;
            self.file.write_all(line.as_bytes()).doing(|| format!("cannot write {}", self.path.display()))?;
        }
        Ok(bytes)
    }
}

/// Writes what the runner does.
struct Keeper {
    segment: Segment,
    fill: Fill,
    over: CancellationToken,
    trouble: std::sync::Arc<std::sync::Mutex<Option<Failure>>>,
}

impl Listener for Keeper {
    fn heard(&mut self, _: Time, engine: &mut Engine, came: &Came) {
        let entries = engine.recorder().map(|recorder| recorder.take()).unwrap_or_default();
        let is_full = match self.segment.write(&entries) {
            Ok(bytes) => self.fill.takes(bytes, came.plan.is_some()),
            Err(failure) => {
                *self.trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(failure);
                true
            }
        };
        if is_full {
            self.over.cancel();
        }
    }
}

/// How full a segment is. Each begins with complete lists: one that ended before it held as much again would be followed by
/// lists, and those by lists, and the cluster would be read over and over.
struct Fill {
    size: u64,
    written: u64,
    /// What was written up to the first plan.
    start: Option<u64>,
}

impl Fill {
    /// Takes so many bytes more; whether that is enough.
    fn takes(&mut self, bytes: u64, has_planned: bool) -> bool {
        self.written += bytes;
        if has_planned && self.start.is_none() {
            self.start = Some(self.written);
        }
        self.start.is_some_and(|start| self.written >= self.size.max(2 * start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_holds_more_than_the_lists_that_it_begins_with() {
        let mut fill = Fill { size: 100, written: 0, start: None };
        assert!(!fill.takes(500, false), "nothing was planned yet");
        assert!(!fill.takes(100, true) && !fill.takes(599, true));
        assert!(fill.takes(1, false));
        let mut small = Fill { size: 100, written: 0, start: None };
        assert!(!small.takes(10, true) && !small.takes(89, true));
        assert!(small.takes(1, true));
    }

    #[test]
    fn only_segments_are_ever_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let segment = |number: u32| format!("ballast-{number:08}.jsonl");
        let strangers = ["a-dataset.jsonl", "ballast-1.jsonl", "ballast-notes.jsonl"].map(str::to_owned);
        for name in strangers.iter().cloned().chain((1..4).map(segment)) {
            fs::write(folder.path().join(name), "").expect("it can be written");
        }
        forget(folder.path(), 1).expect("they can be removed");
        let left = fs::read_dir(folder.path()).expect("it is there");
        let mut left: Vec<String> =
            left.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        left.sort();
        assert_eq!(left, [&strangers[0], &segment(3), &strangers[1], &strangers[2]].map(String::as_str));
    }
}
