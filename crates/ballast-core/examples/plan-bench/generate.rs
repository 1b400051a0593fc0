//! Generators with a fixed seed: the same clusters on every machine.

use std::sync::Arc;

use ballast_core::fixtures::{Cluster, a_pod, a_pool, affinity, labels, with_spec};
use ballast_core::kube::{
    DoNotSchedule, LabelSelector, Labels, Name, Pod, PodAffinityTerm, PodAffinityTerms, TopologySpread,
};

/// A small generator: the same numbers everywhere.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}

/// Pods of one shape, sharing their spec and labels.
fn alike(cluster: &mut Cluster, first: &Pod, stem: &str, count: usize) {
    for at in 0..count {
        let mut pod = first.clone();
        pod.metadata.name = format!("{stem}-{at}").into();
        pod.metadata.uid = format!("uid-{stem}-{at}").into();
        cluster.pods.push(pod);
    }
}

/// 51,000 pods for empty nodes of 1000 m, 5000 MiB and 100 pods.
pub(crate) fn pack(distinct: bool) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("nodes", a_pool(&[("cpu", "1000m"), ("memory", "5000Mi"), ("pods", "100")], 3000, 1.0));
    for (stem, cpu, memory, count) in [("big", 95, 190, 1000), ("small", 50, 100, 50_000)] {
        let first =
            a_pod(&format!("{stem}-0"), &[("cpu", &format!("{cpu}m")), ("memory", &memory.to_string())]);
        if !distinct {
            alike(&mut cluster, &first, stem, count);
            continue;
        }
        // Distinct in memory, by bytes: as many nodes, but no two pods of one class.
        for at in 0..count {
            let memory = (memory + at).to_string();
            cluster.pending(&format!("{stem}-{at}"), &[("cpu", &format!("{cpu}m")), ("memory", &memory)]);
        }
    }
    cluster
}

/// `nodes` nodes with 30 pods each at 70 to 95 % requested, GPUs 0/1/2/4/8, two thirds of a pending pod per node in 100
/// shapes and 50 gangs of which a third need new nodes, 10 node types.
pub(crate) fn busy(nodes: usize) -> Cluster {
    let mut dice = Dice::new(15);
    let mut cluster = Cluster::new();
    for (at, gpus) in [0, 0, 0, 1, 1, 2, 2, 4, 4, 8].into_iter().enumerate() {
        let cores = if gpus == 0 { 32 } else { 12 * gpus.max(2) };
        let gpu = gpus.to_string();
        let (cpu, memory) = (cores.to_string(), format!("{}Gi", cores * 4));
        let mut allocatable = vec![("cpu", &*cpu), ("memory", &*memory), ("pods", "110")];
        if gpus > 0 {
            allocatable.push(("nvidia.com/gpu", &gpu));
        }
        let price = f64::from(cores) * 0.05 + f64::from(gpus) * 2.0;
        cluster.pool(&format!("type-{at}"), a_pool(&allocatable, nodes as u32, price));
    }
    for at in 0..nodes {
        fill_node(&mut cluster, &mut dice, at);
    }
    let pending = nodes * 2 / 3;
    let gangs = pending / 10 / 50;
    for shape in 0..100 {
        let cpu = if shape % 3 == 0 { 6000 + 100 * shape } else { 200 + 25 * shape };
        let memory = cpu * 3;
        let mut requests =
            vec![("cpu".to_owned(), format!("{cpu}m")), ("memory".to_owned(), format!("{memory}Mi"))];
        if shape % 3 == 0 && shape % 2 == 0 {
            requests.push(("nvidia.com/gpu".to_owned(), [1, 2, 4, 8][shape / 6 % 4].to_string()));
        }
        let requests: Vec<(&str, &str)> =
            requests.iter().map(|(name, amount)| (&**name, &**amount)).collect();
        let first = a_pod(&format!("shape{shape}-0"), &requests);
        alike(&mut cluster, &first, &format!("shape{shape}"), (pending - gangs * 50) / 100);
    }
    for gang in 0..50 {
        let cpu = if gang % 3 == 0 { "8" } else { "500m" };
        let mut first = a_pod(&format!("gang{gang}-0"), &[("cpu", cpu), ("memory", "2Gi")]);
        let size = gangs.to_string();
        first.metadata.labels =
            labels(&[("ballast.dev/gang", &format!("gang{gang}")), ("ballast.dev/gang-size", &size)]);
        alike(&mut cluster, &first, &format!("gang{gang}"), gangs);
    }
    cluster
}

