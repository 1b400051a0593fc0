//! `ballast diff`: what other documents would change in the plan of now.

use std::path::PathBuf;
use std::sync::Arc;

use ballast_core::engine::Engine;
use ballast_core::kube::Name;
use ballast_core::observation::{Body, Change, Object, Observation, Source};
use ballast_core::plan::{Action, ActionKind, Plan, Step, Subject, Waiting, WaitingOn, Words};
use ballast_core::policy::{Mode, VmPool};
use serde::Serialize;

use super::sight::{Looked, Sight};
use super::{Outcome, Result, load};
use crate::present::format::{self, Format};
use crate::present::table::Table;
use crate::present::{Failure, Screen};

/// Compare two plans of one look: as things are, and with these documents in place of those of the same names.
///
/// Nothing is changed. It tells what only one of the two plans would do, and why the other would not, and ends with exit code 2
/// where they differ or where another mode would make something else of them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files or folders with ClusterPolicies and VmPools; `-` reads standard input
    #[arg(short, long = "file", required = true, value_name = "PATH", num_args = 1..)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    sight: Sight,
    /// The form of the differences
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  ballast diff -f policy.yaml
  ballast diff -f pools/ --from records/ -o json";

/// What `-o json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    schema_version: u32,
    /// The modes, where they differ: what becomes of a plan is not the same then.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Modes>,
    /// What is planned now, and would not be.
    only_now: Vec<Only>,
    /// What would be planned, and is not now.
    only_then: Vec<Only>,
}

/// The cluster's mode as it is and as it would be.
#[derive(Serialize)]
struct Modes {
    now: Mode,
    then: Mode,
}

/// An action of one of the two plans.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Only {
    #[serde(flatten)]
    action: Action,
    /// Why the other plan does not do it, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_in_the_other: Option<String>,
}

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let documents = load::load(&args.files)?;
    load::tell(&documents.doubts, screen);
    let objects: Vec<Object> = documents.objects.into_iter().map(|placed| placed.value).collect();
    if !objects.iter().any(is_policy) {
        return Err(Failure::new("there is no ClusterPolicy and no VmPool in what was given").hint(
            "`-f` takes the documents as they would be; a plan from files alone is made by `ballast plan -f`",
        ));
    }
    let looked = args.sight.look(screen)?;
    let engine = looked.engine(Vec::new(), false)?;
    let other = looked.engine(told(objects, &looked, &engine.pools()), false)?;
    let answer = Answer::of(&engine, &other);
    match args.output {
        Format::Table | Format::Wide => screen.write(&tables(&answer))?,
        Format::Json => screen.write(&format::json(&answer)?)?,
        Format::Yaml => screen.write(&format::yaml(&answer)?)?,
        Format::Name => {
            let all = answer.only_now.iter().chain(&answer.only_then);
            let names = all.map(|one| format!("{}\n", one.action.target.name));
            names.into_iter().try_for_each(|line| screen.write(&line))?;
        }
    }
    Ok(if answer.is_same() { Outcome::Done } else { Outcome::WouldChange })
}

fn is_policy(object: &Object) -> bool {
    matches!(object, Object::ClusterPolicy(_) | Object::VmPool(_))
}

/// The documents, as if they had just been written. A pool that is new has no machines yet.
fn told(objects: Vec<Object>, looked: &Looked, known: &[VmPool]) -> Vec<Observation> {
    let taken_at = looked.now;
    let is_new = |pool: &&VmPool| known.iter().all(|known| known.name != pool.name);
    let pools = objects.iter().filter_map(|object| match object {
        Object::VmPool(pool) => Some(pool),
        _ => None,
    });
    let empty = |pool: &VmPool| Observation {
        source: Source::instances(&pool.name),
        taken_at,
        outcome: Ok(Body::Instances(Vec::new().into())),
    };
    let machines: Vec<Observation> = pools.filter(is_new).map(empty).collect();
    let policies = objects.into_iter().filter(is_policy);
    let observation = |object: Object| Observation {
        source: Source::kubernetes(object.kind()),
        taken_at,
        outcome: Ok(Body::Changed(vec![Change::Applied(object)])),
    };
    policies.map(observation).chain(machines).collect()
}

