//! Cron fields and offsets from UTC.

use ballast_core::units::{Cron, Span, Time, UtcOffset};

/// The last start is one of the minutes that the fields name, whatever the zone; an offset prints as itself.
pub(super) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let offsets: Vec<UtcOffset> = text.lines().filter_map(|line| line.parse().ok()).collect();
    for offset in &offsets {
        assert_eq!(offset.to_string().parse(), Ok(*offset));
    }
    let offset = offsets.last().copied().unwrap_or_default();
    for cron in text.lines().filter_map(|line| line.parse::<Cron>().ok()) {
        let now = Time::from_secs(1_800_000_000);
        let start = cron.last_start(now, offset, Span::from_hours(24));
        assert!(start.is_none_or(|start| start <= now && cron.matches(start, offset)));
        // A day in which the hours and minutes come at all has a start, where every day is named.
        assert!(start.is_none() || cron.ever_comes());
    }
}
