//! Waking: when the next plan is due. Most of what changes in a cluster needs no plan at once, and much of it none at all.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::kube::{Name, Pod};
use crate::observation::{
    Body, Change, Instance, InstanceState, Object, ObjectKind, Observation, Source, SourceKind,
};
use crate::procedure::Receipt;
use crate::units::{Span, Time};

/// Something urgent waits until nothing of its kind has come for so long: pods of one job come within a moment of each other,
/// and are placed better together.
const QUIET: Span = Span::from_millis(30);
/// However much comes, the first of it waits no longer.
const WAIT_LONGEST: Span = Span::from_millis(500);
/// The shortest distance of two plans for something urgent: pods that come one by one, as fast as the controllers of Kubernetes
/// make them (twenty a second), each have a plan of their own, and no storm makes more. Whoever runs the engine and finds that
/// a plan takes long calls it less often.
const URGENT_GAP: Span = Span::from_millis(50);
/// The shortest distance of two plans for all else.
const GAP: Span = Span::from_secs(1);
/// The longest rest: what is seen grows old, and says so.
const REST_LONGEST: Span = Span::from_mins(5);

type Key = (Name, Name);

/// What changed since the last plan, and how urgent it is.
#[derive(Debug, Default)]
pub(super) struct Waking {
    /// Pods that wait: whether a plan has seen them.
    waiting: FxHashMap<Key, bool>,
    /// Those that no plan has seen, the oldest first; some may be placed by now.
    fresh: VecDeque<(Time, Key)>,
    /// A policy has changed: a pause or another mode holds from the next request on.
    at_once: bool,
    /// Since when something urgent has changed, apart from pods.
    urgent: Option<Time>,
    /// When something urgent last came, pods included.
    stirred_at: Time,
    /// Something has changed that only matters for removals.
    changed: bool,
    /// What each source answered last.
    sources: FxHashMap<Source, Answer>,
    /// Policies and pools as they were last listed.
    policies: FxHashMap<Source, Vec<Object>>,
    planned_at: Option<Time>,
    next_look: Option<Time>,
    /// How long changes that only matter for removals may wait.
    period: Span,
}

impl Waking {
    /// A plan is due, whatever has changed.
    pub(super) fn wake(&mut self) {
        self.at_once = true;
    }

    /// Notes what an observation changes.
    pub(super) fn note(&mut self, now: Time, observation: &Observation) {
        match &observation.outcome {
            Err(_) => self.answered(&observation.source, Answer::Failed),
            Ok(Body::Listed(objects)) => {
                self.answered(&observation.source, Answer::Good);
                self.stir(now);
                let source = &observation.source;
                if speaks_of(source, ObjectKind::Pod) {
                    self.relist(objects);
                }
                let policy =
                    speaks_of(source, ObjectKind::ClusterPolicy) || speaks_of(source, ObjectKind::VmPool);
                if policy && self.policies.get(source) != Some(objects) {
                    self.policies.insert(source.clone(), objects.clone());
                    self.at_once = true;
                }
            }
            Ok(Body::Changed(changes)) => {
                self.answered(&observation.source, Answer::Good);
                let pods = speaks_of(&observation.source, ObjectKind::Pod);
                for change in changes {
                    self.note_change(now, change, pods);
                }
            }
            Ok(Body::Instances(instances)) => {
                self.answered(&observation.source, Answer::Instances(instances.clone()));
            }
            Ok(Body::Answer(_)) => self.changed = true,
        }
    }

    /// A source that answers otherwise than before matters; one that says the same again does not.
    fn answered(&mut self, source: &Source, answer: Answer) {
        match self.sources.get_mut(source) {
            Some(last) => {
                self.changed |= !last.says_the_same(&answer);
                *last = answer;
            }
            None => {
                self.sources.insert(source.clone(), answer);
                self.changed = true;
            }
        }
    }

    fn note_change(&mut self, now: Time, change: &Change, pods: bool) {
        match change {
            Change::Applied(object) => match object {
                Object::Pod(pod) => self.note_pod(now, pod),
                Object::ClusterPolicy(_) | Object::VmPool(_) => self.at_once = true,
                // Somebody waits for the answer, as with a pod.
                Object::CapacityBuffer(_) | Object::ProvisioningRequest(_) | Object::PodTemplate(_) => {
                    self.stir(now);
                }
                _ => self.changed = true,
            },
            Change::Deleted(key) => {
                self.changed = true;
                if pods {
                    self.waiting.remove(&(key.namespace.clone(), key.name.clone()));
                }
            }
        }
    }

