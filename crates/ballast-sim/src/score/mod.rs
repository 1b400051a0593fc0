//! Scores: what a run came to, as figures, series and comparisons.

mod compare;
mod figures;
mod meter;
mod series;
mod waits;

pub use compare::{Comparison, Difference, compare};
pub use figures::{Breach, Missed, Score};
pub(crate) use meter::Meter;
pub use series::{PoolSizes, Sample, Series};
pub use waits::Waits;
