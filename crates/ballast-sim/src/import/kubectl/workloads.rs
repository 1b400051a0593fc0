//! The pods of a dump as workloads: those of one controller and one spec are one, and so are the members of one gang.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use ballast_core::kube::{Labels, Name, Phase, Pod, PodSpec, PodVolume};
use ballast_core::snapshot::{ClassKey, Gang};
use ballast_core::units::Span;

use super::kind_of;
use crate::scenario::{Arrivals, Distribution, Owner, Workload};

/// Labels that a controller gives to each pod apart, so that alike pods differ by them.
const LABELS_OF_ONE_POD: [&str; 3] = [
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
];

/// How long after the start those come that wait in the dump: when all that runs in it has been placed.
const WAITING_COME: Span = Span::from_secs(1);

/// Pods that become one workload.
struct Group<'p> {
    name: Name,
    is_gang: bool,
    pods: Vec<&'p Pod>,
}

impl Group<'_> {
    /// Whether all of them wait: what has one member on a node is there from the start.
    fn waits(&self) -> bool {
        self.pods.iter().all(|pod| waits(pod))
    }
}

fn waits(pod: &Pod) -> bool {
    pod.node_name.is_empty() && pod.status.phase != Phase::Running
}

/// The workloads of some pods; daemons and pods of the kubelet come with their nodes.
///
/// What is on a node begins there, by the name that the node has in the scenario. What a gang cannot be in it is told.
pub(super) fn workloads_of(
    pods: &[&Pod],
    places: &BTreeMap<&Name, Name>,
    notes: &mut Vec<String>,
) -> Vec<Workload> {
    let mut alone: Vec<&Pod> = Vec::new();
    let mut gangs: BTreeMap<Name, (Gang, Vec<&Pod>)> = BTreeMap::new();
    for pod in pods.iter().copied().filter(|pod| !matches!(kind_of(pod), Some("DaemonSet" | "Node"))) {
        match ClassKey::new(&pod.metadata, &pod.spec).gang() {
            Some(gang) => gangs.entry(gang.key()).or_insert_with(|| (gang, Vec::new())).1.push(pod),
            None => alone.push(pod),
        }
    }
    let claiming = pods.iter().filter(|pod| pod.spec.volumes.iter().any(PodVolume::claims)).count();
    if claiming > 0 {
        notes.push(format!(
            "no volume can be claimed in a scenario, and these pods run without theirs: {claiming}"
        ));
    }
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (key, (gang, members)) in gangs {
        if members.iter().any(|pod| pod.spec != members[0].spec) {
            notes.push(format!(
                "the members of gang {key} are not alike: Ballast plans them as one, and in the simulation each kind works \
                 without the others"
            ));
            alone.extend(members);
            continue;
        }
        let (count, size) = (members.len(), gang.size as usize);
        if size > 0 && size != count {
            notes.push(format!(
                "gang {key} says {size} members and has {count} here: that many it has in the scenario"
            ));
        }
        groups.push(Group { name: gang.name, is_gang: true, pods: members });
    }
    groups.extend(by_controller(&alone));
    // What runs stands before what waits: it has its place already, and the scheduler takes what comes first.
    groups.sort_by_cached_key(|group| {
        (group.waits(), group.pods[0].metadata.namespace.clone(), group.name.clone())
    });
    let mut workloads: Vec<Workload> = groups.iter().map(|group| workload_of(group, places)).collect();
    name_apart(&mut workloads);
    workloads
}

/// Pods of one controller and one spec, what waits of them apart from what runs, in the order in which they were met.
fn by_controller<'p>(pods: &[&'p Pod]) -> Vec<Group<'p>> {
    let mut groups: Vec<Group<'p>> = Vec::new();
    let mut known: FxHashMap<(bool, &Name, &Name, &PodSpec, Labels), usize> = FxHashMap::default();
    for &pod in pods {
        let name = pod.metadata.controller().map_or(&pod.metadata.name, |owner| &owner.name);
        let key = (waits(pod), &pod.metadata.namespace, name, &*pod.spec, shared_labels(&[pod]));
        let at = *known.entry(key).or_insert_with(|| {
            groups.push(Group { name: name.clone(), is_gang: false, pods: Vec::new() });
            groups.len() - 1
        });
        groups[at].pods.push(pod);
    }
    groups
}

/// The labels that all of some pods have.
fn shared_labels(pods: &[&Pod]) -> Labels {
    let Some((first, others)) = pods.split_first() else { return Labels::new() };
    let mut labels = (*first.metadata.labels).clone();
    labels.retain(|key, value| {
        !LABELS_OF_ONE_POD.contains(&&**key)
            && others.iter().all(|pod| pod.metadata.labels.get(&**key) == Some(&*value))
    });
    labels
}

/// Gives a name of its own to every workload: the first of a name keeps it, the others get a number that nobody has.
fn name_apart(workloads: &mut [Workload]) {
    let mut taken: BTreeSet<Name> = workloads.iter().map(|workload| workload.name.clone()).collect();
    let mut kept = BTreeSet::new();
    for workload in workloads {
        if kept.insert(workload.name.clone()) {
            continue;
        }
        let numbered = (2u32..).map(|number| -> Name { format!("{}-{number}", workload.name).into() });
        let free = numbered.into_iter().find(|name| !taken.contains(name));
        workload.name = free.unwrap_or_default();
        taken.insert(workload.name.clone());
    }
}

