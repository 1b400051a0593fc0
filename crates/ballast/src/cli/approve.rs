//! `ballast approve`: says yes to the plan that is published in `Recommend`.

use std::time::Duration;

use ballast_core::memory::{Approval, ApprovalState};
use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::policy::Mode;
use ballast_core::publish::{DocumentStatus, PlanState, PublishedPlan};
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
/// So long another plan has to stand, and no answer with it, before it is said that there is none: what was approved may be begun
/// at this moment.
const GONE_FOR: Duration = Duration::from_secs(10);
const NOT_APPROVED: &str = "nothing was approved";
const MAYBE_APPROVED: &str = "it may have been approved all the same: kubectl get cpol cluster -o jsonpath={.status.approvals} says so soon";
const LOOK_AT_APPROVALS: &str = "look at it: kubectl get cpol cluster -o jsonpath={.status.approvals}";
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
    let policy = Policy::read(&connection.client).await.map_err(|error| failed(error, NOT_APPROVED))?;
    let mode = policy.mode.unwrap_or_default();
    let plan = approvable(mode, policy.status.plan.as_ref(), &args.plan, wall_clock())?;
    for action in &plan.actions {
        screen.line(format!("{} {} {}: {}", action.id, action.kind, action.target.name, action.message))?;
    }
    match plan.more {
        0 => {}
        more => {
            screen.line(format!("{} more of the plan, which this approval is not about", actions(more)))?
        }
    }
    policy.approve(&connection.client, plan).await.map_err(|error| failed(error, MAYBE_APPROVED))?;
    screen.line(format!("approved {}: {}", plan.id, actions(plan.actions.len() as u32)))?;
    if !args.no_wait {
        let became = wait(&connection, plan, args.wait).await?;
        screen.line(became)?;
    }
    Ok(Outcome::Done)
}

fn actions(count: u32) -> String {
    if count == 1 { "1 action".to_owned() } else { format!("{count} actions") }
}

/// The plan that stands, if it is the one that is meant and can be approved.
fn approvable<'a>(
    mode: Mode,
    stands: Option<&'a PublishedPlan>,
    meant: &str,
    now: Time,
) -> Result<&'a PublishedPlan> {
    if mode != Mode::Recommend {
        return Err(Failure::new(format!(
            "the ClusterPolicy says `mode: {mode:?}`: nothing waits for an approval"
        ))
        .hint("only in `mode: Recommend` is a plan carried out by an approval"));
    }
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

