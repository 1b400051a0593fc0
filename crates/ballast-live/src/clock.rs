//! The engine's time line: it starts at the wall clock and advances by the monotonic clock alone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use ballast_core::units::Time;

/// A clock that no change of the wall clock moves.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    origin: Time,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), origin: Time::from_millis(millis(wall)) }
    }

    /// The time that it is.
    pub fn now(&self) -> Time {
        Time::from_millis(self.origin.as_millis().saturating_add(millis(self.started.elapsed())))
    }

    /// The instant of a time; the distant future where there is no such instant.
    pub fn instant(&self, at: Time) -> Instant {
        const LONGEST: u64 = 365 * 86_400_000;
        let ahead = at.as_millis().saturating_sub(self.origin.as_millis());
        self.started + Duration::from_millis(u64::try_from(ahead).unwrap_or(0).min(LONGEST))
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
