//! The history: since when nodes have been unneeded, how long boots took. Its loss only delays a removal.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::units::{Span, Time};

/// What may be lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct History {
    /// Since when nodes have been unneeded, by name.
    pub idle_since: BTreeMap<Name, Time>,
    /// The last boot times of each pool, the newest last, at most [`History::BOOTS_KEPT`].
    pub boots: BTreeMap<Name, Vec<Span>>,
    /// What was launched for gangs that still wait, by gang as `namespace/name`.
    pub gangs: BTreeMap<Name, GangHold>,
}

/// Nodes that are kept for a gang until all of it fits, or until its deadline has passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GangHold {
    /// When the first of them was launched.
    pub since: Time,
    /// Their names.
    pub nodes: BTreeSet<Name>,
}

impl History {
    /// How many boot times are kept for each pool: enough for a 95th percentile, few enough to follow a change.
    pub const BOOTS_KEPT: usize = 20;

    /// Fewer boots than this tell nothing of the longest.
    const BOOTS_TO_LEARN: usize = 5;
    /// A launch is waited for at least and at most so long, whatever boots took: clouds have slow hours, and no end of them.
    const SHORTEST_WAIT: Span = Span::from_mins(3);
    const LONGEST_WAIT: Span = Span::from_mins(20);

    /// Notes how long a boot took.
    pub fn note_boot(&mut self, pool: &Name, took: Span) {
        let boots = self.boots.entry(pool.clone()).or_default();
        boots.push(took);
        if boots.len() > Self::BOOTS_KEPT {
            boots.remove(0);
        }
    }

    /// How long a launch of a pool may take: twice the longest of the last boots, within bounds, and never more than its
    /// document says. `most` where too few are known to tell.
    pub fn boot_deadline(&self, pool: &str, most: Span) -> Span {
        let known = self.boots.get(pool).filter(|boots| boots.len() >= Self::BOOTS_TO_LEARN);
        let longest = known.and_then(|boots| boots.iter().max());
        longest
            .map_or(most, |longest| longest.times(2).clamp(Self::SHORTEST_WAIT, Self::LONGEST_WAIT).min(most))
    }

    /// The 95th percentile of a pool's boot times; `None` where none is known.
    pub fn boot_p95(&self, pool: &str) -> Option<Span> {
        let mut boots = self.boots.get(pool)?.clone();
        boots.sort_unstable();
        let at = (boots.len() * 95).div_ceil(100).saturating_sub(1);
        boots.get(at).copied()
    }
}

/// A history as it is stored: with the instant of writing, from which another process tells how old it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoredHistory {
    /// When it was written, on the time line of the engine that wrote it.
    pub written_at: Time,
    /// What was written.
    pub history: History,
}

impl StoredHistory {
    /// Reads a stored history; one that cannot be read is lost, which delays removals.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The JSON of a history in at most so many bytes: what has been unneeded for the shortest time is left out first.
    pub fn write(history: &History, now: Time, most: usize) -> String {
        let mut stored = Self { written_at: now, history: history.clone() };
        loop {
            let text = serde_json::to_string(&stored).unwrap_or_default();
            let idle = &mut stored.history.idle_since;
            if text.len() <= most || idle.is_empty() {
                return text;
            }
            let mut since: Vec<Time> = idle.values().copied().collect();
            since.sort_unstable();
            let middle = since[since.len() / 2];
            idle.retain(|_, at| *at < middle);
        }
    }

    /// The history on the time line of a new process. How long nobody ran cannot be known: no time counts as passed.
    pub fn rebase(mut self, now: Time) -> History {
        let shift = Span::from_millis(now.as_millis().saturating_sub(self.written_at.as_millis()));
        let later = |time: &mut Time| *time = (*time + shift).min(now);
        self.history.idle_since.values_mut().for_each(later);
        self.history.gangs.values_mut().for_each(|hold| later(&mut hold.since));
        self.history
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_history_is_as_old_as_it_was() {
        let noon = crate::fixtures::noon();
        let mut history = History::default();
        history.idle_since.insert("n1".into(), noon - Span::from_mins(8));
        history.note_boot(&"cpu".into(), Span::from_mins(2));
        let text = StoredHistory::write(&history, noon, 60 * 1024);
        // The wall clock may have jumped either way.
        for now in [noon + Span::from_hours(3), noon - Span::from_hours(3)] {
            let restored = StoredHistory::parse(&text).expect("we wrote it").rebase(now);
            assert_eq!(restored.idle_since["n1"], now - Span::from_mins(8));
            assert_eq!(restored.boots, history.boots);
        }
        assert_eq!(StoredHistory::parse("{"), None);
    }

    #[test]
    fn a_stored_history_stays_small_and_keeps_what_is_oldest() {
        let noon = crate::fixtures::noon();
        let node = |at: i64| (Name::from(format!("node-{at}")), noon - Span::from_secs(at));
        let history = History { idle_since: (0..5000).map(node).collect(), ..History::default() };
        let text = StoredHistory::write(&history, noon, 60 * 1024);
        assert!(text.len() <= 60 * 1024, "{}", text.len());
        let kept = StoredHistory::parse(&text).expect("we wrote it").history.idle_since;
        assert!(kept.len() > 500 && kept.contains_key("node-4999") && !kept.contains_key("node-0"));
    }

    #[test]
    fn how_long_a_launch_is_waited_for_is_learned() {
        let mut history = History::default();
        let (pool, most) = (Name::from("cpu"), Span::from_mins(15));
        for (boots, minutes, expected) in [(4, 2, 15), (1, 2, 4), (1, 1, 4), (1, 60, 15)] {
            (0..boots).for_each(|_| history.note_boot(&pool, Span::from_mins(minutes)));
            assert_eq!(
                history.boot_deadline("cpu", most),
                Span::from_mins(expected),
                "{boots} of {minutes}m"
            );
        }
        (0..20).for_each(|_| history.note_boot(&pool, Span::from_secs(20)));
        assert_eq!(history.boot_deadline("cpu", most), Span::from_mins(3));
    }
}
