//! What metrics and health are told of what the runner does. It reads only the record, the plan and the view.

use std::collections::BTreeMap;
use std::time::Duration;

use ballast_core::engine::{Begun, Ended, Engine, Outcome, RequestId};
use ballast_core::observation::{Body as Told, Change, Object, Observation};
use ballast_core::plan::{HoldReason, Plan, Step};
use ballast_core::policy::Direction;
use ballast_core::procedure::Reply;
use ballast_core::record::{Body, Entry};
use ballast_core::units::Time;
use ballast_core::view::{NodeState, SourceView, View};
use ballast_live::kubernetes::Tally;
use tokio::time::Instant;

use crate::serve::{Health, Metrics, Standing, code, document_of};

/// What nothing is decided without.
const GATES: [&str; 3] = ["Kubernetes Node", "Kubernetes Pod", "Kubernetes PodDisruptionBudget"];

/// The meter.
pub(super) struct Meter {
    metrics: Metrics,
    health: Health,
    tally: Tally,
    /// Requests that are out, by their kind.
    out: BTreeMap<RequestId, &'static str>,
    planned: Instant,
    took: Duration,
    /// Since when a pod waits of which no plan knows yet, on the engine's time line.
    waits_since: Option<Time>,
    /// Since when the ledger is not stored, and what keeps this process from leading.
    unstored: Option<(Instant, String)>,
    kept_from_leading: Option<(Instant, String)>,
}

impl Meter {
    pub(super) fn new(metrics: Metrics, health: Health, tally: Tally) -> Self {
        metrics.set("ballast_build_info", &[env!("CARGO_PKG_VERSION")], 1.0);
        Self {
            metrics,
            health,
            tally,
            out: BTreeMap::new(),
            planned: Instant::now(),
            took: Duration::ZERO,
            waits_since: None,
            unstored: None,
            kept_from_leading: None,
        }
    }

    pub(super) fn kept_from_leading(&mut self, why: Option<&str>) {
        let since = self.kept_from_leading.as_ref().map_or_else(Instant::now, |(since, _)| *since);
        self.kept_from_leading = why.map(|why| (since, why.to_owned()));
    }

    pub(super) fn turned(&self) {
        self.health.turned();
    }

    pub(super) fn planned_in(&mut self, took: Duration) {
        self.planned = Instant::now();
        self.took = took;
        self.metrics.add("ballast_plans_total", &[], 1.0);
        self.metrics.observe("ballast_plan_seconds", took.as_secs_f64());
    }

    /// Counts what happened.
    pub(super) fn count(&mut self, outcome: &Outcome, entries: &[Entry]) {
        if let Some(plan) = &outcome.plan {
            self.weigh(plan);
        }
        for Begun { action, .. } in &outcome.begun {
            self.metrics.add("ballast_actions_total", &[&code(&action.kind)], 1.0);
        }
        for Ended { receipt, .. } in &outcome.receipts {
            self.metrics.add("ballast_receipts_total", &[receipt.code()], 1.0);
        }
        for entry in entries {
            match &entry.body {
                Body::Requested { id, request, .. } => drop(self.out.insert(*id, request.kind())),
                Body::Settled { id, reply } => {
                    let Some(kind) = self.out.remove(id) else { continue };
                    let ended = answered(reply);
                    self.metrics.add("ballast_requests_total", &[kind, &ended], 1.0);
                    if ["WriteLedger", "ReadLedger"].contains(&kind) {
                        self.stored(&ended);
                    }
                }
                Body::Observed { observations } if observations.iter().any(tells_of_a_wait) => {
                    self.waits_since.get_or_insert(entry.at);
                }
                Body::Planned { .. } => {
                    if let Some(since) = self.waits_since.take() {
                        let so_long = entry.at.since(since).as_secs_f64() + self.took.as_secs_f64();
                        self.metrics.observe("ballast_reaction_seconds", so_long);
                    }
                }
                // Whoever leads no longer waits for no answer.
                Body::Followed => {
                    self.out.clear();
                    self.unstored = None;
                }
                _ => {}
            }
        }
    }

