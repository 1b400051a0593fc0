//! `ballast get`: the documents with what is so of each, in the columns of `kubectl get`.

use ballast_core::documents::{DocumentKind, nearest};
use ballast_core::engine::Engine;
use ballast_core::policy::API_VERSION;
use ballast_core::publish::{DocumentRef, DocumentStatus, PlanSaid, PlanState, Said};
use ballast_core::units::Time;
use ballast_live::kubernetes::crd::{Column, KINDS, Kind};
use ballast_live::kubernetes::objects;
use serde_json::{Value, json};

use super::sight::Sight;
use super::{Outcome, Result};
use crate::present::format::{self, Format};
use crate::present::table::Table;
use crate::present::{Failure, Screen};

/// Show the documents of Ballast and what is so of each, in the columns of `kubectl get`.
///
/// `kubectl get ballast` shows what the process that leads has written; in mode `Observe` nobody writes. Here it is reckoned from
/// one look, with your rights, and nothing is written. A plan of documents, which nobody carries out, is `Planned`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The kind: `vmpools`, `cpol`, `MetricScaler`, …, or `ballast` for all [default: ballast]
    kind: Option<String>,
    /// Only the one of this name
    name: Option<String>,
    #[command(flatten)]
    sight: Sight,
    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  ballast get
  ballast get vmpools -o wide
  ballast get vmp workers -o yaml
  ballast get --from cluster/";

/// The objects of a kind.
struct Shelf {
    kind: &'static Kind,
    objects: Vec<Value>,
}

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let (kind, name) = args.named();
    let kinds = wanted(kind)?;
    let looked = args.sight.look(screen)?;
    let mut engine = looked.engine(Vec::new(), false)?;
    let shelves = args.shelves(&kinds, &engine, screen)?;
    let shelves = told(shelves, &mut engine, looked.now, args.sight.is_kept());
    let is_wanted = |object: &Value| name.is_none_or(|name| object["metadata"]["name"] == *name);
    let shelves: Vec<Shelf> = shelves
        .into_iter()
        .map(|Shelf { kind, objects }| Shelf {
            kind,
            objects: objects.into_iter().filter(is_wanted).collect(),
        })
        .filter(|shelf| !shelf.objects.is_empty())
        .collect();
    if let (true, Some(name)) = (shelves.is_empty(), name) {
        let known: Vec<&str> = kinds.iter().map(|kind| kind.kind).collect();
        return Err(Failure::new(format!("there is no {} `{name}`", known.join(" or "))));
    }
    if shelves.is_empty() {
        screen.note(format_args!("No resources found"));
    }
    screen.write(&args.text(shelves, kinds.len() > 1, looked.now)?)?;
    Ok(Outcome::Done)
}

/// The kinds that a word means.
fn wanted(word: Option<&str>) -> Result<Vec<&'static Kind>> {
    let Some(word) = word.filter(|word| *word != "ballast") else { return Ok(KINDS.iter().collect()) };
    let kind = KINDS.iter().find(|kind| kind.is_called(word)).ok_or_else(|| {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.kind).collect();
        Failure::new(format!("there is no kind `{word}`")).hint(match nearest(word, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the kinds are {}", known.join(", ")),
        })
    })?;
    Ok(vec![kind])
}

impl Args {
    /// The kind and the name, also as kubectl takes them in one word: `vmpool/workers`.
    fn named(&self) -> (Option<&str>, Option<&str>) {
        let both = self.kind.as_deref().and_then(|word| word.split_once('/')).filter(|_| self.name.is_none());
        match both {
            Some((kind, name)) => (Some(kind), Some(name)),
            None => (self.kind.as_deref(), self.name.as_deref()),
        }
    }

