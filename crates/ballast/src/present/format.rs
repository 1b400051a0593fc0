//! The forms in which data is printed.

use serde::Serialize;

use super::{Doing, Failure};

/// The form of the data on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Table,
    /// For people with wide screens
    Wide,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
    /// Names alone, one a line
    Name,
}

/// A value as JSON, with a line end.
pub fn json(value: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(value).doing(|| "cannot write JSON")? + "\n")
}

/// A value as YAML.
pub fn yaml(value: &impl Serialize) -> Result<String, Failure> {
    // By way of JSON's model, so that both forms have the same keys and numbers.
    let value = serde_json::to_value(value).doing(|| "cannot write YAML")?;
    let text = serde_saphyr::to_string(&value).doing(|| "cannot write YAML")?;
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}
