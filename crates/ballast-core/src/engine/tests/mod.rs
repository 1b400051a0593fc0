//! The engine against a small world: gates, crashes, refusals, pauses, waking.

mod acting;
mod approving;
mod crash;
mod holding;
mod leading;
mod replaying;
mod telling;
mod waking;
mod world;
