//! A cluster in virtual time: a scenario goes in, the very decision code of `ballast-core` runs in it, and a score comes
//! out.
//!
//! No clock, no disk, no network, one thread: the same seed gives the same bytes.

mod controller;
pub mod import;
pub mod openb;
mod oracle;
pub mod placement;
pub mod random;
pub mod scenario;
pub mod score;
pub mod simulation;
mod watch;
mod world;
