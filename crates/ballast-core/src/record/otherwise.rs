//! What another policy would have decided: the record is replayed as it was, and wherever a plan was made, one more is made
//! under the other policy, from what was seen and had been begun at that moment.
//!
//! The recorded world does not follow the other policy: its nodes come and go as they did. So each difference is one decision
//! seen alone, not a forecast; that is what the simulator is for.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use crate::engine::Engine;
use crate::kube::Name;
use crate::memory::{History, Ledger, Memory};
use crate::observation::{Body as Said, Change, Object, ObjectKind, Observation, Source};
use crate::plan::{Action, ActionKind, Plan, Target};
use crate::planner::{self, Scratch};
use crate::policy::{ClusterPolicySpec, Named, VmPool, VmPoolSpec};
use crate::snapshot::Store;
use crate::units::Time;

use super::replay::{Lines, feed, started};
use super::{Body, ReplayError};

/// Differences that are kept; the rest is counted.
const DIFFERING_MAX: usize = 100;

/// What takes the place of the recorded policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherPolicy {
    /// The cluster's; `None` leaves the recorded one.
    pub cluster: Option<ClusterPolicySpec>,
    /// Pools by name; all others are as recorded.
    pub pools: BTreeMap<Name, VmPoolSpec>,
}

/// What another policy would have decided.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "it is made for its differences"]
pub struct Otherwise {
    /// Entries that were read.
    pub entries: u64,
    /// Plans that were made under each of the two.
    pub plans: u64,
    /// How many of them differ in what they do.
    pub different: u64,
    /// Where they differ, the first hundred.
    pub differing: Vec<Differing>,
    /// Whether the last line was cut off while it was written, and was left out.
    pub is_cut: bool,
    /// Pools of the record.
    pub pools: BTreeSet<Name>,
    /// Whether the last plan differed.
    is_different: bool,
}

/// Two plans for one instant that do not do the same. Actions that both hold are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Differing {
    /// Number of the entry that the plans follow.
    pub seq: u64,
    /// When.
    pub at: Time,
    /// How many plans in a row differ in just this: the recorded world does not follow, so a wish stands.
    pub plans: u64,
    /// What only the recorded policy does.
    pub recorded: Vec<Action>,
    /// What only the other one does.
    pub other: Vec<Action>,
}

/// Replays a record and plans under another policy beside it.
pub fn otherwise(reader: impl BufRead, policy: &OtherPolicy) -> Result<Otherwise, ReplayError> {
    let mut told = Otherwise::default();
    let mut pair: Option<(Engine, Beside<'_>)> = None;
    let mut lines = Lines::new(reader);
    while let Some((_, entry)) = lines.next_entry()? {
        told.entries += 1;
        if let Some(engine) = started(&entry, lines.line())? {
            let is_foreign = matches!(&entry.body, Body::Started { ledger: Some(_), .. });
            pair = Some((engine, Beside::new(policy, is_foreign)));
            continue;
        }
        let (engine, beside) = pair.as_mut().ok_or(ReplayError::NoStart)?;
        match &entry.body {
            Body::Observed { observations } => {
                let memory = beside.memory(engine.memory(), entry.at);
                observations.iter().for_each(|observation| told.note(observation));
                beside.observe(observations);
                let outcome = engine.tick(entry.at, observations.clone());
                if let Some(plan) = outcome.plan {
                    told.compare(entry.seq, &plan, &beside.plan(memory, entry.at));
                }
            }
            body => {
                if let Body::Led { ledger, .. } = body {
                    beside.is_foreign = ledger.is_some();
                }
                feed(engine, &entry)?;
            }
        }
    }
    told.is_cut = lines.is_cut;
    Ok(told)
}

/// Plans under the other policy. Idle times are its own, since they depend on the policy; what is under way and how long
/// boots took is the engine's.
struct Beside<'a> {
    policy: &'a OtherPolicy,
    store: Store,
    idle_since: BTreeMap<Name, Time>,
    scratch: Scratch,
    /// The ledger comes from another process, and the first tick brings it onto this one's time line.
    is_foreign: bool,
}

impl<'a> Beside<'a> {
    fn new(policy: &'a OtherPolicy, is_foreign: bool) -> Self {
        let (store, scratch) = (Store::new(), Scratch::default());
        Self { policy, store, idle_since: BTreeMap::new(), scratch, is_foreign }
    }

