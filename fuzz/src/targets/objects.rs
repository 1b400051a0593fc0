//! Kubernetes objects and policies from YAML, which includes JSON.

use ballast_core::kube::{DaemonSet, Node, PersistentVolume, Pod, PodDisruptionBudget, PriorityClass};
use ballast_core::policy::{ClusterPolicySpec, VmPoolSpec};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(super) fn run(input: &[u8]) {
    read::<Pod>(input);
    read::<Node>(input);
    read::<PodDisruptionBudget>(input);
    read::<DaemonSet>(input);
    read::<PersistentVolume>(input);
    read::<PriorityClass>(input);
    read::<ClusterPolicySpec>(input);
    read::<VmPoolSpec>(input);
}

/// Whatever is read can be written, and its error can be shown.
fn read<T: DeserializeOwned + Serialize>(input: &[u8]) {
    match serde_saphyr::from_slice::<T>(input) {
        Ok(value) => drop(serde_json::to_vec(&value).expect("what was read can be written")),
        Err(error) => drop(error.to_string()),
    }
    match serde_json::from_slice::<T>(input) {
        Ok(value) => drop(serde_json::to_vec(&value).expect("what was read can be written")),
        Err(error) => drop(error.to_string()),
    }
}