    /// The ledger was stored or read, or not.
    fn stored(&mut self, ended: &str) {
        let since = self.unstored.as_ref().map_or_else(Instant::now, |(since, _)| *since);
        self.unstored = (ended != "Ok").then(|| (since, format!("the ledger is not stored ({ended})")));
    }

    /// What a plan did, did not, and why.
    fn weigh(&self, plan: &Plan) {
        let set = |name, codes: Vec<(String, f64)>| {
            self.metrics.set_all(name, codes.into_iter().map(|(code, count)| (vec![code], count)));
        };
        let one = |code: ballast_core::kube::Name| (code.to_string(), 1.0);
        let report = &plan.report;
        set("ballast_plan_actions", plan.actions.iter().map(|action| one(code(&action.kind))).collect());
        set("ballast_holds", report.holds.iter().map(|hold| one(code(&hold.reason))).collect());
        set("ballast_skips", report.skipped.iter().map(|skip| one(code(&skip.reason))).collect());
        let kept = report.trace.iter().filter_map(|step| match step {
            Step::Candidate(candidate) => candidate.unsafe_to_remove.as_ref().map(|why| one(code(why))),
            _ => None,
        });
        set("ballast_kept_nodes", kept.collect());
        let waiting = report.waiting.iter();
        let waiting = waiting.map(|waiting| (code(&waiting.on).to_string(), f64::from(waiting.pods())));
        set("ballast_waiting_pods", waiting.collect());
        for note in &report.promises {
            self.metrics.add("ballast_promises_broken_total", &[&note.promise.to_string()], 1.0);
        }
    }

    /// Shows how things are.
    pub(super) fn show(&self, now: Time, engine: &Engine, view: &View) {
        let metrics = &self.metrics;
        metrics.set("ballast_leads", &[], flag(engine.leads()));
        metrics.set_all("ballast_mode", [(vec![format!("{:?}", view.mode)], 1.0)]);
        let policy = engine.policy();
        let pools = engine.pools();
        let pauses: Vec<_> = pools.iter().map(|pool| &pool.spec.pause).chain([&policy.pause]).collect();
        metrics.set_all(
            "ballast_paused",
            [Direction::Up, Direction::Down].map(|way| {
                let held = pauses.iter().filter(|pause| pause.holds(way, now)).count();
                (vec![format!("{way:?}")], held as f64)
            }),
        );
        let limit = policy.limits.cost_per_hour.map(|limit| (Vec::new(), limit.as_f64()));
        metrics.set_all("ballast_cost_limit_per_hour", limit);
        self.show_pods(view);
        self.show_pools(view);
        self.show_sources(view);
        metrics.set("ballast_under_way", &[], view.in_flight.len() as f64);
        self.show_tally();
        let ahead = view.next_look.map_or(0, |at| at.since(now).as_millis()).unsigned_abs();
        self.health.stands(Standing {
            planned: self.planned,
            due: Instant::now() + Duration::from_millis(ahead),
            mode: view.mode,
            troubled: GATES.into_iter().filter_map(|gate| trouble(view, gate)).collect(),
            lacks_limits: view.holds.iter().any(|hold| hold.reason == HoldReason::LimitsNotSet),
            hindered: self.unstored.iter().chain(&self.kept_from_leading).cloned().collect(),
        });
    }

    /// What was asked of the API, and written into it.
    fn show_tally(&self) {
        for (asked, ended, count) in self.tally.rows() {
            let (ended, count) = (format!("{ended:?}"), count as f64);
            let labels = [asked.verb, asked.resource, &ended];
            self.metrics.raise("ballast_api_requests_total", &labels, count);
            if let Some(kind) = document_of(asked.resource) {
                self.metrics.raise("ballast_status_writes_total", &[kind, &ended], count);
            }
        }
        for (reason, count) in self.tally.events() {
            self.metrics.raise("ballast_events_total", &[&reason.to_string()], count as f64);
        }
        self.metrics.raise("ballast_events_dropped_total", &[], self.tally.events_dropped() as f64);
    }

