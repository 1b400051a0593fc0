//! What came of a gate: whether it holds, and each of its comparisons with the values that were seen.

use std::fmt;

use ballast_sim::score::{Figure, Unit, mean};
use schemars::JsonSchema;
use serde::Serialize;

use super::score::{Runs, Simulated, amount};
use crate::gate::{Condition, Gate, Mistake};

/// A gate that was judged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    /// The `--fail-if`, as it was written.
    fail_if: String,
    /// Whether it holds; `None` where a figure of it has no value.
    pub holds: Option<bool>,
    /// Its comparisons.
    pub conditions: Vec<Compared>,
    /// Why it cannot be judged.
    #[serde(skip)]
    pub mistake: Option<Mistake>,
}

/// A comparison with the values that were seen.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    /// The comparison, as it was written.
    condition: String,
    /// The value on its left side.
    left: Option<f64>,
    /// The value on its right side.
    right: Option<f64>,
    /// Whether it holds; `None` where a side has no value.
    pub holds: Option<bool>,
    /// The values in words, such as `18.00 > 5.00`.
    #[serde(skip)]
    values: String,
}

impl Judged {
    /// What came of a gate in a simulation.
    pub fn new(gate: &Gate, simulated: &Simulated) -> Self {
        let figure = |name: &str| figure(&simulated.policies, name);
        let holds = gate.holds(&figure);
        let conditions = gate.conditions(&figure, &|name| unit(name)).into_iter().map(Compared::from);
        Self {
            fail_if: gate.text().to_owned(),
            holds: holds.as_ref().ok().copied(),
            conditions: conditions.collect(),
            mistake: holds.err(),
        }
    }
}

impl From<Condition> for Compared {
    fn from(condition: Condition) -> Self {
        let Condition { text, left, sign, right, unit, holds } = condition;
        let word = |value: Option<f64>| match value {
            Some(value) => amount(unit.unwrap_or(Unit::Count), value),
            None => "no value".to_owned(),
        };
        let values = format!("{} {sign} {}", word(left), word(right));
        Self { condition: text, left, right, holds, values }
    }
}

impl fmt::Display for Judged {
    /// The gate, with the values that were seen where it is a single comparison.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.conditions[..] {
            [one] => write!(f, "{} ({})", self.fail_if, one.values),
            _ => f.write_str(&self.fail_if),
        }
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holds = match self.holds {
            Some(true) => "holds",
            Some(false) => "does not hold",
            None => "cannot be judged",
        };
        write!(f, "{} {holds} ({})", self.condition, self.values)
    }
}

/// `B.cost` is the cost of policy B; a figure alone is that of A.
pub fn split(name: &str) -> (Option<char>, &str) {
    match name.split_once('.') {
        Some((letter, figure)) if letter.len() == 1 && letter.as_bytes()[0].is_ascii_uppercase() => {
            (letter.chars().next(), figure)
        }
        _ => (None, name),
    }
}

/// In what a figure of a policy is counted.
fn unit(name: &str) -> Result<Unit, String> {
    let figure = split(name).1.split('.').next().unwrap_or_default();
    Figure::find(figure).map(|figure| figure.unit).ok_or_else(|| format!("there is no figure `{figure}`"))
}

/// The mean of a figure over all seeds that have one.
fn figure(policies: &[Runs], name: &str) -> Result<f64, String> {
    let (letter, figure) = split(name);
    let policy = policies.iter().find(|policy| policy.letter == letter.unwrap_or('A'));
    let policy = policy.ok_or_else(|| "there is no such policy".to_owned())?;
    let seen = mean(&policy.scores, figure).map(|(value, _)| value);
    seen.ok_or_else(|| format!("`{figure}` has no value here: there was nothing to measure"))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_letter_in_front_names_the_policy() {
        assert_eq!(split("B.cost"), (Some('B'), "cost"));
        assert_eq!(split("cost.gpu"), (None, "cost.gpu"));
        assert_eq!(split("A.pendingP95.etl"), (Some('A'), "pendingP95.etl"));
        assert_eq!(split("cost"), (None, "cost"));
    }
}
