//! `ballast pause` and `ballast resume`: hold a cluster, a pool or a scaler still, and let it go again.

use std::time::Duration;

use ballast_core::memory::Ledger;
use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::policy::Pause;
use ballast_core::units::{Span, Time};
use ballast_live::kubernetes::edit::Document;
use ballast_live::kubernetes::{Connection, MemoryStore};
use tokio::time::{Instant, sleep};

use super::sight::{Cluster, wall_clock};
use super::{Outcome, Result};
use crate::present::{Failure, Screen};

/// Hold the cluster, a pool or a scaler still: nothing is added, nothing is removed, or neither.
///
/// What was begun and can be taken back is taken back: cordons come off. It is written into the `pause` of the document, with
/// your rights, unless somebody else wrote that document at the same moment.
#[derive(clap::Args)]
#[command(after_help = PAUSE_EXAMPLES)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Hold growth still, and nothing else
    #[arg(long, conflicts_with = "down")]
    up: bool,
    /// Hold removals still, and nothing else
    #[arg(long)]
    down: bool,
    /// Why, for whoever finds it paused
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// How long; else until `ballast resume`
    #[arg(long = "for", value_name = "T")]
    lasts: Option<Span>,
    /// It is no error where there is no such document, or not even its kind
    #[arg(long)]
    ignore_not_found: bool,
    /// Wait at most so long until nothing is under way any more
    #[arg(long, value_name = "T")]
    wait: Option<Span>,
    /// The namespace that Ballast lives in, for `--wait`
    #[arg(long, value_name = "NAME", env = "BALLAST_NAMESPACE", default_value = "ballast")]
    namespace: String,
}

/// Let go again what was paused.
#[derive(clap::Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    target: TargetArgs,
}

#[derive(clap::Args)]
struct TargetArgs {
    /// What: cluster, pool/NAME, or KIND/[NAMESPACE/]NAME
    target: String,
    /// Ask the API whether it would take it, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    cluster: Cluster,
}

const PAUSE_EXAMPLES: &str = "\
Examples:
  ballast pause cluster --reason 'the network is being moved' --for 2h
  ballast pause pool/gpu-a100 --down --reason 'a long training ends tonight'
  ballast pause cluster --reason uninstall --wait 5m";

const RESUME_EXAMPLES: &str = "\
Examples:
  ballast resume cluster
  ballast resume pool/gpu-a100";

/// How often what is under way is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(super) fn pause(args: &PauseArgs, screen: &mut Screen) -> Result {
    let until = args.lasts.map(|span| Time::from_secs(wall_clock().as_millis() / 1000) + span);
    let both = !args.up && !args.down;
    let pause = Pause {
        up: args.up || both,
        down: args.down || both,
        reason: Some(args.reason.as_str().into()),
        until,
    };
    let what = match (pause.up, pause.down) {
        (true, true) => "growth and removal",
        (true, false) => "growth",
        _ => "removal",
    };
    let until = until.map(|until| format!(", until {until}")).unwrap_or_default();
    let is_there = args.target.change(Some(&pause), args.ignore_not_found, screen, |document| {
        format!("paused {document}: {what}{until} ({})", args.reason)
    })?;
    if let Some(longest) = args.wait.filter(|_| is_there && !args.target.dry_run) {
        args.target.cluster.talk(async |connection| settled(&connection, &args.namespace, longest).await)?;
    }
    Ok(Outcome::Done)
}

pub(super) fn resume(args: &ResumeArgs, screen: &mut Screen) -> Result {
    args.target.change(None, false, screen, |document| format!("resumed {document}"))?;
    Ok(Outcome::Done)
}

impl TargetArgs {
    /// Changes the pause of the document, and says so; whether there is such a document.
    fn change(
        &self,
        pause: Option<&Pause>,
        ignore_not_found: bool,
        screen: &mut Screen,
        words: impl FnOnce(&Document) -> String,
    ) -> Result<bool> {
        let (is_there, done) = self.cluster.talk(async |connection| {
            let document = Document::named(&self.target, &connection.namespace).map_err(Failure::new)?;
            let refused = |error| refused(&document, error);
            let read = match document.read(&connection.client).await {
                Err(error) if ignore_not_found && error.class == ErrorClass::NotFound => {
                    return Ok((false, format!("there is nothing to pause: no {document}")));
                }
                read => read.map_err(refused)?,
            };
            if pause.is_none() && read["spec"]["pause"].is_null() {
                return Ok((true, format!("{document} is not paused")));
            }
            let change = document.set_pause(&connection.client, &read, pause, self.dry_run);
            change.await.map_err(refused)?;
            Ok((true, words(&document) + if self.dry_run { " (dry run)" } else { "" }))
        })?;
        screen.line(done)?;
        Ok(is_there)
    }
}

fn refused(document: &Document, error: SourceError) -> Failure {
    let hint = match error.class {
        ErrorClass::NotFound => {
            "`kubectl get cpol,vmp` says what there is; `ballast crd` prints the kinds, should they be missing"
        }
        ErrorClass::Conflict => "somebody else changed it at the same moment: look at it, then try again",
        ErrorClass::Auth => "it takes the right to get and patch the document",
        _ => "nothing was changed",
    };
    Failure::new(format!("cannot change {document}: {error}")).hint(hint)
}

/// Waits until the ledger names nothing that is under way.
async fn settled(connection: &Connection, namespace: &str, longest: Span) -> Result<()> {
    let store = MemoryStore::new(&connection.client, namespace);
    let until = Instant::now() + Duration::from_millis(longest.as_millis().unsigned_abs());
    loop {
        let stored = store
            .read()
            .await
            .map_err(|error| Failure::new(format!("cannot tell what is under way: {error}")))?;
        let ledger = stored.ledger.as_deref().map(Ledger::parse).transpose()?.unwrap_or_default();
        let under_way: Vec<&str> =
            ledger.launches.keys().chain(ledger.removals.keys()).map(|name| &**name).collect();
        if under_way.is_empty() {
            return Ok(());
        }
        if Instant::now() >= until {
            let failure = Failure::new(format!("still under way after {longest}: {}", under_way.join(", ")));
            return Err(
                failure.hint("what was asked of a cloud already is waited for; `ballast status` shows it")
            );
        }
        sleep(LOOK_EVERY).await;
    }
}
