//! Documents from paths: files in, typed documents out, or every problem with its place on stderr.

use std::path::PathBuf;

use ballast_core::documents::{self, Documents, Finding, Path, Placed, Problem, ProblemCode, Problems};
use ballast_sim::scenario::{Complaint, Scenario, ScenarioSpec};

use super::{Result, input};
use crate::present::{Failure, Screen};

/// Reads and checks all documents of some paths.
pub(super) fn load(paths: &[PathBuf]) -> Result<Documents> {
    documents::load(&input::read(paths)?).map_err(|problems| refused(&problems))
}

/// Documents of a cluster; a Scenario alone, or nothing, is not taken for a cluster without nodes.
pub(super) fn cluster(paths: &[PathBuf]) -> Result<Documents> {
    let documents = load(paths)?;
    if documents.objects.is_empty() && documents.observations.is_empty() {
        return Err(Failure::new("there is nothing of a cluster in what was given").hint(
            "give what `kubectl get nodes,pods,pdb -A -o json` printed, and VmPools; a Scenario is run by `ballast simulate`",
        ));
    }
    Ok(documents)
}

/// The failure of documents that are not good.
pub(super) fn refused(problems: &Problems) -> Failure {
    Failure::told(problems.to_string())
}

/// Tells what is allowed and probably not what is meant.
pub(super) fn tell(doubts: &[Problem], screen: &mut Screen) {
    for doubt in doubts {
        screen.note(format_args!("{doubt}\n"));
    }
}

/// A scenario as it is written, checked by the simulator, whose complaints get the places of the document.
pub(super) fn scenario(placed: &Placed<documents::Scenario>) -> Result<Scenario, Problems> {
    checked(placed, |spec| spec.check().into_iter().chain(spec.check_story()).collect())
}

/// A scenario that can be run, although parts of it may lead nowhere.
pub(super) fn runnable(placed: &Placed<documents::Scenario>) -> Result<Scenario, Problems> {
    checked(placed, ScenarioSpec::check)
}

fn checked(
    placed: &Placed<documents::Scenario>,
    check: impl Fn(&ScenarioSpec) -> Vec<Complaint>,
) -> Result<Scenario, Problems> {
    let documents::Scenario { name, spec: part } = &placed.value;
    let spec: ScenarioSpec = part.read()?;
    let list: Vec<_> = check(&spec)
        .into_iter()
        .map(|complaint| part.problem(finding(complaint, ProblemCode::InvalidValue)))
        .collect();
    if list.is_empty() {
        Ok(Scenario { name: name.clone(), spec })
    } else {
        Err(Problems { list, more: false })
    }
}

/// What is probably not what is meant in a good scenario, with its places.
pub(super) fn doubts(placed: &Placed<documents::Scenario>, scenario: &Scenario) -> Vec<Problem> {
    let part = &placed.value.spec;
    let doubts = scenario.spec.doubts().into_iter();
    doubts.map(|doubt| part.problem(finding(doubt, ProblemCode::Doubtful))).collect()
}

fn finding(complaint: Complaint, code: ProblemCode) -> Finding {
    let Complaint { path, message } = complaint;
    Finding { path: parsed(&path), code, message, allowed: None, suggestion: None }
}

/// The path that is written `pools[0].spec.max` or `requests["nvidia.com/gpu"]`.
fn parsed(text: &str) -> Path {
    let mut path = Path::default();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((key, after)) = rest.strip_prefix("[\"").and_then(|inner| inner.split_once("\"]")) {
            (path, rest) = (path.key(key), after);
            continue;
        }
        let part = rest.trim_start_matches(['.', '[']);
        let (part, after) = part.split_at(part.find(['.', '[']).unwrap_or(part.len()));
        path = match part.strip_suffix(']').and_then(|index| index.parse().ok()) {
            Some(index) => path.index(index),
            None => path.key(part),
        };
        rest = after;
    }
    path
}
