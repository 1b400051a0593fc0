//! What a pod asks for in all, by the rule of Kubernetes.
//!
//! Sidecars (init containers that restart always) run beside what comes after them; other init containers run one by one
//! before the containers. So a pod needs the greater of (a) all containers and sidecars together and (b) each plain init
//! container beside the sidecars started before it; and its overhead on top. What the pod asks for as a whole stands in
//! place of its containers.

use std::collections::BTreeMap;

use crate::kube::{Container, Meta, Name, PodSpec};
use crate::units::Quantity;

use super::{Dimension, GpuNeed, ResourceNames, Resources, is_gpu};

/// The annotation of a GPU share in thousandths, as the Alibaba scheduler and its traces write it.
const GPU_MILLI_ANNOTATION: &str = "alibabacloud.com/gpu-milli";
/// The annotation of a GPU share as a fraction, as Run:ai writes it.
const GPU_FRACTION_ANNOTATION: &str = "gpu-fraction";
/// The extended resource of a GPU share in thousandths.
pub const GPU_MILLI_RESOURCE: &str = "ballast.dev/gpu-milli";

/// Requests by name: CPU in thousandths, all else in units.
type Amounts = BTreeMap<Name, i64>;

/// What a pod asks for: the vector, its GPUs, and what of it the model does not know.
pub fn pod_requests(spec: &PodSpec, meta: &Meta, names: &ResourceNames) -> (Resources, GpuNeed, Vec<Name>) {
    let amounts = total(spec);
    let mut vector = Resources::ZERO;
    let mut unmodelled = Vec::new();
    vector[Resources::PODS] = 1;
    for (name, &amount) in &amounts {
        // A pod is one pod, whatever it asks for.
        if matches!(&**name, GPU_MILLI_RESOURCE | "pods") {
            continue;
        }
        match names.find(name) {
            Dimension::At(dimension) => vector[dimension] = amount,
            Dimension::Gpu => {}
            Dimension::Unmodelled => unmodelled.push(format!("resource {name}").into()),
        }
    }
    let share = share_of(&amounts, meta).unwrap_or_else(|unreadable| {
        unmodelled.push(format!("annotation {unreadable}").into());
        0
    });
    let gpu = gpu_need(&amounts, share);
    match gpu {
        GpuNeed::None => {}
        GpuNeed::Whole(count) => vector[Resources::GPU_WHOLE] = i64::from(count),
        GpuNeed::Share(milli) => vector[Resources::GPU_SHARE] = i64::from(milli),
    }
    (vector, gpu, unmodelled)
}

/// The extended resources that a pod asks for, by name.
pub fn extended_names(spec: &PodSpec) -> impl Iterator<Item = Name> {
    total(spec).into_keys().filter(|name| is_extended(name))
}

/// Whether a resource name is one that only some clusters know.
pub(crate) fn is_extended(name: &str) -> bool {
    let is_fixed = matches!(name, "cpu" | "memory" | "pods" | "ephemeral-storage" | GPU_MILLI_RESOURCE);
    !is_fixed && !is_gpu(name)
}

/// What a pod needs of GPUs: whole devices, or a share in thousandths of one.
fn gpu_need(amounts: &Amounts, share: i64) -> GpuNeed {
    let counts = amounts.iter().filter(|(name, _)| is_gpu(name)).map(|(_, &count)| count);
    let whole = counts.fold(0, i64::saturating_add);
    match share {
        1..1000 if whole <= 1 => GpuNeed::Share(share as u16),
        _ if whole > 0 => GpuNeed::Whole(whole.min(i64::from(u16::MAX)) as u16),
        // A share that is no part of a device is so many devices.
        1000.. => GpuNeed::Whole((share / 1000).min(i64::from(u16::MAX)) as u16),
        _ => GpuNeed::None,
    }
}

/// A vector and its GPUs, by name.
pub fn amounts_of(requests: &Resources, gpu: GpuNeed, names: &ResourceNames) -> BTreeMap<Name, Quantity> {
    let mut amounts = BTreeMap::new();
    for (dimension, amount) in requests.iter().enumerate().filter(|(_, amount)| *amount != 0) {
        let quantity = match dimension {
            Resources::PODS | Resources::GPU_WHOLE | Resources::GPU_SHARE => continue,
            Resources::CPU => Quantity::from_milli(amount),
            _ => Quantity::from_units(amount),
        };
        amounts.insert(names.name(dimension), quantity);
    }
    if gpu != GpuNeed::None {
        amounts.insert(names.name(Resources::GPU_WHOLE), Quantity::from_milli(gpu.milli()));
    }
    amounts
}

/// The share of a GPU in thousandths, 0 where none is asked for; the annotation that says so where it cannot be read.
fn share_of(amounts: &Amounts, meta: &Meta) -> Result<i64, &'static str> {
    if let Some(&milli) = amounts.get(GPU_MILLI_RESOURCE) {
        return Ok(milli);
    }
    if let Some(milli) = meta.annotation(GPU_MILLI_ANNOTATION) {
        return milli.parse().ok().filter(|&milli: &i64| milli >= 0).ok_or(GPU_MILLI_ANNOTATION);
    }
    let Some(fraction) = meta.annotation(GPU_FRACTION_ANNOTATION) else { return Ok(0) };
    let fraction = fraction.parse().ok().filter(|fraction: &f64| fraction.is_finite() && *fraction >= 0.0);
    fraction.map(|fraction| (fraction * 1000.0).round() as i64).ok_or(GPU_FRACTION_ANNOTATION)
}

