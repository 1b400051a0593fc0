//! How things are worded and drawn for people: errors, tables, charts. Values in, text out.

pub mod chart;
mod failure;
pub mod figures;
mod screen;

pub use failure::{Doing, Failure, Hint};
pub use screen::Screen;
