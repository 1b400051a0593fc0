//! The Kubernetes API: what is seen of a cluster, and what is asked of it.
//!
//! Reads go by watches on slim types, one for each kind; every write names an identity and carries a precondition. Nothing is
//! tried twice here: the engine knows what a repeated request means, a client does not.

pub mod access;
mod approval;
mod asks;
mod connect;
pub mod crd;
mod documents;
pub mod edit;
mod error;
mod events;
mod lease;
mod list;
mod memory;
mod objects;
pub(crate) mod plain;
mod pods;
mod publisher;
mod requests;
mod rights;
mod secrets;
mod seen;
mod sent;
mod tally;
mod unserved;
mod watch;
mod wire;

pub use approval::Policy;
pub use connect::{ConnectError, Connection, Place};
pub(crate) use events::{EventWriter, Events};
pub use lease::{Holder, Leadership, Lease, LeaseTimes, holder};
pub use memory::{MemoryStore, Stored};
pub use objects::objects;
pub use pods::{Pods, SeenPod};
pub use publisher::{Publisher, Word};
pub use requests::{Answer, Kubernetes, REQUEST_TIMEOUT};
pub use rights::Right;
pub(crate) use rights::review_refusals;
pub use secrets::Secrets;
pub use seen::{SeenDocument, SeenDocuments};
pub use tally::{Asked, Ended, Tally};
pub(crate) use watch::look_at_all;
pub use watch::watch_all;

/// Who Ballast is in the managed fields of objects.
pub const FIELD_MANAGER: &str = "ballast";
