//! Scores: what a run came to, as figures, series and comparisons.

mod catalogue;
mod compare;
mod figures;
mod left;
mod meter;
mod series;
mod unit;
mod waits;

pub use catalogue::{Each, Figure};
pub use compare::{Comparison, Difference, compare, mean};
pub use figures::{Breach, Missed, Score};
pub use left::Left;
pub(crate) use meter::Meter;
pub use series::{PoolSizes, Sample, Series};
pub use unit::{Amount, AmountError, Unit};
pub use waits::Waits;
