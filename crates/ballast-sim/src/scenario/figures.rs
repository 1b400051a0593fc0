//! Which figures the runs of a scenario have.

use std::collections::BTreeSet;

use super::ScenarioSpec;
use crate::score::{Each, Figure};
use ballast_core::documents::nearest;
use ballast_core::kube::Name;
use ballast_core::procedure::Request;

impl ScenarioSpec {
    /// The names of its pools.
    pub fn pool_names(&self) -> Vec<&Name> {
        self.pools.iter().map(|pool| &pool.name).collect()
    }

    /// The names of the workloads that figures are told under.
    pub fn workload_names(&self) -> Vec<&Name> {
        let names = self.workloads.iter().map(|workload| &workload.name);
        let names: BTreeSet<&Name> = names.chain(self.jobs.iter().map(|job| &job.workload)).collect();
        names.into_iter().collect()
    }

    /// The figure of a name, such as `cost` or `pendingP95.etl`, or why its runs have none.
    pub fn figure(&self, name: &str) -> Result<&'static Figure, String> {
        let (base, one) = name.split_once('.').map_or((name, None), |(base, one)| (base, Some(one)));
        let names = || Figure::ALL.iter().map(|figure| figure.name);
        let Some(figure) = Figure::find(base) else {
            return Err(unknown("figure", base, names()));
        };
        let Some(one) = one else { return Ok(figure) };
        let Some(each) = figure.each else {
            return Err(format!("`{base}` is told of the whole run, not of `{one}`"));
        };
        let (what, names): (_, Vec<&str>) = match each {
            Each::Pool => ("pool", self.pool_names().into_iter().map(|name| &**name).collect()),
            Each::Workload => ("workload", self.workload_names().into_iter().map(|name| &**name).collect()),
            Each::Request => ("kind of request", Request::KINDS.to_vec()),
        };
        // Which pools and workloads a trace has is known only when it is read.
        let is_open = self.openb.is_some() && each != Each::Request;
        if is_open || names.contains(&one) { Ok(figure) } else { Err(unknown(what, one, names)) }
    }
}

/// What is not there, with what was meant or what there is.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let more = match nearest(name, known.iter().copied()) {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; there are {}", known.join(", ")),
    };
    format!("there is no {what} `{name}`{more}")
}
