//! The view of an engine: the snapshot, the last plan and what is under way, as a person wants to see them.

mod nodes;
mod pending;

use crate::kube::Name;
use crate::memory::{LaunchKind, Ledger, Removal};
use crate::observation::{Source, SourceKind};
use crate::plan::{Plan, SkipReason, Words};
use crate::snapshot::{PoolEntry, Snapshot};
use crate::units::Time;
use crate::view::{InFlightView, NodeState, NodeView, PoolView, SourceView, View};

use super::Engine;
use super::executor::{Executor, Machine};

impl Engine {
    /// The cluster and the plan as they are now.
    pub fn view(&mut self, now: Time) -> View {
        let snapshot = self.store.snapshot();
        let memory = &self.executor.memory;
        let plan = self.last.as_deref();
        let nodes = nodes::nodes(&snapshot, memory, plan, now);
        let pools = pools(&snapshot, &memory.ledger, &nodes, now);
        let report = plan.map(|plan| &plan.report);
        View {
            now,
            mode: snapshot.policy.mode,
            currency: snapshot.policy.currency.clone(),
            cost_per_hour: pools.iter().map(|pool| pool.cost_per_hour).sum(),
            plans: self.plans,
            pools,
            nodes,
            pending: pending::pending(&snapshot, plan, now),
            actions: plan.map(|plan: &Plan| plan.actions.to_vec()).unwrap_or_default(),
            in_flight: in_flight(&self.executor),
            holds: report.map(|report| report.holds.clone()).unwrap_or_default(),
            promises: report.map(|report| report.promises.clone()).unwrap_or_default(),
            sources: sources(&snapshot, now),
            next_look: Some(self.waking.due().max(now)).filter(|at| *at < Time::FAR_FUTURE),
        }
    }
}

/// Pools with what their nodes sum up to.
fn pools(snapshot: &Snapshot, ledger: &Ledger, nodes: &[NodeView], now: Time) -> Vec<PoolView> {
    let assumed = snapshot.assumed_price();
    let view = |pool: &PoolEntry| {
        let (min, max) = pool.spec.range_at(now);
        let mut view = PoolView {
            name: pool.name.clone(),
            min,
            max,
            price_per_hour: pool.spec.price.per_hour,
            backed_off: backed_off(pool, ledger, now),
            ..PoolView::default()
        };
        let price = pool.spec.price.per_hour.unwrap_or(assumed);
        for node in nodes.iter().filter(|node| node.pool == pool.name) {
            count(&mut view, node);
            let stopped = node.state == NodeState::Stopped;
            view.cost_per_hour += if stopped { pool.spec.price.stopped_per_hour } else { price };
        }
        view
    };
    snapshot.pools.iter().map(view).collect()
}

fn count(pool: &mut PoolView, node: &NodeView) {
    match node.state {
        NodeState::Ready | NodeState::Cordoned => pool.ready += 1,
        NodeState::Starting => pool.starting += 1,
        NodeState::Draining | NodeState::Stopping => pool.leaving += 1,
        NodeState::Stopped => pool.stopped += 1,
        NodeState::Unready => pool.unready += 1,
    }
    if matches!(node.state, NodeState::Ready | NodeState::Cordoned | NodeState::Draining) {
        pool.usage += node.usage;
    }
}

fn backed_off(pool: &PoolEntry, ledger: &Ledger, now: Time) -> Option<String> {
    let concerns = |entry: &&crate::memory::BackOff| {
        let of_type = entry.key.instance_type.is_empty() || *entry.key.instance_type == *pool.instance_type();
        entry.key.pool == pool.name && of_type && now < entry.until
    };
    let entry = ledger.back_off.iter().filter(concerns).max_by_key(|entry| entry.until)?;
    Some(SkipReason::BackOff { class: entry.class, until: entry.until }.words(now))
}

/// Procedures under way, those that wait for the ledger included.
fn in_flight(executor: &Executor) -> Vec<InFlightView> {
    let ledger = &executor.memory.ledger;
    let view = |(name, running): (&Name, &super::executor::Running)| {
        let (launch, removal) = (ledger.launches.get(name), ledger.removals.get(name));
        let (kind, step) = match &running.machine {
            Machine::Start(start) => {
                let made = launch.is_some_and(|launch| launch.kind == LaunchKind::Create);
                (if made { "CreateInstance" } else { "StartInstance" }, start.step_in_words().to_owned())
            }
            Machine::Stop(stop) => (removal_kind(removal), stop.step_in_words()),
            Machine::Uncordon(_) => ("UncordonNode", "taking a forgotten cordon off".to_owned()),
        };
        let began = launch.map(|launch| (launch.since, launch.deadline));
        let began = began.or(removal.map(|removal| (removal.since, removal.deadline)));
        InFlightView {
            kind: kind.into(),
            target: name.clone(),
            step,
            since: began.map_or(running.since, |(since, _)| since),
            deadline: began.map(|(_, deadline)| deadline),
        }
    };
    executor.running.iter().map(view).chain(elsewhere(executor)).collect()
}

/// What the process that leads has under way, as far as its ledger tells those that follow.
fn elsewhere(executor: &Executor) -> impl Iterator<Item = InFlightView> {
    let ledger = &executor.memory.ledger;
    let view = |kind: &str, target: &Name, since, deadline| InFlightView {
        kind: kind.into(),
        target: target.clone(),
        step: "under way, as the leader has noted it".to_owned(),
        since,
        deadline: Some(deadline),
    };
    let launches = ledger.launches.iter().map(move |(name, launch)| {
        let kind = if launch.kind == LaunchKind::Create { "CreateInstance" } else { "StartInstance" };
        view(kind, name, launch.since, launch.deadline)
    });
    let removals = ledger
        .removals
        .iter()
        .map(move |(name, removal)| view(removal_kind(Some(removal)), name, removal.since, removal.deadline));
    launches.chain(removals).filter(|view| !executor.running.contains_key(&view.target))
}

fn removal_kind(removal: Option<&Removal>) -> &'static str {
    match removal {
        Some(removal) if removal.release => "ReleaseInstance",
        Some(removal) if removal.waits() => "CordonNode",
        _ => "StopInstance",
    }
}

fn sources(snapshot: &Snapshot, now: Time) -> Vec<SourceView> {
    let name = |source: &Source| match source.kind {
        SourceKind::Kubernetes => format!("Kubernetes {}", source.name),
        SourceKind::Instances => format!("Instances of {}", source.name),
        kind => format!("{kind:?} {}/{}", source.namespace, source.name),
    };
    let max_age = snapshot.policy.sources.max_age;
    let view = |(source, state): (&Source, &crate::snapshot::SourceState)| SourceView {
        name: name(source),
        age: state.good_at.map(|at| now.since(at)),
        trouble: state.trouble(now, max_age).map(|trouble| trouble.to_string()),
    };
    snapshot.sources.iter().map(view).collect()
}