    fn show_pods(&self, view: &View) {
        let count = |pending: &mut dyn Iterator<Item = u32>| f64::from(pending.sum::<u32>());
        let all = count(&mut view.pending.iter().map(|pending| pending.count));
        let unserved = view.pending.iter().filter(|pending| pending.infeasible.is_some());
        self.metrics.set("ballast_pending_pods", &[], all);
        self.metrics.set("ballast_unserved_pods", &[], count(&mut unserved.map(|pending| pending.count)));
        let oldest = view.pending.iter().filter_map(|pending| pending.waited).max().unwrap_or_default();
        self.metrics.set("ballast_pending_oldest_seconds", &[], oldest.as_secs_f64());
    }

    fn show_pools(&self, view: &View) {
        let managed = view.nodes.iter().filter(|node| !node.pool.is_empty());
        let nodes = managed.map(|node| (node.pool.to_string(), vec![format!("{:?}", node.state)], 1.0));
        // A state that no node of a pool is in any more is zero, and not gone.
        let none = view.pools.iter().flat_map(|pool| {
            NodeState::ALL.map(|state| (pool.name.to_string(), vec![format!("{state:?}")], 0.0))
        });
        self.metrics.set_pools("ballast_nodes", none.chain(nodes));
        let pools = || view.pools.iter();
        let told = |name, value: fn(&ballast_core::view::PoolView) -> f64| {
            self.metrics
                .set_pools(name, pools().map(|pool| (pool.name.to_string(), Vec::new(), value(pool))));
        };
        told("ballast_pool_max_nodes", |pool| f64::from(pool.max));
        told("ballast_cost_per_hour", |pool| pool.cost_per_hour.as_f64());
        told("ballast_backed_off", |pool| flag(pool.backed_off.is_some()));
    }

    fn show_sources(&self, view: &View) {
        let mut ages: BTreeMap<&str, f64> = BTreeMap::new();
        let mut troubles: BTreeMap<&str, f64> = BTreeMap::new();
        for source in &view.sources {
            let Some(label) = label(source) else { continue };
            let (age, trouble) = (ages.entry(label).or_default(), troubles.entry(label).or_default());
            // What is not known is never zero.
            *age = age.max(source.age.map_or(f64::INFINITY, |age| age.as_secs_f64()));
            *trouble = trouble.max(flag(source.trouble.is_some()));
        }
        for (name, values) in [("ballast_source_age_seconds", ages), ("ballast_source_troubled", troubles)] {
            let told = values.into_iter().map(|(label, value)| (vec![label.to_owned()], value));
            self.metrics.set_all(name, told);
        }
    }
}

/// Whether a pod has been seen that no node runs.
fn tells_of_a_wait(observation: &Observation) -> bool {
    let waits = |change: &Change| match change {
        Change::Applied(Object::Pod(pod)) => pod.node_name.is_empty(),
        _ => false,
    };
    matches!(&observation.outcome, Ok(Told::Changed(changes)) if changes.iter().any(waits))
}

/// The label of a source that has one: kinds of Kubernetes, and all instances together.
fn label(source: &SourceView) -> Option<&str> {
    let kind = source.name.strip_prefix("Kubernetes ");
    kind.or_else(|| source.name.starts_with("Instances of ").then_some("Instances"))
}

fn trouble(view: &View, name: &str) -> Option<String> {
    let Some(source) = view.sources.iter().find(|source| source.name == name) else {
        return Some(format!("{name} is not known yet"));
    };
    source.trouble.as_ref().map(|trouble| format!("{name} {trouble}"))
}

fn answered(reply: &Reply) -> String {
    match reply {
        Reply::Failed(error) => format!("{:?}", error.class),
        Reply::TimedOut => "TimedOut".to_owned(),
        Reply::Done | Reply::Instance(_) | Reply::Node(_) | Reply::Ledger(_) => "Ok".to_owned(),
    }
}

fn flag(is: bool) -> f64 {
    if is { 1.0 } else { 0.0 }
}
