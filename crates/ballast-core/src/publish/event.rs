//! Events: what is told on the objects that people look at. Every reason there is stands in one table.

use std::fmt;

use crate::documents::DocumentKind;
use crate::foreign::bounded;
use crate::kube::Name;

use super::{ConditionReason, ConditionStatus, DocumentRef};

/// Bytes of a note's own words. The API takes 1,024 in all, and the decision comes after them.
const WORDS_MAX: usize = 900;

/// Something that is told on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// On which.
    pub regarding: Regarding,
    /// What, by a code.
    pub reason: EventReason,
    /// What, in words; without control characters.
    pub note: String,
    /// The decision that it belongs to, or the plan, as it is named in logs, records and statuses.
    pub decision: Option<Name>,
}

/// The object that an event is told on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Regarding {
    /// Its kind.
    pub kind: RegardingKind,
    /// Its namespace; empty where it has none.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// Its identity; empty of a document, which goes by its name.
    pub uid: Name,
}

/// What kind of object an event is told on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegardingKind {
    /// The policy.
    ClusterPolicy,
    /// A pool.
    VmPool,
    /// A node.
    Node,
    /// A pod.
    Pod,
}

/// Why an event is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventReason {
    /// A machine is started or made.
    Launching,
    /// A machine could not be launched.
    LaunchFailed,
    /// A machine came up and never became a usable node.
    NeverJoined,
    /// A launch was taken back.
    LaunchCancelled,
    /// A machine that never became a node is let go.
    Releasing,
    /// A machine is off.
    MachineStopped,
    /// A node has joined.
    NodeJoined,
    /// A node is being removed.
    Draining,
    /// A pod may not leave.
    DrainBlocked,
    /// A removal was given up.
    NodeKept,
    /// Our cordon was taken off.
    Uncordoned,
    /// A node comes for a pod.
    NodeComing,
    /// No pool can serve a pod.
    NoNodeFits,
    /// A pod waits for its gang.
    GangWaits,
    /// A pod was asked to leave.
    AskedToLeave,
    /// A document cannot be used.
    DocumentInvalid,
    /// `Enforce` without limits.
    LimitsNotSet,
    /// A provider fails.
    ProviderUnusable,
    /// A document is heeded again.
    Ready,
    /// A person holds it still.
    Paused,
    /// And lets it go on.
    Resumed,
    /// A source is not known.
    SourceUnknown,
    /// Too many nodes are unwell.
    HealthGate,
    /// Launch after launch never joined.
    Quarantined,
    /// The check stopped a plan.
    PlanRefused,
    /// What was wrong is over.
    Recovered,
    /// Another autoscaler acts on the same nodes.
    ForeignAutoscaler,
    /// A plan waits for an approval.
    PlanProposed,
    /// A plan was approved and is carried out.
    PlanApproved,
    /// A plan was approved and is not carried out.
    ApprovalRefused,
}

/// What the catalogue says of a reason.
#[derive(Clone, Copy, Debug)]
pub struct EventRow {
    /// The reason.
    pub reason: EventReason,
    /// Whether somebody should look.
    pub is_warning: bool,
    /// What was being done.
    pub action: &'static str,
    /// On which objects it is told.
    pub on: &'static [RegardingKind],
    /// When it is told, in a line.
    pub about: &'static str,
}

