//! The test kubelet against a real control plane.

mod loopback;
mod namespaces;
mod yard;
