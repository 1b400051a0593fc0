//! Scenarios and the policies that they are run under: the scenario's own is A, each file is one more.

use std::io;
use std::path::{Path, PathBuf};

use ballast_core::documents::{self, File, Problems};
use ballast_core::policy::Mode;
use ballast_core::units::Span;
use ballast_sim::scenario::{Controller, Scenario, ScenarioPool};
use ballast_sim::score::Amount;

use crate::cli::policy_file::PolicyFile;
use crate::cli::{Result, load};
use crate::present::prices::unpriced;
use crate::present::{Doing, Failure};
use crate::set::Set;

/// A scenario under one policy.
pub(super) struct Policy {
    /// `A`, `B`, …
    pub(super) letter: char,
    /// What it is.
    pub(super) name: String,
    /// The world with this policy in it.
    pub(super) scenario: Scenario,
}

impl Policy {
    /// Why Ballast will start and stop nothing under this policy, where that is so: a day in which nothing happens looks like
    /// an answer.
    pub(super) fn why_idle(&self) -> Option<String> {
        let (Scenario { name, spec }, letter) = (&self.scenario, self.letter);
        if spec.controller != Controller::Ballast {
            return None;
        }
        if spec.pools.is_empty() {
            return Some(format!("{name} has no VmPool, so nothing can be started or stopped: add one"));
        }
        let mode = spec.policy.mode;
        (mode != Mode::Enforce).then(|| {
            format!("policy {letter} of {name} has `mode: {mode:?}`, so nothing is started or stopped: set `Enforce`")
        })
    }
}

impl Policy {
    /// What is to be known of its prices, where pools have none.
    pub(super) fn unpriced(&self) -> Option<String> {
        let spec = &self.scenario.spec;
        let pools = spec.pools.iter().map(|pool| (&*pool.name, pool.price()));
        unpriced(pools, &spec.policy.currency)
    }
}

/// Names the folder of recorded data, which is not part of the program.
const TRACES: &str = "BALLAST_TRACES";

/// Letters are enough for as many as anybody reads.
const LETTERS: std::ops::RangeInclusive<char> = 'A'..='Z';

/// Scenarios that can be run, and what is to be known of them.
pub(super) struct Loaded {
    pub(super) scenarios: Vec<Scenario>,
    pub(super) notes: Vec<String>,
}

/// Reads the scenarios of some paths, with what `--set` and `--until` change. One whose recorded data is not here is left out
/// and keeps no other from being run.
pub(super) fn load(paths: &[PathBuf], sets: &[Set], until: Option<Span>) -> Result<Loaded> {
    let (mut scenarios, mut notes) = (Vec::new(), Vec::new());
    for placed in load::load(paths)?.scenarios {
        let mut scenario = load::scenario(&placed).map_err(|problems| load::refused(&problems))?;
        notes.extend(until.and_then(|until| unjudged(&mut scenario, until)));
        let mut scenario = changed(scenario, sets.iter())?;
        if let Some(until) = until {
            scenario.spec.until = until;
            scenario = Scenario::new(scenario.name, scenario.spec).doing(|| "cannot use `--until`")?;
        }
        scenarios.push(scenario);
    }
    let speaks = |set: &&Set| scenarios.iter().any(|scenario| set.is_for(&scenario.name));
    if let Some(set) = sets.iter().find(|set| !speaks(set)) {
        let names: Vec<&str> = scenarios.iter().map(|scenario| &*scenario.name).collect();
        let failure = Failure::new(format!("`--set {}` speaks of no scenario here", set.text()));
        return Err(failure.hint(format!("there are {}", names.join(", "))));
    }
    let (mut runnable, mut left_out) = (Vec::new(), Vec::new());
    for scenario in scenarios {
        match resolved(scenario) {
            Ok(scenario) => runnable.push(scenario),
            Err(failure) => left_out.push(failure),
        }
    }
    if !runnable.is_empty() {
        notes.extend(left_out.iter().map(|failure| format!("left out: {}", failure.chain())));
        return Ok(Loaded { scenarios: runnable, notes });
    }
    Err(left_out.pop().unwrap_or_else(|| {
        Failure::new("there is no scenario in what was given")
            .hint("a scenario is a document of `kind: Scenario`; there are some in the folder `scenarios`")
    }))
}

