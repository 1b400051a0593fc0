//! Prometheus, which scrapes, and promtool, which judges rules.

use anyhow::Result;

use super::go::Module;
use super::{Component, Found};

pub(super) const COMPONENT: Component =
    Component { name: "Prometheus", needed_by: &["ship"], find, install: Some(install) };

/// Without the clouds in which it can look for what to scrape. 225 s of CPU for both, from nothing.
pub(super) const MODULE: Module = Module {
    folder: "prometheus",
    version: "v0.315.0",
    programs: &[
        ("prometheus", "github.com/prometheus/prometheus/cmd/prometheus"),
        ("promtool", "github.com/prometheus/prometheus/cmd/promtool"),
    ],
    tags: "remove_all_sd",
    stamps: &["github.com/prometheus/common/version.Version"],
    free_gib_min: 3,
};

fn find() -> Found {
    MODULE.find()
}

fn install() -> Result<()> {
    MODULE.install()
}
