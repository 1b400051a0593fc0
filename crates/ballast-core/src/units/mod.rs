//! Numbers with a meaning: text in, exact values out.

mod cron;
mod digest;
mod money;
mod quantity;
mod share;
mod time;

pub use cron::{Cron, CronError, UtcOffset, UtcOffsetError};
pub use digest::{Digest, digest};
pub use money::Money;
pub use quantity::{Quantity, QuantityError};
pub use share::{Share, ShareError};
pub use time::{Span, SpanError, Time};
