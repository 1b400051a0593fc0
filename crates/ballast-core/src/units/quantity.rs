//! Kubernetes quantities, exact to the billionth.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A Kubernetes quantity (`500m`, `1.5Gi`, `2e3`), kept exactly, in billionths.
///
/// Kubernetes itself rounds anything finer than a billionth up; so does this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(i128);

const NANO: i128 = 1_000_000_000;
/// Kubernetes caps quantities at 2^63 - 1 units; so do we.
const MAX: i128 = (i64::MAX as i128) * NANO;

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a quantity: {}", self.help())]
pub struct QuantityError {
    text: String,
}

impl QuantityError {
    /// What was meant by a suffix in other letters, or with a `B` for bytes; else the form.
    fn help(&self) -> String {
        let end = self.text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'));
        let (number, suffix) = self.text.split_at(end.unwrap_or(self.text.len()));
        let suffix = suffix.trim_start().to_ascii_lowercase();
        let unit = suffix.strip_suffix('b').unwrap_or(&suffix);
        let known = ["k", "m", "g", "t", "p"]
            .into_iter()
            .find(|known| unit.strip_suffix('i').unwrap_or(unit) == *known);
        match known {
            Some(letter) if Quantity::parse(number).is_some() => {
                let upper = letter.to_ascii_uppercase();
                let decimal = if letter == "k" { letter } else { &upper };
                match unit.ends_with('i') {
                    true => format!("did you mean `{number}{upper}i`?"),
                    false => format!("did you mean `{number}{upper}i` or `{number}{decimal}`?"),
                }
            }
            _ => "write a number with an optional suffix, such as `500m`, `2`, `1.5Gi` or `16G`".to_owned(),
        }
    }
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// A whole number of units.
    pub const fn from_units(units: i64) -> Self {
        Self(units as i128 * NANO)
    }

    /// A number of thousandths.
    pub const fn from_milli(milli: i64) -> Self {
        Self(milli as i128 * 1_000_000)
    }

    /// Whole units, rounded up as Kubernetes' `Value()` does.
    pub fn units(self) -> i64 {
        ceil_div(self.0, NANO)
    }

    /// Thousandths, rounded up as Kubernetes' `MilliValue()` does.
    pub fn milli(self) -> i64 {
        ceil_div(self.0, 1_000_000)
    }

    /// As a floating point number, for ratios and charts.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / NANO as f64
    }

    fn parse(text: &str) -> Option<Self> {
        let (negative, body) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = body.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(body.len());
        let (number, suffix) = body.split_at(end);
        let (digits, decimals) = digits_of(number)?;
        let value = scaled(digits, decimals, suffix)?;
        let value = value.min(MAX);
        Some(Self(if negative { -value } else { value }))
    }
}

/// The digits of a decimal number as an integer, and how many stood behind the point.
fn digits_of(number: &str) -> Option<(i128, u32)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    // Thirty digits are more than any quantity below the cap can need; the rest would overflow the integer.
    let digits = whole.trim_start_matches('0');
    if digits.len() + fraction.len() > 30 {
        return None;
    }
    let joined = format!("{digits}{fraction}");
    let value = if joined.is_empty() { 0 } else { joined.parse().ok()? };
    Some((value, fraction.len() as u32))
}

/// `digits / 10^decimals` with a suffix, in billionths, rounded up; `None` for an unknown suffix.
fn scaled(digits: i128, decimals: u32, suffix: &str) -> Option<i128> {
    let (factor, exponent): (i128, i32) = match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        _ => (1, exponent_of(suffix)?),
    };
    let exponent = exponent + 9 - decimals as i32;
    if digits == 0 {
        return Some(0);
    }
    let base = digits.checked_mul(factor).unwrap_or(i128::MAX);
    if exponent >= 0 {
        let power = 10i128.checked_pow(exponent as u32);
        return Some(power.and_then(|p| base.checked_mul(p)).unwrap_or(MAX));
    }
    Some(match 10i128.checked_pow(exponent.unsigned_abs()) {
        Some(power) => base / power + i128::from(base % power != 0),
        None => 1,
    })
}

