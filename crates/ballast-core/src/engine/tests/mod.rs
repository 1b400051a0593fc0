//! The engine against a small world: gates, crashes, refusals, pauses, waking.

mod acting;
mod crash;
mod holding;
mod replaying;
mod waking;
mod world;
