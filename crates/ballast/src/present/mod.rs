//! How things are worded and drawn for people: errors, tables, charts. Values in, text out.

pub mod chart;
mod failure;
pub mod figures;
pub mod format;
pub mod judged;
pub mod missed;
pub mod plan;
pub mod prices;
pub mod replay;
pub mod report;
pub mod score;
mod screen;
pub mod simulation;
pub mod status;
pub mod table;
pub mod verdict;

pub use failure::{Doing, Failure, Hint};
pub use screen::Screen;
