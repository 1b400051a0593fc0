//! Lengths of time that are drawn.

use std::fmt;

use rand::RngExt;
use rand_distr::{Distribution as _, Exp, LogNormal};
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use ballast_core::units::Span;

use crate::random::Stream;

/// A length of time that is drawn: written `5m` where it is always the same, else `{exponential: {mean: 1h}}`,
/// `{lognormal: {median: 10m, sigma: 0.8}}` or `{uniform: {least: 1m, most: 2m}}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Fixed(Span),
    /// Memoryless: most are short, some are long.
    Exponential {
        /// The mean.
        mean: Span,
        /// Longer ones are cut off here.
        most: Option<Span>,
    },
    /// Its logarithm is normal: a typical length and a long tail.
    Lognormal {
        /// Half are shorter, half longer.
        median: Span,
        /// The spread of the logarithm: 0.2 is narrow, 1.5 very wide.
        sigma: f64,
        /// Longer ones are cut off here.
        most: Option<Span>,
    },
    /// Each equally likely.
    Uniform {
        /// From here.
        least: Span,
        /// To here.
        most: Span,
    },
}

/// The written form of all that is not fixed.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum Written {
    /// Memoryless: most are short, some are long.
    Exponential {
        /// the mean
        mean: Span,
        /// longer ones are cut off here; by default nowhere
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<Span>,
    },
    /// Its logarithm is normal: a typical length and a long tail.
    Lognormal {
        /// half are shorter, half longer
        median: Span,
        /// the spread of the logarithm, from 0 to 5: 0.2 is narrow, 1.5 very wide
        sigma: f64,
        /// longer ones are cut off here; by default nowhere
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<Span>,
    },
    /// Each equally likely.
    Uniform {
        /// from here
        least: Span,
        /// to here
        most: Span,
    },
}

impl Distribution {
    /// Draws one.
    pub fn draw(&self, stream: &mut Stream) -> Span {
        let within = |drawn: f64, most: Option<Span>| {
            let most = most.map_or(f64::MAX, |most| most.as_millis() as f64);
            // A hundred years: what is drawn beyond is as good as forever and must not overflow.
            Span::from_millis(drawn.min(most).min(3.2e12).round() as i64)
        };
        match *self {
            Self::Fixed(span) => span,
            Self::Exponential { mean, most } => match Exp::new(1.0 / mean.as_millis().max(1) as f64) {
                Ok(exponential) => within(exponential.sample(stream), most),
                Err(_) => mean,
            },
            Self::Lognormal { median, sigma, most } => {
                match LogNormal::new((median.as_millis().max(1) as f64).ln(), sigma) {
                    Ok(lognormal) => within(lognormal.sample(stream), most),
                    Err(_) => median,
                }
            }
            Self::Uniform { least, most } => Span::from_millis(
                stream.random_range(least.as_millis()..=most.as_millis().max(least.as_millis())),
            ),
        }
    }

    /// What is wrong with it, in words.
    pub(super) fn trouble(&self) -> Option<String> {
        match *self {
            Self::Lognormal { sigma, .. } if !(0.0..=5.0).contains(&sigma) => {
                Some(format!("sigma is {sigma}: write a number from 0 to 5"))
            }
            Self::Uniform { least, most } if least > most => Some(format!("{least} is more than {most}")),
            _ => None,
        }
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Fixed(span) => span.serialize(serializer),
            Self::Exponential { mean, most } => Written::Exponential { mean, most }.serialize(serializer),
            Self::Lognormal { median, sigma, most } => {
                Written::Lognormal { median, sigma, most }.serialize(serializer)
            }
            Self::Uniform { least, most } => Written::Uniform { least, most }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Distribution;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as `5m`, or one of `exponential`, `lognormal` and `uniform`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Distribution, E> {
                text.parse().map(Distribution::Fixed).map_err(E::custom)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Distribution, A::Error> {
                Ok(match Written::deserialize(MapAccessDeserializer::new(map))? {
                    Written::Exponential { mean, most } => Distribution::Exponential { mean, most },
                    Written::Lognormal { median, sigma, most } => {
                        Distribution::Lognormal { median, sigma, most }
                    }
                    Written::Uniform { least, most } => Distribution::Uniform { least, most },
                })
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Distribution {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Distribution".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let fixed = schemars::json_schema!({
            "description": "Always the same.", "allOf": [generator.subschema_for::<Span>()],
        });
        let mut schema = Written::json_schema(generator);
        if let Some(options) = schema.get_mut("oneOf").and_then(|options| options.as_array_mut()) {
            options.insert(0, fixed.to_value());
        }
        schema.insert("description".to_owned(), "A length of time that is drawn.".into());
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    fn mean_minutes(text: &str) -> f64 {
        let distribution: Distribution = serde_json::from_str(text).expect("a distribution");
        let mut stream = Streams::new(1).stream("test", text);
        let sum: f64 = (0..20_000).map(|_| distribution.draw(&mut stream).as_secs_f64()).sum();
        sum / 20_000.0 / 60.0
    }

    #[test]
    fn draws_have_the_mean_that_they_should() {
        assert_eq!(mean_minutes(r#""5m""#), 5.0);
        assert!((mean_minutes(r#"{"exponential": {"mean": "10m"}}"#) - 10.0).abs() < 0.3);
        // The mean of a lognormal is its median times e^(sigma²/2).
        let expected = 10.0 * (0.5f64 * 0.5 / 2.0).exp();
        assert!((mean_minutes(r#"{"lognormal": {"median": "10m", "sigma": 0.5}}"#) - expected).abs() < 0.3);
        assert!((mean_minutes(r#"{"uniform": {"least": "0s", "most": "10m"}}"#) - 5.0).abs() < 0.1);
        assert!(mean_minutes(r#"{"exponential": {"mean": "10m", "most": "10m"}}"#) < 7.0);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in [r#""5m""#, r#"{"lognormal":{"median":"10m","sigma":0.5,"most":"1h"}}"#] {
            let distribution: Distribution = serde_json::from_str(text).expect("a distribution");
            assert_eq!(serde_json::to_string(&distribution).expect("it can be written"), text);
        }
        for text in ["5", "{}", r#"{"normal": {"mean": "1m"}}"#, r#"{"uniform": {"least": "1m"}}"#] {
            assert!(serde_json::from_str::<Distribution>(text).is_err(), "{text}");
        }
    }
}
