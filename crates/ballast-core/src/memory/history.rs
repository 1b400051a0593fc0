//! The history: since when nodes have been unneeded, how long boots took, what workloads went through. Its loss only delays a
//! removal.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::memory::{JobHistory, LaunchKind, MetricHistory, RayHistory, SparkHistory};
use crate::units::{Span, Time};

/// What may be lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct History {
    /// Since when nodes have been unneeded, by name.
    pub idle_since: BTreeMap<Name, Time>,
    /// How long boots took, by pool and by how they were brought about: what is made takes longer than what is started.
    pub boots: BTreeMap<Name, BTreeMap<LaunchKind, Boots>>,
    /// What was launched for gangs that still wait, by gang as `namespace/name`.
    pub gangs: BTreeMap<Name, GangHold>,
    /// Of MetricScalers, by `namespace/name`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<Name, MetricHistory>,
    /// Of elastic jobs, by `kind/namespace/name`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub jobs: BTreeMap<Name, JobHistory>,
    /// Of RayClusters, by `namespace/name`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ray: BTreeMap<Name, RayHistory>,
    /// Of SparkPools, by `namespace/name`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub spark: BTreeMap<Name, SparkHistory>,
}

/// How long the boots of one pool and kind took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Boots {
    /// The last that joined, the newest last, at most 20.
    pub took: Vec<Span>,
    /// How long the last one was waited for in vain, where none has joined since: boots may take longer than that by now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_in_vain: Option<Span>,
}

/// Nodes that are kept for a gang until all of it fits, or until its deadline has passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GangHold {
    /// When the first of them was launched, or when they were kept for it once more.
    pub since: Time,
    /// They were kept for it once more: at the next deadline they are given back for good.
    #[serde(default)]
    pub renewed: bool,
    /// The names of their machines.
    pub nodes: BTreeSet<Name>,
}

impl Boots {
    /// How many are kept: enough for a 95th percentile, few enough to follow a change.
    const KEPT: usize = 20;
    /// Fewer than this tell nothing of the longest.
    const TO_LEARN: usize = 5;
    /// A launch is waited for at least so long, whatever boots took: clouds have slow hours.
    const SHORTEST_WAIT: Span = Span::from_mins(3);

    fn deadline(&self) -> Option<Span> {
        let longest = self.took.iter().max().filter(|_| self.took.len() >= Self::TO_LEARN)?;
        let longest = self.waited_in_vain.map_or(*longest, |waited| waited.max(*longest));
        Some(longest.times(2).max(Self::SHORTEST_WAIT))
    }
}

impl History {
    /// Notes how long a boot took.
    pub fn note_boot(&mut self, pool: &Name, kind: LaunchKind, took: Span) {
        let boots = self.boots_of(pool, kind);
        boots.waited_in_vain = None;
        boots.took.push(took);
        if boots.took.len() > Boots::KEPT {
            boots.took.remove(0);
        }
    }

    /// Notes how long a boot was waited for in vain: the next of its kind is waited for twice as long.
    pub fn note_missed_boot(&mut self, pool: &Name, kind: LaunchKind, waited: Span) {
        self.boots_of(pool, kind).waited_in_vain = Some(waited);
    }

    fn boots_of(&mut self, pool: &Name, kind: LaunchKind) -> &mut Boots {
        self.boots.entry(pool.clone()).or_default().entry(kind).or_default()
    }

    /// How long a launch of a pool may take: twice the longest of the last boots of its kind, and never more than its document
    /// says. `most` where too few are known to tell.
    pub fn boot_deadline(&self, pool: &str, kind: LaunchKind, most: Span) -> Span {
        let boots = self.boots.get(pool).and_then(|kinds| kinds.get(&kind));
        boots.and_then(Boots::deadline).map_or(most, |learned| learned.min(most))
    }

    /// The 95th percentile of a pool's boot times of a kind; `None` where none is known.
    pub fn boot_p95(&self, pool: &str, kind: LaunchKind) -> Option<Span> {
        let mut boots = self.boots.get(pool)?.get(&kind)?.took.clone();
        boots.sort_unstable();
        let at = (boots.len() * 95).div_ceil(100).saturating_sub(1);
        boots.get(at).copied()
    }

