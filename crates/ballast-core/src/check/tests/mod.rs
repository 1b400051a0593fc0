//! Plans that break a promise, one each: every rule of the check is seen to bark.

mod adding;
mod naming;
mod removing;

use crate::fixtures::{Cluster, a_pool, labels, with_spec};
use crate::observation::{ErrorClass, InstanceState, Observation, Source, SourceError};
use crate::plan::{Action, ActionKind, Plan};
use crate::policy::Mode;
use crate::units::Span;

use super::check;

const SMALL: [(&str, &str); 2] = [("cpu", "4"), ("memory", "16Gi")];

/// The promises that a plan made for one cluster would break in another.
fn broken(cluster: &Cluster, plan: &Plan) -> Vec<u8> {
    check(&cluster.store().snapshot(), &cluster.memory, plan).iter().map(|note| note.promise).collect()
}

/// A change to a cluster after its plan was made, or to the plan, and the promise that breaks by it.
type Breaking = (fn(&mut Cluster, &mut Plan), u8);

/// Every change breaks its promise, and none but that.
fn each_breaks(made: fn() -> (Cluster, Plan), table: &[Breaking]) {
    for (at, (change, promise)) in table.iter().enumerate() {
        let (mut cluster, mut plan) = made();
        change(&mut cluster, &mut plan);
        let notes = check(&cluster.store().snapshot(), &cluster.memory, &plan);
        let is_only = !notes.is_empty() && notes.iter().all(|note| note.promise == *promise);
        assert!(is_only, "change {at}: {notes:#?}");
    }
}

/// Makes the first action a second time.
fn twice(plan: &mut Plan) {
    let again = plan.actions[0].clone();
    plan.actions.make_mut().push(again);
}

fn first(plan: &mut Plan) -> &mut Action {
    &mut plan.actions.make_mut()[0]
}

/// A cluster with an instance of ours that never joined, and the plan that lets it go.
fn with_a_release() -> (Cluster, Plan) {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.instance("lost", "cpu", InstanceState::Running);
    cluster.instances.values_mut().for_each(|instance| instance.token = "cpu-7".into());
    assert_eq!(cluster.plan().actions, []);
    cluster.now += Span::from_mins(16);
    let plan = cluster.plan();
    assert_eq!(plan.actions[0].kind, ActionKind::ReleaseInstance);
    assert!(broken(&cluster, &plan).is_empty());
    (cluster, plan)
}

#[test]
fn nothing_is_let_go_that_is_a_node_whatever_its_name() {
    let (mut cluster, plan) = with_a_release();
    let mut node = cluster.node("lost", "cpu").clone();
    cluster.instances.values_mut().for_each(|instance| instance.token = "cpu-7".into());
    cluster.nodes.clear();
    node.metadata.name = "ip-10-0-0-7".into();
    cluster.nodes.insert("ip-10-0-0-7".into(), node);
    assert_eq!(cluster.plan().actions, []);
    assert_eq!(broken(&cluster, &plan), [1]);
}

#[test]
fn nothing_is_let_go_that_is_not_known_to_be_ours() {
    let (mut cluster, mut plan) = with_a_release();
    plan.actions.make_mut()[0].precondition.token = "".into();
    assert_eq!(broken(&cluster, &plan), [2, 17]);
    cluster.instances.clear();
    plan.actions.make_mut()[0].precondition.token = "cpu-7".into();
    assert_eq!(broken(&cluster, &plan), [17]);
}

#[test]
fn nothing_is_let_go_while_its_source_fails() {
    let (cluster, plan) = with_a_release();
    let mut store = cluster.store();
    let error = SourceError { class: ErrorClass::Transient, message: "away".into() };
    store.observe(Observation {
        source: Source::instances(&"cpu".into()),
        taken_at: cluster.now,
        outcome: Err(error),
    });
    let snapshot = store.snapshot();
    assert_eq!(check(&snapshot, &cluster.memory, &plan)[0].promise, 3);
    let (held, _) = crate::planner::plan(&snapshot, &cluster.memory, cluster.now, &mut Default::default());
    assert_eq!(held.actions, []);
}

#[test]
fn nothing_is_let_go_before_its_time_or_in_a_pause() {
    each_breaks(
        with_a_release,
        &[
            (|c, _| c.policy.pause.down = true, 14),
            (|c, _| c.pools.get_mut("cpu").unwrap().mode = Some(Mode::Recommend), 14),
            (|c, _| c.pools.get_mut("cpu").unwrap().pause.down = true, 14),
            (|c, _| c.instances.values_mut().for_each(|i| i.since = Some(c.now)), 6),
            (|_, p| twice(p), 2),
        ],
    );
}
