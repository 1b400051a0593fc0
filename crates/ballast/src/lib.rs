//! The faces of Ballast: commands, tables, charts and the page. Nothing here decides anything.
//!
//! ```text
//! arguments ──▶ cli ──▶ core and simulator ──▶ present ──▶ stdout, a file, or the page of console
//! ```

pub mod cli;
pub mod console;

pub mod demo;
pub mod gate;
pub mod present;
pub mod reference;
#[cfg(feature = "live")]
pub mod run;
pub mod segments;
#[cfg(feature = "live")]
pub mod serve;
pub mod set;
#[cfg(feature = "live")]
pub mod top;
