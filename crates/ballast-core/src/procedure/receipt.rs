//! Receipts: what came of a procedure.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::observation::ErrorClass;

/// What came of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "receipt")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Receipt {
    /// The node is ready and takes pods.
    Joined,
    /// The launch was refused or came to nothing.
    LaunchFailed {
        /// How.
        class: ErrorClass,
        /// Whether something may be running all the same and has to be let go.
        release: bool,
    },
    /// The instance did not become a usable node in time and has to be let go.
    NeverJoined,
    /// The launch was taken back before anything was asked for.
    LaunchCancelled,
    /// The instance is off, or gone.
    Stopped,
    /// The removal was given up.
    GaveUp {
        /// Why.
        why: GaveUp,
        /// Our cordon may still be on the node.
        cordon_left: bool,
    },
    /// Our cordon is off.
    Uncordoned,
}

/// Why a removal was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum GaveUp {
    /// A pod is there that the plan did not allow to be displaced.
    UnexpectedPod,
    /// It took too long.
    Deadline,
    /// It could not begin before what it was decided on was out of date.
    Outdated,
    /// The plan, or a pause, took it back.
    Cancelled,
    /// The node is another one of the same name.
    Replaced,
    /// The node is not there.
    NodeGone,
    /// Somebody else cordoned it.
    CordonedByOther,
    /// Somebody took our cordon off.
    UncordonedByOther,
    /// The node became ready after all.
    JoinedLate,
    /// A request was refused.
    Refused(ErrorClass),
    /// The stop was accepted, but the instance does not stop.
    StopStuck,
}

impl Receipt {
    /// Every code.
    pub const CODES: [&'static str; 7] =
        ["Joined", "LaunchFailed", "NeverJoined", "LaunchCancelled", "Stopped", "GaveUp", "Uncordoned"];

    /// Its code, without the fields.
    pub fn code(&self) -> &'static str {
        let at = match self {
            Self::Joined => 0,
            Self::LaunchFailed { .. } => 1,
            Self::NeverJoined => 2,
            Self::LaunchCancelled => 3,
            Self::Stopped => 4,
            Self::GaveUp { .. } => 5,
            Self::Uncordoned => 6,
        };
        Self::CODES[at]
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined => f.write_str("joined and takes pods"),
            Self::LaunchFailed { class, .. } => write!(f, "could not be launched: {class}"),
            Self::NeverJoined => f.write_str("never became a usable node and is let go"),
            Self::LaunchCancelled => f.write_str("is not launched after all"),
            Self::Stopped => f.write_str("is off"),
            Self::GaveUp { why, .. } => write!(f, "stays: {why}"),
            Self::Uncordoned => f.write_str("takes pods again"),
        }
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnexpectedPod => "a pod is there that may not be displaced",
            Self::Deadline => "it took too long",
            Self::Outdated => "it could not begin in time, and is decided anew",
            Self::Cancelled => "it was taken back",
            Self::Replaced => "the node is another one of the same name",
            Self::NodeGone => "the node is gone",
            Self::CordonedByOther => "somebody else cordoned the node",
            Self::UncordonedByOther => "somebody took our cordon off",
            Self::JoinedLate => "the node became ready after all",
            Self::Refused(_) => "a request was refused",
            Self::StopStuck => "the instance does not stop",
        })
    }
}
