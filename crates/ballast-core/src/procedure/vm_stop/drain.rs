//! The way to an empty node: find, cordon, check, evict.

use crate::observation::{ErrorClass, InstanceState, SourceError};
use crate::units::{Span, Time};

use super::super::{GaveUp, LiveNode, LivePod, Next, Receipt, Reply};
use super::{Phase, Seen, VmStop};

/// How often the cordon is tried.
const CORDONS_MAX: u32 = 6;
/// How often in a row, some seconds apart, an instance that may have been made must be missing to count as never made:
/// what was made a moment ago is not in every answer.
const MISSES_MAX: u32 = 4;

/// How long after it should be gone a pod is still waited for: a kubelet that is well confirms within seconds. Nobody confirms
/// for one that is not, and an object that a finalizer keeps has no container any more.
const CONFIRMED_WITHIN: Span = Span::from_secs(30);

impl VmStop {
    /// The pods of a node that are waited for. The grace of one that leaves counts from when it was first seen to leave: neither
    /// the API's clock nor ours need be right, and one that was told to go long ago is only waited for in vain a little longer.
    /// How long the grace is, the present look tells: whoever deletes may change it on the way.
    pub(super) fn guests<'n>(&mut self, now: Time, node: &'n LiveNode) -> Vec<&'n LivePod> {
        self.leaving_since.retain(|uid, _| node.pods.iter().any(|pod| pod.uid == *uid));
        let mut is_over = |pod: &LivePod| {
            pod.leaving.is_some_and(|grace| {
                let since = *self.leaving_since.entry(pod.uid.clone()).or_insert(now);
                now > since + grace + CONFIRMED_WITHIN
            })
        };
        node.pods.iter().filter(|pod| !is_over(pod)).collect()
    }

    pub(super) fn found(&mut self, now: Time, reply: &Reply) -> Next {
        match reply {
            Reply::Instance(instance) if self.is_ours(instance) => {
                self.id = instance.id.clone();
                self.misses = 0;
                let off = instance.state == InstanceState::Stopped;
                if off && self.mode == crate::policy::StopMode::Deallocate {
                    return Next::Done(Receipt::Stopped);
                }
                self.pace.reset();
                self.on(now, Phase::Check)
            }
            Reply::Failed(SourceError { class: ErrorClass::NotFound, .. }) => {
                self.misses += 1;
                if self.misses >= MISSES_MAX {
                    return Next::Done(Receipt::Stopped);
                }
                self.wait(now, Phase::Find)
            }
            _ => self.wait(now, Phase::Find),
        }
    }

    pub(super) fn cordoned(&mut self, now: Time, reply: &Reply) -> Next {
        match reply {
            Reply::Done => self.on(now, Phase::Check),
            Reply::Failed(SourceError {
                class: class @ (ErrorClass::Auth | ErrorClass::Invalid), ..
            }) => self.give_up(now, GaveUp::Refused(*class)),
            Reply::Failed(SourceError { class: ErrorClass::Throttled, .. }) => self.cordon_again(now),
            // Whether it was applied, and why not, the node itself tells.
            _ => self.wait(now, Phase::Check),
        }
    }

    fn cordon_again(&mut self, now: Time) -> Next {
        self.tries += 1;
        if self.tries >= CORDONS_MAX {
            return self.give_up(now, GaveUp::Refused(ErrorClass::Transient));
        }
        self.wait(now, Phase::Cordon)
    }

    pub(super) fn checked(&mut self, now: Time, reply: &Reply) -> Next {
        match reply {
            Reply::Node(node) => self.saw(now, node),
            Reply::Failed(SourceError { class: ErrorClass::NotFound, .. }) if self.release => {
                self.touched = false;
                self.on(now, Phase::Persist)
            }
            Reply::Failed(SourceError { class: ErrorClass::NotFound, .. }) => self.end(GaveUp::NodeGone),
            _ => self.wait(now, Phase::Check),
        }
    }

    fn saw(&mut self, now: Time, node: &LiveNode) -> Next {
        if self.release && !self.cordoned {
            self.adopt(node);
        }
        if self.release && node.ready {
            return self.give_up(now, GaveUp::JoinedLate);
        }
        match self.judge(node) {
            Seen::Replaced => self.end(GaveUp::Replaced),
            Seen::NotOurs => self.end(GaveUp::CordonedByOther),
            Seen::Uncordoned => self.give_up(now, GaveUp::UncordonedByOther),
            Seen::Open if self.cordoned => self.end(GaveUp::UncordonedByOther),
            Seen::Open if self.release && !self.touched => self.on(now, Phase::Cordon),
            Seen::Open => self.cordon_again(now),
            Seen::Ours => {
                self.cordoned = true;
                self.pods_seen(now, node)
            }
        }
    }

    /// Takes the node of a launch that came to nothing for its own, with the mark that an earlier removal left on it.
    pub(super) fn adopt(&mut self, node: &LiveNode) {
        if self.uid.is_empty() {
            self.uid = node.uid.clone();
            self.name = node.name.clone();
        }
        if !node.mark.is_empty() {
            self.mark = node.mark.clone();
        }
    }

    fn pods_seen(&mut self, now: Time, node: &LiveNode) -> Next {
        let pods = self.guests(now, node);
        if !self.waits() && (pods.len() as u32) < self.pods {
            self.pace.reset();
        }
        self.pods = pods.len() as u32;
        if pods.is_empty() {
            return self.on(now, Phase::Persist);
        }
        let staying = pods.into_iter().filter(|pod| pod.leaving.is_none());
        let (moved, others): (Vec<&LivePod>, Vec<&LivePod>) =
            staying.partition(|pod| self.displaces.contains(&pod.uid));
        if others.iter().any(|pod| !self.waits_for.contains(&pod.uid)) {
            return self.give_up(now, GaveUp::UnexpectedPod);
        }
        if moved.is_empty() {
            return self.wait(now, Phase::Check);
        }
        self.queue = moved.into_iter().rev().cloned().collect();
        self.on(now, Phase::Evict)
    }

    pub(super) fn evicted(&mut self, now: Time, reply: &Reply) -> Next {
        match reply {
            Reply::Failed(SourceError {
                class: class @ (ErrorClass::Auth | ErrorClass::Invalid), ..
            }) => self.give_up(now, GaveUp::Refused(*class)),
            // One that a disruption budget holds back does not hold back the others; it is tried again after a look.
            _ if self.queue.is_empty() => self.wait(now, Phase::Check),
            _ => self.on(now, Phase::Evict),
        }
    }
}
