//! A part of a whole, in thousandths.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A part of a whole in thousandths, written `10%`, `2.5%` or `0.1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u32);

/// Why a text is not a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a share: {}", self.help())]
pub struct ShareError {
    text: String,
}

impl ShareError {
    fn help(&self) -> String {
        let is_percent = self.text.parse::<f64>().is_ok_and(|number| (10.0..=1000.0).contains(&number));
        match is_percent {
            true => format!("did you mean `{}%`?", self.text),
            false => "write a percentage such as `10%` or a number from 0 to 10".to_owned(),
        }
    }
}

impl Share {
    /// From thousandths.
    pub const fn from_milli(milli: u32) -> Self {
        Self(milli)
    }

    /// From whole percent.
    pub const fn percent(percent: u32) -> Self {
        Self(percent * 10)
    }

    /// In thousandths.
    pub const fn as_milli(self) -> u32 {
        self.0
    }

    /// As a ratio.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// This share of `whole`, rounded up, as Kubernetes rounds a percentage that must not come out as nothing.
    pub fn of(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.0)).div_ceil(1000).try_into().unwrap_or(u64::MAX)
    }

    /// This share of `whole`, rounded down: for limits that must not be passed.
    pub fn of_floor(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.0) / 1000).try_into().unwrap_or(u64::MAX)
    }

    fn from_ratio(ratio: f64) -> Option<Self> {
        (ratio.is_finite() && (0.0..=10.0).contains(&ratio)).then(|| Self((ratio * 1000.0).round() as u32))
    }
}

impl FromStr for Share {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let ratio = match text.strip_suffix('%') {
            Some(number) => number.trim().parse::<f64>().map(|n| n / 100.0),
            None => text.parse::<f64>(),
        };
        ratio.ok().and_then(Self::from_ratio).ok_or_else(|| ShareError { text: text.to_owned() })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(10) {
            write!(f, "{}%", self.0 / 10)
        } else {
            write!(f, "{}.{}%", self.0 / 10, self.0 % 10)
        }
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Share;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share such as `10%` or `0.1`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Share, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, ratio: f64) -> Result<Share, E> {
                Share::from_ratio(ratio).ok_or_else(|| E::custom(ShareError { text: ratio.to_string() }))
            }
            fn visit_u64<E: de::Error>(self, ratio: u64) -> Result<Share, E> {
                self.visit_f64(ratio as f64)
            }
            fn visit_i64<E: de::Error>(self, ratio: i64) -> Result<Share, E> {
                self.visit_f64(ratio as f64)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Share {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Share".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["string", "number"], "examples": ["10%", 0.1]})
    }
    fn inline_schema() -> bool {
        true
    }
}
