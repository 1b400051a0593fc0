//! The pure heart of Ballast: observations go in, one plan comes out, and nothing here touches the world.
//!
//! ```text
//! observe ──▶ Snapshot ──▶ wishes ──▶ grant ──▶ Plan ──▶ check ──▶ apply ──▶ record
//! ```
//!
//! No clock, no randomness, no input or output, no hash order: the live runner and the simulator call the very same
//! functions, and a replay gives the very same bytes.

pub mod check;
pub mod documents;
pub mod engine;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
pub mod foreign;
pub mod grant;
pub mod kube;
pub mod made_pod;
pub mod memory;
pub mod observation;
pub mod plan;
pub mod planner;
pub mod policy;
pub mod procedure;
pub mod publish;
pub mod record;
pub mod resources;
pub mod scalers;
pub mod snapshot;
pub mod units;
pub mod view;
pub mod wish;