impl Answer {
    fn of(now: &Engine, then: &Engine) -> Self {
        let modes = Modes { now: now.policy().mode, then: then.policy().mode };
        let (now, then) = (now.last_plan().map(Arc::as_ref), then.last_plan().map(Arc::as_ref));
        Self {
            schema_version: 1,
            mode: (modes.now != modes.then).then_some(modes),
            only_now: without(now, then),
            only_then: without(then, now),
        }
    }

    fn is_same(&self) -> bool {
        self.mode.is_none() && self.only_now.is_empty() && self.only_then.is_empty()
    }
}

/// What of the first plan the second does not do, and why not.
fn without(first: Option<&Plan>, second: Option<&Plan>) -> Vec<Only> {
    let what = |action: &Action| -> (ActionKind, Name, Name) {
        (action.kind, action.target.name.clone(), action.to.clone())
    };
    let others: Vec<_> = second.iter().flat_map(|plan| &plan.actions).map(what).collect();
    let own =
        first.into_iter().flat_map(|plan| &plan.actions).filter(|action| !others.contains(&what(action)));
    let only = |action: &Action| Only {
        action: action.clone(),
        not_in_the_other: first.zip(second).and_then(|(own, plan)| why_not(action, own, plan)),
    };
    own.map(only).collect()
}

/// Why a plan does not do what another does: what it says of the node, of those for whom the machine would be, of its pool, or of
/// the whole cluster.
fn why_not(action: &Action, own: &Plan, plan: &Plan) -> Option<String> {
    let (pool, report) = (&action.target.pool, &plan.report);
    let is_for =
        |wait: &&Waiting| matches!(&wait.on, WaitingOn::Planned { pool: starts, .. } if starts == pool);
    let served: Vec<&Subject> = own.report.waiting.iter().filter(is_for).map(|wait| &wait.subject).collect();
    let candidate = report.trace.iter().find_map(|step| match step {
        Step::Candidate(candidate) if candidate.node == action.target.name => {
            candidate.unsafe_to_remove.as_ref().map(|why| why.words(plan.now))
        }
        _ => None,
    });
    let left = report.infeasible.iter().filter(|left| served.iter().any(|own| is_same(own, &left.subject)));
    let verdict = left.flat_map(|left| &left.pools).find(|own| own.pool == *pool);
    let verdict = verdict.map(|own| own.reason.words(plan.now));
    let skipped = report.skipped.iter().find(|skip| skip.pool == *pool);
    let skipped = skipped.map(|skip| skip.reason.words(plan.now));
    let concerns = |subject: &Subject| match subject {
        Subject::Cluster => true,
        Subject::Pool { name } => name == pool,
        _ => false,
    };
    let hold = report.holds.iter().find(|hold| concerns(&hold.subject));
    let hold = hold.map(|hold| hold.reason.words(plan.now));
    candidate.or(verdict).or(skipped).or(hold)
}

/// Whether two plans speak of the same pods, though perhaps not of the same number of them.
fn is_same(one: &Subject, other: &Subject) -> bool {
    match (one, other) {
        (Subject::Pods { namespace, name, .. }, Subject::Pods { namespace: of, name: first, .. }) => {
            (namespace, name) == (of, first)
        }
        _ => one == other,
    }
}

fn tables(answer: &Answer) -> String {
    let mut text = String::new();
    if let Some(Modes { now, then }) = &answer.mode {
        text += &format!("mode {now:?} now, {then:?} then: {}\n", what_becomes(*then));
    }
    let mut table = Table::new(&["PLAN", "ACTION", "TARGET", "WHY", "WHY NOT IN THE OTHER"]);
    for (plan, actions) in [("only now", &answer.only_now), ("only then", &answer.only_then)] {
        for Only { action, not_in_the_other } in actions {
            let why_not = not_in_the_other.clone().unwrap_or_default();
            let (kind, name) = (action.kind.to_string(), action.target.name.to_string());
            table.row([plan.to_owned(), kind, name, action.reason.message.clone(), why_not]);
        }
    }
    match table.is_empty() {
        true => text + "both plans do the same\n",
        false => text + &table.render(),
    }
}

fn what_becomes(mode: Mode) -> &'static str {
    match mode {
        Mode::Observe => "a plan is only made",
        Mode::Recommend => "a plan is proposed",
        Mode::Enforce => "a plan is carried out",
    }
}