fn fill_node(cluster: &mut Cluster, dice: &mut Dice, at: usize) {
    let kind = at % 10;
    let name = format!("node-{kind}-{at:05}");
    cluster.node(&name, &format!("type-{kind}"));
    let template = &cluster.pools[&*format!("type-{kind}")].template;
    let cores = template.allocatable["cpu"].milli();
    let memory = template.allocatable["memory"].units();
    let gpus = template.allocatable.get("nvidia.com/gpu").map_or(0, |gpus| gpus.units());
    let share = 70 + dice.below(26) as i64;
    let (cpu, memory) = (format!("{}m", cores * share / 100 / 30), (memory * share / 100 / 30).to_string());
    let plain = a_pod("web-0", &[("cpu", &cpu), ("memory", &memory)]);
    let with_gpu = a_pod("train-0", &[("cpu", &cpu), ("memory", &memory), ("nvidia.com/gpu", "1")]);
    for pod in 0..30 {
        let mut next = if pod < gpus * share / 100 { with_gpu.clone() } else { plain.clone() };
        next.metadata.name = format!("run-{at}-{pod}").into();
        next.metadata.uid = format!("uid-run-{at}-{pod}").into();
        next.node_name = name.as_str().into();
        next.status.phase = ballast_core::kube::Phase::Running;
        cluster.pods.push(next);
    }
}

/// 2,000 nodes with 40 pods of 1 % each.
pub(crate) fn light() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("nodes", a_pool(&[("cpu", "10"), ("memory", "10Gi"), ("pods", "200")], 2000, 1.0));
    cluster.without_removal_budgets();
    let first = a_pod("web-0", &[("cpu", "100m"), ("memory", "100Mi")]);
    for node in 0..2000 {
        let name = format!("node-{node:04}");
        cluster.node(&name, "nodes");
        for pod in 0..40 {
            let mut next = first.clone();
            next.metadata.name = format!("web-{node}-{pod}").into();
            next.metadata.uid = format!("uid-web-{node}-{pod}").into();
            next.node_name = name.as_str().into();
            next.status.phase = ballast_core::kube::Phase::Running;
            cluster.pods.push(next);
        }
    }
    cluster
}

/// 20,000 pods in five equal classes on 400 types in three zones.
pub(crate) fn types() -> Cluster {
    let mut dice = Dice::new(42);
    let mut cluster = Cluster::new();
    for at in 0..400u32 {
        let cpu = (at + 1) * 1000 - 100;
        let memory = u64::from(at + 1) * 2048 - 10;
        let pods = (10 * (at + 1)).to_string();
        let price = f64::from(at + 1) * 0.1 + (u64::from(at + 1) * 2048 * 1_048_576) as f64 / 1e9 * 0.1;
        let allocatable =
            [("cpu", &*format!("{cpu}m")), ("memory", &*format!("{memory}Mi")), ("pods", &*pods)];
        let pool = cluster.pool(&format!("type-{at:03}"), a_pool(&allocatable, 100_000, price));
        pool.template.zones = vec!["zone-1".into(), "zone-2".into(), "zone-3".into()];
    }
    for class in 0..5 {
        for at in 0..4000 {
            let cpu = [100, 250, 500, 1000, 1500][dice.below(5) as usize];
            let memory = [100, 256, 512, 1024, 2048, 4096][dice.below(6) as usize];
            let label = ["a", "b", "c", "d", "e", "f", "g"][dice.below(7) as usize];
            let name = format!("c{class}-{label}-{at}");
            let pod =
                cluster.pending(&name, &[("cpu", &format!("{cpu}m")), ("memory", &format!("{memory}Mi"))]);
            constrain(pod, class, label);
        }
    }
    cluster
}

fn constrain(pod: &mut Pod, class: u32, label: &str) {
    let key: Name = format!("class-{class}").into();
    let mut own = Labels::new();
    own.insert(key, label.into());
    let selector = LabelSelector { match_labels: own.clone(), match_expressions: Vec::new() };
    pod.metadata.labels = Arc::new(own);
    pod.metadata.owner_references[0].name = format!("c{class}-{label}").into();
    let (zone, host) = ("topology.kubernetes.io/zone", "kubernetes.io/hostname");
    let spread = |key: &str| TopologySpread {
        max_skew: 1,
        topology_key: key.into(),
        when_unsatisfiable: DoNotSchedule::DoNotSchedule,
        label_selector: Some(selector.clone()),
        ..TopologySpread::default()
    };
    let term = |key: &str| PodAffinityTerms {
        required: vec![PodAffinityTerm {
            label_selector: Some(selector.clone()),
            topology_key: key.into(),
            ..PodAffinityTerm::default()
        }],
    };
    with_spec(pod, |spec| match class {
        1 => spec.topology_spread_constraints = vec![spread(zone)],
        2 => spec.topology_spread_constraints = vec![spread(host)],
        3 => affinity(spec).pod_affinity = Some(term(zone)),
        4 => affinity(spec).pod_anti_affinity = Some(term(host)),
        _ => {}
    });
}
