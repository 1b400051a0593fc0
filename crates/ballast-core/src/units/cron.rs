//! Points in time that come again: five cron fields at a fixed offset from UTC.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::Offset;

use super::{Span, Time};

/// Minutes that come again, written as five cron fields: minute, hour, day of the month, month, day of the week.
///
/// Each is `*`, a number, a range `1-5`, a step `*/15` or `8-18/2`, or a list of these; months and days also by their first
/// three letters. Where both days are restricted, either is enough, as in every cron since Vixie's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both days are restricted: either is enough.
    either_day: bool,
}

/// Why a text is not five cron fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what}: write five fields (minute, hour, day of the month, month, day of the week), such as `0 8 * * MON-FRI`"
)]
pub struct CronError {
    what: String,
}

/// A fixed distance from UTC, written `+08:00`, `-03:30`, `Z` or `UTC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UtcOffset {
    seconds: i32,
}

/// Why a text is not an offset from UTC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an offset from UTC: write `+08:00`, `-03:30` or `Z`")]
pub struct UtcOffsetError {
    text: String,
}

const DAY: Span = Span::from_hours(24);
const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// A field: its name in messages, what its numbers may be, and words for them.
struct Field {
    name: &'static str,
    from: u8,
    to: u8,
    words: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field { name: "minute", from: 0, to: 59, words: &[] },
    Field { name: "hour", from: 0, to: 23, words: &[] },
    Field { name: "day of the month", from: 1, to: 31, words: &[] },
    Field { name: "month", from: 1, to: 12, words: &MONTHS },
    Field { name: "day of the week", from: 0, to: 7, words: &WEEKDAYS },
];

impl Cron {
    /// Whether a minute is one of them.
    pub fn matches(&self, at: Time, offset: UtcOffset) -> bool {
        let Some(local) = local(at, offset) else { return false };
        has(self.minutes, local.minute()) && has(self.hours, local.hour()) && self.is_on(local.date())
    }

    /// The latest of them that is not after `now` and not longer ago than `within`.
    pub fn last_start(&self, now: Time, offset: UtcOffset, within: Span) -> Option<Time> {
        let here = local(now, offset)?;
        let midnight = local_midnight(now, here.time());
        // A month is the longest that a window may last; see the check of documents. The day before it may reach into it.
        let days = (within.as_millis() / DAY.as_millis()).clamp(0, 31) + 1;
        let mut date = here.date();
        let mut latest = i64::from(here.hour()) * 60 + i64::from(here.minute());
        for back in 0..=days {
            if let Some(minute) = self.is_on(date).then(|| self.last_minute(latest)).flatten() {
                let start = midnight - DAY.times(back) + Span::from_mins(minute);
                return (now.since(start) < within).then_some(start);
            }
            date = date.yesterday().ok()?;
            latest = 24 * 60 - 1;
        }
        None
    }

    /// Whether a day is one of theirs.
    fn is_on(&self, date: jiff::civil::Date) -> bool {
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        has(self.months, date.month()) && if self.either_day { day || weekday } else { day && weekday }
    }

    /// The last minute of a day, up to `latest`.
    fn last_minute(&self, latest: i64) -> Option<i64> {
        (0..=latest).rev().find(|at| has(self.hours, (at / 60) as i8) && has(self.minutes, (at % 60) as i8))
    }

    /// Whether there is any such minute at all: `0 0 30 2 *` has none.
    pub fn ever_comes(&self) -> bool {
        const LONGEST: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let by_day = (1..=12u32).filter(|month| self.months >> month & 1 == 1).any(|month| {
            let days = LONGEST[month as usize - 1];
            (1..=days).any(|day| self.days >> day & 1 == 1)
        });
        self.either_day || by_day
    }
}

fn has(set: u64, number: i8) -> bool {
    set >> number & 1 == 1
}

fn local_midnight(now: Time, here: jiff::civil::Time) -> Time {
    let since = here.duration_since(jiff::civil::Time::midnight());
    now - Span::from_millis(since.as_millis() as i64)
}

fn local(at: Time, offset: UtcOffset) -> Option<jiff::civil::DateTime> {
    let instant = Timestamp::from_millisecond(at.as_millis()).ok()?;
    Some(Offset::from_seconds(offset.seconds).ok()?.to_datetime(instant))
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split_ascii_whitespace().collect();
        if parts.len() != FIELDS.len() {
            let shown: String = text.chars().take(60).collect();
            return Err(CronError { what: format!("`{}` has {} fields", shown.escape_debug(), parts.len()) });
        }
        let mut sets = [0; 5];
        for ((set, part), field) in sets.iter_mut().zip(&parts).zip(&FIELDS) {
            *set = field.parse(part).ok_or_else(|| field.error(part))?;
        }
        let [minutes, hours, days, months, weekdays] = sets;
        // Sunday is 0 and 7.
        let weekdays = weekdays | weekdays >> 7 & 1;
        let either_day = !parts[2].starts_with('*') && !parts[4].starts_with('*');
        Ok(Self { minutes, hours, days, months, weekdays, either_day })
    }
}

impl Field {
    fn parse(&self, text: &str) -> Option<u64> {
        text.split(',').try_fold(0, |set, part| Some(set | self.parse_part(part)?))
    }