impl EventReason {
    /// The catalogue: every reason, in the order of the enum.
    pub const CATALOGUE: [EventRow; 30] = {
        use RegardingKind::{ClusterPolicy, Node, Pod, VmPool};
        const DOCUMENTS: &[RegardingKind] = &[ClusterPolicy, VmPool];
        [
            normal(Self::Launching, "Launch", &[VmPool], "A machine is started or made, and why."),
            warning(
                Self::LaunchFailed,
                "Launch",
                &[VmPool],
                "A machine could not be launched; it is tried again, there or elsewhere.",
            ),
            warning(
                Self::NeverJoined,
                "Launch",
                &[VmPool],
                "A machine came up and did not become a usable node in time; it is let go.",
            ),
            normal(
                Self::LaunchCancelled,
                "Launch",
                &[VmPool],
                "A launch was taken back before anything was asked for.",
            ),
            normal(Self::Releasing, "Remove", &[VmPool], "A machine that never became a node is let go."),
            normal(Self::MachineStopped, "Remove", &[VmPool], "A machine is off, or gone."),
            normal(Self::NodeJoined, "Launch", &[Node], "A node that was launched takes pods."),
            normal(Self::Draining, "Remove", &[Node], "A node takes no new pods and is removed, and why."),
            warning(
                Self::DrainBlocked,
                "Remove",
                &[Node],
                "A disruption budget lets no pod leave now; it is asked again until the drain's deadline.",
            ),
            normal(
                Self::NodeKept,
                "Remove",
                &[Node, VmPool],
                "A removal was given up, and why; told on the pool where the node is gone.",
            ),
            normal(Self::Uncordoned, "Remove", &[Node], "A cordon of ours that was left over is off."),
            normal(
                Self::NodeComing,
                "Launch",
                &[Pod],
                "A node comes that the pod fits on; told to the first ten pods that are alike.",
            ),
            warning(
                Self::NoNodeFits,
                "Decide",
                &[Pod],
                "No pool can serve the pod, and why of up to three of them.",
            ),
            normal(Self::GangWaits, "Decide", &[Pod], "The pod waits for other members of its gang."),
            normal(Self::AskedToLeave, "Remove", &[Pod], "The pod was evicted from a node that is removed."),
            warning(
                Self::DocumentInvalid,
                "Read",
                DOCUMENTS,
                "The document cannot be used as it is written, with the path of the field.",
            ),
            warning(
                Self::LimitsNotSet,
                "Decide",
                &[ClusterPolicy],
                "The mode is Enforce and a limit is missing, so nothing is done.",
            ),
            warning(
                Self::ProviderUnusable,
                "Read",
                &[VmPool],
                "The provider of the pool's machines fails, by class.",
            ),
            normal(Self::Ready, "Read", DOCUMENTS, "The document is valid and heeded again."),
            normal(Self::Paused, "Decide", DOCUMENTS, "A person holds growth, removal or both still."),
            normal(Self::Resumed, "Decide", DOCUMENTS, "A pause was lifted, or has ended."),
            warning(
                Self::SourceUnknown,
                "Read",
                DOCUMENTS,
                "A source does not answer, so nothing is removed.",
            ),
            warning(
                Self::HealthGate,
                "Decide",
                DOCUMENTS,
                "Too many nodes are unwell, so nothing is removed.",
            ),
            warning(
                Self::Quarantined,
                "Decide",
                &[VmPool],
                "Launch after launch never joined, so no more are tried.",
            ),
            warning(
                Self::PlanRefused,
                "Decide",
                &[ClusterPolicy],
                "The check found a broken promise in a plan; none of it is applied.",
            ),
            normal(Self::Recovered, "Decide", DOCUMENTS, "What was wrong is over."),
            warning(
                Self::ForeignAutoscaler,
                "Decide",
                DOCUMENTS,
                "Nodes carry the marks of another autoscaler.",
            ),
            normal(
                Self::PlanProposed,
                "Decide",
                &[ClusterPolicy],
                "In Recommend: a plan waits for an approval.",
            ),
            normal(
                Self::PlanApproved,
                "Approve",
                &[ClusterPolicy],
                "A person approved a plan, and it is carried out.",
            ),
            warning(
                Self::ApprovalRefused,
                "Approve",
                &[ClusterPolicy],
                "A person approved a plan, and it is not carried out, and why.",
            ),
        ]
    };

