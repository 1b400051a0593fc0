//! `ballast record`: what a cluster looks like, kept for later: one look, or everything that is seen for a while.

use std::path::PathBuf;
use std::time::Duration;

use ballast_core::engine::{Engine, Outcome as Came};
use ballast_core::units::{Span, Time};
use ballast_live::kubernetes::{Connection, LeaseTimes};
use ballast_live::runner::{Listener, Options, Runner};
use tokio_util::sync::CancellationToken;

use super::sight::Sight;
use super::{Outcome, Result};
use crate::present::{Failure, Screen};
use crate::run::stop_on_signals;
use crate::segments::{Folder, Keeper};

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
    let folder = Folder { path: args.folder.clone(), size: args.size, keep: args.keep };
    if args.follow {
        return args.sight.cluster.talk(async |connection| follow(args, &folder, connection).await);
    }
    let looked = args.sight.look(screen)?;
    let mut engine = looked.engine(Vec::new(), true)?;
    let entries = engine.recorder().map(|recorder| recorder.take()).unwrap_or_default();
    let mut keeper = folder.begin()?;
    keeper.keep(&entries, true)?;
    screen.line(format!("{}: {} entries", keeper.path().display(), entries.len()))?;
    Ok(Outcome::Done)
}

/// Watches segment after segment: each begins with an engine that knows nothing, and with complete lists.
async fn follow(args: &Args, folder: &Folder, connection: Connection) -> Result {
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
        let listener = Following { keeper: folder.begin()?, over: over.clone(), trouble: Default::default() };
        let trouble = listener.trouble.clone();
        Runner::start(connection.clone(), options(&args.sight.namespace), listener).run(over).await?;
        if let Some(error) = trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
            return Err(error);
        }
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

/// Writes what the runner does.
struct Following {
    keeper: Keeper,
    over: CancellationToken,
    trouble: std::sync::Arc<std::sync::Mutex<Option<Failure>>>,
}

impl Listener for Following {
    fn heard(&mut self, _: Time, engine: &mut Engine, came: &Came) {
        let entries = engine.recorder().map(|recorder| recorder.take()).unwrap_or_default();
        let is_full = self.keeper.keep(&entries, came.plan.is_some()).unwrap_or_else(|failure| {
            *self.trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(failure);
            true
        });
        if is_full {
            self.over.cancel();
        }
    }
}
