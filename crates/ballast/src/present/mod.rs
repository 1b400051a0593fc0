//! How things are worded and drawn for people: errors, tables, charts. Values in, text out.

mod failure;
mod screen;

pub use failure::{Doing, Failure, Hint};
pub use screen::Screen;
