//! Procedures: actions that take more than one request, as pure state machines. One request a step, an edge for every
//! reply, a durable mark before the first step that cannot be undone.

mod request;

pub use request::{LiveNode, LivePod, Reply, Request};
