//! What the suites need beside the sources: looked for, installed where that is possible, and named in the
//! closing table when it is missing.

mod advisories;
mod cargo_deny;
mod chromium;
mod go;
mod helm;
mod kubernetes;
mod kwok;
mod namespaces;
mod prometheus;
mod rustc;
mod traces;
mod valgrind;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;

/// What came of looking for a component.
pub(crate) enum Found {
    /// It is there.
    Here {
        /// What it calls itself.
        version: String,
        /// Where it lies, when steps need to know.
        path: Option<PathBuf>,
    },
    /// It is not, and this is why.
    Missing(String),
}

impl Found {
    fn here(version: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self::Here { version: version.into(), path: Some(path.into()) }
    }
}

/// One thing outside the sources that a suite may need.
pub(crate) struct Component {
    /// How steps and the closing table name it.
    pub(crate) name: &'static str,
    /// The suites that are not whole without it; empty: told of, never demanded.
    pub(crate) needed_by: &'static [&'static str],
    /// Looks for it without changing the machine.
    find: fn() -> Found,
    /// Puts it on the machine, where we know how; afterwards it is looked for again.
    install: Option<fn() -> Result<()>>,
}

/// Every component of this release.
const COMPONENTS: &[Component] = &[
    rustc::COMPONENT,
    cargo_deny::COMPONENT,
    advisories::COMPONENT,
    chromium::COMPONENT,
    kubernetes::COMPONENT,
    kwok::COMPONENT,
    helm::COMPONENT,
    prometheus::COMPONENT,
    namespaces::COMPONENT,
    traces::COMPONENT,
    valgrind::COMPONENT,
];

/// A component after it was looked for.
pub(crate) struct Checked {
    /// Which one.
    pub(crate) component: &'static Component,
    /// What came of it.
    pub(crate) found: Found,
}

impl Checked {
    /// Whether one of these suites is not whole because this component is missing.
    pub(crate) fn is_missed_by(&self, suites: &[&str]) -> bool {
        matches!(self.found, Found::Missing(_)) && self.component.is_needed_by(suites)
    }
}

impl Component {
    fn is_needed_by(&self, suites: &[&str]) -> bool {
        self.needed_by.iter().any(|suite| suites.contains(suite))
    }

    /// Looks for the component; installs it when it is missing and one of the suites needs it.
    fn check(&'static self, suites: &[&str]) -> Checked {
        let mut found = (self.find)();
        if let (Found::Missing(_), Some(install), true) = (&found, self.install, self.is_needed_by(suites)) {
            println!("== component {}: installing", self.name);
            let started = Instant::now();
            let installed = install();
            println!("== component {}: {:.1} s", self.name, started.elapsed().as_secs_f64());
            found = match installed {
                Ok(()) => (self.find)(),
                Err(error) => Found::Missing(format!("{error:#}")),
            };
        }
        Checked { component: self, found }
    }
}

/// Checks every component for the suites that are about to run.
pub(crate) fn check_all(suites: &[&str]) -> Vec<Checked> {
    COMPONENTS.iter().map(|component| component.check(suites)).collect()
}

/// Checks one component by name, without installing anything.
#[cfg(test)]
fn named(name: &str) -> Option<&'static Component> {
    COMPONENTS.iter().find(|component| component.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_that_nobody_needs_is_never_demanded() {
        let advisories = named("advisory database").expect("in the table");
        let checked = Checked { component: advisories, found: Found::Missing("no network".into()) };
        assert!(!checked.is_missed_by(&["unit", "sim"]));
    }

    #[test]
    fn a_missing_component_is_missed_only_by_its_suites() {
        let deny = named("cargo-deny").expect("in the table");
        let checked = Checked { component: deny, found: Found::Missing("no disk".into()) };
        assert!(checked.is_missed_by(&["unit"]));
        assert!(!checked.is_missed_by(&["sim"]));
    }
}
