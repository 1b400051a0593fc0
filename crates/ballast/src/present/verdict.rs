//! What comes first when somebody asks why something waits: the state of it in a few words, and what would help.

use ballast_core::plan::{Infeasible, SkipReason, WaitingOn};
use ballast_core::policy::Mode;
use ballast_core::view::{PendingView, View};

/// The state of something that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How bad it is.
    pub mood: Mood,
    /// In a few words.
    pub words: &'static str,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mood {
    /// Somebody has to do something.
    Bad,
    /// It is not known yet, or it is up to others.
    Same,
    /// Help is on its way.
    Good,
}

impl Mood {
    /// A sign for those who cannot tell colours apart.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Bad => "✕",
            Self::Same => "…",
            Self::Good => "✓",
        }
    }

    /// Its name in style sheets.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Same => "same",
            Self::Good => "good",
        }
    }
}

/// Pods that wait alike: of one namespace, asking for the same, in the same state.
#[derive(Clone, Copy, Debug)]
pub struct Alike<'a> {
    /// Those that wait longest.
    pub first: &'a PendingView,
    /// Their state.
    pub verdict: Verdict,
    /// How many there are in all.
    pub pods: u32,
}

impl Alike<'_> {
    /// What stands behind the name of the first where there are others.
    pub fn others(&self) -> &'static str {
        if self.pods > self.first.count { " and alike" } else { "" }
    }
}

/// What waits, the longest first, with what is alike in one.
pub fn alike(view: &View) -> Vec<Alike<'_>> {
    let mut groups: Vec<Alike<'_>> = Vec::new();
    for pending in &view.pending {
        let verdict = verdict(pending, view.mode);
        let is_alike = |group: &&mut Alike<'_>| {
            let Alike { first, verdict: state, .. } = group;
            *state == verdict && first.namespace == pending.namespace && first.requests == pending.requests
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.pods += pending.count,
            None => groups.push(Alike { first: pending, verdict, pods: pending.count }),
        }
    }
    groups
}

/// The state of pods that wait, where Ballast has this mode.
pub fn verdict(pending: &PendingView, mode: Mode) -> Verdict {
    if let Some(infeasible) = &pending.infeasible {
        return refused(infeasible);
    }
    let has = |wanted: fn(&WaitingOn) -> bool| pending.waiting.iter().any(|waiting| wanted(&waiting.on));
    let (mood, words) = if has(|on| matches!(on, WaitingOn::SchedulingGate)) {
        (Mood::Same, "Gated by someone else")
    } else if has(|on| matches!(on, WaitingOn::VolumeBinding { .. })) {
        (Mood::Same, "Waits for its volume to be bound")
    } else if has(|on| matches!(on, WaitingOn::Quota { .. })) {
        (Mood::Same, "Beyond the quota of its namespace")
    } else if has(|on| matches!(on, WaitingOn::Gang { .. })) {
        (Mood::Same, "Waits for its gang")
    } else if has(|on| matches!(on, WaitingOn::Growth { .. })) {
        (Mood::Same, "Its turn comes: as much is starting as may start at once")
    } else if has(|on| matches!(on, WaitingOn::Planned { .. })) {
        match mode {
            Mode::Observe => (Mood::Same, "Nodes would be started for it in mode Enforce"),
            Mode::Recommend => (Mood::Same, "Nodes for it are proposed; `ballast approve` starts them"),
            Mode::Enforce => (Mood::Good, "Nodes are being started for it"),
        }
    } else if has(|on| matches!(on, WaitingOn::Starting { .. })) {
        (Mood::Good, "Nodes for it are starting")
    } else if has(|on| matches!(on, WaitingOn::Preemption { .. })) {
        (Mood::Good, "The scheduler makes room for it")
    } else if has(|on| matches!(on, WaitingOn::Scheduler { .. })) {
        (Mood::Good, "Fits; the scheduler will place it")
    } else {
        (Mood::Same, "Not decided yet")
    };
    Verdict { mood, words }
}

/// What nothing serves now: whether that may pass by itself, whether a limit stands in the way, or whether nothing ever could.
fn refused(infeasible: &Infeasible) -> Verdict {
    let (mood, words) = if has(infeasible, is_limit) {
        (Mood::Bad, "A limit stands in the way")
    } else if has(infeasible, is_back_off) {
        (Mood::Bad, "The cloud has none to give, or refuses")
    } else if has(infeasible, is_paused) {
        (Mood::Bad, "What could serve it is paused")
    } else if is_unfit(infeasible) {
        (Mood::Bad, "No node of any pool could ever serve it")
    } else {
        (Mood::Bad, "Nothing can serve it")
    };
    Verdict { mood, words }
}

/// What a person could do about it; nothing where it passes by itself.
pub fn remedy(infeasible: &Infeasible) -> Option<&'static str> {
    if has(infeasible, is_limit) {
        Some("raise the limit that is named below, or wait until something else ends")
    } else if has(infeasible, is_back_off) {
        Some("wait for the next try, or add a pool of another type or zone")
    } else if has(infeasible, is_paused) {
        Some("lift the pause, or let the pool act")
    } else if is_unfit(infeasible) {
        Some(
            "ask for less in one pod, change what it insists on, or add a pool whose nodes have what it asks for",
        )
    } else {
        None
    }
}

fn has(infeasible: &Infeasible, wanted: fn(&SkipReason) -> bool) -> bool {
    infeasible.pools.iter().any(|verdict| wanted(&verdict.reason))
}

fn is_unfit(infeasible: &Infeasible) -> bool {
    let unfit = |reason: &SkipReason| matches!(reason, SkipReason::DoesNotFit { .. });
    !infeasible.pools.is_empty() && infeasible.pools.iter().all(|verdict| unfit(&verdict.reason))
}

fn is_limit(reason: &SkipReason) -> bool {
    matches!(reason, SkipReason::AtLimit { .. } | SkipReason::PartOfGang { .. })
}

fn is_back_off(reason: &SkipReason) -> bool {
    matches!(reason, SkipReason::BackOff { .. })
}

fn is_paused(reason: &SkipReason) -> bool {
    matches!(reason, SkipReason::Paused { .. } | SkipReason::Mode)
}
