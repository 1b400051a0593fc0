//! What `ballast replay -o json` prints.

use ballast_core::plan::Action;
use ballast_core::record::{Difference, Differing, Otherwise, Replay};
use ballast_core::units::Time;
use schemars::JsonSchema;
use serde::Serialize;

/// What `-o json` prints: without `--policy` with `differences`, with it with `different` and `differing`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer<'a> {
    /// Version of this form.
    schema_version: u32,
    /// Entries of the record.
    pub entries: u64,
    /// Plans among them.
    pub plans: u64,
    /// Whether the last line of the record was cut off.
    pub is_cut: bool,
    /// Entries that came out otherwise; empty where all are as they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Vec<Changed<'a>>>,
    /// Plans that would have done something else under the other policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    different: Option<u64>,
    /// Those plans, one entry for plans in a row that differ alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    differing: Option<Vec<Under<'a>>>,
}

/// An entry that came out otherwise.
#[derive(Serialize, JsonSchema)]
struct Changed<'a> {
    /// Its number.
    seq: u64,
    /// When.
    at: Time,
    /// As it was recorded; empty where there was none.
    recorded: &'a str,
    /// As it came out; empty where none did.
    replayed: &'a str,
}

/// Plans in a row that would have done something else alike.
#[derive(Serialize, JsonSchema)]
struct Under<'a> {
    /// The entry after which the first of them was made.
    seq: u64,
    /// When.
    at: Time,
    /// How many they are.
    plans: u64,
    /// What only the recorded plan does.
    recorded: &'a [Action],
    /// What only the plan under the other policy does.
    other: &'a [Action],
}

impl<'a> Answer<'a> {
    /// The version of this form.
    pub const VERSION: u32 = 1;

    /// Of a record that was decided again.
    pub fn again(replayed: &'a Replay) -> Self {
        let told = |Difference { seq, at, recorded, replayed }: &'a Difference| Changed {
            seq: *seq,
            at: *at,
            recorded,
            replayed,
        };
        let differences = replayed.differences.iter().map(told).collect();
        let &Replay { entries, plans, is_cut, .. } = replayed;
        Self { differences: Some(differences), ..Self::of(entries, plans, is_cut) }
    }

    /// Of a record that was decided by another policy.
    pub fn under(told: &'a Otherwise) -> Self {
        let differing = told.differing.iter().map(|Differing { seq, at, plans, recorded, other }| Under {
            seq: *seq,
            at: *at,
            plans: *plans,
            recorded,
            other,
        });
        let &Otherwise { entries, plans, different, is_cut, .. } = told;
        let (different, differing) = (Some(different), Some(differing.collect()));
        Self { different, differing, ..Self::of(entries, plans, is_cut) }
    }

    fn of(entries: u64, plans: u64, is_cut: bool) -> Self {
        let schema_version = Self::VERSION;
        Self { schema_version, entries, plans, is_cut, differences: None, different: None, differing: None }
    }
}