/// Waits for what becomes of an approved plan, in words. One read that fails is no answer: it is tried again until time is over.
async fn wait(connection: &Connection, plan: &PublishedPlan, longest: Span) -> Result<String> {
    let until = Instant::now() + Duration::from_millis(longest.as_millis().unsigned_abs());
    let mut stood_at = Instant::now();
    loop {
        let read = Policy::read(&connection.client).await;
        let is_over = Instant::now() >= until;
        match read {
            Ok(policy) => {
                if stands(&policy.status, plan) {
                    stood_at = Instant::now();
                }
                let is_gone = stood_at.elapsed() >= GONE_FOR;
                if let Some(told) = became(&policy.status, plan, is_gone, is_over.then_some(longest)) {
                    return told;
                }
            }
            Err(error) if is_over => {
                let words = format!("it is approved, and what became of it is not known: {error}");
                return Err(Failure::new(words).hint(LOOK_AT_APPROVALS));
            }
            Err(_) => {}
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Whether this publication of a plan is the one that stands.
fn stands(status: &DocumentStatus, plan: &PublishedPlan) -> bool {
    status.plan.as_ref().is_some_and(|own| (own.id, own.made_at) == (plan.id, plan.made_at))
}

/// What has become of an approved plan; nothing while that is still to be seen. It may be gone for a while, and time may be over
/// after so long.
fn became(
    status: &DocumentStatus,
    plan: &PublishedPlan,
    is_gone: bool,
    over: Option<Span>,
) -> Option<Result<String>> {
    let same = |own: &&Approval| (own.plan, own.made_at) == (plan.id, plan.made_at);
    match (status.approvals.iter().find(same), over) {
        (Some(Approval { state: ApprovalState::Done, failed, actions, .. }), _) if !failed.is_empty() => {
            let names: Vec<String> = failed.iter().map(ToString::to_string).collect();
            let words = format!(
                "{} of {} came to nothing: {}",
                failed.len(),
                self::actions(*actions),
                names.join(", ")
            );
            Some(Err(Failure::new(words)
                .hint("the log of `ballast run` says why; what is still needed is proposed again")))
        }
        (Some(Approval { state: ApprovalState::Done, .. }), _) => Some(Ok("done".to_owned())),
        (Some(Approval { state: ApprovalState::Refused, message, .. }), _) => {
            Some(Err(Failure::new(format!("the plan is refused: {message}")).hint(LOOK_AT_IT)))
        }
        (Some(Approval { state: ApprovalState::UnderWay, .. }), Some(_)) => Some(Ok("under way".to_owned())),
        (None, Some(longest)) if stands(status, plan) => {
            Some(Err(Failure::new(format!("nobody has heeded it within {longest}"))
                .hint("a `ballast run` that leads has to be there; its log says whether it does")))
        }
        (None, over) if is_gone || over.is_some() => {
            let words = "another plan stands by now, and nobody has heeded the approval of this one";
            Some(Err(Failure::new(words).hint(LOOK_AT_IT)))
        }
        _ => None,
    }
}

/// Why nothing was approved. Where the API did not answer, `unanswered` says what that means.
fn failed(error: SourceError, unanswered: &'static str) -> Failure {
    let hint = match error.class {
        ErrorClass::NotFound => "there is no ClusterPolicy `cluster`, or its kind is missing: `ballast crd`",
        ErrorClass::Conflict => {
            "it changed at this very moment, and nothing was approved: look at it, then try again"
        }
        ErrorClass::Auth => {
            "nothing was approved: it takes the right to get and patch clusterpolicies.ballast.dev"
        }
        ErrorClass::Transient => unanswered,
        _ => NOT_APPROVED,
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
        let answer =
            |mode, plan: Option<&PublishedPlan>, meant: &str| match approvable(mode, plan, meant, now) {
                Ok(_) => "yes".to_owned(),
                Err(failure) => failure.chain(),
            };
        let said = |plan: Option<&PublishedPlan>, meant: &str| answer(Mode::Recommend, plan, meant);
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
        let observes = answer(Mode::Observe, Some(&good), "3k9v0q2m");
        assert_eq!(observes, "the ClusterPolicy says `mode: Observe`: nothing waits for an approval");
    }

    #[test]
    fn what_became_of_it_is_told_by_what_is_known() {
        let proposed = plan(PlanState::Proposed, None);
        let minute = Some(Span::from_secs(60));
        let approval = |state, failed: &[&str], message: &str| Approval {
            plan: proposed.id,
            made_at: proposed.made_at,
            state,
            actions: 2,
            failed: failed.iter().map(|id| serde_json::from_value((*id).into()).expect("an id")).collect(),
            message: message.to_owned(),
        };
        let status = |plan: Option<&PublishedPlan>, approvals: &[Approval]| DocumentStatus {
            plan: plan.cloned(),
            approvals: approvals.to_vec(),
            ..DocumentStatus::default()
        };
        let looked = |status: &DocumentStatus, is_gone, over| match became(status, &proposed, is_gone, over) {
            None => "waits".to_owned(),
            Some(Ok(words)) => words,
            Some(Err(failure)) => format!("failed: {}", failure.chain()),
        };
        let said = |status: &DocumentStatus, over: Option<Span>| looked(status, false, over);
        let another = PublishedPlan { made_at: Time::from_secs(5), ..proposed.clone() };
        let under_way = status(Some(&another), &[approval(ApprovalState::UnderWay, &[], "")]);
        assert_eq!(said(&under_way, None), "waits");
        assert_eq!(said(&under_way, minute), "under way");
        assert_eq!(said(&status(None, &[approval(ApprovalState::Done, &[], "")]), None), "done");
        let partly = status(None, &[approval(ApprovalState::Done, &["a2"], "")]);
        assert_eq!(said(&partly, None), "failed: 1 of 2 actions came to nothing: a2");
        let refused = status(Some(&another), &[approval(ApprovalState::Refused, &[], "cpu is paused")]);
        assert_eq!(said(&refused, None), "failed: the plan is refused: cpu is paused");
        let unheeded = status(Some(&proposed), &[]);
        assert_eq!(said(&unheeded, None), "waits");
        assert_eq!(said(&unheeded, minute), "failed: nobody has heeded it within 1m");
        let replaced = status(Some(&another), &[]);
        assert_eq!(said(&replaced, None), "waits", "it may be begun at this moment");
        let unanswered = "failed: another plan stands by now, and nobody has heeded the approval of this one";
        assert_eq!(looked(&replaced, true, None), unanswered);
        assert_eq!(said(&replaced, minute), unanswered);
        assert_eq!(looked(&under_way, true, None), "waits");
    }
}
