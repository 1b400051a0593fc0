//! `ballast approve`: says yes to the plan that is published in `Recommend`.

use std::time::Duration;

use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::publish::{PlanState, PublishedPlan};
use ballast_core::units::{Span, Time};
use ballast_live::kubernetes::{Connection, Policy};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep};

use super::sight::Cluster;
use super::{Outcome, Result};
use crate::present::{Doing, Failure, Screen};

/// Approve the plan that the ClusterPolicy shows, so that exactly it is carried out.
///
/// In mode `Recommend` nothing is done until a person says so. The plan is refused as a whole if anything in it is not as it
/// was when it was published. It takes the right to get and patch the ClusterPolicy.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The plan, by its id or the first eight letters of it: `status.plan.id` of the ClusterPolicy
    #[arg(value_name = "PLAN")]
    plan: String,
    /// How long it is waited for what becomes of it
    #[arg(long, value_name = "T", default_value = "60s")]
    wait: Span,
    /// Do not wait for what becomes of it
    #[arg(long, conflicts_with = "wait")]
    no_wait: bool,
    #[command(flatten)]
    cluster: Cluster,
}

const EXAMPLES: &str = "\
Examples:
  ballast approve 3k9v0q2m7xa1c
  ballast approve 3k9v0q2m --wait 10m
  ballast approve 3k9v0q2m --no-wait";

/// Letters of an id that suffice.
const LETTERS_MIN: usize = 8;
/// How often it is looked what has become of it.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const LOOK_AT_IT: &str = "look at it: kubectl get cpol cluster -o jsonpath={.status.plan}";

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    ballast_live::install_crypto();
    let runtime = Runtime::new().doing(|| "cannot start the runtime")?;
    runtime.block_on(approve(args, screen))
}

async fn approve(args: &Args, screen: &mut Screen) -> Result {
    let connection: Connection = args.cluster.place().connect().await.map_err(|error| {
        let hint = error.hint();
        Failure::from(anyhow::Error::from(error).context("cannot connect to the cluster")).hint(hint)
    })?;
    let policy = Policy::read(&connection.client).await.map_err(refused)?;
    let plan = approvable(policy.plan.as_ref(), &args.plan, wall_clock())?;
    for action in &plan.actions {
        screen.line(format!("{} {:?} {}: {}", action.id, action.kind, action.target.name, action.message))?;
    }
    policy.approve(&connection.client, plan).await.map_err(refused)?;
    let count = plan.actions.len();
    let actions = if count == 1 { "1 action".to_owned() } else { format!("{count} actions") };
    screen.line(format!("approved {}: {actions}", plan.id))?;
    if !args.no_wait {
        let became = wait(&connection, plan, args.wait).await?;
        screen.line(became)?;
    }
    Ok(Outcome::Done)
}

/// The plan that stands, if it is the one that is meant and can be approved.
fn approvable<'a>(stands: Option<&'a PublishedPlan>, meant: &str, now: Time) -> Result<&'a PublishedPlan> {
    let Some(plan) = stands else {
        return Err(Failure::new("there is no plan to approve").hint(
            "a plan is published while `ballast run` leads and the ClusterPolicy says `mode: Recommend`",
        ));
    };
    let id = plan.id.to_string();
    if meant.len() < LETTERS_MIN {
        return Err(Failure::new(format!("`{meant}` is too short to name a plan"))
            .hint(format!("write at least {LETTERS_MIN} letters of its id")));
    }
    if !id.starts_with(meant) {
        return Err(
            Failure::new(format!("the plan {meant} is not the one that stands now ({id})")).hint(LOOK_AT_IT)
        );
    }
    match (plan.state, plan.valid_until) {
        (PlanState::Proposed, Some(until)) if now < until => Ok(plan),
        (PlanState::Proposed, until) => {
            let until = until.map(|until| format!(" (until {until})")).unwrap_or_default();
            Err(Failure::new(format!("the plan {id} is not valid any more{until}"))
                .hint("it is renewed while `ballast run` leads: is it running?"))
        }
        (state, _) => Err(Failure::new(format!(
            "the plan {id} is {state:?}: only one that is Proposed can be approved"
        ))
        .hint(LOOK_AT_IT)),
    }
}

/// Waits for what becomes of a plan, in words.
async fn wait(connection: &Connection, plan: &PublishedPlan, longest: Span) -> Result<String> {
    let until = Instant::now() + Duration::from_millis(longest.as_millis().unsigned_abs());
    loop {
        let policy = Policy::read(&connection.client).await.map_err(refused)?;
        let same = policy.plan.filter(|own| (own.id, own.made_at) == (plan.id, plan.made_at));
        let is_over = Instant::now() >= until;
        match same.map(|own| (own.state, own.message)) {
            Some((PlanState::Done, _)) => return Ok("done".to_owned()),
            Some((PlanState::Refused, why)) => {
                return Err(Failure::new(format!("the plan is refused: {why}")).hint(LOOK_AT_IT));
            }
            Some((PlanState::UnderWay, _)) if is_over => return Ok("under way".to_owned()),
            Some(_) if is_over => {
                return Err(Failure::new(format!("nobody has heeded it within {longest}"))
                    .hint("a `ballast run` that leads has to be there; its log says whether it does"));
            }
            Some(_) => sleep(LOOK_EVERY).await,
            None => return Ok("another plan stands by now".to_owned()),
        }
    }
}

fn refused(error: SourceError) -> Failure {
    let hint = match error.class {
        ErrorClass::NotFound => "there is no ClusterPolicy `cluster`, or its kind is missing: `ballast crd`",
        ErrorClass::Conflict => "it changed at this very moment: look at it, then try again",
        ErrorClass::Auth => "it takes the right to get and patch clusterpolicies.ballast.dev",
        _ => "nothing was approved",
    };
    Failure::new(format!("the ClusterPolicy: {error}")).hint(hint)
}

fn wall_clock() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Time::from_secs(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(state: PlanState, valid_until: Option<Time>) -> PublishedPlan {
        PublishedPlan {
            id: "3k9v0q2m7xa1c".parse().expect("an id"),
            made_at: Time::ZERO,
            valid_until,
            state,
            message: String::new(),
            summary: String::new(),
            actions: Vec::new(),
            more: 0,
        }
    }

    #[test]
    fn only_the_plan_that_stands_proposed_and_valid_is_approved() {
        let (now, later) = (Time::from_secs(1000), Some(Time::from_secs(1001)));
        let said = |plan: Option<&PublishedPlan>, meant: &str| match approvable(plan, meant, now) {
            Ok(_) => "yes".to_owned(),
            Err(failure) => failure.chain(),
        };
        let good = plan(PlanState::Proposed, later);
        assert_eq!(said(Some(&good), "3k9v0q2m7xa1c"), "yes");
        assert_eq!(said(Some(&good), "3k9v0q2m"), "yes");
        assert_eq!(said(Some(&good), "3k9v0q2"), "`3k9v0q2` is too short to name a plan");
        assert_eq!(
            said(Some(&good), "8m2d0000"),
            "the plan 8m2d0000 is not the one that stands now (3k9v0q2m7xa1c)"
        );
        assert_eq!(said(None, "3k9v0q2m"), "there is no plan to approve");
        let old = plan(PlanState::Proposed, Some(now));
        assert!(said(Some(&old), "3k9v0q2m").contains("is not valid any more (until 1970-01-01T00:16:40Z)"));
        let done = plan(PlanState::Done, None);
        assert!(said(Some(&done), "3k9v0q2m").contains("is Done: only one that is Proposed can be approved"));
    }
}
