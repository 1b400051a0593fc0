//! The cluster on a terminal: a view and what its reader has chosen go in, a screen comes out.
//!
//! ```text
//! view ──┐
//! keys ──┴─▶ State ──▶ draw(frame, view, state)
//! ```

mod draw;
mod state;

pub use draw::draw;
pub use state::{Key, Sort, State};
