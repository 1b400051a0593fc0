//! What end-to-end tests share: a real browser, a real Kubernetes control plane, a kubelet, a cloud that does what it is told, and the program as users run it.
//!
//! The tests are in `tests/`, one file a suite or a component. They are run by `cargo xtask test`, which tells them
//! by environment variables where the components are.

pub mod browser;
pub mod cloud;
pub mod cluster;
#[cfg(feature = "kubernetes")]
pub mod kubelet;
pub mod program;
#[cfg(feature = "kubernetes")]
pub mod relay;
