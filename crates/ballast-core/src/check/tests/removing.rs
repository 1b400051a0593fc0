//! Plans that remove what they must not.

use std::sync::Arc;

use super::*;
use crate::fixtures::a_pod;
use crate::kube::{Meta, PodDisruptionBudget, PodVolume};
use crate::memory::Addition;
use crate::observation::ObjectKind;
use crate::policy::{RemovalBudget, VmPoolSpec};
use crate::units::Share;

const MASTER: &str = "node-role.kubernetes.io/master";
const SAFE: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";

fn meta(cluster: &mut Cluster) -> &mut Meta {
    &mut cluster.nodes.get_mut("n2").unwrap().metadata
}

/// A cluster with a node whose pod fits on the other, and the plan that removes it.
fn with_a_removal() -> (Cluster, Plan) {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    cluster.node("n1", "cpu");
    cluster.node("n2", "cpu");
    cluster.running("web-1", "n2", &[("cpu", "1")]);
    cluster.running("db-1", "n1", &[("cpu", "2500m")]);
    cluster.without_removal_budgets();
    let plan = cluster.plan();
    assert_eq!(&*plan.actions[0].target.name, "n2");
    assert!(broken(&cluster, &plan).is_empty());
    (cluster, plan)
}

/// Lets nothing tell any more that a node is of the pool.
fn disown(cluster: &mut Cluster) {
    meta(cluster).labels = labels(&[]);
    cluster.instances.retain(|_, instance| &*instance.name != "n2");
}

fn annotate(cluster: &mut Cluster, key: &str, value: &str) {
    cluster.pods[0].metadata.annotations = labels(&[(key, value)]);
}

fn pool(cluster: &mut Cluster) -> &mut VmPoolSpec {
    cluster.pools.get_mut("cpu").unwrap()
}

/// A volume that goes with its node.
fn a_local_volume() -> PodVolume {
    PodVolume { empty_dir: Some(Default::default()), ..PodVolume::default() }
}

/// A disruption budget of all pods, which allows none to go.
fn a_full_budget() -> PodDisruptionBudget {
    let mut budget = PodDisruptionBudget::default();
    (budget.metadata.name, budget.metadata.namespace) = ("all".into(), "default".into());
    budget.spec.selector = Some(Default::default());
    budget
}

#[test]
fn nothing_goes_that_shall_stay() {
    each_breaks(
        with_a_removal,
        &[
            (|c, _| annotate(c, SAFE, "on-completion"), 1),
            (|c, _| annotate(c, SAFE, "false"), 1),
            (|c, _| annotate(c, "ballast.dev/do-not-disrupt", "true"), 1),
            (|c, _| c.pods[0].metadata.owner_references.clear(), 1),
            (|c, _| c.pods[0].metadata.namespace = "kube-system".into(), 1),
            (|c, _| with_spec(&mut c.pods[0], |spec| spec.volumes = vec![a_local_volume()]), 1),
            (|c, _| c.pods[0].metadata.uid = "another".into(), 1),
            (|c, _| _ = c.running("late-1", "n2", &[("cpu", "1m")]), 1),
            (|c, _| meta(c).annotations = labels(&[("ballast.dev/do-not-disrupt", "true")]), 1),
            (|c, _| c.pods[0].metadata.labels = labels(&[("ballast.dev/gang", "train")]), 10),
            (|c, _| c.pods[0].metadata.labels = labels(&[("app.kubernetes.io/name", "ballast")]), 17),
            (|c, _| Arc::make_mut(&mut meta(c).labels).extend([(MASTER.into(), "".into())]), 17),
            (|c, _| disown(c), 17),
            (|c, _| c.policy.pause.down = true, 14),
            (|c, _| pool(c).pause.down = true, 14),
            (|c, _| pool(c).mode = Some(Mode::Observe), 14),
            (|_, p| first(p).to = "Deleted".into(), 9),
        ],
    );
}

#[test]
fn what_goes_is_named_and_known() {
    each_breaks(
        with_a_removal,
        &[
            (|_, p| first(p).target.uid = "".into(), 2),
            (|_, p| first(p).target.provider_id = "".into(), 2),
            (|_, p| first(p).precondition.uid = "another".into(), 2),
            (|c, _| _ = (c.nodes.remove("n2"), c.pods.remove(0)), 2),
            (|c, _| c.now = c.now - Span::from_hours(1), 3),
        ],
    );
}

#[test]
fn nothing_goes_on_a_source_that_fails() {
    let kinds = [ObjectKind::Node, ObjectKind::Pod, ObjectKind::PodDisruptionBudget];
    for source in kinds.map(Source::kubernetes).into_iter().chain([Source::instances(&"cpu".into())]) {
        let (cluster, plan) = with_a_removal();
        let mut store = cluster.store();
        let error = SourceError { class: ErrorClass::Transient, message: "away".into() };
        store.observe(Observation { source: source.clone(), taken_at: cluster.now, outcome: Err(error) });
        let notes = check(&store.snapshot(), &cluster.memory, &plan);
        assert_eq!(notes.iter().map(|note| note.promise).collect::<Vec<_>>(), [3], "{source:?}");
    }
}

#[test]
fn what_is_displaced_fits_elsewhere() {
    each_breaks(
        with_a_removal,
        &[
            (
                |c, _| with_spec(&mut c.pods[0], |s| s.node_selector = (*labels(&[("disk", "ssd")])).clone()),
                11,
            ),
            (|c, _| _ = c.running("db-2", "n1", &[("cpu", "1")]), 11),
            (|c, _| c.pods[0].spec = a_pod("web-1", &[("memory", "20Gi")]).spec, 11),
            (|c, _| c.pods[0].spec = a_pod("web-1", &[("nvidia.com/gpu", "1")]).spec, 11),
            (|c, _| c.budgets.push(a_full_budget()), 11),
        ],
    );
}

/// Notes that a node of the pool was removed a moment ago.
fn removed(cluster: &mut Cluster, nodes: usize) {
    let gone = Addition { at: cluster.now, pool: "cpu".into() };
    cluster.memory.ledger.removed.extend(std::iter::repeat_n(gone, nodes));
}

fn a_budget(percent: u32) -> RemovalBudget {
    RemovalBudget { share: Share::percent(percent), window: Span::from_mins(10), unlimited: false }
}

#[test]
fn no_pool_falls_below_its_minimum_and_no_budget_is_overdrawn() {
    each_breaks(
        with_a_removal,
        &[
            (|c, _| pool(c).min = 2, 4),
            (|c, _| c.policy.removal.per_pool = a_budget(0), 5),
            (|c, _| c.policy.removal.per_cluster = a_budget(0), 5),
            (|c, _| pool(c).budget = Some(a_budget(0)), 5),
            (|c, _| _ = (c.policy.removal.per_pool = a_budget(10), removed(c, 1)), 5),
            (|c, _| _ = (c.policy.removal.per_cluster = a_budget(5), removed(c, 1)), 5),
            // No more than 34 % by whatever a document says, unless it lifts the ceiling.
            (|c, _| _ = (c.policy.removal.per_pool = a_budget(100), removed(c, 2)), 5),
        ],
    );
    let (mut cluster, plan) = with_a_removal();
    removed(&mut cluster, 1);
    cluster.policy.removal.per_pool = a_budget(10);
    cluster.memory.ledger.removed[0].at = cluster.now - Span::from_mins(10);
    assert!(broken(&cluster, &plan).is_empty(), "the window has passed");
}