    /// What is not of nodes that come and go, which the next plan tells anew.
    pub(crate) fn without_nodes(&self) -> Self {
        let Self { idle_since: _, boots, gangs: _, metrics, jobs, ray, spark } = self;
        Self {
            boots: boots.clone(),
            metrics: metrics.clone(),
            jobs: jobs.clone(),
            ray: ray.clone(),
            spark: spark.clone(),
            ..Self::default()
        }
    }

    /// Whether it says since when or at what time something was: another process makes of that what has passed until it was
    /// written.
    pub fn ages(&self) -> bool {
        let Self { idle_since, boots: _, gangs, metrics, jobs, ray, spark } = self;
        let is_timeless = idle_since.is_empty() && gangs.is_empty() && metrics.is_empty();
        !is_timeless || !jobs.is_empty() || !ray.is_empty() || !spark.is_empty()
    }

    /// Every instant in it.
    fn times(&mut self) -> impl Iterator<Item = &mut Time> {
        let Self { idle_since, boots: _, gangs, metrics, jobs, ray, spark } = self;
        let nodes = idle_since.values_mut().chain(gangs.values_mut().map(|hold| &mut hold.since));
        let metrics = metrics.values_mut().flat_map(MetricHistory::times);
        let jobs = jobs.values_mut().flat_map(JobHistory::times);
        let ray = ray.values_mut().flat_map(RayHistory::times);
        let spark = spark.values_mut().flat_map(SparkHistory::times);
        nodes.chain(metrics).chain(jobs).chain(ray).chain(spark)
    }

    /// Leaves out about half of what takes most room, and says whether there was anything: first of nodes what has been unneeded
    /// for the shortest time, then workloads.
    fn halve(&mut self) -> bool {
        let Self { idle_since, boots: _, gangs: _, metrics, jobs, ray, spark } = self;
        if idle_since.is_empty() {
            return [halve(metrics), halve(jobs), halve(ray), halve(spark)].contains(&true);
        }
        let mut since: Vec<Time> = idle_since.values().copied().collect();
        since.sort_unstable();
        let middle = since[since.len() / 2];
        idle_since.retain(|_, at| *at < middle);
        true
    }
}

