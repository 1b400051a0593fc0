//! Every metric, in one table: what is served, what the reference says, and what dashboards and alerts may ask for.

use super::labels;

/// A metric.
pub struct Metric {
    /// Its name as it is served.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What it tells, in a line.
    pub help: &'static str,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// The values that its labels have from the start, each series at zero; none where only pools tell them.
    pub series: fn() -> Vec<Vec<String>>,
}

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by size.
    Histogram,
}

/// One series, without labels.
fn one() -> Vec<Vec<String>> {
    vec![Vec::new()]
}

/// What pools tell.
fn by_pool() -> Vec<Vec<String>> {
    Vec::new()
}

fn each(values: Vec<String>) -> Vec<Vec<String>> {
    values.into_iter().map(|value| vec![value]).collect()
}

/// Every combination.
fn pairs(first: Vec<Vec<String>>, second: &[String]) -> Vec<Vec<String>> {
    let with = |start: &Vec<String>| {
        second.iter().map(|end| start.iter().chain([end]).cloned().collect()).collect::<Vec<_>>()
    };
    first.iter().flat_map(with).collect()
}

const fn gauge(name: &'static str, help: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, help, labels: &[], series: one }
}

const fn counter(name: &'static str, help: &'static str) -> Metric {
    Metric { kind: Kind::Counter, ..gauge(name, help) }
}

const fn histogram(name: &'static str, help: &'static str) -> Metric {
    Metric { kind: Kind::Histogram, ..gauge(name, help) }
}

impl Metric {
    const fn by(self, labels: &'static [&'static str], series: fn() -> Vec<Vec<String>>) -> Self {
        Self { labels, series, ..self }
    }
}

/// Every metric. `pool` is the only label whose values are not known beforehand.
pub const METRICS: &[Metric] = &[
    gauge("ballast_build_info", "Always 1, with the version").by(&["version"], || each(labels::versions())),
    gauge("ballast_ready", "1 where /readyz answers 200"),
    gauge("ballast_leads", "1 where this process is the one that writes"),
    gauge("ballast_mode", "1 for the mode that holds").by(&["mode"], || each(labels::modes())),
    gauge("ballast_paused", "Pauses that hold now, of the cluster and of pools")
        .by(&["direction"], || each(labels::directions())),
    counter("ballast_plans_total", "Plans that were made"),
    histogram("ballast_plan_seconds", "How long a plan took"),
    histogram(
        "ballast_reaction_seconds",
        "How long it took from the first sight of a pod that waits to the plan that knows of it",
    ),
    counter("ballast_actions_total", "Actions that were begun").by(&["kind"], || each(labels::action_kinds())),
    gauge("ballast_plan_actions", "Actions of the last plan").by(&["kind"], || each(labels::action_kinds())),
    counter("ballast_receipts_total", "What came of launches and removals that ended")
        .by(&["receipt"], || each(labels::receipts())),
    gauge("ballast_holds", "What the last plan deliberately did nothing about")
        .by(&["reason"], || each(labels::holds())),
    gauge("ballast_skips", "Options that the last plan passed over")
        .by(&["reason"], || each(labels::skips())),
    gauge("ballast_kept_nodes", "Nodes that were weighed for removal and stay")
        .by(&["reason"], || each(labels::kept())),
    gauge("ballast_waiting_pods", "Pods that wait, by what they wait for")
        .by(&["reason"], || each(labels::waits())),
    gauge("ballast_pending_pods", "Pods that wait for a node"),
    gauge("ballast_pending_oldest_seconds", "How long the first of them has waited"),
    gauge("ballast_unserved_pods", "Pods that no pool can serve"),
    counter(
        "ballast_promises_broken_total",
        "Broken promises that the check found in plans, which it stopped",
    )
    .by(&["promise"], || each(labels::promises())),
    gauge("ballast_nodes", "Machines of a pool").by(&["pool", "state"], by_pool),
    gauge("ballast_pool_max_nodes", "Most nodes of a pool, as its document and the time of day say")
        .by(&["pool"], by_pool),
    gauge("ballast_backed_off", "1 where a pool takes no launch for a while").by(&["pool"], by_pool),
    gauge("ballast_cost_per_hour", "What a pool costs per hour, in the policy's currency")
        .by(&["pool"], by_pool),
    gauge("ballast_cost_limit_per_hour", "What the cluster may cost per hour; absent where no limit is set")
        .by(&[], by_pool),
    gauge(
        "ballast_source_age_seconds",
        "Age of the last good answer of a source, the oldest of all pools for Instances; +Inf of one that has not answered yet",
    )
    .by(&["source"], || each(labels::sources())),
    gauge("ballast_source_troubled", "1 where what a source says cannot be relied on now")
        .by(&["source"], || each(labels::sources())),
    counter("ballast_requests_total", "Requests of procedures, by how they were answered")
        .by(&["request", "outcome"], || pairs(each(labels::requests()), &labels::outcomes())),
    counter("ballast_api_requests_total", "Requests to the Kubernetes API, by how they ended")
        .by(&["verb", "resource", "outcome"], || pairs(labels::asked(), &labels::endings())),
    counter("ballast_status_writes_total", "Writes of what is said of documents, by how they ended")
        .by(&["kind", "outcome"], || pairs(each(labels::documents()), &labels::endings())),
    counter("ballast_events_total", "Events that were told, by reason")
        .by(&["reason"], || each(labels::events())),
    counter("ballast_events_dropped_total", "Events that were to be told and were not"),
    gauge("ballast_under_way", "Launches and removals under way"),
    gauge("process_resident_memory_bytes", "Memory that this process holds"),
    counter("process_cpu_seconds_total", "Processor time that this process has used"),
    gauge("process_start_time_seconds", "When this process began, in seconds since 1970"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_metric_is_and_none_is_there_twice() {
        let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
        for Metric { name, kind, labels, series, .. } in METRICS {
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
            assert!(name.starts_with("ballast_") || name.starts_with("process_"), "{name}");
            assert!(series().iter().all(|values| values.len() == labels.len()), "{name}");
        }
    }
}
