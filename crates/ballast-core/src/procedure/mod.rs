//! Procedures: actions that take more than one request, as pure state machines. One request a step, an edge for every
//! reply, a durable mark before the first step that cannot be undone.
//!
//! ```text
//! vm_start   ask (start | create) ──▶ look until running ──▶ join until ready ──▶ uncordon if our mark is on it ──▶ Joined
//! vm_stop    cordon ──▶ check ──▶ evict … check until empty ──▶ durable mark ──▶ live re-check ──▶ stop ──▶ Stopped
//! ```
//!
//! The plan chose who and which procedure. A procedure goes on, waits, or gives up safely; it never picks another victim.
//! It makes no use of any cache: what it must know it reads itself, and after a crash it begins by reading.

mod pace;
mod receipt;
mod request;
mod uncordon;
mod vm_start;
mod vm_stop;

#[cfg(test)]
mod tests;

pub use receipt::{GaveUp, Receipt};
pub use request::{LiveNode, LivePod, Reply, Request};
pub use uncordon::Uncordon;
pub use vm_start::VmStart;
pub use vm_stop::VmStop;

use crate::units::Time;

/// What a procedure does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Sends this; the reply is the input of the next step.
    Request(Request),
    /// Wants the ledger to say that the stop may have been sent; the next step's input is `Reply::Done` once that is
    /// durable, and only then.
    Persist,
    /// Goes on at this instant, or earlier if something about its node was seen to change. The next step has no reply.
    WaitUntil(Time),
    /// Has ended.
    Done(Receipt),
}
