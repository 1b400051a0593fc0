//! A share of one GPU as a scenario writes it: in thousandths.

use std::fmt;

use serde::{Deserializer, de};

/// Reads thousandths, and says how to write a share that is told as a part of 1.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    struct Visitor;
    impl de::Visitor<'_> for Visitor {
        type Value = Option<u16>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a share of one GPU in thousandths, from 1 to 999")
        }

        fn visit_unit<E: de::Error>(self) -> Result<Option<u16>, E> {
            Ok(None)
        }

        fn visit_u64<E: de::Error>(self, milli: u64) -> Result<Option<u16>, E> {
            let milli = u16::try_from(milli);
            milli.map(Some).map_err(|_| E::custom("a share is from 1 to 999; whole GPUs stand in `requests`"))
        }

        fn visit_f64<E: de::Error>(self, share: f64) -> Result<Option<u16>, E> {
            match (share * 1000.0).round() {
                milli if (1.0..1000.0).contains(&milli) && share < 1.0 => Err(E::custom(format!(
                    "a share is told in thousandths of one GPU: did you mean `{milli}`?"
                ))),
                _ => Err(E::invalid_type(de::Unexpected::Float(share), &self)),
            }
        }
    }
    deserializer.deserialize_any(Visitor)
}