    fn parse_part(&self, text: &str) -> Option<u64> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u8>().ok().filter(|step| *step > 0)?)),
            None => (text, None),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (self.from, self.to),
            Some((from, to)) => (self.number(from)?, self.number(to)?),
            None => {
                let number = self.number(range)?;
                (number, if step.is_some() { self.to } else { number })
            }
        };
        if from > to {
            return None;
        }
        Some((from..=to).step_by(step.unwrap_or(1).into()).fold(0, |set, number| set | 1 << number))
    }

    fn number(&self, text: &str) -> Option<u8> {
        let word = self.words.iter().position(|word| word.eq_ignore_ascii_case(text));
        let digits = || text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let number = word.map(|position| position as u8 + self.from).or_else(digits)?;
        (self.from..=self.to).contains(&number).then_some(number)
    }

    fn error(&self, part: &str) -> CronError {
        let shown: String = part.chars().take(30).collect();
        let Self { name, from, to, .. } = self;
        CronError { what: format!("`{}` is no {name} from {from} to {to}", shown.escape_debug()) }
    }
}

impl FromStr for UtcOffset {
    type Err = UtcOffsetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seconds = if matches!(text, "Z" | "UTC") { Some(0) } else { parse_offset(text) };
        let error = || UtcOffsetError { text: text.chars().take(30).flat_map(char::escape_debug).collect() };
        seconds.map(|seconds| Self { seconds }).ok_or_else(error)
    }
}

fn parse_offset(text: &str) -> Option<i32> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let two = |part: &str| {
        let is_good = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        is_good.then(|| part.parse::<i32>().ok()).flatten()
    };
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

impl fmt::Display for UtcOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.seconds < 0 { '-' } else { '+' };
        let minutes = self.seconds.abs() / 60;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Time {
        text.parse().unwrap()
    }

    #[test]
    fn reads_what_cron_reads() {
        for (text, hit, miss) in [
            ("* * * * *", "2026-11-15T06:07:30Z", ""),
            ("0 8 * * MON-FRI", "2026-11-16T08:00:00Z", "2026-11-15T08:00:00Z"),
            ("*/15 * * * *", "2026-11-15T06:45:00Z", "2026-11-15T06:46:00Z"),
            ("0 8-18/2 * * *", "2026-11-15T10:00:00Z", "2026-11-15T11:00:00Z"),
            ("0 0 1,15 * *", "2026-11-15T00:00:00Z", "2026-11-16T00:00:00Z"),
            ("0 0 * * 7", "2026-11-15T00:00:00Z", "2026-11-16T00:00:00Z"),
            ("0 0 13 * fri", "2026-11-20T00:00:00Z", "2026-11-14T00:00:00Z"),
            ("30 5/6 * nov *", "2026-11-15T23:30:00Z", "2026-11-15T06:30:00Z"),
        ] {
            let cron: Cron = text.parse().unwrap();
            assert!(cron.matches(at(hit), UtcOffset::default()), "{text} at {hit}");
            assert!(miss.is_empty() || !cron.matches(at(miss), UtcOffset::default()), "{text} at {miss}");
        }
    }

    #[test]
    fn refuses_what_cron_refuses() {
        for text in [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "5-1 * * * *",
            "*/0 * * * *",
            "a * * * *",
            "1,,2 * * * *",
            "-1 * * * *",
            "+1 * * * *",
            "1-2-3 * * * *",
            "@daily",
            "* * * JANUARY *",
            "1/2/3 * * * *",
            "\u{0} * * * *",
        ] {
            assert!(text.parse::<Cron>().is_err(), "{text}");
        }
    }

    #[test]
    fn finds_the_last_start_in_its_zone() {
        let cron: Cron = "0 8 * * *".parse().unwrap();
        let offset: UtcOffset = "+08:00".parse().unwrap();
        let now = at("2026-11-15T02:30:10Z");
        assert_eq!(cron.last_start(now, offset, Span::from_hours(4)), Some(at("2026-11-15T00:00:00Z")));
        assert_eq!(cron.last_start(now, offset, Span::from_hours(2)), None);
        assert_eq!(
            cron.last_start(at("2026-11-15T00:00:00Z"), offset, Span::from_mins(1)),
            Some(at("2026-11-15T00:00:00Z"))
        );
    }

    #[test]
    fn knows_days_that_never_come() {
        for (text, comes) in [
            ("0 0 30 2 *", false),
            ("0 0 29 2 *", true),
            ("0 0 31 4,6 *", false),
            ("0 0 30 2 MON", true),
            ("0 0 * 2 *", true),
        ] {
            assert_eq!(text.parse::<Cron>().unwrap().ever_comes(), comes, "{text}");
        }
    }

    #[test]
    fn offsets_read_and_print() {
        for (text, printed) in
            [("+08:00", "+08:00"), ("-03:30", "-03:30"), ("Z", "+00:00"), ("UTC", "+00:00")]
        {
            assert_eq!(text.parse::<UtcOffset>().unwrap().to_string(), printed);
        }
        for text in ["", "8", "+8:00", "+15:00", "+08:60", "08:00", "Asia/Shanghai", "+-1:00", "é"] {
            assert!(text.parse::<UtcOffset>().is_err(), "{text}");
        }
    }
}