fn exponent_of(suffix: &str) -> Option<i32> {
    let digits = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i32 = digits.parse().ok()?;
    (-60..=60).contains(&exponent).then_some(exponent)
}

fn ceil_div(value: i128, by: i128) -> i64 {
    let quotient = value.div_euclid(by) + i128::from(value.rem_euclid(by) != 0);
    quotient.clamp(i64::MIN as i128, i64::MAX as i128) as i64
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text).ok_or_else(|| QuantityError { text: text.chars().take(64).collect() })
    }
}

impl fmt::Display for Quantity {
    /// The shortest exact form: whole units (with a binary suffix where it divides), else `m`, `u` or `n`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        if value % NANO == 0 {
            let units = value / NANO;
            for (shift, suffix) in [(60, "Ei"), (50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")] {
                if units != 0 && units % (1i128 << shift) == 0 {
                    return write!(f, "{}{suffix}", units >> shift);
                }
            }
            return write!(f, "{units}");
        }
        for (divisor, suffix) in [(1_000_000, "m"), (1000, "u")] {
            if value % divisor == 0 {
                return write!(f, "{}{suffix}", value / divisor);
            }
        }
        write!(f, "{value}n")
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as `500m`, `2` or `1.5Gi`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, units: u64) -> Result<Quantity, E> {
                Ok(Quantity((i128::from(units) * NANO).min(MAX)))
            }
            fn visit_i64<E: de::Error>(self, units: i64) -> Result<Quantity, E> {
                Ok(Quantity::from_units(units))
            }
            fn visit_f64<E: de::Error>(self, units: f64) -> Result<Quantity, E> {
                units.to_string().parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Quantity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["string", "number"], "examples": ["500m", "1.5Gi", 2]})
    }
    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_kubernetes_reads() {
        for (text, nano) in [
            ("0", 0),
            ("1", NANO),
            ("500m", NANO / 2),
            ("1.5Gi", 3 * (1 << 29) * NANO),
            ("2e3", 2000 * NANO),
            ("2E3", 2000 * NANO),
            ("1E", 1_000_000_000_000_000_000 * NANO),
            ("0.1n", 1),
            (".5", NANO / 2),
            ("5.", 5 * NANO),
            ("-1", -NANO),
            ("100k", 100_000 * NANO),
        ] {
            assert_eq!(text.parse::<Quantity>().unwrap().0, nano, "{text}");
        }
        for text in ["", "-", ".", "1.2.3", "abc", "1 Gi", "1gi", "1e", "NaN", "1e999", "--1", "0x10"] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
    }

    #[test]
    fn says_what_was_meant() {
        for (text, help) in [
            ("32GB", "did you mean `32Gi` or `32G`?"),
            ("1.5gi", "did you mean `1.5Gi`?"),
            ("64Gib", "did you mean `64Gi`?"),
            ("20 kb", "did you mean `20Ki` or `20k`?"),
            ("b", "write a number with an optional suffix, such as `500m`, `2`, `1.5Gi` or `16G`"),
            ("", "write a number with an optional suffix, such as `500m`, `2`, `1.5Gi` or `16G`"),
        ] {
            let told = text.parse::<Quantity>().expect_err(text).to_string();
            assert_eq!(told, format!("`{text}` is not a quantity: {help}"));
        }
    }

    #[test]
    fn rounds_up() {
        assert_eq!("1500u".parse::<Quantity>().unwrap().milli(), 2);
        assert_eq!("1500m".parse::<Quantity>().unwrap().units(), 2);
        assert_eq!("-1500m".parse::<Quantity>().unwrap().units(), -1);
    }

    #[test]
    fn is_capped_and_prints_back() {
        assert_eq!("9999999999999Ei".parse::<Quantity>().unwrap().0, MAX);
        for text in ["500m", "1536Mi", "3", "7n", "16Gi", "250u"] {
            let quantity: Quantity = text.parse().unwrap();
            assert_eq!(quantity.to_string().parse::<Quantity>().unwrap(), quantity);
        }
        assert_eq!("1.5Gi".parse::<Quantity>().unwrap().to_string(), "1536Mi");
    }
}
