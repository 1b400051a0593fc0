//! What makes a removal wait, or need not wait: one rule each.

use super::*;
use crate::fixtures::with_spec;
use crate::kube::{EmptyDir, PodVolume};
use crate::memory::Addition;
use crate::policy::{LocalStorage, ScaleDown};

/// Nodes of one pool on which nothing runs, and of which any number may go at once.
fn idle_nodes(count: usize, rules: impl FnOnce(&mut ScaleDown)) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 20, 1.0));
    (0..count).for_each(|at| _ = cluster.node(&format!("n{at}"), "cpu"));
    cluster.without_removal_budgets();
    rules(&mut cluster.pools.get_mut("cpu").unwrap().scale_down);
    cluster
}

/// A node stays for a reason up to the last moment, and goes then.
fn goes_after(cluster: &mut Cluster, node: &str, wait: Span, reason: impl Fn(UnsafeToRemove) -> bool) {
    let (began, moment) = (cluster.now, Span::from_secs(1));
    for at in [began, began + wait - moment] {
        cluster.now = at;
        let why = kept(&checked(cluster), node);
        assert!(why.clone().is_some_and(&reason), "at {at}: {why:?}");
    }
    cluster.now = began + wait;
    assert_eq!(kept(&checked(cluster), node), None);
}

fn not_ready(cluster: &mut Cluster, nodes: std::ops::Range<usize>) {
    for at in nodes {
        let node = cluster.nodes.get_mut(&*format!("n{at}")).unwrap();
        node.status.conditions[0].status = "False".into();
    }
}

#[test]
fn idle_time_is_at_least_twice_the_95th_percentile_of_boots() {
    let mut cluster = idle_nodes(2, |rules| rules.idle_after = Span::from_mins(10));
    let at = |cluster: &Cluster, minutes| {
        Some(UnsafeToRemove::TooSoon { at: cluster.now + Span::from_mins(minutes) })
    };
    assert_eq!(kept(&checked(&mut cluster), "n1"), at(&cluster, 10));
    for minutes in std::iter::repeat_n(8, 19).chain([60]) {
        cluster.memory.history.note_boot(
            &"cpu".into(),
            crate::memory::LaunchKind::Start,
            Span::from_mins(minutes),
        );
    }
    assert_eq!(kept(&checked(&mut cluster), "n1"), at(&cluster, 16), "one boot of twenty tells nothing");
}

#[test]
fn nothing_goes_in_the_cool_down_after_an_addition() {
    let mut cluster = idle_nodes(2, |rules| rules.cool_down = Span::from_mins(7));
    cluster.memory.ledger.added.push(Addition { at: cluster.now, pool: "cpu".into() });
    let until = cluster.now + Span::from_mins(7);
    goes_after(&mut cluster, "n1", Span::from_mins(7), |why| why == UnsafeToRemove::CoolDown { until });
    cluster.memory.ledger.added[0] = Addition { at: cluster.now, pool: "other".into() };
    assert_eq!(kept(&checked(&mut cluster), "n1"), None, "another pool's additions do not count");
}

#[test]
fn a_node_goes_when_that_pays_for_stopping_and_starting_it() {
    let mut cluster = idle_nodes(2, |rules| rules.payback = true);
    let times = &mut cluster.pools.get_mut("cpu").unwrap().times;
    (times.boot, times.stop) = (Span::from_mins(3), Span::from_mins(30));
    let does_not_pay = |why| matches!(why, UnsafeToRemove::DoesNotPay { saves, costs } if saves < costs);
    goes_after(&mut cluster, "n1", Span::from_mins(33), does_not_pay);
}

/// A node with one small pod that has run since some hours before noon, of an owner of some kind, beside one with room for it.
fn nodes_with_work(owner: &str, hours: i64) -> Cluster {
    let mut cluster = idle_nodes(2, |rules| rules.payback = true);
    let times = &mut cluster.pools.get_mut("cpu").unwrap().times;
    (times.boot, times.stop) = (Span::from_mins(3), Span::from_mins(2));
    cluster.running("web-0", "n0", &[("cpu", "2500m")]);
    let started = cluster.now - Span::from_hours(hours);
    let pod = cluster.running("work-1", "n1", &[("cpu", "1")]);
    pod.metadata.owner_references[0].kind = owner.into();
    pod.status.start_time = Some(started);
    cluster
}

#[test]
fn moving_a_service_costs_a_moment_however_long_it_has_run() {
    let mut cluster = nodes_with_work("ReplicaSet", 48);
    let does_not_pay = |why| matches!(why, UnsafeToRemove::DoesNotPay { .. });
    goes_after(&mut cluster, "n1", Span::from_mins(5) + Span::from_secs(6), does_not_pay);
}