    /// The objects as they stand in the cluster, or as documents tell them.
    fn shelves(&self, kinds: &[&'static Kind], engine: &Engine, screen: &mut Screen) -> Result<Vec<Shelf>> {
        if self.sight.is_kept() {
            return Ok(kinds.iter().map(|kind| Shelf { kind, objects: kept(kind, engine) }).collect());
        }
        self.sight.cluster.talk(async |connection| {
            let mut shelves = Vec::new();
            for kind in kinds {
                match objects(&connection.client, kind).await {
                    Ok(objects) => shelves.push(Shelf { kind, objects }),
                    // One that may not be seen does not hide the others, and is not taken for none.
                    Err(error) if kinds.len() > 1 => {
                        screen.note(format_args!("note: cannot list {}: {error}", kind.name()));
                    }
                    Err(error) => return Err(Failure::new(format!("cannot list {}: {error}", kind.name()))),
                }
            }
            Ok(shelves)
        })
    }

    fn text(&self, shelves: Vec<Shelf>, with_kinds: bool, now: Time) -> Result<String> {
        let is_wide = match self.output {
            Format::Json | Format::Yaml => {
                let items: Vec<Value> = shelves.into_iter().flat_map(|shelf| shelf.objects).collect();
                let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
                return if self.output == Format::Json { format::json(&list) } else { format::yaml(&list) };
            }
            Format::Name => {
                let names = |shelf: &Shelf| -> String {
                    shelf.objects.iter().map(|object| full_name(shelf.kind, object) + "\n").collect()
                };
                return Ok(shelves.iter().map(names).collect());
            }
            Format::Table => false,
            Format::Wide => true,
        };
        let tables: Vec<String> =
            shelves.iter().map(|shelf| shelf.table(is_wide, with_kinds, now).render()).collect();
        Ok(tables.join("\n"))
    }
}

/// What documents and records tell of a kind.
fn kept(kind: &Kind, engine: &Engine) -> Vec<Value> {
    let object = |name: &str, spec: Value| json!({"apiVersion": API_VERSION, "kind": kind.kind, "metadata": {"name": name}, "spec": spec});
    match kind.kind {
        "ClusterPolicy" => {
            engine.policy_name().map(|name| object(name, json!(engine.policy()))).into_iter().collect()
        }
        "VmPool" => engine.pools().iter().map(|pool| object(&pool.name, json!(pool.spec))).collect(),
        _ => Vec::new(),
    }
}

/// The same with what is so now of each object that decisions are made by.
fn told(mut shelves: Vec<Shelf>, engine: &mut Engine, now: Time, is_kept: bool) -> Vec<Shelf> {
    let merge = |object: &mut Value, said: &Said| {
        let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
        let stands = DocumentStatus::read(object["status"].take());
        object["status"] = json!(stands.merge(said, generation, None, now));
    };
    let is_unserved =
        |shelf: &&mut Shelf| DocumentKind::UNSERVED.iter().any(|own| own.name() == shelf.kind.kind);
    let unserved = shelves.iter_mut().filter(is_unserved).flat_map(|shelf| &mut shelf.objects);
    unserved.for_each(|object| merge(object, &Said::not_in_this_release()));
    for (DocumentRef { kind, namespace, name }, said) in engine.published(now).documents {
        let shelf = shelves.iter_mut().find(|shelf| shelf.kind.kind == kind.name());
        let mut objects = shelf.into_iter().flat_map(|shelf| &mut shelf.objects);
        let is_it = |object: &&mut Value| {
            let metadata = &object["metadata"];
            metadata["name"] == *name && metadata["namespace"].as_str().unwrap_or_default() == &*namespace
        };
        if let Some(object) = objects.find(is_it) {
            merge(object, &said);
            if is_kept && is_only_reckoned(&said) {
                object["status"]["plan"]["state"] = json!("Planned");
            }
        }
    }
    shelves
}

/// Whether a plan of what was kept is only reckoned: nothing of it was under way, so nobody carries it out.
fn is_only_reckoned(said: &Said) -> bool {
    let is_so = |plan: &PlanSaid| plan.state == PlanState::UnderWay && plan.under_way.is_empty();
    said.plan.as_ref().is_some_and(is_so)
}

impl Shelf {
    /// As `kubectl get` prints it: several kinds by their full names.
    fn table(&self, is_wide: bool, with_kinds: bool, now: Time) -> Table {
        let columns: Vec<&Column> = self.kind.columns(is_wide).collect();
        let namespace = self.kind.is_namespaced().then(|| "NAMESPACE".to_owned());
        let heads = columns.iter().map(|column| column.name.to_uppercase());
        let heads: Vec<String> = namespace.into_iter().chain(["NAME".to_owned()]).chain(heads).collect();
        let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
        for object in &self.objects {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let name = match with_kinds {
                true => full_name(self.kind, object),
                false => text(&object["metadata"]["name"]),
            };
            let namespace = self.kind.is_namespaced().then(|| text(&object["metadata"]["namespace"]));
            let cells = columns.iter().map(|column| cell(column, object, now));
            table.push(namespace.into_iter().chain([name]).chain(cells).collect());
        }
        table
    }
}

/// `vmpool.ballast.dev/workers`
fn full_name(kind: &Kind, object: &Value) -> String {
    let group = API_VERSION.split('/').next().unwrap_or_default();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{}.{group}/{name}", kind.kind.to_lowercase())
}

fn cell(column: &Column, object: &Value, now: Time) -> String {
    match column.of(object) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) if column.holds == "date" => text
            .parse::<Time>()
            .map_or_else(|_| text.clone(), |since| age(now.since(since).as_millis() / 1000)),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// So many seconds as kubectl tells an age: the longer, the coarser.
fn age(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let both = |large: i64, mark: &str, small: i64, other: &str| match seconds % large / small {
        0 => format!("{}{mark}", seconds / large),
        rest => format!("{}{mark}{rest}{other}", seconds / large),
    };
    match seconds.max(0) {
        seconds if seconds < 2 * MINUTE => format!("{seconds}s"),
        seconds if seconds < 10 * MINUTE => both(MINUTE, "m", 1, "s"),
        seconds if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        seconds if seconds < 8 * HOUR => both(HOUR, "h", MINUTE, "m"),
        seconds if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        seconds if seconds < 8 * DAY => both(DAY, "d", HOUR, "h"),
        seconds if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        seconds if seconds < 8 * YEAR => both(YEAR, "y", DAY, "d"),
        seconds => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_as_kubectl_tells_it() {
        let told = [
            (-3, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (30_000, "8h"),
            (200_000, "2d7h"),
            (800_000, "9d"),
            (70_000_000, "2y80d"),
        ];
        told.into_iter().for_each(|(seconds, words)| assert_eq!(age(seconds), words));
    }
}
