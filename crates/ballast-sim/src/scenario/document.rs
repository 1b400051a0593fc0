//! The whole document: metadata around a [`ScenarioSpec`].

use serde::{Deserialize, Serialize};

use super::{Complaint, ScenarioSpec};
use crate::import::fill_from_openb;
use crate::openb::{Trace, TraceError};
use ballast_core::kube::Name;
use ballast_core::policy::{API_VERSION, ClusterPolicySpec};

/// A named scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: Name,
    /// What it says.
    pub spec: ScenarioSpec,
}

/// Why a document is not a scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// It does not have the form of one.
    #[error("not a scenario")]
    Form(#[source] serde_json::Error),
    /// It is a document of another kind.
    #[error("`{kind}` of `{api_version}` is not a Scenario of `{API_VERSION}`")]
    Kind {
        /// Its API version.
        api_version: String,
        /// Its kind.
        kind: String,
    },
    /// Some of its fields are wrong.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Fields(Vec<Complaint>),
}

/// Why the files of a scenario cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError<E> {
    /// One cannot be read.
    #[error("cannot read a file of the scenario")]
    File(#[source] E),
    /// What they hold is not a trace.
    #[error("the files of the scenario are not a trace")]
    Trace(#[source] TraceError),
}

/// The document as it is written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Written {
    /// `ballast.dev/v1alpha1`.
    api_version: String,
    /// `Scenario`.
    kind: String,
    /// Its name.
    metadata: Metadata,
    /// What it says.
    spec: ScenarioSpec,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    /// Its name.
    name: Name,
}

impl Scenario {
    /// Names a spec and checks it.
    pub fn new(name: Name, spec: ScenarioSpec) -> Result<Self, ScenarioError> {
        let complaints = spec.check();
        if complaints.is_empty() { Ok(Self { name, spec }) } else { Err(ScenarioError::Fields(complaints)) }
    }

    /// Reads a document and checks it.
    pub fn from_value(value: serde_json::Value) -> Result<Self, ScenarioError> {
        let written: Written = serde_json::from_value(value).map_err(ScenarioError::Form)?;
        if written.api_version != API_VERSION || written.kind != "Scenario" {
            return Err(ScenarioError::Kind { api_version: written.api_version, kind: written.kind });
        }
        Self::new(written.metadata.name, written.spec)
    }

    /// The document, to be written to a file.
    pub fn to_value(&self) -> serde_json::Value {
        let written = Written {
            api_version: API_VERSION.to_owned(),
            kind: "Scenario".to_owned(),
            metadata: Metadata { name: self.name.clone() },
            spec: self.spec.clone(),
        };
        serde_json::to_value(written).unwrap_or_default()
    }

    /// The same world under another cluster policy.
    #[must_use]
    pub fn with_policy(mut self, policy: ClusterPolicySpec) -> Self {
        self.spec.policy = policy;
        self
    }

    /// Reads the files that the scenario names and takes in what they hold. `read` gets a path as it is written.
    ///
    /// A scenario that names no files is left as it is.
    pub fn resolve<E>(
        mut self,
        mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Self, ResolveError<E>> {
        let Some(files) = self.spec.openb.take() else { return Ok(self) };
        let nodes = read(&files.nodes).map_err(ResolveError::File)?;
        let pods = read(&files.pods).map_err(ResolveError::File)?;
        let trace = Trace::parse(&nodes, &pods).map_err(ResolveError::Trace)?;
        fill_from_openb(&mut self.spec, &trace, &files);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(spec: serde_json::Value) -> serde_json::Value {
        json!({"apiVersion": API_VERSION, "kind": "Scenario", "metadata": {"name": "s"}, "spec": spec})
    }

    #[test]
    fn a_small_one_is_read_and_written_back() {
        let spec = json!({
            "until": "1h",
            "pools": [{"name": "a", "running": 1, "spec": {
                "provider": {"kind": "Simulated"}, "max": 4,
                "template": {"allocatable": {"cpu": "8", "memory": "32Gi"}}}}],
            "workloads": [{"name": "w", "requests": {"cpu": "1"}, "arrivals": {"perHour": 3.0},
                "duration": {"exponential": {"mean": "10m"}}}],
            "faults": [{"kind": "StockOut", "at": "5m", "for": "10m", "pool": "a"}],
            "expect": {"brokenPromises": [0, 0]}
        });
        let scenario = Scenario::from_value(document(spec)).expect("a good scenario");
        assert_eq!(scenario.spec.start.to_string(), "2026-01-05T00:00:00Z");
        assert_eq!(Scenario::from_value(scenario.to_value()).expect("what we write we read"), scenario);
    }

    #[test]
    fn every_wrong_field_is_named() {
        let spec = json!({
            "until": "0s",
            "pools": [{"name": "a", "spec": {"provider": {"kind": "Simulated"}, "min": 5, "max": 4, "template": {}}}],
            "workloads": [{"name": "w", "gpuMilli": 1000, "members": 0, "arrivals": {"wave": 2.0, "at": ["2h", "1h"]},
                "podSpec": {"volumes": [{"name": "tmp", "emptyDir": {}},
                    {"name": "data", "persistentVolumeClaim": {"claimName": "d"}}]}}],
            "faults": [{"kind": "EmptyView", "at": "5m", "pool": "b"},
                {"kind": "StockOut", "at": "5m", "zone": "z", "share": "50%"}],
            "expect": {"cost": [2, 1], "costs": [1, 2], "unserved.v": [0, 0], "unserved.w": [0, 0]}
        });
        let Err(ScenarioError::Fields(complaints)) = Scenario::from_value(document(spec)) else {
            panic!("a bad scenario was taken")
        };
        let paths: Vec<&str> = complaints.iter().map(|complaint| &*complaint.path).collect();
        assert_eq!(
            paths,
            [
                "until",
                "pools[0].spec.min",
                "pools[0].spec.template.allocatable.cpu",
                "pools[0].spec.template.allocatable.memory",
                "workloads[0].arrivals.at",
                "workloads[0].arrivals.wave",
                "workloads[0].members",
                "workloads[0].gpuMilli",
                "workloads[0].podSpec.volumes[1]",
                "faults[0].pool",
                "faults[0].pool",
                "faults[0].view",
                "faults[1].zone",
                "faults[1].share",
                "expect.cost",
                "expect.costs",
                "expect.unserved.v",
            ]
        );
    }

    #[test]
    fn unknown_fields_and_other_kinds_are_refused() {
        assert!(matches!(
            Scenario::from_value(document(json!({"until": "1h", "untill": 1}))),
            Err(ScenarioError::Form(_))
        ));
        let other =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"until": "1h"}});
        assert!(matches!(Scenario::from_value(other), Err(ScenarioError::Kind { .. })));
    }
}
