//! Quantities, durations, times and shares: whatever is read prints as something that reads the same.

use std::fmt::Display;
use std::str::FromStr;

use ballast_core::units::{Quantity, Share, Span, Time};

pub(super) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    for line in text.lines() {
        round_trip::<Quantity>(line);
        round_trip::<Span>(line);
        round_trip::<Time>(line);
        round_trip::<Share>(line);
        if let Ok(quantity) = line.parse::<Quantity>() {
            assert!(quantity.units() <= quantity.milli() || quantity.milli() <= 0, "{line}");
            assert!(quantity.as_f64().is_finite(), "{line}");
        }
    }
}

fn round_trip<T: FromStr + Display + PartialEq>(line: &str) {
    if let Ok(value) = line.parse::<T>() {
        let printed = value.to_string();
        // The last millisecond of the calendar is beyond what can be printed, and stands for no point in time.
        if printed == "never" {
            return;
        }
        let again = printed.parse::<T>().ok();
        assert!(again == Some(value), "`{line}` prints as `{printed}`, which reads as something else");
    }
}
