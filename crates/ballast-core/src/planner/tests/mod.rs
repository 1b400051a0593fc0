//! Small clusters, one rule each, and what holds for every cluster.

mod asks;
mod choices;
mod elastic;
mod gangs;
mod growth;
mod modes;
mod patience;
mod properties;
mod relations;
mod removals;
mod scheduler;
mod staying;
mod tenants;
mod told;
mod under_way;

use crate::check::check;
use crate::fixtures::{Cluster, a_pool, labels};
use crate::memory::Removal;
use crate::observation::{ErrorClass, InstanceState};
use crate::plan::{
    ActionCode, ActionKind, HoldReason, Limit, Plan, PodBlock, SkipReason, Step, UnsafeToRemove, WaitingOn,
};
use crate::policy::Mode;
use crate::units::Span;
use crate::wish::{ElasticWish, Scaler};

const SMALL: [(&str, &str); 2] = [("cpu", "4"), ("memory", "16Gi")];

fn kinds(plan: &Plan) -> Vec<(ActionKind, String)> {
    plan.actions.iter().map(|action| (action.kind, action.target.name.to_string())).collect()
}

fn made(plan: &Plan, pool: &str) -> usize {
    plan.actions
        .iter()
        .filter(|action| action.kind == ActionKind::CreateInstance && &*action.target.pool == pool)
        .count()
}

fn kept(plan: &Plan, node: &str) -> Option<UnsafeToRemove> {
    let candidate = plan.report.trace.iter().find_map(|step| match step {
        Step::Candidate(candidate) if &*candidate.node == node => Some(candidate),
        _ => None,
    });
    candidate.expect("it was weighed").unsafe_to_remove.clone()
}

/// The drain of a node, just begun.
fn a_removal(cluster: &Cluster, node: &str) -> Removal {
    Removal {
        pool: "cpu".into(),
        uid: format!("uid-{node}").into(),
        provider_id: format!("sim:///{node}").into(),
        token: "".into(),
        mark: "stop-1".into(),
        mode: Default::default(),
        release: false,
        since: cluster.now,
        deadline: cluster.now + Span::from_mins(15),
        waits_for: Vec::new(),
        stopping: false,
        displaces: Vec::new(),
        decision: None,
    }
}

/// Plans, and lets the second pair of eyes look at it.
fn checked(cluster: &mut Cluster) -> Plan {
    let snapshot = cluster.store().snapshot();
    let plan = cluster.plan();
    assert_eq!(check(&snapshot, &cluster.memory, &plan), []);
    plan
}
