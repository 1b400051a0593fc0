//! Elastic workloads: they keep their floor and give back what a higher wish needs.

use super::*;

/// An elastic workload of six units on two nodes that are full of it.
fn elastic_cluster() -> (Cluster, ElasticWish) {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&SMALL, 2, 1.0));
    for at in 0..6 {
        let node = ["n1", "n2"][at / 3];
        if at % 3 == 0 {
            cluster.node(node, "cpu");
        }
        cluster.running(&format!("train-{at}"), node, &[("cpu", "1300m")]);
    }
    let class = class_of(&cluster, "train-0");
    let wish = ElasticWish {
        scaler: Scaler::Jobs,
        namespace: "default".into(),
        workload: "train".into(),
        class,
        floor: 2,
        at_most: 8,
        priority: 0,
    };
    (cluster, wish)
}

fn class_of(cluster: &Cluster, pod: &str) -> u32 {
    let snapshot = cluster.store().snapshot();
    let mut pods = snapshot.nodes().flat_map(|node| node.pods.clone());
    pods.find(|&number| &*snapshot.pod(number).name == pod)
        .map(|number| snapshot.pod(number).class)
        .expect("it runs")
}

fn units(plan: &Plan, workload: &str) -> u32 {
    plan.grants.iter().find(|grant| &*grant.workload == workload).expect("it wished").units
}

fn plan_elastic(cluster: &Cluster, wish: &ElasticWish) -> Plan {
    let snapshot = cluster.store().snapshot();
    crate::planner::plan_with(
        &snapshot,
        &cluster.memory,
        cluster.now,
        &mut Default::default(),
        std::slice::from_ref(wish),
        u64::MAX,
    )
    .0
}

#[test]
fn an_elastic_workload_gives_back_exactly_what_a_higher_wish_needs() {
    let (mut cluster, wish) = elastic_cluster();
    assert_eq!(units(&plan_elastic(&cluster, &wish), "train"), 6, "nobody asks: it keeps what it has");
    cluster.pending("web-1", &[("cpu", "1")]);
    let plan = plan_elastic(&cluster, &wish);
    assert_eq!((units(&plan, "train"), units(&plan, "web")), (5, 1));
    assert_eq!(plan.actions, [], "no machine is started for what a workload can yield");
    cluster.pending("big-1", &[("cpu", "2500m")]);
    assert_eq!(units(&plan_elastic(&cluster, &wish), "train"), 3);
}

#[test]
fn an_elastic_workload_keeps_its_floor() {
    let (mut cluster, wish) = elastic_cluster();
    for pod in 0..10 {
        cluster.pending(&format!("web-{pod}"), &[("cpu", "1")]);
    }
    let plan = plan_elastic(&cluster, &wish);
    assert_eq!(units(&plan, "train"), 2);
    assert_eq!(units(&plan, "web"), 5);
}

#[test]
fn a_gang_floor_is_met_by_what_yields_or_not_at_all() {
    let (mut cluster, wish) = elastic_cluster();
    for member in 0..2 {
        let pod = cluster.pending(&format!("gang-{member}"), &[("cpu", "2500m")]);
        pod.metadata.labels = labels(&[("ballast.dev/gang", "g"), ("ballast.dev/gang-size", "2")]);
    }
    let plan = plan_elastic(&cluster, &wish);
    assert_eq!(
        (units(&plan, "gang"), units(&plan, "train")),
        (0, 6),
        "only one member would fit: nobody moves"
    );
    let (mut cluster, wish) = elastic_cluster();
    for member in 0..2 {
        let pod = cluster.pending(&format!("gang-{member}"), &[("cpu", "1300m")]);
        pod.metadata.labels = labels(&[("ballast.dev/gang", "g"), ("ballast.dev/gang-size", "2")]);
    }
    let plan = plan_elastic(&cluster, &wish);
    assert_eq!((units(&plan, "gang"), units(&plan, "train")), (2, 4));
}

#[test]
fn surplus_goes_to_elastic_workloads() {
    let (mut cluster, wish) = elastic_cluster();
    cluster.pools.get_mut("cpu").expect("it is there").max = 3;
    cluster.node("n3", "cpu");
    assert_eq!(units(&plan_elastic(&cluster, &wish), "train"), 8, "as much as it can use");
}