/// Keeps the first half of a map, and says whether there was anything in it.
fn halve<T>(map: &mut BTreeMap<Name, T>) -> bool {
    let (had, half) = (!map.is_empty(), map.len() / 2);
    *map = std::mem::take(map).into_iter().take(half).collect();
    had
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

    /// The JSON of a history in at most so many bytes: what has been unneeded for the shortest time is left out first, then
    /// what is known of workloads.
    pub fn write(history: &History, now: Time, most: usize) -> String {
        let mut stored = Self { written_at: now, history: history.clone() };
        loop {
            let text = serde_json::to_string(&stored).unwrap_or_default();
            if text.len() <= most || !stored.history.halve() {
                return text;
            }
        }
    }

    /// The history on the time line of a new process. How long nobody ran cannot be known: no time counts as passed.
    pub fn rebase(mut self, now: Time) -> History {
        let shift = Span::from_millis(now.as_millis().saturating_sub(self.written_at.as_millis()));
        self.history.times().for_each(|time| *time = (*time + shift).min(now));
        self.history
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{BandHistory, Recommendation, ScaleEvent};

    #[test]
    fn a_stored_history_is_as_old_as_it_was() {
        let noon = crate::fixtures::noon();
        let mut history = History::default();
        history.idle_since.insert("n1".into(), noon - Span::from_mins(8));
        history.note_boot(&"cpu".into(), LaunchKind::Start, Span::from_mins(2));
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
    fn workloads_are_as_old_as_they_were_and_are_left_out_last() {
        let noon = crate::fixtures::noon();
        let ago = |minutes| noon - Span::from_mins(minutes);
        let metrics = MetricHistory {
            since: Some(ago(9)),
            recommendations: vec![Recommendation { at: ago(4), replicas: 7 }],
            scale_ups: vec![ScaleEvent { at: ago(3), change: 2 }],
            scale_downs: vec![ScaleEvent { at: ago(2), change: 1 }],
            bands: vec![BandHistory { band: 0, since: Some(ago(5)), moved_at: Some(ago(1)) }],
            failing_since: Some(ago(6)),
            unread_since: Some(ago(7)),
            dataset_size: None,
        };
        let jobs = JobHistory { grew_at: Some(ago(8)), shrank_at: Some(ago(9)), curve: Vec::new() };
        let idle = BTreeMap::from([("w".into(), ago(2))]);
        let ray = RayHistory { session: "s".into(), since: ago(50), idle_since: idle.clone() };
        let spark =
            SparkHistory { master: "m".into(), since: ago(60), idle_since: idle, served: BTreeMap::new() };
        let mut history = History {
            metrics: [("data/web".into(), metrics)].into(),
            jobs: [("Job/ml/bert".into(), jobs)].into(),
            ray: [("ray/train".into(), ray)].into(),
            spark: [("spark/jhub".into(), spark)].into(),
            ..History::default()
        };
        let text = StoredHistory::write(&history, noon, 60 * 1024);
        let later = Span::from_hours(3);
        let restored = StoredHistory::parse(&text).expect("we wrote it").rebase(noon + later);
        let mut expected = history.clone();
        expected.times().for_each(|time| *time += later);
        assert_eq!(restored, expected);
        assert_eq!(expected.times().count(), 14, "each of them counts");

        history.idle_since.insert("n1".into(), noon);
        let all = text.len() + 60;
        for (most, nodes, workloads) in [(all, 1, 4), (text.len(), 0, 4), (text.len() - 1, 0, 0)] {
            let text = StoredHistory::write(&history, noon, most);
            let kept = StoredHistory::parse(&text).expect("we wrote it").history;
            let count = kept.metrics.len() + kept.jobs.len() + kept.ray.len() + kept.spark.len();
            assert_eq!((kept.idle_since.len(), count), (nodes, workloads), "in {most} bytes");
        }
    }

    #[test]
    fn how_long_a_launch_is_waited_for_is_learned() {
        let mut history = History::default();
        let (pool, kind, most) = (Name::from("cpu"), LaunchKind::Start, Span::from_mins(15));
        for (boots, minutes, expected) in [(4, 2, 15), (1, 2, 4), (1, 1, 4), (1, 60, 15)] {
            (0..boots).for_each(|_| history.note_boot(&pool, kind, Span::from_mins(minutes)));
            let deadline = history.boot_deadline("cpu", kind, most);
            assert_eq!(deadline, Span::from_mins(expected), "{boots} of {minutes}m");
        }
        (0..20).for_each(|_| history.note_boot(&pool, kind, Span::from_secs(20)));
        assert_eq!(history.boot_deadline("cpu", kind, most), Span::from_mins(3));
        assert_eq!(history.boot_deadline("cpu", LaunchKind::Create, most), most, "those are others");
    }

    #[test]
    fn what_is_waited_for_in_vain_is_waited_for_longer_the_next_time() {
        let mut history = History::default();
        let (pool, kind, most) = (Name::from("cpu"), LaunchKind::Create, Span::from_mins(40));
        (0..20).for_each(|_| history.note_boot(&pool, kind, Span::from_secs(40)));
        for expected in [3, 6, 12, 24, 40, 40] {
            let deadline = history.boot_deadline("cpu", kind, most);
            assert_eq!(deadline, Span::from_mins(expected));
            history.note_missed_boot(&pool, kind, deadline);
        }
        assert_eq!(
            history.boot_p95("cpu", kind),
            Some(Span::from_secs(40)),
            "what never joined took no time"
        );
        // One that joins tells how long it takes now: long, or as ever.
        let mut slower = history.clone();
        slower.note_boot(&pool, kind, Span::from_mins(25));
        assert_eq!(slower.boot_deadline("cpu", kind, most), most);
        history.note_boot(&pool, kind, Span::from_secs(40));
        assert_eq!(history.boot_deadline("cpu", kind, most), Span::from_mins(3));
    }
}
