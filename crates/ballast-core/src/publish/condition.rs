//! Conditions: six of every document, each a reason that knows its type, its status and its words.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::observation::ErrorClass;
use crate::plan::{Limit, SkipReason, SourceTrouble, plural};
use crate::policy::{Mode, Pause};

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionType {
    /// The document is valid, its sources answer, and it is heeded.
    Ready,
    /// Something is being changed.
    Active,
    /// A limit binds.
    Limited,
    /// A person holds it still.
    Paused,
    /// Something keeps Ballast from deciding or acting as it should.
    Degraded,
    /// Another autoscaler acts on the same nodes.
    Conflicted,
}

impl ConditionType {
    /// Every type, in the order in which they are told.
    pub const ALL: [Self; 6] =
        [Self::Ready, Self::Active, Self::Limited, Self::Paused, Self::Degraded, Self::Conflicted];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Active => "Active",
            Self::Limited => "Limited",
            Self::Paused => "Paused",
            Self::Degraded => "Degraded",
            Self::Conflicted => "Conflicted",
        }
    }
}

/// Whether it is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ConditionStatus {
    /// It is.
    True,
    /// It is not.
    False,
    /// Nobody knows yet.
    Unknown,
}

/// Why a condition is as it is. Worded here, and without anything that passes with time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionReason {
    /// Ready.
    Ready,
    /// Not ready: it cannot be used as it is written.
    Invalid {
        /// What is wrong, with the path of the field.
        problem: String,
        /// Whether its last good form holds meanwhile.
        holds: bool,
    },
    /// Not known whether ready: a source has not answered yet.
    NotSynced {
        /// Which.
        source: String,
    },
    /// Not ready: `Enforce` without a node limit and a cost limit.
    LimitsNotSet,
    /// Not ready: documents of its kind come with a later release.
    NotInThisRelease,
    /// Not ready: whoever runs its machines does not answer as it should.
    ProviderUnusable {
        /// How it fails.
        class: ErrorClass,
    },
    /// Active: nodes come.
    Growing {
        /// How many.
        coming: u32,
    },
    /// Active: nodes go.
    Shrinking {
        /// How many.
        leaving: u32,
    },
    /// Active: nodes come and go.
    Changing {
        /// How many come.
        coming: u32,
        /// How many go.
        leaving: u32,
    },
    /// Not active: nothing is to be changed.
    AtRest,
    /// Not active: something would be changed, and the mode does not let it be.
    OnlyRecommends {
        /// The mode.
        mode: Mode,
    },
    /// Limited.
    AtLimit(Limit),
    /// Not limited.
    WithinLimits,
    /// Paused.
    Paused(Pause),
    /// Not paused.
    NotPaused,
    /// Degraded: a source is not known.
    SourceUnknown {
        /// Which.
        source: String,
        /// What is wrong with it.
        why: SourceTrouble,
    },
    /// Degraded: launches wait after a failure.
    BackOff {
        /// How the last one failed.
        class: ErrorClass,
    },
    /// Degraded: launch after launch never joined.
    Quarantined {
        /// Launches in a row.
        strikes: u32,
    },
    /// Degraded: too many nodes are unwell.
    HealthGate {
        /// How many are unwell.
        unready: u32,
        /// Of how many.
        managed: u32,
    },
    /// Degraded: the check found a broken promise in the plan.
    PlanRefused,
    /// Not degraded.
    AllWell,
    /// Conflicted.
    ForeignAutoscaler {
        /// Whose marks nodes carry.
        with: &'static str,
    },
    /// Not conflicted.
    Alone,
}

impl ConditionReason {
    /// What it is about.
    pub fn kind(&self) -> ConditionType {
        match self {
            Self::Ready
            | Self::Invalid { .. }
            | Self::NotSynced { .. }
            | Self::LimitsNotSet
            | Self::NotInThisRelease
            | Self::ProviderUnusable { .. } => ConditionType::Ready,
            Self::Growing { .. }
            | Self::Shrinking { .. }
            | Self::Changing { .. }
            | Self::AtRest
            | Self::OnlyRecommends { .. } => ConditionType::Active,
            Self::AtLimit(_) | Self::WithinLimits => ConditionType::Limited,
            Self::Paused(_) | Self::NotPaused => ConditionType::Paused,
            Self::SourceUnknown { .. }
            | Self::BackOff { .. }
            | Self::Quarantined { .. }
            | Self::HealthGate { .. }
            | Self::PlanRefused
            | Self::AllWell => ConditionType::Degraded,
            Self::ForeignAutoscaler { .. } | Self::Alone => ConditionType::Conflicted,
        }
    }

    /// Whether its words are partly those of others: a person's reason, or what a document says.
    pub(super) fn quotes(&self) -> bool {
        matches!(self, Self::Invalid { .. } | Self::Paused(_))
    }

