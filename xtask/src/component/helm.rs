//! helm, which renders and installs the chart.

use anyhow::Result;

use super::go::Module;
use super::{Component, Found};

pub(super) const COMPONENT: Component =
    Component { name: "helm", needed_by: &["ship"], find, install: Some(install) };

/// 200 s of CPU from nothing, the module cache aside; five minutes on two cores that others used too.
pub(super) const MODULE: Module = Module {
    folder: "helm",
    version: "v4.3.1",
    programs: &[("helm", "helm.sh/helm/v4/cmd/helm")],
    tags: "",
    stamps: &["helm.sh/helm/v4/internal/version.version"],
    free_gib_min: 3,
};

fn find() -> Found {
    MODULE.find()
}

fn install() -> Result<()> {
    MODULE.install()
}
