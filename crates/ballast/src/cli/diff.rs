//! `ballast diff`: what other documents would change in the plan of now.

use std::path::PathBuf;

use ballast_core::engine::Engine;
use ballast_core::kube::Name;
use ballast_core::observation::{Body, Change, Object, Observation, Source};
use ballast_core::plan::{Action, ActionKind};
use ballast_core::policy::VmPool;
use serde::Serialize;

use super::sight::{Looked, Sight};
use super::{Outcome, Result, load};
use crate::present::format::{self, Format};
use crate::present::table::Table;
use crate::present::{Failure, Screen};

/// Compare two plans of one look: as things are, and with these documents in place of those of the same names.
///
/// Nothing is changed. It tells what only one of the two plans would do, and ends with exit code 2 where they differ.
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
    /// What is planned now, and would not be.
    only_now: Vec<Action>,
    /// What would be planned, and is not now.
    only_then: Vec<Action>,
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
    let now = actions(&engine);
    let then = actions(&looked.engine(told(objects, &looked, &engine.pools()), false)?);
    let answer =
        Answer { schema_version: 1, only_now: without(&now, &then), only_then: without(&then, &now) };
    match args.output {
        Format::Table | Format::Wide => screen.write(&tables(&answer))?,
        Format::Json => screen.write(&format::json(&answer)?)?,
        Format::Yaml => screen.write(&format::yaml(&answer)?)?,
        Format::Name => {
            let all = answer.only_now.iter().chain(&answer.only_then);
            all.map(|action| format!("{}\n", action.target.name)).try_for_each(|line| screen.write(&line))?;
        }
    }
    let is_same = answer.only_now.is_empty() && answer.only_then.is_empty();
    Ok(if is_same { Outcome::Done } else { Outcome::WouldChange })
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

fn actions(engine: &Engine) -> Vec<Action> {
    engine.last_plan().map(|plan| plan.actions.to_vec()).unwrap_or_default()
}

/// Those of the first that the second does not have.
fn without(first: &[Action], second: &[Action]) -> Vec<Action> {
    let what = |action: &Action| -> (ActionKind, Name, Name) {
        (action.kind, action.target.name.clone(), action.to.clone())
    };
    let others: Vec<_> = second.iter().map(what).collect();
    first.iter().filter(|action| !others.contains(&what(action))).cloned().collect()
}

fn tables(answer: &Answer) -> String {
    let mut table = Table::new(&["PLAN", "ACTION", "TARGET", "WHY"]);
    for (plan, actions) in [("only now", &answer.only_now), ("only then", &answer.only_then)] {
        for action in actions {
            let kind = format!("{:?}", action.kind);
            table.row([plan.to_owned(), kind, action.target.name.to_string(), action.reason.message.clone()]);
        }
    }
    if table.is_empty() {
        return "both plans do the same\n".to_owned();
    }
    table.render()
}
