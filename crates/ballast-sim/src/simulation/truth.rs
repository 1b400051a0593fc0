//! The truth as a view, for runs in which nobody shows one.

use ballast_core::resources::Resources;
use ballast_core::units::Money;
use ballast_core::view::{NodeState, NodeView, PendingView, PoolView, Usage, View};

use crate::scenario::ScenarioSpec;
use crate::world::{Machine, NONE, Power, World};

/// One instant of the true world.
pub(super) fn truth(world: &World, spec: &ScenarioSpec) -> View {
    let pools = world.pools.iter().enumerate().map(|(at, _)| pool_view(world, spec, at)).collect::<Vec<_>>();
    let mut nodes: Vec<NodeView> = world
        .machines
        .iter()
        .filter(|machine| machine.power != Power::Gone)
        .map(|machine| node_view(world, machine))
        .collect();
    nodes.sort_by(|a, b| a.rank().cmp(&b.rank()));
    let unmanaged = world.machines.iter().map(|machine| &world.kinds[machine.kind as usize]);
    let unmanaged: Money = unmanaged.filter(|kind| kind.pool == NONE).map(|kind| kind.per_hour).sum();
    View {
        now: world.now,
        mode: spec.policy.mode,
        currency: spec.policy.currency.clone(),
        cost_per_hour: pools.iter().map(|pool| pool.cost_per_hour).sum::<Money>() + unmanaged,
        plans: 0,
        pools,
        nodes,
        pending: pending(world),
        actions: Vec::new(),
        in_flight: Vec::new(),
        holds: Vec::new(),
        promises: Vec::new(),
        sources: Vec::new(),
        next_look: None,
    }
}

fn pool_view(world: &World, spec: &ScenarioSpec, at: usize) -> PoolView {
    let written = &spec.pools[at].spec;
    let mut view = PoolView {
        name: world.pools[at].name.clone(),
        min: written.min,
        max: written.max,
        price_per_hour: written.price.per_hour,
        ..PoolView::default()
    };
    for &machine in &world.pools[at].machines {
        let machine = &world.machines[machine as usize];
        let kind = &world.kinds[machine.kind as usize];
        let (count, price) = match state(machine) {
            NodeState::Starting => (&mut view.starting, kind.per_hour),
            NodeState::Ready | NodeState::Cordoned | NodeState::Draining => (&mut view.ready, kind.per_hour),
            NodeState::Unready => (&mut view.unready, kind.per_hour),
            NodeState::Stopping => (&mut view.leaving, kind.per_hour),
            NodeState::Stopped => (&mut view.stopped, kind.stopped_per_hour),
        };
        *count += 1;
        view.cost_per_hour += price;
        if machine.is_ready() {
            view.usage += usage(world, machine);
        }
    }
    view
}

fn usage(world: &World, machine: &Machine) -> Usage {
    let kind = &world.kinds[machine.kind as usize];
    let gpu = machine.devices.left().len() as i64 * 1000;
    Usage {
        cpu_requested: kind.room[Resources::CPU] - machine.free[Resources::CPU],
        cpu: kind.room[Resources::CPU],
        memory_requested: kind.room[Resources::MEMORY] - machine.free[Resources::MEMORY],
        memory: kind.room[Resources::MEMORY],
        gpu_requested: gpu - machine.room(kind).gpu_left(),
        gpu,
    }
}

fn state(machine: &Machine) -> NodeState {
    match machine.power {
        Power::Stopping(_) => NodeState::Stopping,
        Power::Stopped | Power::Gone => NodeState::Stopped,
        Power::Starting => NodeState::Starting,
        Power::Running => match &machine.node {
            None => NodeState::Starting,
            Some(node) if !node.devices_up => NodeState::Starting,
            Some(_) if !machine.is_ready() => NodeState::Unready,
            Some(node) if node.cordoned && !node.mark.is_empty() => NodeState::Draining,
            Some(node) if node.cordoned => NodeState::Cordoned,
            Some(_) => NodeState::Ready,
        },
    }
}

fn node_view(world: &World, machine: &Machine) -> NodeView {
    let kind = &world.kinds[machine.kind as usize];
    let usage = if machine.is_ready() { usage(world, machine) } else { Usage::default() };
    NodeView {
        name: machine.name.clone(),
        pool: if kind.pool == NONE {
            world.empty.clone()
        } else {
            world.pools[kind.pool as usize].name.clone()
        },
        zone: kind.zone.clone(),
        state: state(machine),
        usage,
        pods: machine.guests,
        idle_since: None,
        kept_because: None,
    }
}

/// Pods that wait, by workload; the longest wait first.
fn pending(world: &World) -> Vec<PendingView> {
    let mut views: Vec<PendingView> = Vec::new();
    for (_, pod) in world.pods.iter().filter(|(_, pod)| !pod.is_bound()) {
        let class = &world.classes[pod.class as usize];
        let workload = &world.meter.workloads[class.workload as usize];
        let waited = Some(world.now.since(pod.created));
        let known =
            views.iter_mut().find(|view| view.workload == *workload && view.namespace == class.namespace);
        if let Some(view) = known {
            view.count += 1;
            view.waited = view.waited.max(waited);
            if view.pods.len() < 100 {
                view.pods.push(pod.name.clone());
            }
            continue;
        }
        let gpus = match class.need.gpu_total() {
            0 => String::new(),
            milli => format!(", {} GPU", milli as f64 / 1000.0),
        };
        views.push(PendingView {
            namespace: class.namespace.clone(),
            workload: workload.clone(),
            pods: vec![pod.name.clone()],
            count: 1,
            requests: format!("{} CPU{gpus}", class.need.cpu as f64 / 1000.0),
            waited,
            waiting: Vec::new(),
            infeasible: None,
        });
    }
    views.sort_by_key(|view| std::cmp::Reverse(view.waited));
    views
}