fn workload_of(group: &Group<'_>, places: &BTreeMap<&Name, Name>) -> Workload {
    let pod = group.pods[0];
    let starts = if pod.status.phase == Phase::Running { Span::ZERO } else { Span::from_secs(5) };
    let at = if group.waits() { vec![WAITING_COME] } else { Vec::new() };
    let mut pod_spec = (*pod.spec).clone();
    pod_spec.volumes.retain(|volume| !volume.claims());
    let mut runs_on: BTreeMap<Name, u32> = BTreeMap::new();
    for place in group.pods.iter().filter_map(|pod| places.get(&pod.node_name)) {
        *runs_on.entry(place.clone()).or_default() += 1;
    }
    Workload {
        name: group.name.clone(),
        namespace: pod.metadata.namespace.clone(),
        owner: match kind_of(pod) {
            None => Owner::None,
            Some("ReplicaSet") => Owner::ReplicaSet,
            Some("StatefulSet") => Owner::StatefulSet,
            Some(_) => Owner::Job,
        },
        arrivals: Arrivals { at, ..Arrivals::default() },
        requests: BTreeMap::new(),
        gpu_milli: None,
        gpu_models: Vec::new(),
        members: group.pods.len() as u32,
        runs_on,
        gang: group.is_gang,
        sizes: Vec::new(),
        duration: None,
        checkpoint: None,
        start_up: Distribution::Fixed(starts),
        priority: pod.spec.priority.unwrap_or(0),
        labels: shared_labels(&group.pods),
        annotations: (*pod.metadata.annotations).clone(),
        pod_spec,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A pod of a gang, named by one of the labels that core knows.
    fn member(name: &str, label: &str, gpus: u32) -> Pod {
        let pod = json!({"metadata": {"name": name, "namespace": "ml", "labels": {label: "train", "replica-index": name}},
            "spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": gpus}}}]},
            "status": {"phase": "Pending"}});
        serde_json::from_value(pod).expect("a pod")
    }

    fn workloads(pods: &[Pod]) -> (Vec<Workload>, Vec<String>) {
        let mut notes = Vec::new();
        let pods: Vec<&Pod> = pods.iter().collect();
        (workloads_of(&pods, &BTreeMap::new(), &mut notes), notes)
    }

    #[test]
    fn the_members_of_a_gang_are_one_workload_whatever_names_it() {
        for label in ["ballast.dev/gang", "kueue.x-k8s.io/pod-group-name", "scheduling.x-k8s.io/pod-group"] {
            let pods = ["a", "b", "c"].map(|name| member(name, label, 8));
            let (workloads, notes) = workloads(&pods);
            let [train] = &workloads[..] else { panic!("{label}: {workloads:?}") };
            assert_eq!((&*train.name, train.gang, train.members), ("train", true, 3), "{label}");
            assert_eq!(train.labels, Labels::from([(label.into(), "train".into())]), "{label}");
            assert_eq!(notes, [""; 0], "{label}");
        }
    }

    #[test]
    fn a_gang_that_a_scenario_cannot_hold_is_told() {
        let label = "ballast.dev/gang";
        let pods = [member("a", label, 8), member("b", label, 8), member("c", label, 4)];
        let (unlike, notes) = workloads(&pods);
        assert_eq!(unlike.iter().filter(|workload| workload.gang).count(), 0, "{unlike:?}");
        assert_eq!(unlike.iter().map(|workload| workload.members).sum::<u32>(), 3);
        let [note] = &notes[..] else { panic!("{notes:?}") };
        assert!(note.starts_with("the members of gang ml/train are not alike: "), "{note}");

        let mut pods = ["a", "b"].map(|name| member(name, label, 8));
        for pod in &mut pods {
            let labels = std::sync::Arc::make_mut(&mut pod.metadata.labels);
            labels.insert("ballast.dev/gang-size".into(), "3".into());
        }
        let (half, notes) = workloads(&pods);
        assert_eq!((half[0].gang, half[0].members), (true, 2));
        assert_eq!(notes, ["gang ml/train says 3 members and has 2 here: that many it has in the scenario"]);
    }

    #[test]
    fn what_is_claimed_is_left_out_and_told() {
        let mut pod = member("a", "app", 1);
        let volumes = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "tmp", "emptyDir": {}}]);
        std::sync::Arc::make_mut(&mut pod.spec).volumes = serde_json::from_value(volumes).expect("volumes");
        let (workloads, notes) = workloads(&[pod]);
        let volumes: Vec<&str> = workloads[0].pod_spec.volumes.iter().map(|volume| &*volume.name).collect();
        assert_eq!(volumes, ["tmp"]);
        assert_eq!(notes, ["no volume can be claimed in a scenario, and these pods run without theirs: 1"]);
    }
}
