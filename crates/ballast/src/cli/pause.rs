//! `ballast pause` and `ballast resume`: hold a cluster, a pool or a scaler still, and let it go again.

use std::time::Duration;

use ballast_core::memory::Ledger;
use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::policy::{Direction, Pause};
use ballast_core::units::{Span, Time};
use ballast_live::kubernetes::edit::Document;
use ballast_live::kubernetes::{Connection, MemoryStore};
use serde::Deserialize;
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
    /// Leave a longer pause its end and its reason, and only add what it does not hold
    #[arg(long)]
    keep_longer: bool,
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
    let now = wall_clock();
    let until = args.lasts.map(|span| Time::from_secs(now.as_millis() / 1000) + span);
    let both = !args.up && !args.down;
    let pause = Pause {
        up: args.up || both,
        down: args.down || both,
        reason: Some(args.reason.as_str().into()),
        until,
    };
    let is_there = args.target.change(args.ignore_not_found, screen, |standing| {
        Some(match standing.filter(|_| args.keep_longer) {
            Some(standing) => beside(standing, pause, now),
            None => pause,
        })
    })?;
    if let Some(longest) = args.wait.filter(|_| is_there && !args.target.dry_run) {
        args.target.cluster.talk(async |connection| settled(&connection, &args.namespace, longest).await)?;
    }
    Ok(Outcome::Done)
}

pub(super) fn resume(args: &ResumeArgs, screen: &mut Screen) -> Result {
    args.target.change(false, screen, |_| None)?;
    Ok(Outcome::Done)
}

/// What is to hold where a pause stands already: the one that is asked for, or all that both hold until the end of the longer one,
/// since a document has one pause with one end.
fn beside(standing: &Pause, asked: Pause, now: Time) -> Pause {
    let holds = standing.holds(Direction::Up, now) || standing.holds(Direction::Down, now);
    let lasts_longer = match (standing.until, asked.until) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(standing), Some(asked)) => standing >= asked,
    };
    if !holds || !lasts_longer {
        return asked;
    }
    let (up, down) = (standing.up || asked.up, standing.down || asked.down);
    if (up, down) == (standing.up, standing.down) {
        return standing.clone();
    }
    let reasons = [&standing.reason, &asked.reason].map(Option::as_deref);
    let reason = reasons.into_iter().flatten().collect::<Vec<&str>>().join("; ");
    Pause { up, down, reason: Some(reason.into()), until: standing.until }
}

/// What of a document is held still, until when and why.
fn words(document: &Document, pause: &Pause) -> String {
    let what = match (pause.up, pause.down) {
        (true, true) => "growth and removal",
        (true, false) => "growth",
        _ => "removal",
    };
    let until = pause.until.map(|until| format!(", until {until}")).unwrap_or_default();
    let reason = pause.reason.as_deref().unwrap_or("no reason is given");
    format!("{document}: {what}{until} ({reason})")
}

impl TargetArgs {
    /// Changes the pause of the document to what is said of the one that stands, and says so; whether there is such a document.
    fn change(
        &self,
        ignore_not_found: bool,
        screen: &mut Screen,
        next: impl FnOnce(Option<&Pause>) -> Option<Pause>,
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
            let stands = &read["spec"]["pause"];
            let standing = Pause::deserialize(stands).ok();
            let next = next(standing.as_ref());
            let done = match &next {
                None if stands.is_null() => return Ok((true, format!("{document} is not paused"))),
                None => format!("resumed {document}"),
                Some(pause) if standing.as_ref() == Some(pause) => {
                    return Ok((true, format!("paused already is {}", words(&document, pause))));
                }
                Some(pause) => format!("paused {}", words(&document, pause)),
            };
            let change = document.set_pause(&connection.client, &read, next.as_ref(), self.dry_run);
            change.await.map_err(refused)?;
            Ok((true, done + if self.dry_run { " (dry run)" } else { "" }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_that_lasts_longer_keeps_its_end_and_its_reason() {
        let pause = |up, down, reason: &str, until: Option<i64>| Pause {
            up,
            down,
            reason: Some(reason.into()),
            until: until.map(Time::from_secs),
        };
        let asked = || pause(true, true, "uninstall", Some(3_600));
        let now = Time::from_secs(60);
        let cases = [
            (pause(true, true, "incident 42", None), pause(true, true, "incident 42", None)),
            (pause(true, true, "incident 42", Some(7_200)), pause(true, true, "incident 42", Some(7_200))),
            (pause(false, true, "incident 42", None), pause(true, true, "incident 42; uninstall", None)),
            (pause(true, true, "a moment", Some(600)), asked()),
            (pause(true, true, "over", Some(30)), asked()),
            (pause(false, false, "nothing", None), asked()),
        ];
        for (standing, expected) in cases {
            assert_eq!(beside(&standing, asked(), now), expected, "{standing:?}");
        }
        let endless = pause(true, true, "uninstall", None);
        assert_eq!(beside(&pause(true, true, "b", Some(7_200)), endless.clone(), now), endless);
    }
}
