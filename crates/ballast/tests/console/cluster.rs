//! A view as the tests want it: a small GPU cluster in the middle of a busy minute.

use ballast_core::plan::{
    Action, ActionCode, ActionId, ActionKind, Hold, HoldReason, Infeasible, Limit, Misfit, NodeVerdict,
    PoolVerdict, Precondition, Reason, SkipReason, Subject, Target, TargetKind, Waiting, WaitingOn,
};
use ballast_core::policy::Mode;
use ballast_core::units::{Money, Span, Time};
use ballast_core::view::{InFlightView, NodeState, NodeView, PendingView, PoolView, SourceView, Usage, View};

const GIB: i64 = 1 << 30;

/// The instant of [`busy`].
pub(crate) fn now() -> Time {
    "2026-11-15T06:00:00Z".parse().expect("a time")
}

/// A pool of `count` nodes, of which `of` says state and fullness in percent.
fn pool(
    view: &mut View,
    name: &str,
    count: u32,
    each: (i64, i64, i64),
    price: f64,
    of: impl Fn(u32) -> (NodeState, i64),
) {
    let price = Money::from_f64(price).expect("a price");
    let mut pool = PoolView {
        name: name.into(),
        min: 1,
        max: count + 4,
        price_per_hour: Some(price),
        ..PoolView::default()
    };
    for at in 0..count {
        let (state, full) = of(at);
        let (cores, memory, gpus) = each;
        let running = !matches!(state, NodeState::Stopped);
        let usage = Usage {
            cpu: cores * 1000,
            cpu_requested: cores * 10 * full,
            memory: memory * GIB,
            memory_requested: memory * GIB * (full * 7 / 10) / 100,
            gpu: gpus * 1000,
            gpu_requested: gpus * 10 * full,
        };
        if state == NodeState::Ready {
            pool.usage.cpu += usage.cpu;
            pool.usage.cpu_requested += usage.cpu_requested;
            pool.usage.memory += usage.memory;
            pool.usage.memory_requested += usage.memory_requested;
            pool.usage.gpu += usage.gpu;
            pool.usage.gpu_requested += usage.gpu_requested;
        }
        match state {
            NodeState::Ready | NodeState::Cordoned => pool.ready += 1,
            NodeState::Starting => pool.starting += 1,
            NodeState::Draining | NodeState::Stopping => pool.leaving += 1,
            NodeState::Stopped => pool.stopped += 1,
            NodeState::Unready => pool.unready += 1,
        }
        if running {
            pool.cost_per_hour += price;
        }
        view.nodes.push(NodeView {
            name: format!("{name}-{at:03}").into(),
            pool: name.into(),
            zone: ["east-1", "east-2"][at as usize % 2].into(),
            state,
            usage,
            pods: (full / 10) as u32,
            idle_since: (full == 0).then(|| now() - Span::from_mins(4)),
            kept_because: (full > 0)
                .then(|| format!("in use: {full}% of its scarcest resource is requested")),
        });
    }
    view.cost_per_hour += pool.cost_per_hour;
    view.pools.push(pool);
}

fn action(id: u32, kind: ActionKind, name: &str, pool: &str, code: ActionCode, message: &str) -> Action {
    let target =
        Target { kind: TargetKind::Instance, name: name.into(), pool: pool.into(), ..Target::default() };
    let reason = Reason { code, message: message.to_owned(), inputs: Vec::new(), limit: None };
    Action {
        id: ActionId(id),
        kind,
        target,
        from: "Stopped".into(),
        to: "Running".into(),
        precondition: Precondition::default(),
        after: Vec::new(),
        gang: Default::default(),
        reason,
    }
}

fn pods(namespace: &str, workload: &str, count: u32) -> Subject {
    let name = format!("{workload}-0").into();
    Subject::Pods { namespace: namespace.into(), workload: workload.into(), name, count, gang: "".into() }
}

fn pending(namespace: &str, workload: &str, count: u32, requests: &str, waited: i64) -> PendingView {
    PendingView {
        namespace: namespace.into(),
        workload: workload.into(),
        pods: (0..count.min(100)).map(|at| format!("{workload}-{at}").into()).collect(),
        count,
        requests: requests.to_owned(),
        waited: Some(Span::from_secs(waited)),
        waiting: Vec::new(),
        infeasible: None,
    }
}

/// Nothing at all.
pub(crate) fn empty() -> View {
    View {
        now: now(),
        mode: Mode::Enforce,
        currency: "USD".into(),
        cost_per_hour: Money::ZERO,
        plans: 0,
        pools: Vec::new(),
        nodes: Vec::new(),
        pending: Vec::new(),
        actions: Vec::new(),
        in_flight: Vec::new(),
        holds: Vec::new(),
        promises: Vec::new(),
        sources: Vec::new(),
        next_look: Some(now() + Span::from_secs(8)),
    }
}