#[test]
fn work_that_would_begin_anew_keeps_its_node_unless_that_was_idle_for_longer() {
    let does_not_pay = |why| matches!(why, UnsafeToRemove::DoesNotPay { .. });
    // As old as the idleness it would have to be worth, and that grows no faster than the work.
    let mut cluster = nodes_with_work("Job", 2);
    checked(&mut cluster);
    cluster.now += Span::from_hours(30);
    assert!(kept(&checked(&mut cluster), "n1").is_some_and(does_not_pay));
    // Work that came late is a small loss.
    let late = cluster.now - Span::from_hours(1);
    cluster.pods[1].status.start_time = Some(late);
    assert_eq!(kept(&checked(&mut cluster), "n1"), None);
    // It is lost anyway, once it was told to end.
    let mut cluster = nodes_with_work("Job", 2);
    checked(&mut cluster);
    cluster.pods[1].metadata.deletion_timestamp = Some(cluster.now);
    cluster.now += Span::from_mins(6);
    assert_eq!(kept(&checked(&mut cluster), "n1"), None);
}

#[test]
fn an_unready_node_goes_after_a_time_of_its_own() {
    let mut cluster = idle_nodes(6, |rules| {
        rules.idle_after = Span::from_hours(2);
        rules.unready_after = Span::from_mins(20);
    });
    not_ready(&mut cluster, 3..4);
    let at = cluster.now + Span::from_mins(20);
    goes_after(&mut cluster, "n3", Span::from_mins(20), |why| why == UnsafeToRemove::TooSoon { at });
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, "n3".to_owned())]);
}

#[test]
fn nothing_of_a_pool_goes_while_too_much_of_it_is_unwell() {
    let mut cluster = idle_nodes(10, |_| {});
    not_ready(&mut cluster, 0..2);
    assert_eq!(kept(&checked(&mut cluster), "n9"), None, "a fifth may be unwell");
    not_ready(&mut cluster, 0..3);
    let plan = checked(&mut cluster);
    assert_eq!(plan.actions, []);
    assert_eq!(kept(&plan, "n9"), Some(UnsafeToRemove::HealthGate));
    assert_eq!(plan.report.holds[0].reason, HoldReason::HealthGate { unready: 3, managed: 10 });
}

#[test]
fn what_is_above_the_maximum_goes_at_once() {
    let mut cluster = idle_nodes(3, |rules| rules.idle_after = Span::from_hours(2));
    assert_eq!(checked(&mut cluster).actions, []);
    cluster.pools.get_mut("cpu").unwrap().max = 2;
    let plan = checked(&mut cluster);
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, "n2".to_owned())], "only what is above it");
    assert_eq!(plan.actions[0].reason.code, ActionCode::AboveMaximum);
}

#[test]
fn nothing_goes_of_a_pool_whose_document_says_no() {
    let mut cluster = idle_nodes(2, |rules| rules.enabled = false);
    assert_eq!(kept(&checked(&mut cluster), "n1"), Some(UnsafeToRemove::ScaleDownOff));
}

#[test]
fn a_node_whose_instance_nobody_lists_stays() {
    let mut cluster = idle_nodes(2, |_| {});
    cluster.instances.retain(|_, instance| &*instance.name != "n1");
    assert_eq!(kept(&checked(&mut cluster), "n1"), Some(UnsafeToRemove::InstanceUnknown));
}

/// A machine came back under another name, and its former self was never deleted: which of the two it is, nobody can tell.
#[test]
fn a_machine_that_two_nodes_stand_for_is_not_stopped() {
    let mut cluster = idle_nodes(3, |_| {});
    cluster.running("web-1", "n1", &[("cpu", "4")]);
    let machine = cluster.nodes["n1"].spec.provider_id.clone();
    cluster.nodes.get_mut("n2").unwrap().spec.provider_id = machine;
    cluster.instances.retain(|_, instance| &*instance.name != "n2");
    let plan = checked(&mut cluster);
    assert_eq!(kept(&plan, "n2"), Some(UnsafeToRemove::SharedMachine));
    assert_eq!(kinds(&plan), [(ActionKind::StopInstance, "n0".to_owned())], "the others go all the same");
    // Once the former self is deleted, and the machine idle, it goes as any other.
    cluster.nodes.remove("n2");
    cluster.pods.clear();
    assert_eq!(kept(&checked(&mut cluster), "n1"), None);
}

#[test]
fn local_data_keeps_a_node_unless_its_pool_lets_it_go() {
    for (rule, stays) in [(LocalStorage::Block, true), (LocalStorage::Evict, false)] {
        let mut cluster = idle_nodes(2, |rules| rules.local_storage = rule);
        let pod = cluster.running("web-1", "n1", &[("cpu", "1")]);
        let local = PodVolume { empty_dir: Some(EmptyDir::default()), ..PodVolume::default() };
        with_spec(pod, |spec| spec.volumes = vec![local]);
        cluster.running("db-1", "n0", &[("cpu", "2500m")]);
        assert_eq!(kept(&checked(&mut cluster), "n1").is_some(), stays, "{rule:?}");
    }
}
