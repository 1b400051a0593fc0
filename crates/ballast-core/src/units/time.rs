//! Points and lengths of time, in whole milliseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point on the engine's time line, in milliseconds since 1970.
///
/// The line starts at the wall clock and then advances by the monotonic clock alone, so that a jump of the wall clock
/// neither expires nor extends a timer. The simulator supplies virtual time on the same line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// A length of time in milliseconds, written `90s`, `5m`, `2h`, `7d` or `1h30m`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(i64);

/// Why a text is not a length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.words())]
pub struct SpanError {
    text: String,
}

impl Time {
    /// 1970-01-01T00:00:00Z.
    pub const ZERO: Self = Self(0);
    /// Later than every other point.
    pub const FAR_FUTURE: Self = Self(i64::MAX);

    /// The point `ms` milliseconds after 1970-01-01T00:00:00Z.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// The point `s` seconds after 1970-01-01T00:00:00Z.
    pub const fn from_secs(s: i64) -> Self {
        Self(s.saturating_mul(1000))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// How long ago `earlier` was; zero where it lies in the future.
    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0).max(0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A length of `ms` milliseconds.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// A length of `s` seconds.
    pub const fn from_secs(s: i64) -> Self {
        Self(s.saturating_mul(1000))
    }

    /// A length of `m` minutes.
    pub const fn from_mins(m: i64) -> Self {
        Self::from_secs(m.saturating_mul(60))
    }

    /// A length of `h` hours.
    pub const fn from_hours(h: i64) -> Self {
        Self::from_mins(h.saturating_mul(60))
    }

    /// Whole milliseconds.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Seconds, with a fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// Hours, with a fraction: what a price per hour is multiplied by.
    pub fn as_hours_f64(self) -> f64 {
        self.0 as f64 / 3_600_000.0
    }

    /// For people: from a second up without milliseconds, from a day up without seconds.
    #[must_use]
    pub const fn rounded(self) -> Self {
        let step = match self.0.unsigned_abs() {
            0..1000 => 1,
            1000..86_400_000 => 1000,
            _ => 60_000,
        };
        Self(self.0 / step * step)
    }

    /// `self` taken `n` times, without overflow.
    pub const fn times(self, n: i64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Add<Span> for Time {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Self;

    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_millisecond(self.0) {
            Ok(t) => write!(f, "{t}"),
            Err(_) => write!(f, "never"),
        }
    }
}

impl FromStr for Time {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "never" {
            return Ok(Self::FAR_FUTURE);
        }
        Ok(Self(text.parse::<Timestamp>()?.as_millisecond()))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, mut ms) =
            if self.0 < 0 { ("-", self.0.unsigned_abs()) } else { ("", self.0.unsigned_abs()) };
        if ms == 0 {
            return f.write_str("0s");
        }
        f.write_str(sign)?;
        for (unit, name) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")] {
            if ms >= unit {
                write!(f, "{}{name}", ms / unit)?;
                ms %= unit;
            }
        }
        Ok(())
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_span(text).ok_or_else(|| SpanError { text: text.to_owned() })
    }
}

/// Reads `1h30m`, `0.5s`, `250ms`, or `0`.
fn parse_span(text: &str) -> Option<Span> {
    if text == "0" {
        return Some(Span::ZERO);
    }
    let mut rest = text;
    let mut total: f64 = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 1.0,
            "s" => 1000.0,
            "m" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            "w" => 604_800_000.0,
            _ => return None,
        };
        total += number * unit;
        rest = &rest[letters..];
    }
    // A thousand years: longer waits are typing errors, and far below the range of the type.
    (total.is_finite() && total <= 3.2e13).then(|| Span(total.round() as i64))
}

macro_rules! text_serde {
    ($type:ty, $expecting:literal, $how:ident, { $($others:tt)* }) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                        text.parse().map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
                    }
                    $($others)*
                }
                deserializer.$how(Visitor)
            }
        }
    };
}
impl SpanError {
    fn words(&self) -> String {
        let text = &self.text;
        match text.parse::<u64>() {
            Ok(number) => Self::without_unit(number),
            Err(_) => {
                format!(
                    "`{text}` is not a duration: write a number with a unit, such as `90s`, `5m`, `2h`, `7d` or `1h30m`"
                )
            }
        }
    }

    /// The number alone does not say of what.
    fn without_unit(number: impl fmt::Display) -> String {
        format!("the number {number} has no unit: did you mean `{number}h`, `{number}m` or `{number}s`?")
    }
}

text_serde!(Time, "a time such as `2026-11-15T06:00:00Z`", deserialize_str, {});
text_serde!(Span, "a duration such as `90s`, `5m`, `2h` or `7d`", deserialize_any, {
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Span, E> {
        Err(E::custom(SpanError::without_unit(number)))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Span, E> {
        Err(E::custom(SpanError::without_unit(number)))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Span, E> {
        Err(E::custom(SpanError::without_unit(number)))
    }
});

#[cfg(feature = "schema")]
mod schema {
    use super::{Span, Time};
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use std::borrow::Cow;

    impl JsonSchema for Time {
        fn schema_name() -> Cow<'static, str> {
            "Time".into()
        }
        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({"type": "string", "format": "date-time"})
        }
        fn inline_schema() -> bool {
            true
        }
    }

    impl JsonSchema for Span {
        fn schema_name() -> Cow<'static, str> {
            "Duration".into()
        }
        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({"type": "string", "pattern": "^([0-9.]+(ms|s|m|h|d|w))+$|^0$", "examples": ["90s", "2h", "7d"]})
        }
        fn inline_schema() -> bool {
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_and_print() {
        for (text, ms, printed) in [
            ("90s", 90_000, "1m30s"),
            ("2h", 7_200_000, "2h"),
            ("7d", 604_800_000, "7d"),
            ("1h30m", 5_400_000, "1h30m"),
            ("250ms", 250, "250ms"),
            ("0.5s", 500, "500ms"),
            ("0", 0, "0s"),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.as_millis(), ms, "{text}");
            assert_eq!(span.to_string(), printed);
        }
        assert_eq!(
            "24".parse::<Span>().unwrap_err().to_string(),
            "the number 24 has no unit: did you mean `24h`, `24m` or `24s`?"
        );
        for text in ["", "5", "m", "1y", "-5s", "1e400s", "99999999999d"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_round_trip() {
        let time: Time = "2026-11-15T06:00:00Z".parse().unwrap();
        assert_eq!(time.to_string(), "2026-11-15T06:00:00Z");
        assert_eq!(time.since(time - Span::from_secs(5)), Span::from_secs(5));
        assert_eq!(Time::FAR_FUTURE.to_string().parse::<Time>().unwrap(), Time::FAR_FUTURE);
    }
}
