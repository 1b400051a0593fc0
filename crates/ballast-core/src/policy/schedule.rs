//! Schedule windows: when one holds, without a time zone database and without a clock.

use crate::units::{Cron, Time, UtcOffset};

use super::ScheduleWindow;

impl ScheduleWindow {
    /// Whether it holds at a point in time. One that cannot be read holds never; reading refuses such documents.
    pub fn holds_at(&self, now: Time) -> bool {
        let Ok(cron) = self.start.parse::<Cron>() else { return false };
        let offset: UtcOffset =
            self.offset.as_ref().and_then(|offset| offset.parse().ok()).unwrap_or_default();
        cron.last_start(now, offset, self.duration).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::Name;
    use crate::units::Span;

    fn holds(start: &str, hours: i64, offset: Option<&str>, now: &str) -> bool {
        let window = ScheduleWindow {
            start: start.into(),
            duration: Span::from_hours(hours),
            offset: offset.map(Name::from),
            min: None,
            max: None,
        };
        window.holds_at(now.parse().unwrap())
    }

    #[test]
    fn windows_hold_from_their_start_for_their_length() {
        // 2026-11-16 is a Monday.
        assert!(holds("0 8 * * 1-5", 10, None, "2026-11-16T08:00:00Z"));
        assert!(holds("0 8 * * MON-FRI", 10, None, "2026-11-16T17:59:00Z"), "in words");
        assert!(!holds("0 8 * * 1-5", 10, None, "2026-11-16T18:00:00Z"));
        assert!(!holds("0 8 * * 1-5", 10, None, "2026-11-15T12:00:00Z"), "a Sunday");
        assert!(holds("0 22 * * *", 8, None, "2026-11-16T05:00:00Z"), "over midnight");
        assert!(holds("0 8 * * *", 2, Some("+08:00"), "2026-11-16T00:30:00Z"));
        assert!(holds("0 0 29 2 *", 24, None, "2028-02-29T12:00:00Z"));
        assert!(holds("0 0 1 * 1", 1, None, "2026-11-16T00:30:00Z"), "either day is enough");
        assert!(
            !holds("0 0 */2 * 1", 1, None, "2026-11-16T00:30:00Z"),
            "both days must be right where one begins with `*`"
        );
    }
}
