//! The ledger: budgets spent, launches and removals under way, back-off. Small, and durable before the action.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kube::Name;
use crate::memory::{Approval, Resize, WorkerLaunch, WorkerRemoval};
use crate::observation::ErrorClass;
use crate::plan::DecisionId;
use crate::policy::StopMode;
use crate::units::{Span, Time};

/// What must not be lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ledger {
    /// Counts writes; the precondition of the next.
    pub version: u64,
    /// When it was last written, on the engine's time line.
    pub written_at: Time,
    /// Counts launches, for names and tokens.
    pub launches_made: u64,
    /// Counts removals, for the marks on cordoned nodes.
    pub removals_made: u64,
    /// Launches under way, by the node's name.
    pub launches: BTreeMap<Name, Launch>,
    /// Removals under way, by the node's name.
    pub removals: BTreeMap<Name, Removal>,
    /// Nodes removed within the longest window of any budget, the oldest first.
    pub removed: Vec<Addition>,
    /// Nodes added within the last minutes, the oldest first.
    pub added: Vec<Addition>,
    /// Where launches failed, and when they are tried again.
    pub back_off: Vec<BackOff>,
    /// Launches in a row that never joined, by pool.
    pub strikes: BTreeMap<Name, u32>,
    /// Plans that a person approved: all that are under way, and the last few that are over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// Sizes that were written and are not followed yet, by `kind/namespace/name`; of a group of Ray workers by
    /// `RayCluster/namespace/name/group`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resizes: BTreeMap<Name, Resize>,
    /// Spark workers that are made, by pod as `namespace/name`. Ray workers are made by their operator, after a resize.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub worker_launches: BTreeMap<Name, WorkerLaunch>,
    /// Ray and Spark workers that leave, by pod as `namespace/name`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub worker_removals: BTreeMap<Name, WorkerRemoval>,
}

/// A launch under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Launch {
    /// Starting what is stopped, or making what is not there.
    pub kind: LaunchKind,
    /// The pool.
    pub pool: Name,
    /// The zone; empty where the pool has none.
    #[serde(default)]
    pub zone: Name,
    /// The instance type; empty where the pool names none.
    #[serde(default)]
    pub instance_type: Name,
    /// The provider's identity, once known.
    #[serde(default)]
    pub provider_id: Name,
    /// The idempotency token.
    pub token: Name,
    /// When it was decided.
    pub since: Time,
    /// When it is given up.
    pub deadline: Time,
    /// The decision that it carries out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionId>,
}

/// How a launch brings a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LaunchKind {
    /// A stopped instance is started.
    Start,
    /// An instance is made.
    Create,
}

/// A removal under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Removal {
    /// The pool.
    pub pool: Name,
    /// The node's identity; empty where there is no node.
    #[serde(default)]
    pub uid: Name,
    /// The provider's identity; empty where only the launch token is known.
    #[serde(default)]
    pub provider_id: Name,
    /// The launch token of an instance whose identity is not known.
    #[serde(default)]
    pub token: Name,
    /// What stands on the node to say that the cordon is ours.
    pub mark: Name,
    /// What *stop* means.
    #[serde(default)]
    pub mode: StopMode,
    /// The instance never became a usable node: it may have none.
    #[serde(default)]
    pub release: bool,
    /// When it was decided.
    pub since: Time,
    /// When it is given up and the node uncordoned, unless the stop was already sent.
    pub deadline: Time,
    /// Pods that run to their end before the node goes, by identity.
    #[serde(default)]
    pub waits_for: Vec<Name>,
    /// The stop request may have been sent: there is no way back.
    #[serde(default)]
    pub stopping: bool,
    /// Pods that the plan allowed to be displaced, by identity.
    #[serde(default)]
    pub displaces: Vec<Name>,
    /// The decision that it carries out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionId>,
}

impl Removal {
    /// Whether the node is cordoned and its work runs to the end.
    pub fn waits(&self) -> bool {
        !self.waits_for.is_empty()
    }
}

/// A node that was added to or removed from a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Addition {
    /// When.
    pub at: Time,
    /// The pool.
    pub pool: Name,
}

/// Where launches fail.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackOffKey {
    /// The pool; a SparkPool as `namespace/name`, a group of Ray workers as `namespace/cluster/group`.
    pub pool: Name,
    /// The instance type; empty means every type of the pool.
    #[serde(default)]
    pub instance_type: Name,
    /// The zone; empty means every zone of the pool.
    #[serde(default)]
    pub zone: Name,
}

/// A back-off after failed launches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackOff {
    /// Where.
    pub key: BackOffKey,
    /// How it failed last.
    pub class: ErrorClass,
    /// Failures in a row.
    pub failures: u32,
    /// When it is tried again.
    pub until: Time,
}

