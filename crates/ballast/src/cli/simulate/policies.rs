//! Scenarios and the policies that they are run under: the scenario's own is A, each file is one more.

use std::io;
use std::path::{Path, PathBuf};

use ballast_core::observation::Object;
use ballast_core::policy::{ClusterPolicySpec, VmPoolSpec};
use ballast_core::units::Span;
use ballast_sim::scenario::Scenario;

use super::set::Set;
use crate::cli::{Result, load};
use crate::present::{Doing, Failure};

/// A scenario under one policy.
pub(super) struct Policy {
    /// `A`, `B`, …
    pub(super) letter: char,
    /// What it is.
    pub(super) name: String,
    /// The world with this policy in it.
    pub(super) scenario: Scenario,
}

/// What a file of another policy says.
pub(super) struct Other {
    name: String,
    cluster: Option<ClusterPolicySpec>,
    pools: Vec<(String, VmPoolSpec)>,
}

/// Names the folder of recorded data, which is not part of the program.
const TRACES: &str = "BALLAST_TRACES";

/// Letters are enough for as many as anybody reads.
const LETTERS: std::ops::RangeInclusive<char> = 'A'..='Z';

/// Reads the scenarios of some paths, with what `--set` and `--until` change.
pub(super) fn load(paths: &[PathBuf], sets: &[Set], until: Option<Span>) -> Result<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    let mut used = vec![false; sets.len()];
    for placed in load::load(paths)?.scenarios {
        let scenario = load::scenario(&placed).map_err(|problems| load::refused(&problems))?;
        let mut scenario = changed(scenario, sets, &mut used)?;
        scenario.spec.until = until.unwrap_or(scenario.spec.until);
        scenarios.push(resolved(scenario)?);
    }
    if let Some((set, _)) = sets.iter().zip(&used).find(|(_, used)| !**used) {
        return Err(Failure::new(format!("`--set {}` speaks of no scenario here", set.text())));
    }
    if scenarios.is_empty() {
        return Err(Failure::new("there is no scenario in what was given")
            .hint("a scenario is a document of `kind: Scenario`; there are some in the folder `scenarios`"));
    }
    Ok(scenarios)
}

/// The scenario with what `--set` changes.
fn changed(scenario: Scenario, sets: &[Set], used: &mut [bool]) -> Result<Scenario> {
    if sets.is_empty() {
        return Ok(scenario);
    }
    let mut document = scenario.to_value();
    for (set, used) in sets.iter().zip(used) {
        let applied = set.apply(&mut document);
        *used |= applied.map_err(|why| Failure::new(format!("cannot set `{}`: {why}", set.text())))?;
    }
    Scenario::from_value(document)
        .doing(|| format!("{} is no scenario any more after `--set`", scenario.name))
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

/// Reads the files of other policies.
pub(super) fn load_others(paths: &[PathBuf]) -> Result<Vec<Other>> {
    paths.iter().map(|path| Other::load(path)).collect()
}

impl Other {
    fn load(path: &Path) -> Result<Self> {
        let mut other = Self { name: path.display().to_string(), cluster: None, pools: Vec::new() };
        for placed in load::load(&[path.to_owned()])?.objects {
            match placed.value {
                Object::ClusterPolicy(policy) => other.cluster = Some(policy.spec),
                Object::VmPool(pool) => other.pools.push((pool.name.to_string(), pool.spec)),
                _ => {}
            }
        }
        if other.cluster.is_none() && other.pools.is_empty() {
            return Err(Failure::new(format!("there is no policy in {}", other.name))
                .hint("`--policy` takes a file with a ClusterPolicy, with VmPools, or with both"));
        }
        Ok(other)
    }

    /// The scenario with what this file says in the place of its own.
    fn over(&self, scenario: &Scenario) -> Result<Scenario> {
        let mut world = scenario.clone();
        if let Some(cluster) = &self.cluster {
            world = world.with_policy(cluster.clone());
        }
        for (name, spec) in &self.pools {
            let unknown = || {
                let pools: Vec<&str> = scenario.spec.pools.iter().map(|pool| &*pool.name).collect();
                Failure::new(format!(
                    "{} speaks of a pool `{name}` that {} does not have",
                    self.name, scenario.name
                ))
                .hint(format!("its pools are {}", pools.join(", ")))
            };
            world = world.with_pool(name, spec.clone()).ok_or_else(unknown)?;
        }
        Scenario::new(world.name, world.spec)
            .doing(|| format!("{} does not fit {}", self.name, scenario.name))
    }
}

impl Policy {
    /// The scenario's own policy and all others.
    pub(super) fn all(scenario: &Scenario, others: &[Other]) -> Result<Vec<Self>> {
        let mut letters = LETTERS;
        let mut policies = Vec::new();
        let own: Result<(String, Scenario)> = Ok(("the scenario's own".to_owned(), scenario.clone()));
        let others = others.iter().map(|other| Ok((other.name.clone(), other.over(scenario)?)));
        for policy in std::iter::once(own).chain(others) {
            let (name, scenario) = policy?;
            let letter = letters.next().ok_or_else(|| Failure::new("more policies than letters"))?;
            policies.push(Self { letter, name, scenario });
        }
        Ok(policies)
    }
}
