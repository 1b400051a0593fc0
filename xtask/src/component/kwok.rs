//! kwok: nodes without machines, thousands of them.

use anyhow::Result;

use super::go::Module;
use super::{Component, Found};

pub(super) const COMPONENT: Component =
    Component { name: "kwok", needed_by: &["kubernetes", "ship"], find, install: Some(install) };

pub(super) const MODULE: Module = Module {
    folder: "kwok",
    version: "v0.8.0",
    programs: &[("kwok", "sigs.k8s.io/kwok/cmd/kwok")],
    tags: "",
    stamps: &["sigs.k8s.io/kwok/pkg/consts.Version"],
    free_gib_min: 3,
};

fn find() -> Found {
    MODULE.find()
}

fn install() -> Result<()> {
    MODULE.install()
}
