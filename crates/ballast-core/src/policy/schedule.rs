//! Schedule windows: when one holds, without a time zone database and without a clock.

use crate::kube::Name;
use crate::units::Time;

use super::ScheduleWindow;

const MINUTES_A_DAY: i64 = 1440;
/// A window that began longer ago cannot hold any more; longer windows are refused when they are read.
pub const LONGEST_WINDOW_DAYS: i64 = 31;

/// When a window begins: five cron fields (minute, hour, day of month, month, day of week), each `*`, a number, a range, a
/// list, or a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Cron's own rule: if both days are restricted, one of them is enough.
    either_day: bool,
}

/// Why a text is not a cron expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a cron expression: {why}")]
pub struct CronError {
    text: String,
    why: String,
}

impl Cron {
    /// Reads five fields.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let fail = |why: String| CronError { text: text.chars().take(80).collect(), why };
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(fail(format!(
                "it has {} fields, five are needed (minute hour day month weekday)",
                fields.len()
            )));
        };
        let field = |text: &str, low, high, what: &str| {
            bits(text, low, high).ok_or_else(|| fail(format!("`{text}` is no {what} ({low} to {high})")))
        };
        let weekdays = field(weekday, 0, 7, "day of week")?;
        Ok(Self {
            minutes: field(minute, 0, 59, "minute")?,
            hours: field(hour, 0, 23, "hour")?,
            days: field(day, 1, 31, "day of month")?,
            months: field(month, 1, 12, "month")?,
            weekdays: weekdays | (weekdays >> 7 & 1),
            either_day: day != "*" && weekday != "*",
        })
    }

    /// The last beginning at or before a minute since 1970 (local), at most `days` days back.
    fn last_before(&self, minute: i64, days: i64) -> Option<i64> {
        let today = minute.div_euclid(MINUTES_A_DAY);
        for back in 0..=days {
            let day = today - back;
            let latest = if back == 0 { minute.rem_euclid(MINUTES_A_DAY) } else { MINUTES_A_DAY - 1 };
            if self.is_on(day)
                && let Some(at) = self.latest_of_day(latest)
            {
                return Some(day * MINUTES_A_DAY + at);
            }
        }
        None
    }

    fn is_on(&self, day: i64) -> bool {
        let (month, of_month) = month_and_day(day);
        let weekday = (day + 4).rem_euclid(7);
        let by_month = self.days >> of_month & 1 == 1;
        let by_week = self.weekdays >> weekday & 1 == 1;
        let on_day = if self.either_day { by_month || by_week } else { by_month && by_week };
        self.months >> month & 1 == 1 && on_day
    }

    fn latest_of_day(&self, latest: i64) -> Option<i64> {
        let starts = |at: &i64| self.hours >> (at / 60) & 1 == 1 && self.minutes >> (at % 60) & 1 == 1;
        (0..=latest).rev().find(starts)
    }
}

impl ScheduleWindow {
    /// Whether it holds at a point in time. One that cannot be read holds never; reading refuses such documents.
    pub fn holds_at(&self, now: Time) -> bool {
        let Ok(cron) = Cron::parse(&self.start) else { return false };
        let offset = self.offset.as_ref().map_or(Some(0), offset_minutes).unwrap_or(0);
        let local = now.as_millis().div_euclid(60_000) + offset;
        let length = self.duration.as_millis().div_euclid(60_000);
        let days = (length / MINUTES_A_DAY + 1).min(LONGEST_WINDOW_DAYS);
        cron.last_before(local, days).is_some_and(|start| local - start < length)
    }
}

/// The minutes of a fixed offset such as `+08:00` or `Z`.
pub fn offset_minutes(text: &Name) -> Option<i64> {
    if &**text == "Z" || &**text == "UTC" {
        return Some(0);
    }
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..=14).contains(&hours) && (0..60).contains(&minutes)).then_some(sign * (hours * 60 + minutes))
}

/// The values of a field as bits.
fn bits(text: &str, low: u32, high: u32) -> Option<u64> {
    let mut all = 0;
    for part in text.split(',') {
        let (range, step) =
            part.split_once('/').map_or((part, Some(1)), |(range, step)| (range, step.parse().ok()));
        let step: u32 = step.filter(|&step| step > 0)?;
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (low, high),
            Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
            None => {
                let only: u32 = range.parse().ok()?;
                (only, if part.contains('/') { high } else { only })
            }
        };
        if from < low || to > high || from > to {
            return None;
        }
        (from..=to).step_by(step as usize).for_each(|value| all |= 1u64 << value);
    }
    Some(all)
}

/// Month (1 to 12) and day of month (1 to 31) of a day since 1970, by the civil calendar.
fn month_and_day(day: i64) -> (u32, u32) {
    // Days are counted from 0000-03-01, so that the leap day is the last of its year.
    let shifted = day + 719_468;
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (month as u32, of_month as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert!(holds("0 8 * * 1-5", 10, None, "2026-11-16T17:59:00Z"));
        assert!(!holds("0 8 * * 1-5", 10, None, "2026-11-16T18:00:00Z"));
        assert!(!holds("0 8 * * 1-5", 10, None, "2026-11-15T12:00:00Z"), "a Sunday");
        assert!(holds("0 22 * * *", 8, None, "2026-11-16T05:00:00Z"), "over midnight");
        assert!(holds("0 8 * * *", 2, Some("+08:00"), "2026-11-16T00:30:00Z"));
        assert!(holds("0 0 29 2 *", 24, None, "2028-02-29T12:00:00Z"));
        assert!(holds("0 0 1 * 1", 1, None, "2026-11-16T00:30:00Z"), "either day is enough");
    }

    #[test]
    fn bad_expressions_are_refused() {
        for text in ["", "* * * *", "60 * * * *", "a * * * *", "*/0 * * * *", "5-1 * * * *", "* * 0 * *"] {
            assert!(Cron::parse(text).is_err(), "{text}");
        }
    }
}
