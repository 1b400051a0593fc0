//! A run: the world, what a controller sees of it, what it asks for, and what is seen of both.
//!
//! ```text
//!          ┌──────── watch ───────▶ controller ────┐
//!          │  (old, torn, failing)                 │ requests (slow, failing, lost)
//!        world ◀───────────────────────────────────┘
//!          │
//!          └──▶ oracle (broken promises), meter (score), series
//! ```

mod driver;
mod ending;
mod injection;
mod left;
mod run;
mod truth;

pub use ending::Ending;
pub use injection::{Injection, InjectionKind};
pub use run::Simulation;