    /// Whether what it is about is so.
    pub fn status(&self) -> ConditionStatus {
        match self {
            Self::NotSynced { .. } => ConditionStatus::Unknown,
            Self::Invalid { .. }
            | Self::LimitsNotSet
            | Self::NotInThisRelease
            | Self::ProviderUnusable { .. }
            | Self::AtRest
            | Self::OnlyRecommends { .. }
            | Self::WithinLimits
            | Self::NotPaused
            | Self::AllWell
            | Self::Alone => ConditionStatus::False,
            Self::Ready
            | Self::Growing { .. }
            | Self::Shrinking { .. }
            | Self::Changing { .. }
            | Self::AtLimit(_)
            | Self::Paused(_)
            | Self::SourceUnknown { .. }
            | Self::BackOff { .. }
            | Self::Quarantined { .. }
            | Self::HealthGate { .. }
            | Self::PlanRefused
            | Self::ForeignAutoscaler { .. } => ConditionStatus::True,
        }
    }

    /// Its code; of a limit that which binds.
    pub fn code(&self) -> Name {
        match self {
            Self::Ready => "Ready".into(),
            Self::Invalid { .. } => "Invalid".into(),
            Self::NotSynced { .. } => "NotSynced".into(),
            Self::LimitsNotSet => "LimitsNotSet".into(),
            Self::NotInThisRelease => "NotInThisRelease".into(),
            Self::ProviderUnusable { .. } => "ProviderUnusable".into(),
            Self::Growing { .. } => "Growing".into(),
            Self::Shrinking { .. } => "Shrinking".into(),
            Self::Changing { .. } => "Changing".into(),
            Self::AtRest => "AtRest".into(),
            Self::OnlyRecommends { .. } => "OnlyRecommends".into(),
            Self::AtLimit(limit) => limit.kind().into(),
            Self::WithinLimits => "WithinLimits".into(),
            Self::Paused(_) => "Paused".into(),
            Self::NotPaused => "NotPaused".into(),
            Self::SourceUnknown { .. } => "SourceUnknown".into(),
            Self::BackOff { .. } => "BackOff".into(),
            Self::Quarantined { .. } => "Quarantined".into(),
            Self::HealthGate { .. } => "HealthGate".into(),
            Self::PlanRefused => "PlanRefused".into(),
            Self::AllWell => "AllWell".into(),
            Self::ForeignAutoscaler { .. } => "ForeignAutoscaler".into(),
            Self::Alone => "Alone".into(),
        }
    }
}

impl fmt::Display for ConditionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("seen, valid and heeded"),
            Self::Invalid { problem, holds: true } => write!(f, "{problem}; its last good form holds"),
            Self::Invalid { problem, holds: false } => write!(f, "{problem}; it is passed over"),
            Self::NotSynced { source } => write!(f, "{source} has not answered yet"),
            Self::LimitsNotSet => f.write_str("Enforce needs limits.nodes and limits.costPerHour"),
            Self::ProviderUnusable { class: ErrorClass::Auth } => f.write_str(
                "the provider of its machines refuses Ballast, or what `provider.bearer` names cannot be read (Auth)",
            ),
            Self::NotInThisRelease => {
                f.write_str("this release does not act on documents of this kind: nothing is done by it")
            }
            Self::ProviderUnusable { class } => write!(f, "the provider of its machines fails ({class})"),
            Self::Growing { coming } => write!(f, "{} coming", plural(*coming, "node")),
            Self::Shrinking { leaving } => write!(f, "{} leaving", plural(*leaving, "node")),
            Self::Changing { coming, leaving } => {
                write!(f, "{} coming, {leaving} leaving", plural(*coming, "node"))
            }
            Self::AtRest => f.write_str("nothing to change"),
            Self::OnlyRecommends { mode } => {
                write!(f, "mode {mode:?}: what would be done is in status.plan of the ClusterPolicy")
            }
            Self::AtLimit(limit) => f.write_str(&SkipReason::AtLimit { limit: limit.clone() }.cause()),
            Self::WithinLimits => f.write_str("no limit binds"),
            Self::Paused(pause) => f.write_str(&paused(pause)),
            Self::NotPaused => f.write_str("nothing is held still"),
            Self::SourceUnknown { source, why } => {
                write!(f, "{source} {}: nothing is removed until it answers", why.cause())
            }
            Self::BackOff { class } => f.write_str(&format!("a launch failed ({class}); it is tried again")),
            Self::Quarantined { strikes } => {
                write!(f, "{strikes} launches in a row never joined: no more until one is seen to join")
            }
            Self::HealthGate { unready, managed } => {
                write!(f, "{unready} of {managed} nodes are unwell: nothing is removed")
            }
            Self::PlanRefused => {
                f.write_str("the check found a broken promise in the plan: none of it is applied")
            }
            Self::AllWell => f.write_str("all is well"),
            Self::ForeignAutoscaler { with } => write!(f, "nodes carry marks of {with}"),
            Self::Alone => f.write_str("no other autoscaler is seen"),
        }
    }
}

fn paused(pause: &Pause) -> String {
    let what = match (pause.up, pause.down) {
        (true, true) => "growth and removal",
        (true, false) => "growth",
        _ => "removal",
    };
    let reason = pause.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let until = pause.until.map(|until| format!(", until {until}")).unwrap_or_default();
    format!("{what} held still{reason}{until}")
}