/// The ranges of a scenario are those of its own length: for another one they are taken away, and it is told. That no more
/// promises are broken than it expects holds at any length.
fn unjudged(scenario: &mut Scenario, until: Span) -> Option<String> {
    let Scenario { name, spec } = scenario;
    if until == spec.until {
        return None;
    }
    let before = spec.expect.len();
    spec.expect.retain(|figure, _| &**figure == "brokenPromises");
    let told = spec.expect.len() < before;
    spec.expect.values_mut().for_each(|[least, _]| *least = Amount::plain(0.0));
    told.then(|| {
        format!(
            "note: the ranges of {name} are meant for {}: with `--until {until}` they are not judged",
            spec.until
        )
    })
}

/// The scenario with what `--set` changes.
fn changed<'s>(scenario: Scenario, sets: impl Iterator<Item = &'s Set>) -> Result<Scenario> {
    let sets: Vec<&Set> = sets.filter(|set| set.is_for(&scenario.name)).collect();
    if sets.is_empty() {
        return Ok(scenario);
    }
    let mut document = scenario.to_value();
    for set in &sets {
        let applied = set.apply(&mut document);
        applied.map_err(|why| Failure::new(format!("cannot set `{}`: {why}", set.text())))?;
    }
    read(&document).map_err(|mut problems| {
        problems.list.iter_mut().for_each(|problem| Set::blame(&sets, problem));
        load::refused(&problems)
    })
}

/// A scenario from its document, with complaints such as those about files.
fn read(document: &serde_json::Value) -> std::result::Result<Scenario, Problems> {
    let file = File { name: "--set".to_owned(), bytes: document.to_string().into_bytes() };
    let documents = documents::load(&[file])?;
    let placed = documents.scenarios.first().ok_or(Problems { list: Vec::new(), more: false })?;
    load::runnable(placed)
}

/// The scenario with what the files hold that it names.
fn resolved(scenario: Scenario) -> Result<Scenario> {
    let name = scenario.name.clone();
    let read = |file: &str| {
        let folder =
            std::env::var_os(TRACES).ok_or_else(|| io::Error::other(format!("{TRACES} is not set")))?;
        std::fs::read(Path::new(&folder).join(file))
    };
    scenario.resolve(read).doing(|| format!("cannot run {name}")).map_err(|failure| {
        failure.hint(format!("it needs recorded data: let {TRACES} name the folder that holds it"))
    })
}

/// The scenario with what a file says in the place of its own policy; `--set` is said last and holds for every policy.
fn over(file: &PolicyFile, scenario: &Scenario, sets: &[Set]) -> Result<Scenario> {
    let known: Vec<&str> = scenario.spec.pools.iter().map(|pool| &*pool.name).collect();
    file.refuse_unknown(&known, &scenario.name)?;
    let mut world = scenario.clone();
    if let Some(cluster) = &file.cluster {
        world = world.with_policy(cluster.clone());
    }
    let pools = std::mem::take(&mut world.spec.pools).into_iter();
    let under = |pool: ScenarioPool| match file.pools.get(&pool.name) {
        Some(spec) => pool.with_spec(spec.clone()),
        None => pool,
    };
    world.spec.pools = pools.map(under).collect();
    let world = Scenario::new(world.name, world.spec);
    let world = world.doing(|| format!("{} does not fit {}", file.name, scenario.name))?;
    changed(world, sets.iter().filter(|set| set.is_of_policy()))
}

impl Policy {
    /// The scenario's own policy and all others.
    pub(super) fn all(scenario: &Scenario, others: &[PolicyFile], sets: &[Set]) -> Result<Vec<Self>> {
        let mut letters = LETTERS;
        let mut policies = Vec::new();
        let own: Result<(String, Scenario)> = Ok(("the scenario's own".to_owned(), scenario.clone()));
        let others = others.iter().map(|other| Ok((other.name.clone(), over(other, scenario, sets)?)));
        for policy in std::iter::once(own).chain(others) {
            let (name, scenario) = policy?;
            let letter = letters.next().ok_or_else(|| Failure::new("more policies than letters"))?;
            policies.push(Self { letter, name, scenario });
        }
        Ok(policies)
    }
}
