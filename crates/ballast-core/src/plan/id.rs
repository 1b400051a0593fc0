//! Names of decisions: the same actions have the same name, whoever made the plan and when.
//!
//! A name goes along with a decision through logs, events, records, the ledger and what is published, and a person approves a
//! plan by it. It is no seal: two plans could be made to share one by whoever wanted that. Nothing rests on it. Whoever leads
//! checks every action that it carries out, by identity and precondition, whoever asked for it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Action, ActionId, ActionKind, Precondition, Target};
use crate::kube::Name;
use crate::units::Digest;

/// Letters that are hard to mistake for each other, as Crockford chose them.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// So many of five bits each hold 64.
const LENGTH: usize = 13;

/// Names what a plan decided, whatever the instant and the ages of its inputs: `3k9v0q2m7xa1c`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanId(u64);

/// Names one action of one plan: `3k9v0q2m7xa1c/a1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecisionId {
    /// The plan.
    pub plan: PlanId,
    /// The action in it.
    pub action: ActionId,
}

/// Why a text names nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the id of a plan, which is {LENGTH} letters and digits such as `3k9v0q2m7xa1c`")]
pub struct PlanIdError(String);

/// What of an action is decided: not why, and not from which state.
#[derive(Serialize)]
struct Decided<'a> {
    kind: ActionKind,
    target: &'a Target,
    to: &'a Name,
    precondition: &'a Precondition,
    gang: &'a Name,
}

impl PlanId {
    /// The name of these actions in this order.
    pub fn of(actions: &[Action]) -> Self {
        let mut digest = Digest::default();
        for Action { kind, target, to, precondition, gang, .. } in actions {
            let decided = Decided { kind: *kind, target, to, precondition, gang };
            serde_json::to_writer(&mut digest, &decided).expect("a digest takes all that is written");
        }
        Self(digest.value())
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |at: usize| LETTERS[(self.0 >> (5 * at)) as usize % LETTERS.len()];
        let letters: Vec<u8> = (0..LENGTH).rev().map(letter).collect();
        f.pad(&String::from_utf8_lossy(&letters))
    }
}

impl FromStr for PlanId {
    type Err = PlanIdError;

    fn from_str(text: &str) -> Result<Self, PlanIdError> {
        let digit = |byte: u8| LETTERS.iter().position(|letter| *letter == byte).map(|at| at as u128);
        let read = text.bytes().try_fold(0, |number: u128, byte| Some(number << 5 | digit(byte)?));
        let number = read.filter(|_| text.len() == LENGTH).and_then(|number| u64::try_from(number).ok());
        number.map(Self).ok_or_else(|| PlanIdError(text.chars().take(40).collect()))
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.plan, self.action)
    }
}

impl FromStr for DecisionId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not the id of a decision such as `3k9v0q2m7xa1c/a1`");
        let (plan, action) = text.split_once('/').ok_or_else(wrong)?;
        let number = action.strip_prefix('a').and_then(|number| number.parse().ok());
        let plan = plan.parse().map_err(|error: PlanIdError| error.to_string())?;
        Ok(Self { plan, action: ActionId(number.ok_or_else(wrong)?) })
    }
}

/// As text in every form.
macro_rules! text {
    ($($name:ident: $pattern:literal),*) => {$(
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": $pattern})
            }
            fn inline_schema() -> bool {
                true
            }
        }
    )*};
}

text! {
    PlanId: "^[0-9a-hjkmnp-tv-z]{13}$",
    DecisionId: "^[0-9a-hjkmnp-tv-z]{13}/a[0-9]+$"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Cluster, a_pool};
    use crate::units::Span;

    fn one_waits() -> Cluster {
        let mut cluster = Cluster::new();
        cluster.pool("cpu", a_pool(&[("cpu", "4")], 10, 1.0));
        cluster.pending("job-1", &[("cpu", "3")]);
        cluster
    }

    #[test]
    fn the_same_decision_has_the_same_name_a_minute_later_and_another_has_another() {
        let mut cluster = one_waits();
        let first = cluster.plan();
        assert_eq!(first.id, PlanId::of(&first.actions));
        cluster.now += Span::from_mins(1);
        let later = cluster.plan();
        assert_eq!((first.id, first.actions.len()), (later.id, 1));
        cluster.pending("job-2", &[("cpu", "3")]);
        assert_ne!(cluster.plan().id, first.id);
    }

    #[test]
    fn names_read_back_as_they_were_written() {
        for number in [0, 1, 31, 32, 0x1234_5678_9abc_def0, u64::MAX] {
            let id = PlanId(number);
            assert_eq!(id.to_string().parse(), Ok(id));
            let decision = DecisionId { plan: id, action: ActionId(7) };
            assert_eq!(decision.to_string().parse(), Ok(decision));
        }
        assert_eq!(PlanId(u64::MAX).to_string(), "fzzzzzzzzzzzz");
        for wrong in ["", "3k9v0q2m7xa1", "3k9v0q2m7xa1c0", "3K9V0Q2M7XA1C", "lllllllllllll", "gzzzzzzzzzzzz"]
        {
            assert!(wrong.parse::<PlanId>().is_err(), "{wrong}");
        }
        assert!("3k9v0q2m7xa1c/1".parse::<DecisionId>().is_err());
    }
}
