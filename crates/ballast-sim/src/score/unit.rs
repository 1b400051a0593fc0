//! In what figures are counted, and numbers as people write them beside figures.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use ballast_core::units::Span;

/// In what a figure is counted. A figure has one unit, wherever it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Money, in the policy's currency.
    Money,
    /// A part of a whole, from 0 to 1.
    Share,
    /// Seconds.
    Seconds,
    /// Hours, of pods or of GPUs.
    Hours,
    /// A number of things.
    Count,
}

impl Unit {
    /// What something of this unit is.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Money => "money",
            Self::Share => "a share",
            Self::Seconds => "a time",
            Self::Hours => "a number of hours",
            Self::Count => "a number",
        }
    }

    /// How an amount of it is written.
    pub const fn form(self) -> &'static str {
        match self {
            Self::Money | Self::Hours | Self::Count => "a plain number such as `5`",
            Self::Share => "a percentage such as `90%` or a number from 0 to 1",
            Self::Seconds => "a duration such as `90s` or `5m`",
        }
    }

    /// Whether an amount can be one of this unit. A plain number is counted in the unit itself, but no share is above 1.
    pub fn takes(self, amount: Amount) -> bool {
        match amount.unit {
            Some(unit) => unit == self,
            None => self != Self::Share || amount.value <= 1.0,
        }
    }
}

/// A number as people write it: plain, or with a unit, such as `5m` or `80%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// In seconds where it is a duration, as a part of 1 where it is a percentage.
    pub value: f64,
    /// What its unit says that it is; `None` for a plain number.
    pub unit: Option<Unit>,
}

impl Amount {
    /// A plain number.
    pub const fn plain(value: f64) -> Self {
        Self { value, unit: None }
    }
}

/// Why a text is no amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// It does not begin with a number.
    #[error("`{0}` is not a number")]
    Number(String),
    /// What follows the number is no unit.
    #[error("`{0}` is no unit: write ms, s, m, h, d or %")]
    Unit(String),
}

impl FromStr for Amount {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(value) = text.parse::<f64>() {
            return Ok(Self::plain(value));
        }
        let digits =
            text.find(|letter: char| letter.is_ascii_alphabetic() || letter == '%').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let value: f64 = number.parse().map_err(|_| AmountError::Number(text.to_owned()))?;
        if unit == "%" {
            return Ok(Self { value: value / 100.0, unit: Some(Unit::Share) });
        }
        let seconds = |text: &str| text.parse::<Span>().ok().map(|span| span.as_millis() as f64 / 1000.0);
        // `1h30m` as a whole, `0.5h` as half of `1h`.
        let whole = seconds(text).or_else(|| seconds(&format!("1{unit}")).map(|one| value * one));
        let value = whole.ok_or_else(|| AmountError::Unit(unit.to_owned()))?;
        Ok(Self { value, unit: Some(Unit::Seconds) })
    }
}

impl Serialize for Amount {
    /// As a plain number in the figure's own unit.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Amount;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, a duration such as `5m` or a percentage such as `80%`")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Amount, E> {
                Ok(Amount::plain(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Amount, E> {
                Ok(Amount::plain(value as f64))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Amount, E> {
                Ok(Amount::plain(value as f64))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Amount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Amount".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["number", "string"], "description": "A number, a duration or a percentage."})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, value, unit) in [
            ("5", 5.0, None),
            ("1e3", 1000.0, None),
            ("5m", 300.0, Some(Unit::Seconds)),
            ("0.5h", 1800.0, Some(Unit::Seconds)),
            ("1h30m", 5400.0, Some(Unit::Seconds)),
            ("80%", 0.8, Some(Unit::Share)),
        ] {
            assert_eq!(text.parse(), Ok(Amount { value, unit }), "{text}");
        }
        assert_eq!("5x".parse::<Amount>(), Err(AmountError::Unit("x".into())));
        assert_eq!("".parse::<Amount>(), Err(AmountError::Number(String::new())));
    }

    #[test]
    fn a_figure_has_one_unit() {
        let takes = |unit: Unit, text: &str| unit.takes(text.parse().unwrap());
        assert!(takes(Unit::Money, "5") && !takes(Unit::Money, "5m") && !takes(Unit::Money, "5%"));
        assert!(takes(Unit::Share, "0.9") && takes(Unit::Share, "90%") && !takes(Unit::Share, "90"));
        assert!(takes(Unit::Seconds, "300") && takes(Unit::Seconds, "5m") && !takes(Unit::Seconds, "5%"));
    }
}
