//! Pools that lower the mode for themselves: told of, and in nobody's way.

use super::*;

fn lowered(cluster: &mut Cluster, pool: &str, mode: Mode) {
    cluster.pools.get_mut(pool).expect("it is there").mode = Some(mode);
}

fn says_so(plan: &Plan, pool: &str, mode: Mode) {
    let hold = plan.report.holds.iter().find(|hold| hold.reason == HoldReason::LowerMode { mode });
    let subject = hold.map(|hold| hold.subject.to_string());
    assert_eq!(subject, Some(format!("pool {pool}")));
}

#[test]
fn a_pool_in_a_lower_mode_is_not_counted_on() {
    for mode in [Mode::Observe, Mode::Recommend] {
        let mut cluster = Cluster::new();
        cluster.pool("new", a_pool(&SMALL, 10, 1.0)).min = 2;
        cluster.pool("old", a_pool(&SMALL, 10, 2.0));
        cluster.pending("web-1", &[("cpu", "4")]);
        assert_eq!(made(&checked(&mut cluster), "new"), 2, "it is the cheaper one");
        lowered(&mut cluster, "new", mode);
        let plan = checked(&mut cluster);
        assert_eq!((made(&plan, "new"), made(&plan, "old")), (0, 1), "{mode:?}");
        says_so(&plan, "new", mode);
        // Where nobody else could serve, the report says whose mode it is.
        cluster.pools.remove("old");
        let plan = checked(&mut cluster);
        assert_eq!(plan.actions, []);
        assert_eq!(plan.report.infeasible[0].pools[0].reason, SkipReason::Mode);
    }
}

#[test]
fn a_pool_in_a_lower_mode_spends_no_budget() {
    for mode in [Mode::Observe, Mode::Recommend] {
        let mut cluster = Cluster::new();
        cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
        cluster.pool("zz", a_pool(&SMALL, 10, 1.0));
        cluster.node("n1", "cpu");
        cluster.node("n2", "cpu");
        cluster.node("zz-1", "zz");
        cluster.without_removal_budgets();
        cluster.policy.removal = Default::default();
        lowered(&mut cluster, "zz", mode);
        let plan = checked(&mut cluster);
        assert_eq!(kinds(&plan), [(ActionKind::StopInstance, "n2".to_owned())], "one in ten minutes");
        assert_eq!(kept(&plan, "zz-1"), Some(UnsafeToRemove::Mode));
        says_so(&plan, "zz", mode);
    }
}

#[test]
fn no_pool_is_above_the_mode_of_the_cluster() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 10, 1.0));
    lowered(&mut cluster, "cpu", Mode::Enforce);
    cluster.policy.mode = Mode::Recommend;
    cluster.pending("web-1", &[("cpu", "4")]);
    let plan = checked(&mut cluster);
    assert_eq!(made(&plan, "cpu"), 1, "it is what would be done");
    assert_eq!(plan.report.holds.len(), 0);
}
