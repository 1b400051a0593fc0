//! One figure of a bench.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// How the figure seen has to stand to its bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Relation {
    /// At most the bar.
    #[serde(rename = "<=")]
    AtMost,
    /// At least the bar.
    #[serde(rename = ">=")]
    AtLeast,
    /// Exactly the bar.
    #[serde(rename = "==")]
    Exactly,
}

impl Relation {
    fn sign(self) -> &'static str {
        match self {
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Exactly => "==",
        }
    }

    fn holds(self, seen: f64, bar: f64) -> bool {
        match self {
            Self::AtMost => seen <= bar,
            Self::AtLeast => seen >= bar,
            Self::Exactly => seen == bar,
        }
    }
}

/// A figure with its bar, in the form that others read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    /// The case that was measured.
    pub(super) case: String,
    /// What of it.
    pub(super) metric: String,
    /// The median of what was seen.
    pub(super) seen: f64,
    /// The unit of `seen`, `bar` and `spread`.
    pub(super) unit: String,
    /// What was promised; null for a figure that is only told.
    pub(super) bar: Option<f64>,
    /// How `seen` has to stand to `bar`; null without a bar.
    pub(super) relation: Option<Relation>,
    /// Whether it does; null without a bar.
    pub(super) holds: Option<bool>,
    /// How many times it was measured.
    pub(super) n: u64,
    /// From the lowest to the highest that was seen.
    pub(super) spread: f64,
    /// Another program measured in the same run, with its figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) peer: Option<Peer>,
}

/// What another program did with the same case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Peer {
    /// Its name and version.
    pub(super) name: String,
    /// The median of what was seen of it, in the unit of the row.
    pub(super) seen: f64,
}

impl Row {
    /// Reads a line and refuses a row that contradicts itself: what is printed is what was measured.
    pub(super) fn parse(line: &str) -> Result<Self> {
        let row: Self = serde_json::from_str(line)?;
        let expected = row.bar.zip(row.relation).map(|(bar, relation)| relation.holds(row.seen, bar));
        ensure!(
            row.bar.is_some() == row.relation.is_some(),
            "a bar needs a relation and a relation a bar: {line}"
        );
        ensure!(row.holds == expected, "`holds` is not what `seen` and `bar` say: {line}");
        ensure!(row.n > 0, "a figure is measured at least once: {line}");
        Ok(row)
    }

    /// A figure without a bar, measured once.
    pub(super) fn told(case: &str, metric: &str, seen: f64, unit: &str) -> Self {
        Self {
            case: case.to_owned(),
            metric: metric.to_owned(),
            seen,
            unit: unit.to_owned(),
            bar: None,
            relation: None,
            holds: None,
            n: 1,
            spread: 0.0,
            peer: None,
        }
    }

    /// The row as the table shows it.
    pub(super) fn cells(&self) -> Vec<String> {
        let bar =
            self.bar.zip(self.relation).map(|(bar, relation)| format!("{} {}", relation.sign(), short(bar)));
        let holds = match self.holds {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "-",
        };
        let peer = self.peer.as_ref().map(|peer| format!("{} {}", peer.name, short(peer.seen)));
        vec![
            self.case.clone(),
            self.metric.clone(),
            short(self.seen),
            self.unit.clone(),
            bar.unwrap_or_else(|| "-".to_owned()),
            holds.to_owned(),
            self.n.to_string(),
            short(self.spread),
            peer.unwrap_or_else(|| "-".to_owned()),
        ]
    }
}

/// Whole numbers as they are, others with three digits that matter.
fn short(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 1000.0 {
        return format!("{value:.0}");
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    format!("{value:.*}", digits.clamp(0, 9) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_row_and_lays_it_out() {
        let line = r#"{"case": "pack-51k", "metric": "wall", "seen": 8.4321, "unit": "ms", "bar": 10, "relation": "<=",
            "holds": true, "n": 21, "spread": 0.9}"#;
        let row = Row::parse(line).expect("a good row");
        assert_eq!(row.cells(), ["pack-51k", "wall", "8.43", "ms", "<= 10", "yes", "21", "0.900", "-"]);
    }

    #[test]
    fn refuses_a_row_that_contradicts_itself() {
        let row = |bar: &str, relation: &str, holds: &str| {
            let text = format!(
                r#"{{"case": "a", "metric": "wall", "seen": 11, "unit": "ms", "bar": {bar}, "relation": {relation},
                "holds": {holds}, "n": 1, "spread": 0}}"#
            );
            Row::parse(&text).is_ok()
        };
        assert!(row("10", "\">=\"", "true"));
        assert!(row("null", "null", "null"));
        assert!(!row("10", "\"<=\"", "true"));
        assert!(!row("10", "null", "null"));
        assert!(!row("null", "null", "true"));
    }

    #[test]
    fn numbers_are_short_but_not_wrong() {
        let cases =
            [(2595.0, "2595"), (0.000_051_23, "0.0000512"), (12.345, "12.3"), (1234.5, "1234"), (0.0, "0")];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }
}
