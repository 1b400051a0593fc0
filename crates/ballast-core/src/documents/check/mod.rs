//! What a type cannot say: values that are absurd, contradict each other or are dangerous. Pure functions from what was
//! read to findings; the same judge documents in files and objects in a cluster.

mod ask;
mod cluster_policy;
mod elastic_job_policy;
mod metric_scaler;
mod object;
mod observation;
mod ray_scaler;
mod requests;
mod shared;
mod spark_pool;
mod vm_pool;

pub(super) use cluster_policy::cluster_policy;
pub(super) use elastic_job_policy::elastic_job_policy;
pub(super) use metric_scaler::metric_scaler;
pub(super) use object::object;
pub(super) use observation::{instances, observation};
pub(super) use ray_scaler::ray_scaler;
pub(super) use spark_pool::spark_pool;
pub(super) use vm_pool::vm_pool;

use std::collections::BTreeMap;

use super::problem::ProblemCode;
use super::tree::Path;
use crate::kube::Name;
use crate::policy::{ClusterPolicySpec, VmPoolSpec};
use crate::units::Quantity;

/// Everything that is wrong with what a VmPool says, wherever it is written; paths begin with `spec`.
pub fn check_vm_pool(spec: &VmPoolSpec) -> Findings {
    let mut found = Findings::default();
    vm_pool(spec, &mut found);
    found
}

/// Everything that is wrong with what a ClusterPolicy says, wherever it is written; paths begin with `spec`.
pub fn check_cluster_policy(spec: &ClusterPolicySpec) -> Findings {
    let mut found = Findings::default();
    cluster_policy(spec, &mut found);
    found
}

/// Everything that is wrong with what a pod requests, wherever it is written; paths begin with `requests`, and `share` is the
/// field in which a part of a GPU is written.
pub fn check_requests(amounts: &BTreeMap<Name, Quantity>, share: &str) -> Findings {
    let mut found = Findings::default();
    requests::requests(&mut found, &Path::default().key("requests"), amounts, share);
    found
}

/// Something that is wrong with a field, before it has a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The field.
    pub path: Path,
    /// What kind of problem it is.
    pub code: ProblemCode,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What is allowed there.
    pub allowed: Option<String>,
    /// What was probably meant, or what to do.
    pub suggestion: Option<String>,
}

/// Findings as they are gathered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings(pub Vec<Finding>);

impl Findings {
    /// A value that is not allowed in its field.
    pub fn invalid(&mut self, path: Path, message: impl Into<String>) -> &mut Finding {
        self.add(path, ProblemCode::InvalidValue, message)
    }

    /// Two values that contradict each other; the path is that of the second.
    pub fn contradiction(&mut self, path: Path, message: impl Into<String>) -> &mut Finding {
        self.add(path, ProblemCode::Contradiction, message)
    }

    /// A field that must be there in this case.
    pub fn missing(&mut self, path: Path, message: impl Into<String>) -> &mut Finding {
        self.add(path, ProblemCode::MissingField, message)
    }

    /// Something that is allowed and probably not what is meant.
    pub fn doubt(&mut self, path: Path, message: impl Into<String>) -> &mut Finding {
        self.add(path, ProblemCode::Doubtful, message)
    }

    /// Two documents that are the same or contradict each other; the path is that of the second.
    pub fn conflict(&mut self, path: Path, message: impl Into<String>) -> &mut Finding {
        self.add(path, ProblemCode::Conflict, message)
    }

    fn add(&mut self, path: Path, code: ProblemCode, message: impl Into<String>) -> &mut Finding {
        self.0.push(Finding { path, code, message: message.into(), allowed: None, suggestion: None });
        self.0.last_mut().expect("one was just pushed")
    }
}

impl Finding {
    /// Says what is allowed.
    pub fn allowed(&mut self, allowed: impl Into<String>) -> &mut Self {
        self.allowed = Some(allowed.into());
        self
    }

    /// Says what to do.
    pub fn help(&mut self, suggestion: impl Into<String>) -> &mut Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}
