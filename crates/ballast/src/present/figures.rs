//! Numbers as people read them: cores, bytes, devices, shares, money, clocks. Values in, short text out.

use ballast_core::units::{Money, Span, Time};

/// A number with at most one decimal, and none where it is whole or large.
pub fn number(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.fract() == 0.0 || rounded.abs() >= 100.0 {
        group(rounded.round() as i64)
    } else {
        format!("{rounded:.1}")
    }
}

/// A count with thin spaces between its thousands: `12 400`.
pub fn group(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0 {
        text.push('-');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digits.len() > 4 {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Thousandths (of a core, of a device) as a number.
pub fn milli(value: i64) -> String {
    number(value as f64 / 1000.0)
}

/// Bytes with a binary unit.
pub fn bytes(value: i64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut amount = value as f64;
    let mut unit = 0;
    while amount.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{} {}", number(amount), UNITS[unit])
}

/// How much of a whole, in whole percent; nothing of nothing is 0 %.
pub fn percent(part: i64, whole: i64) -> u32 {
    if whole <= 0 { 0 } else { (part.max(0) as f64 / whole as f64 * 100.0).round().min(999.0) as u32 }
}

/// An amount with two decimals and its currency in front: `$12.40`, `CHF 12.40`.
pub fn money(amount: Money, currency: &str) -> String {
    let sign = match currency {
        "USD" => "$",
        "EUR" => "€",
        "GBP" => "£",
        "CNY" | "JPY" => "¥",
        "" => "",
        other => return format!("{other} {}", decimals(amount)),
    };
    format!("{sign}{}", decimals(amount))
}

fn decimals(amount: Money) -> String {
    if amount.as_f64().abs() >= 10_000.0 { group(amount.as_f64().round() as i64) } else { amount.to_string() }
}

/// The time of day, UTC: `06:00:05`.
pub fn clock(time: Time) -> String {
    let seconds = time.as_millis().div_euclid(1000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The day: `2026-11-15`.
pub fn day(time: Time) -> String {
    time.to_string().split('T').next().unwrap_or_default().to_owned()
}

/// A day of the year and the time of day: `11-15 06:30`.
pub fn moment(time: Time) -> String {
    format!("{} {}", &day(time)[5..], &clock(time)[..5])
}

/// How far ahead a time lies: `in 3m10s`, or `now`.
pub fn ahead(at: Time, now: Time) -> String {
    match at.since(now) {
        span if span < Span::from_secs(1) => "now".to_owned(),
        span => format!("in {}", span.rounded()),
    }
}

/// A count with its noun: `1 pod`, `2 pods`.
pub fn plural(count: u32, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", group(count.into())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        for (seen, wanted) in [
            (number(0.0), "0"),
            (number(3.25), "3.3"),
            (number(1234.5), "1235"),
            (group(12_345_678), "12\u{202f}345\u{202f}678"),
            (group(-1234), "-1234"),
            (milli(96_000), "96"),
            (milli(500), "0.5"),
            (bytes(3 << 29), "1.5 GiB"),
            (bytes(0), "0 B"),
            (money(Money::from_micros(12_400_000), "USD"), "$12.40"),
            (money(Money::from_micros(12_400_000), "CHF"), "CHF 12.40"),
            (clock(Time::from_secs(86_400 + 3_661)), "01:01:01"),
            (day(Time::from_secs(86_400)), "1970-01-02"),
            (ahead(Time::from_secs(190), Time::ZERO), "in 3m10s"),
            (ahead(Time::ZERO, Time::from_secs(5)), "now"),
        ] {
            assert_eq!(seen, wanted);
        }
        assert_eq!((percent(1, 3), percent(5, 0), percent(-5, 10)), (33, 0, 0));
    }
}