    /// What is remembered just before a tick.
    fn memory(&mut self, of_engine: &Memory, now: Time) -> Memory {
        let mut ledger: Ledger = of_engine.ledger.clone();
        if std::mem::take(&mut self.is_foreign) {
            ledger.rebase(now);
        }
        let history = History { idle_since: self.idle_since.clone(), ..of_engine.history.clone() };
        Memory { version: of_engine.version, ledger, history }
    }

    fn observe(&mut self, observations: &[Observation]) {
        for observation in observations {
            let mut observation = observation.clone();
            self.policy.replace(&mut observation);
            self.store.observe(observation);
        }
    }

    fn plan(&mut self, memory: Memory, now: Time) -> Plan {
        let (plan, history) = planner::plan(&self.store.snapshot(), &memory, now, &mut self.scratch);
        self.idle_since = history.idle_since;
        plan
    }
}

impl OtherPolicy {
    /// Puts this policy in the place of the one that an observation tells.
    fn replace(&self, observation: &mut Observation) {
        match &mut observation.outcome {
            Ok(Said::Listed(objects)) => {
                if let Some(spec) = self.cluster.as_ref().filter(|_| objects.is_empty())
                    && observation.source == Source::kubernetes(ObjectKind::ClusterPolicy)
                {
                    let (name, namespace, spec) = (Name::from("other"), Name::default(), spec.clone());
                    objects.push(Object::ClusterPolicy(Named { name, namespace, spec }));
                }
                objects.iter_mut().for_each(|object| self.replace_object(object));
            }
            Ok(Said::Changed(changes)) => {
                for change in changes {
                    if let Change::Applied(object) = change {
                        self.replace_object(object);
                    }
                }
            }
            _ => {}
        }
    }

    fn replace_object(&self, object: &mut Object) {
        match object {
            Object::ClusterPolicy(policy) => {
                if let Some(spec) = &self.cluster {
                    policy.spec = spec.clone();
                }
            }
            Object::VmPool(pool) => {
                if let Some(spec) = self.pools.get(&pool.name) {
                    pool.spec = spec.clone();
                }
            }
            _ => {}
        }
    }
}

impl Otherwise {
    /// Keeps the names of pools.
    fn note(&mut self, observation: &Observation) {
        let mut pool = |object: &Object| {
            if let Object::VmPool(VmPool { name, .. }) = object {
                self.pools.insert(name.clone());
            }
        };
        match &observation.outcome {
            Ok(Said::Listed(objects)) => objects.iter().for_each(&mut pool),
            Ok(Said::Changed(changes)) => {
                for change in changes {
                    if let Change::Applied(object) = change {
                        pool(object);
                    }
                }
            }
            _ => {}
        }
    }

    fn compare(&mut self, seq: u64, recorded: &Plan, other: &Plan) {
        self.plans += 1;
        let at = recorded.now;
        let recorded_only = only_in(&recorded.actions, &other.actions);
        let other_only = only_in(&other.actions, &recorded.actions);
        let was_different = std::mem::replace(&mut self.is_different, false);
        if recorded_only.is_empty() && other_only.is_empty() {
            return;
        }
        self.different += 1;
        self.is_different = true;
        let last = self.differing.last_mut().filter(|last| {
            was_different && does_same(&last.recorded, &recorded_only) && does_same(&last.other, &other_only)
        });
        if let Some(last) = last {
            last.plans += 1;
        } else if self.differing.len() < DIFFERING_MAX {
            let (recorded, other) = (recorded_only, other_only);
            self.differing.push(Differing { seq, at, plans: 1, recorded, other });
        }
    }
}

fn does_same(these: &[Action], those: &[Action]) -> bool {
    let what = |action: &Action| (action.kind, action.target.clone());
    these.iter().map(what).eq(those.iter().map(what))
}

/// The actions of one plan that another does not hold: the same is done to the same, for whatever reason.
fn only_in(these: &[Action], those: &[Action]) -> Vec<Action> {
    let there: BTreeSet<(ActionKind, &Target)> =
        those.iter().map(|action| (action.kind, &action.target)).collect();
    these.iter().filter(|action| !there.contains(&(action.kind, &action.target))).cloned().collect()
}