    /// The next plan, which comes soon, sees all pods that wait.
    fn relist(&mut self, objects: &[Object]) {
        self.waiting.clear();
        self.fresh.clear();
        for object in objects {
            if let Object::Pod(pod) = object
                && waits(pod)
            {
                self.waiting.insert((pod.metadata.namespace.clone(), pod.metadata.name.clone()), true);
            }
        }
    }

    fn note_pod(&mut self, now: Time, pod: &Pod) {
        let key = (pod.metadata.namespace.clone(), pod.metadata.name.clone());
        if !waits(pod) {
            self.changed = true;
            self.waiting.remove(&key);
        } else if !self.waiting.contains_key(&key) {
            self.waiting.insert(key.clone(), false);
            self.fresh.push_back((now, key));
            self.stirred_at = now;
        } else {
            self.changed = true;
        }
    }

    /// A procedure has ended: what was counted on may not come.
    pub(super) fn ended(&mut self, now: Time, receipt: Receipt) {
        match receipt {
            Receipt::Joined | Receipt::Stopped | Receipt::Uncordoned => self.changed = true,
            Receipt::LaunchFailed { .. }
            | Receipt::NeverJoined
            | Receipt::LaunchCancelled
            | Receipt::GaveUp { .. } => self.stir(now),
        }
    }

    fn stir(&mut self, now: Time) {
        self.urgent.get_or_insert(now);
        self.stirred_at = now;
    }

    /// A plan was made: everything up to now is considered.
    pub(super) fn planned(&mut self, now: Time, next_look: Option<Time>, period: Span) {
        for (_, key) in self.fresh.drain(..) {
            if let Some(seen) = self.waiting.get_mut(&key) {
                *seen = true;
            }
        }
        (self.at_once, self.urgent, self.changed) = (false, None, false);
        self.planned_at = Some(now);
        self.next_look = next_look;
        self.period = period;
    }

    pub(super) fn is_due(&mut self, now: Time) -> bool {
        while let Some((_, key)) = self.fresh.front() {
            if self.waiting.get(key) == Some(&false) {
                break;
            }
            self.fresh.pop_front();
        }
        self.due() <= now
    }

    /// When the next plan is due.
    pub(super) fn due(&self) -> Time {
        let Some(planned_at) = self.planned_at else {
            return if self.sources.is_empty() { Time::FAR_FUTURE } else { Time::ZERO };
        };
        if self.at_once {
            return Time::ZERO;
        }
        let later = self.changed.then(|| planned_at + self.period);
        let rest = planned_at + REST_LONGEST;
        let calm = later.into_iter().chain(self.next_look).fold(rest, Time::min).max(planned_at + GAP);
        let fresh = self.fresh.front().map(|(at, _)| *at);
        let Some(since) = fresh.into_iter().chain(self.urgent).min() else { return calm };
        let soon = (self.stirred_at + QUIET).min(since + WAIT_LONGEST).max(planned_at + URGENT_GAP);
        soon.min(calm)
    }
}

fn waits(pod: &Pod) -> bool {
    pod.node_name.is_empty() && !pod.status.phase.is_terminal()
}

/// What a source answered, as far as it matters here.
#[derive(Debug)]
enum Answer {
    Failed,
    Good,
    Instances(Arc<[Instance]>),
}

fn states(instances: &[Instance]) -> impl Iterator<Item = (&Name, InstanceState)> {
    instances.iter().map(|instance| (&instance.id, instance.state))
}

impl Answer {
    fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Failed, Self::Failed) | (Self::Good, Self::Good) => true,
            (Self::Instances(list), Self::Instances(other)) => {
                Arc::ptr_eq(list, other) || states(list).eq(states(other))
            }
            _ => false,
        }
    }
}

/// Whether a source speaks of a Kubernetes kind.
pub(super) fn speaks_of(source: &Source, kind: ObjectKind) -> bool {
    source.kind == SourceKind::Kubernetes && &*source.name == kind.name()
}