/// A cluster in the middle of a busy minute.
pub(crate) fn busy() -> View {
    let mut view = View { plans: 1284, ..empty() };
    pool(&mut view, "a100-east", 14, (96, 1100, 8), 27.2, |at| match at {
        0..8 => (NodeState::Ready, 100),
        8..10 => (NodeState::Ready, 50),
        10..12 => (NodeState::Starting, 0),
        _ => (NodeState::Stopped, 0),
    });
    pool(&mut view, "a100-spot", 4, (96, 1100, 8), 9.1, |at| match at {
        0 => (NodeState::Ready, 88),
        1 => (NodeState::Unready, 25),
        _ => (NodeState::Stopped, 0),
    });
    pool(&mut view, "cpu", 40, (32, 128, 0), 1.52, |at| match at {
        0..26 => (NodeState::Ready, 35 + i64::from(at * 17 % 60)),
        26..29 => (NodeState::Draining, 10),
        29 => (NodeState::Cordoned, 40),
        30..33 => (NodeState::Ready, 0),
        _ => (NodeState::Stopped, 0),
    });
    view.pools[1].backed_off =
        Some("a launch failed (the cloud has none to give); tried again in 3m10s".to_owned());
    let mut gang = pending("ml", "train-7", 4, "8 GPU, 90 CPU, 1000Gi memory each; gang of 4", 252);
    let on =
        WaitingOn::Starting { count: 2, pool: "a100-east".into(), ready_at: now() + Span::from_secs(95) };
    gang.waiting.push(Waiting { subject: pods("ml", "train-7", 4), on });
    let on = WaitingOn::Planned { count: 2, pool: "a100-east".into() };
    gang.waiting.push(Waiting { subject: pods("ml", "train-7", 4), on });
    let mut huge = pending("research", "llm-eval", 2, "16 GPU, 64 CPU, 512Gi memory each", 1930);
    huge.infeasible = Some(Infeasible {
        subject: pods("research", "llm-eval", 2),
        pools: vec![
            verdict("a100-east", SkipReason::DoesNotFit { misfit: Misfit::GpuDevices }),
            verdict("a100-spot", SkipReason::DoesNotFit { misfit: Misfit::GpuDevices }),
            verdict("cpu", SkipReason::DoesNotFit { misfit: Misfit::Resource("nvidia.com/gpu".into()) }),
        ],
        nodes: vec![NodeVerdict { misfit: Misfit::GpuDevices, nodes: 44 }],
    });
    let mut web = pending("web", "frontend", 12, "500m CPU, 1Gi memory each", 6);
    web.waiting
        .push(Waiting { subject: pods("web", "frontend", 12), on: WaitingOn::Scheduler { count: 12 } });
    view.pending = vec![huge, gang, web];
    let gang = "gang ml/train-7 needs 4 nodes with 8 free GPUs; 2 are starting";
    view.actions = vec![
        action(1, ActionKind::StartInstance, "a100-east-012", "a100-east", ActionCode::PendingGang, gang),
        action(2, ActionKind::StartInstance, "a100-east-013", "a100-east", ActionCode::PendingGang, gang),
        action(
            3,
            ActionKind::StopInstance,
            "cpu-030",
            "cpu",
            ActionCode::Unneeded,
            "empty for 12m; stopping it saves $1.52/h and the rest holds what may come",
        ),
    ];
    view.actions[2].reason.limit = Some(Limit::ClusterRemovalBudget);
    view.in_flight = vec![
        flight("StartInstance", "a100-east-010", "waits for the node to join", 130, 900),
        flight("StartInstance", "a100-east-011", "joined; its GPUs are not allocatable yet", 170, 900),
        flight("StopInstance", "cpu-026", "draining: 1 pod still to leave", 40, 900),
    ];
    let reason = HoldReason::RemovalBudget { limit: Limit::ClusterRemovalBudget };
    let until = Some(now() + Span::from_secs(340));
    view.holds.push(Hold { subject: Subject::Pool { name: "cpu".into() }, reason, until });
    view.sources = sources();
    view
}

/// One source that is well and one that is not.
fn sources() -> Vec<SourceView> {
    vec![
        SourceView { name: "Kubernetes Pod".to_owned(), age: Some(Span::from_millis(400)), trouble: None },
        SourceView {
            name: "Instances of a100-spot".to_owned(),
            age: Some(Span::from_secs(75)),
            trouble: Some("failed (too many requests)".to_owned()),
        },
    ]
}

fn verdict(pool: &str, reason: SkipReason) -> PoolVerdict {
    PoolVerdict { pool: pool.into(), reason }
}

fn flight(kind: &str, target: &str, step: &str, for_secs: i64, deadline_secs: i64) -> InFlightView {
    let since = now() - Span::from_secs(for_secs);
    let deadline = Some(since + Span::from_secs(deadline_secs));
    InFlightView { kind: kind.into(), target: target.into(), step: step.to_owned(), since, deadline }
}

/// A cluster of many nodes.
pub(crate) fn large(nodes: u32) -> View {
    let mut view = empty();
    pool(&mut view, "big", nodes, (64, 256, 4), 3.0, |at| match at % 50 {
        0 => (NodeState::Starting, 0),
        1 => (NodeState::Draining, 10),
        2 => (NodeState::Unready, 0),
        _ => (NodeState::Ready, i64::from(at * 7 % 101)),
    });
    view
}
