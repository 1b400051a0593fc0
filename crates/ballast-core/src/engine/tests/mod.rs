//! The engine against a small world: gates, crashes, refusals, pauses, waking.

mod acting;
mod approving;
mod crash;
mod holding;
mod leading;
mod replaying;
mod waking;
mod world;
