//! kwok: nodes without machines, thousands of them.

use anyhow::Result;

use super::go::Module;
use super::{Component, Found};

pub(super) const COMPONENT: Component =
    Component { name: "kwok", needed_by: &["kubernetes"], find, install: Some(install) };

const MODULE: Module = Module {
    folder: "kwok",
    version: "v0.8.0",
    programs: &[("kwok", "sigs.k8s.io/kwok/cmd/kwok")],
    stamps: &["sigs.k8s.io/kwok/pkg/consts.Version"],
    free_gib_min: 3,
};

fn find() -> Found {
    MODULE.find()
}

fn install() -> Result<()> {
    MODULE.install()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_that_is_told_is_the_one_that_is_built() {
        assert_eq!(MODULE.required("sigs.k8s.io/kwok").as_deref(), Some(MODULE.version));
    }
}
