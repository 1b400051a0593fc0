//! The page: one [`View`](ballast_core::view::View) in, HTML out, live by server-sent events.
//!
//! ```text
//! View ──▶ Feed ──▶ Frame (view and history) ──▶ Page ──▶ fragments ──▶ the first HTML, or an event for what changed
//! ```
//!
//! Everything is rendered here, so a reload without scripts shows the same as the live page, and nearly all of it is
//! tested as text. The page is read-only: it answers `GET` and nothing else.

mod events;
mod feed;
mod history;
mod moment;
mod page;
mod parts;
mod server;

pub use feed::{Feed, Frame, Story};
pub use history::Point;
pub use moment::{Moment, What};
pub use server::{router, serve};