    /// What the catalogue says of it.
    pub fn row(self) -> &'static EventRow {
        &Self::CATALOGUE[self as usize]
    }

    /// Whether it may pass by itself, and is told only when it has lasted for a while.
    pub(super) fn must_last(self) -> bool {
        matches!(
            self,
            Self::NoNodeFits
                | Self::GangWaits
                | Self::ProviderUnusable
                | Self::SourceUnknown
                | Self::HealthGate
        )
    }

    /// What a condition that has become so is told as; where it was otherwise before. Most good news is told only after bad.
    pub(super) fn of(condition: &ConditionReason, was: Option<ConditionStatus>) -> Option<Self> {
        use ConditionStatus::{False, True};
        match condition {
            ConditionReason::Invalid { .. } => Some(Self::DocumentInvalid),
            ConditionReason::LimitsNotSet => Some(Self::LimitsNotSet),
            ConditionReason::ProviderUnusable { .. } => Some(Self::ProviderUnusable),
            ConditionReason::Ready => (was == Some(False)).then_some(Self::Ready),
            ConditionReason::Paused(_) => Some(Self::Paused),
            ConditionReason::NotPaused => (was == Some(True)).then_some(Self::Resumed),
            ConditionReason::SourceUnknown { .. } => Some(Self::SourceUnknown),
            ConditionReason::HealthGate { .. } => Some(Self::HealthGate),
            ConditionReason::Quarantined { .. } => Some(Self::Quarantined),
            ConditionReason::PlanRefused => Some(Self::PlanRefused),
            ConditionReason::AllWell => (was == Some(True)).then_some(Self::Recovered),
            ConditionReason::ForeignAutoscaler { .. } => Some(Self::ForeignAutoscaler),
            // What is begun and fails is told as such; a limit that binds is told on the pods that wait for it.
            ConditionReason::NotSynced { .. }
            | ConditionReason::BackOff { .. }
            | ConditionReason::Growing { .. }
            | ConditionReason::Shrinking { .. }
            | ConditionReason::Changing { .. }
            | ConditionReason::AtRest
            | ConditionReason::OnlyRecommends { .. }
            | ConditionReason::AtLimit(_)
            | ConditionReason::WithinLimits
            | ConditionReason::NotInThisRelease
            | ConditionReason::Alone => None,
        }
    }
}

const fn normal(
    reason: EventReason,
    action: &'static str,
    on: &'static [RegardingKind],
    about: &'static str,
) -> EventRow {
    EventRow { reason, is_warning: false, action, on, about }
}

const fn warning(
    reason: EventReason,
    action: &'static str,
    on: &'static [RegardingKind],
    about: &'static str,
) -> EventRow {
    EventRow { is_warning: true, ..normal(reason, action, on, about) }
}

impl fmt::Display for EventReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Event {
    /// An event with these words of ours. What others wrote goes in as far as it is safe to tell (`foreign::discreet`); names
    /// stay whole, whatever they remind of.
    pub(crate) fn new(
        reason: EventReason,
        regarding: Regarding,
        words: &str,
        decision: Option<impl fmt::Display>,
    ) -> Self {
        let decision: Option<Name> = decision.map(|decision| decision.to_string().into());
        let mut note = bounded(words, WORDS_MAX);
        if let Some(decision) = &decision {
            note.push_str(&format!(" (decision {decision})"));
        }
        Self { regarding, reason, note, decision }
    }
}

impl Regarding {
    /// A pool.
    pub(crate) fn pool(name: &Name) -> Self {
        let (namespace, uid) = (Name::default(), Name::default());
        Self { kind: RegardingKind::VmPool, namespace, name: name.clone(), uid }
    }

    /// The policy.
    pub(crate) fn policy(name: &Name) -> Self {
        Self { kind: RegardingKind::ClusterPolicy, ..Self::pool(name) }
    }

    /// A document of which events are told.
    pub(super) fn document(reference: &DocumentRef) -> Option<Self> {
        match reference.kind {
            DocumentKind::ClusterPolicy => Some(Self::policy(&reference.name)),
            DocumentKind::VmPool => Some(Self::pool(&reference.name)),
            _ => None,
        }
    }

    /// The document that it is, where it is one.
    pub fn as_document(&self) -> Option<DocumentRef> {
        let kind = match self.kind {
            RegardingKind::ClusterPolicy => DocumentKind::ClusterPolicy,
            RegardingKind::VmPool => DocumentKind::VmPool,
            RegardingKind::Node | RegardingKind::Pod => return None,
        };
        Some(DocumentRef { kind, namespace: self.namespace.clone(), name: self.name.clone() })
    }
}