fn total(spec: &PodSpec) -> Amounts {
    let mut running = Amounts::new();
    for container in &spec.containers {
        add(&mut running, &requests_of(container));
    }
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for init in &spec.init_containers {
        let requests = requests_of(init);
        if init.is_sidecar() {
            add(&mut sidecars, &requests);
            greater(&mut starting, &sidecars);
        } else {
            let mut beside = sidecars.clone();
            add(&mut beside, &requests);
            greater(&mut starting, &beside);
        }
    }
    add(&mut running, &sidecars);
    greater(&mut running, &starting);
    if let Some(whole) = &spec.resources {
        running.extend(amounts(&whole.requests));
    }
    add(&mut running, &amounts(&spec.overhead));
    running
}

/// A container's requests; an extended resource or GPU with only a limit requests as much.
fn requests_of(container: &Container) -> Amounts {
    let mut requests = amounts(&container.resources.requests);
    for (name, &limit) in &amounts(&container.resources.limits) {
        requests.entry(name.clone()).or_insert(limit);
    }
    requests
}

fn amounts(requests: &BTreeMap<Name, Quantity>) -> Amounts {
    let amount = |name: &Name, quantity: &Quantity| match &**name {
        "cpu" => quantity.milli(),
        _ => quantity.units(),
    };
    requests.iter().map(|(name, quantity)| (name.clone(), amount(name, quantity).max(0))).collect()
}

fn add(sum: &mut Amounts, other: &Amounts) {
    for (name, &amount) in other {
        let entry = sum.entry(name.clone()).or_default();
        *entry = entry.saturating_add(amount);
    }
}

fn greater(most: &mut Amounts, other: &Amounts) {
    for (name, &amount) in other {
        let entry = most.entry(name.clone()).or_default();
        *entry = (*entry).max(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::RestartPolicy;

    fn container(cpu: &str, sidecar: bool) -> Container {
        let mut container = Container::default();
        container.resources.requests.insert("cpu".into(), cpu.parse().unwrap());
        container.restart_policy = sidecar.then_some(RestartPolicy::Always);
        container
    }

    fn cpu_of(spec: &PodSpec) -> i64 {
        pod_requests(spec, &Meta::default(), &ResourceNames::default()).0[Resources::CPU]
    }

    #[test]
    fn init_containers_sidecars_and_overhead_add_up_as_in_kubernetes() {
        let mut spec = PodSpec {
            containers: vec![container("1", false), container("500m", false)],
            ..Default::default()
        };
        assert_eq!(cpu_of(&spec), 1500);
        spec.init_containers = vec![container("4", false)];
        assert_eq!(cpu_of(&spec), 4000, "an init container alone is greater");
        spec.init_containers = vec![container("1", true), container("4", false)];
        assert_eq!(cpu_of(&spec), 5000, "an init container beside the sidecar before it");
        spec.init_containers = vec![container("4", false), container("3", true)];
        assert_eq!(cpu_of(&spec), 4500, "containers beside the sidecar");
        spec.overhead.insert("cpu".into(), "250m".parse().unwrap());
        assert_eq!(cpu_of(&spec), 4750);
        let mut whole = crate::kube::ContainerResources::default();
        whole.requests.insert("cpu".into(), "2".parse().unwrap());
        spec.resources = Some(whole);
        assert_eq!(cpu_of(&spec), 2250, "what the pod asks for as a whole, and the overhead");
    }

    #[test]
    fn gpus_are_whole_or_a_share() {
        let mut spec = PodSpec::default();
        let mut gpu = Container::default();
        gpu.resources.limits.insert("nvidia.com/gpu".into(), "1".parse().unwrap());
        spec.containers = vec![gpu];
        let mut meta = Meta::default();
        let need = |meta: &Meta| pod_requests(&spec, meta, &ResourceNames::default()).1;
        assert_eq!(need(&meta), GpuNeed::Whole(1));
        meta.annotations = std::sync::Arc::new([(GPU_MILLI_ANNOTATION.into(), "460".into())].into());
        assert_eq!(need(&meta), GpuNeed::Share(460));
    }

    #[test]
    fn a_share_that_is_a_whole_device_or_cannot_be_read_is_not_none() {
        let need = |annotation: &str, value: &str| {
            let annotations = std::sync::Arc::new([(annotation.into(), value.into())].into());
            let meta = Meta { annotations, ..Meta::default() };
            let (_, gpu, unmodelled) = pod_requests(&PodSpec::default(), &meta, &ResourceNames::default());
            (gpu, unmodelled.len())
        };
        assert_eq!(need(GPU_FRACTION_ANNOTATION, "0.5"), (GpuNeed::Share(500), 0));
        assert_eq!(need(GPU_FRACTION_ANNOTATION, "1"), (GpuNeed::Whole(1), 0));
        assert_eq!(need(GPU_MILLI_ANNOTATION, "2000"), (GpuNeed::Whole(2), 0));
        for (annotation, value) in [
            (GPU_FRACTION_ANNOTATION, "half"),
            (GPU_FRACTION_ANNOTATION, "NaN"),
            (GPU_MILLI_ANNOTATION, "-1"),
        ] {
            assert_eq!(need(annotation, value), (GpuNeed::None, 1), "{value}");
        }
    }

    #[test]
    fn a_pod_is_one_pod_whatever_it_asks_for() {
        let mut container = container("1", false);
        container.resources.requests.insert("pods".into(), "0".parse().unwrap());
        let spec = PodSpec { containers: vec![container], ..Default::default() };
        let (vector, ..) = pod_requests(&spec, &Meta::default(), &ResourceNames::default());
        assert_eq!(vector[Resources::PODS], 1);
    }
}