/// Why a stored ledger cannot be read. Ballast then refuses to act rather than forget what it has begun.
#[derive(Debug, thiserror::Error)]
#[error("the stored ledger cannot be read")]
pub struct LedgerError(#[from] serde_json::Error);

/// The first wait after a failed launch.
const BACK_OFF_FIRST: Span = Span::from_mins(2);
/// The longest wait after failed launches: long enough to leave a stock-out alone, short enough to return soon after it ends.
const BACK_OFF_LONGEST: Span = Span::from_mins(30);

/// How long after it ended a back-off is remembered, so that the next failure waits longer than the first did.
const BACK_OFF_REMEMBERED: Span = Span::from_hours(3);
/// The furthest that a stored deadline may lie ahead: a week, the longest that a cordoned node is waited for.
pub(crate) const AHEAD_LONGEST: Span = Span::from_hours(7 * 24);

impl Ledger {
    /// Reads a stored ledger.
    pub fn parse(text: &str) -> Result<Self, LedgerError> {
        // A list would pass for the fields of a struct in their order.
        let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)?;
        Ok(serde_json::from_value(fields.into())?)
    }

    /// The decision that is carried out with a node, by its name.
    pub fn decision_of(&self, name: &str) -> Option<DecisionId> {
        let launch = self.launches.get(name).and_then(|launch| launch.decision);
        launch.or_else(|| self.removals.get(name)?.decision)
    }

    /// The pool of what is under way, by the name of its node or machine.
    pub fn pool_of(&self, name: &str) -> Option<&Name> {
        let launch = self.launches.get(name).map(|launch| &launch.pool);
        launch.or_else(|| Some(&self.removals.get(name)?.pool))
    }

    /// Counts a launch. Its token ends in a number; no later launch may have one as low.
    pub fn note_launch(&mut self, token: &str) {
        self.launches_made = self.launches_made.saturating_add(1).max(number_of(token));
    }

    /// Whether no launch has had a token with this number yet.
    pub fn is_fresh(&self, token: &str) -> bool {
        number_of(token) > self.launches_made
    }

    /// The back-off that holds now for a launch of this instance type.
    pub fn backed_off(&self, pool: &str, instance_type: &str, zone: &str, now: Time) -> Option<&BackOff> {
        let is_meant = |key: &Name, asked: &str| key.is_empty() || &**key == asked;
        let concerns = |entry: &&BackOff| {
            let key = &entry.key;
            *key.pool == *pool && is_meant(&key.instance_type, instance_type) && is_meant(&key.zone, zone)
        };
        self.back_off.iter().filter(concerns).find(|entry| now < entry.until)
    }

    /// Whether launches wait after a failure anywhere in a pool.
    pub fn is_backed_off(&self, pool: &str, now: Time) -> bool {
        self.back_off.iter().any(|entry| &*entry.key.pool == pool && now < entry.until)
    }

    /// Notes a failed launch: waits grow twofold, spread by the place's own name so that pools do not retry in step. What
    /// fails while a wait holds was begun before it, with the one that brought it about: it is no failure more in a row.
    pub fn note_failure(&mut self, key: BackOffKey, class: ErrorClass, now: Time) {
        let failures = match self.back_off.iter().position(|entry| entry.key == key) {
            Some(at) if now < self.back_off[at].until => {
                self.back_off[at].class = class;
                return;
            }
            Some(at) => self.back_off.remove(at).failures.saturating_add(1),
            None => 1,
        };
        let doubled = BACK_OFF_FIRST.as_millis() << (failures - 1).min(10);
        let longest = doubled.min(BACK_OFF_LONGEST.as_millis());
        let spread = longest / 4 * i64::from(spread_of(&key, failures)) / 1000;
        let until = now + Span::from_millis(longest - spread);
        self.back_off.push(BackOff { key, class, failures, until });
        self.back_off.sort_by(|a, b| a.key.cmp(&b.key));
    }

    /// Notes a launch that joined: the place is good again.
    pub fn note_success(&mut self, pool: &str, zone: &str) {
        self.back_off.retain(|entry| {
            &*entry.key.pool != pool || (!entry.key.zone.is_empty() && &*entry.key.zone != zone)
        });
        self.strikes.remove(pool);
    }

    /// Takes a removal that never began out of what budgets count.
    pub fn take_back_removal(&mut self, removal: &Removal) {
        let is_it = |gone: &Addition| gone.at == removal.since && gone.pool == removal.pool;
        if !removal.release
            && let Some(at) = self.removed.iter().position(is_it)
        {
            self.removed.remove(at);
        }
    }

    /// Drops what no rule asks for any more: removals before `horizon`, and additions older than a minute except the newest
    /// of each pool, from which cool-downs count.
    pub fn forget(&mut self, now: Time, horizon: Time) {
        self.removed.retain(|removed| removed.at >= horizon);
        let recent = now - Span::from_mins(1);
        let mut newest: BTreeMap<Name, Time> = BTreeMap::new();
        for added in &self.added {
            newest.insert(added.pool.clone(), added.at);
        }
        self.added.retain(|added| added.at >= recent || newest.get(&added.pool) == Some(&added.at));
        self.back_off.retain(|entry| now.since(entry.until) < BACK_OFF_REMEMBERED);
    }

    /// Puts a stored ledger onto the time line of a new process: `now` takes the place of the instant of writing.
    ///
    /// How long nobody ran cannot be known, since the wall clock may have jumped either way. No time counts as passed, so that
    /// no budget refills and no deadline expires by a jump: at worst everything waits a little longer.
    pub fn rebase(&mut self, now: Time) {
        let shift = Span::from_millis(now.as_millis().saturating_sub(self.written_at.as_millis()));
        let later = |time: &mut Time| *time = (*time + shift).min(now);
        let ahead = |time: &mut Time| *time = (*time + shift).clamp(now, now + AHEAD_LONGEST);
        self.under_way().for_each(|(since, deadline)| {
            later(since);
            ahead(deadline);
        });
        self.removed.iter_mut().chain(&mut self.added).for_each(|entry| later(&mut entry.at));
        self.back_off.iter_mut().for_each(|entry| {
            entry.until = (entry.until + shift).min(now + BACK_OFF_LONGEST);
        });
        self.written_at = now;
    }

    /// When each thing under way was decided, and when it ends.
    fn under_way(&mut self) -> impl Iterator<Item = (&mut Time, &mut Time)> {
        let launches = self.launches.values_mut().map(|one| (&mut one.since, &mut one.deadline));
        let removals = self.removals.values_mut().map(|one| (&mut one.since, &mut one.deadline));
        let resizes = self.resizes.values_mut().map(|one| (&mut one.since, &mut one.deadline));
        let made = self.worker_launches.values_mut().map(|one| (&mut one.since, &mut one.deadline));
        let leaving = self.worker_removals.values_mut().map(|one| (&mut one.since, &mut one.deadline));
        launches.chain(removals).chain(resizes).chain(made).chain(leaving)
    }
}

