//! A Kubernetes control plane without kubelets: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kubectl.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::go::Module;
use super::{Component, Found};
use crate::workspace;

pub(super) const COMPONENT: Component =
    Component { name: "Kubernetes", needed_by: &["kubernetes", "ship"], find, install: Some(install) };

/// Measured on two busy cores: see the seconds that `cargo xtask test` prints when it builds them.
pub(super) const MODULE: Module = Module {
    folder: "control-plane",
    version: "v1.36.4",
    programs: &[
        ("etcd", "go.etcd.io/etcd/server/v3"),
        ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
        ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
        ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
        ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    ],
    tags: "",
    stamps: &["k8s.io/component-base/version.gitVersion"],
    free_gib_min: 8,
};

/// Those that `KUBEBUILDER_ASSETS` names, as is the custom of the field; else ours.
fn find() -> Found {
    let Some(assets) = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from) else {
        return MODULE.find();
    };
    // envtest's assets have no controller-manager and no scheduler: without them nothing is ever bound.
    if !MODULE.is_whole(&assets) {
        return MODULE.find();
    }
    let told = workspace::first_line(Command::new(assets.join("kube-apiserver")).arg("--version"));
    Found::here(told.unwrap_or_else(|| "of an unknown version".into()), assets)
}

fn install() -> Result<()> {
    MODULE.install()
}
