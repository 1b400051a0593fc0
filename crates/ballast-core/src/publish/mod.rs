//! What Ballast says in the cluster, of documents, nodes and pods: a value made here, written elsewhere.
//!
//! ```text
//! engine ──▶ Published: what is so now ──▶ merge with what stands in the API ──▶ DocumentStatus ──▶ Pace: who is written when
//!        └─▶ Event: what has happened ──▶ Herald: what is told on which object, once ──▶ events
//! ```
//!
//! Nothing in a [`Said`] changes by the mere passing of time: no age, no countdown, no counter. A cluster at rest is written
//! about never again, whatever its size. Times come in where what is said differs from what stands there.

mod ask;
mod condition;
mod document;
mod event;
mod herald;
mod pace;
mod plan;
mod status;
#[cfg(test)]
mod tests;
mod waits;

pub use ask::{AskReason, AskSaid};
pub use condition::{ConditionReason, ConditionStatus, ConditionType};
pub use event::{Event, EventReason, EventRow, Regarding, RegardingKind};
pub use herald::Herald;
pub use pace::{Pace, Urgency};
pub use plan::{PlanSaid, PlanState, PublishedAction, PublishedPlan};
pub use status::{Condition, DocumentStatus, Fault, LastAction, TenantStatus};

pub(crate) use document::{NEEDED, Parts, publish};
pub(crate) use waits::pods_told;

use std::collections::BTreeMap;
use std::fmt;

use crate::documents::DocumentKind;
use crate::kube::Name;
use crate::memory::Approval;
use crate::policy::Mode;
use crate::snapshot::AskRef;

/// What is said of all documents that decisions are made by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    /// By document.
    pub documents: BTreeMap<DocumentRef, Said>,
    /// Buffers and requests of which something else is to be said than stands there.
    pub asks: BTreeMap<AskRef, AskSaid>,
}

/// Names a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentRef {
    /// Its kind.
    pub kind: DocumentKind,
    /// Its namespace; empty for cluster-scoped kinds.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
}

impl fmt::Display for DocumentRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        match &**namespace {
            "" => write!(f, "{}/{name}", kind.name()),
            namespace => write!(f, "{}/{namespace}/{name}", kind.name()),
        }
    }
}

/// What is so of one document now.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// How far Ballast goes with it: the lower of the policy's mode and its own.
    pub mode: Mode,
    /// Machines that are up or on their way up or down.
    pub current: Option<u32>,
    /// Machines once everything planned and under way is done.
    pub desired: Option<u32>,
    /// The limit that binds, by its code.
    pub limited_by: Option<Name>,
    /// Pods that wait for it.
    pub pending: Option<u32>,
    /// What it costs an hour, in the policy's currency.
    pub cost_per_hour: Option<Name>,
    /// What was last begun; where nothing was by this process, what stands there stays.
    pub last_action: Option<LastAction>,
    /// One of each type, in the order of the types.
    pub conditions: Vec<ConditionReason>,
    /// The plan, of the ClusterPolicy.
    pub plan: Option<PlanSaid>,
    /// What has become of the plans that were approved, of the ClusterPolicy.
    pub approvals: Vec<Approval>,
    /// What namespaces keep by annotations of their pods, of the ClusterPolicy.
    pub tenants: Vec<TenantStatus>,
}
