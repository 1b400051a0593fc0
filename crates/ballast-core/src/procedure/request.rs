//! Requests to the world and its replies. The live runner sends them; the simulator plays the world.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::observation::{Instance, SourceError};
use crate::policy::StopMode;
use crate::units::Span;

/// One request to one outside system. Every one is idempotent by identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Request {
    /// Writes the ledger. What depends on it is requested only after it has succeeded.
    ///
    /// A failure of class `Conflict` means another writer. A second write of the same version with the same body is `Done`: it is
    /// the same write, whose first answer was lost.
    WriteLedger {
        /// The version that is written; the precondition is that the stored one is one less.
        version: u64,
        /// The ledger as JSON.
        body: Arc<str>,
    },
    /// Reads the ledger that is stored; the reply is `ledger`.
    ReadLedger,
    /// Writes the history. Nothing depends on it: whatever is stored is replaced, and a failure delays at most a removal after
    /// a restart.
    WriteHistory {
        /// The history as JSON.
        body: Arc<str>,
    },
    /// Starts a stopped instance.
    StartInstance {
        /// Its pool.
        pool: Name,
        /// The provider's identity.
        id: Name,
    },
    /// Makes an instance; a second request with the same token is the same instance.
    CreateInstance {
        /// Its pool.
        pool: Name,
        /// Its zone; empty where the pool has none.
        zone: Name,
        /// Its name.
        name: Name,
        /// The idempotency token.
        token: Name,
    },
    /// Stops an instance.
    StopInstance {
        /// Its pool.
        pool: Name,
        /// The provider's identity.
        id: Name,
        /// Deallocate, or delete.
        mode: StopMode,
    },
    /// Asks for one instance. One that is not there, or gone for good, is `NotFound`.
    ReadInstance {
        /// Its pool.
        pool: Name,
        /// The provider's identity; empty to look up by token.
        id: Name,
        /// The launch token.
        token: Name,
    },
    /// Reads a node and its pods past every cache. It is the one that bears the provider's identity, whatever its name; where
    /// none does, the one of the name, unless that bears another identity. Only if there is neither is it `NotFound`.
    ReadNode {
        /// Its name.
        name: Name,
        /// The provider's identity of its instance; empty where only the name is known.
        provider_id: Name,
    },
    /// Marks a node unschedulable as ours. One that is cordoned already without this very mark is a `Conflict`: it is
    /// somebody else's cordon. The mark and the cordon are one write.
    Cordon {
        /// Its name.
        name: Name,
        /// It must still be this one.
        uid: Name,
        /// The mark that says whose cordon it is and what for; the value of
        /// the annotation `ballast.dev/cordoned-for`.
        mark: Name,
    },
    /// Takes our mark and the cordon off. One that does not carry this very mark any more is a `Conflict`.
    Uncordon {
        /// Its name.
        name: Name,
        /// It must still be this one.
        uid: Name,
        /// It must still carry this mark.
        mark: Name,
    },
    /// Asks a pod to leave through the eviction API.
    Evict {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
        /// It must still be this one.
        uid: Name,
    },
}

impl Request {
    /// The name of every kind.
    pub const KINDS: [&'static str; 11] = [
        "WriteLedger",
        "ReadLedger",
        "WriteHistory",
        "StartInstance",
        "CreateInstance",
        "StopInstance",
        "ReadInstance",
        "ReadNode",
        "Cordon",
        "Uncordon",
        "Evict",
    ];

    /// The name of its kind.
    pub fn kind(&self) -> &'static str {
        let at = match self {
            Self::WriteLedger { .. } => 0,
            Self::ReadLedger => 1,
            Self::WriteHistory { .. } => 2,
            Self::StartInstance { .. } => 3,
            Self::CreateInstance { .. } => 4,
            Self::StopInstance { .. } => 5,
            Self::ReadInstance { .. } => 6,
            Self::ReadNode { .. } => 7,
            Self::Cordon { .. } => 8,
            Self::Uncordon { .. } => 9,
            Self::Evict { .. } => 10,
        };
        Self::KINDS[at]
    }

    /// The pool that it speaks of, where it is one to the provider of machines.
    pub fn pool(&self) -> Option<&Name> {
        match self {
            Self::StartInstance { pool, .. }
            | Self::CreateInstance { pool, .. }
            | Self::StopInstance { pool, .. }
            | Self::ReadInstance { pool, .. } => Some(pool),
            _ => None,
        }
    }

    /// Whether it changes anything in the world; reads do not.
    pub fn changes(&self) -> bool {
        !matches!(self, Self::ReadLedger | Self::ReadInstance { .. } | Self::ReadNode { .. })
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Reply {
    /// Done, or already so.
    Done,
    /// The instance as it is.
    Instance(Instance),
    /// The node as it is.
    Node(LiveNode),
    /// The ledger that is stored, as JSON; `None` where there is none.
    Ledger(Option<String>),
    /// Refused or failed.
    Failed(SourceError),
    /// No answer in time: it may or may not have been applied.
    TimedOut,
}

/// A node read past every cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveNode {
    /// Its name.
    pub name: Name,
    /// Its identity.
    pub uid: Name,
    /// Cordoned.
    pub unschedulable: bool,
    /// Our mark on it, empty where there is none.
    pub mark: Name,
    /// Ready, with the devices it promised.
    pub ready: bool,
    /// Identities of the pods on it that are neither daemons, mirrors nor ended.
    pub pods: Vec<LivePod>,
}

/// A pod on a node read past every cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LivePod {
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// Its identity.
    pub uid: Name,
    /// Where it was told to go: how long it has for that. Until when, nobody says by a clock that is ours.
    pub leaving: Option<Span>,
}