/// The number at the end of a launch's token.
fn number_of(token: &str) -> u64 {
    token.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A number from 0 to 999 that depends on nothing but the place and the count: jitter without randomness.
fn spread_of(key: &BackOffKey, failures: u32) -> u32 {
    let mut hash: u32 = 2_166_136_261 ^ failures;
    for byte in key.pool.bytes().chain(key.zone.bytes()).chain(key.instance_type.bytes()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    }
    hash % 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_with_workers_is_as_far_as_it_was() {
        let (then, now) = (Time::from_secs(10_000), Time::from_secs(90_000));
        let (since, deadline) = (then - Span::from_mins(2), then + Span::from_mins(3));
        let (uid, pool) = (Name::from("u"), Name::from("spark/jhub"));
        let resize = Resize { uid: uid.clone(), from: 5, to: 7, since, deadline };
        let launch = WorkerLaunch { pool: pool.clone(), token: "t".into(), since, deadline };
        let (worker_id, session) = ("worker-1".into(), "m".into());
        let removal =
            WorkerRemoval { pool, uid, worker_id, session, restarts: 0, fenced: true, since, deadline };
        let ledger = Ledger {
            written_at: then,
            resizes: [("Deployment/data/web".into(), resize)].into(),
            worker_launches: [("spark/jhub-worker-1".into(), launch)].into(),
            worker_removals: [("spark/jhub-worker-2".into(), removal)].into(),
            ..Ledger::default()
        };
        let text = serde_json::to_string(&ledger).unwrap();
        let mut restored = Ledger::parse(&text).unwrap();
        assert_eq!(restored, ledger);
        restored.rebase(now);
        let met: Vec<(Time, Time)> =
            restored.under_way().map(|(since, deadline)| (*since, *deadline)).collect();
        assert_eq!(met, [(now - Span::from_mins(2), now + Span::from_mins(3)); 3]);
    }

    #[test]
    fn failures_of_one_batch_are_one_in_a_row() {
        let mut ledger = Ledger::default();
        let key = BackOffKey { pool: "cpu".into(), ..BackOffKey::default() };
        let mut fail = |now: Time| {
            ledger.note_failure(key.clone(), ErrorClass::StockOut, now);
            (ledger.back_off[0].failures, ledger.back_off[0].until)
        };
        let (_, until) = fail(Time::ZERO);
        for _ in 0..10 {
            assert_eq!(fail(Time::from_secs(1)), (1, until));
        }
        let (failures, later) = fail(until);
        assert_eq!(failures, 2);
        assert!(later > until + BACK_OFF_FIRST);
    }
}
