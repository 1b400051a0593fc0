//! The herald: of all that happens and all that is so, what is told as an event, and when. Told the time, it knows no clock.
//!
//! What happened is told once. What is so is told when it becomes so, and never again while it stays so: of a document it is
//! known from its status what was told before, whoever led then. More than a few events at once wait their turn, warnings before
//! others; where too many wait, further ones are dropped and counted, and a warning takes the place of what is none.

use std::collections::{BTreeMap, VecDeque};

use crate::foreign::discreet;
use crate::kube::Name;
use crate::plan::SourceTrouble;
use crate::units::{Span, Time};

use super::{
    ConditionReason, ConditionStatus, ConditionType, DocumentRef, DocumentStatus, Event, EventReason,
    PlanState, Regarding, Said,
};

/// What an API server does not feel: an event a second, and some more where many things happen at once.
const PER_EVENT: Span = Span::from_secs(1);
const AT_ONCE: i64 = 20;
/// Events that wait: what is older than some minutes helps nobody.
const WAITING_MAX: usize = 256;
/// What happened is not told again for the same decision within: a refused eviction is tried every few seconds.
const QUIET: Span = Span::from_mins(15);
/// What may pass by itself is told when it has lasted so long: at a start many things are not known for a moment.
const LASTS: Span = Span::from_secs(10);
/// What is so of one subject is not told anew more often.
const ANEW_EVERY: Span = Span::from_mins(1);
/// Bytes of what others wrote: a person's reason, or what is wrong with a document.
const QUOTED_MAX: usize = 500;
/// Subjects of which it is remembered what was told; the longest ago are forgotten.
const REMEMBERED_MAX: usize = 4096;

/// Tells events.
#[derive(Clone, Debug, Default)]
pub struct Herald {
    told: BTreeMap<(Regarding, Topic), Told>,
    /// What has to last before it is told.
    rising: BTreeMap<(Regarding, Topic), Rising>,
    waiting: VecDeque<((Regarding, Topic), Event)>,
    /// So many may be told at once again then.
    full_at: Time,
    dropped: u64,
}

/// What is told of an object: each topic on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    /// Something happened.
    Happened(EventReason),
    /// A condition of a document.
    Condition(ConditionType),
    /// What a pod waits for.
    Wait,
    /// The plan that waits for an approval.
    Plan,
}

#[derive(Clone, Debug)]
struct Rising {
    what: String,
    since: Time,
    seen: Time,
}

#[derive(Clone, Debug)]
struct Told {
    what: String,
    /// Of a condition: whether it is so.
    status: Option<ConditionStatus>,
    at: Time,
}

impl Herald {
    /// These things happened.
    pub fn happened(&mut self, now: Time, events: impl IntoIterator<Item = Event>) {
        for event in events {
            let topic = (event.regarding.clone(), Topic::Happened(event.reason));
            let what = event.decision.as_deref().unwrap_or(&event.note).to_owned();
            let is_told =
                self.told.get(&topic).is_some_and(|told| told.what == what && now < told.at + QUIET);
            if !is_told {
                self.tell(topic, Told { what, status: None, at: now }, event);
            }
        }
    }

    /// This is so of a document, of which this stands in the API.
    pub fn document(&mut self, now: Time, reference: &DocumentRef, stands: &DocumentStatus, said: &Said) {
        let Some(regarding) = Regarding::document(reference) else { return };
        for condition in said.conditions.iter().filter(|condition| !is_passing(condition)) {
            let (kind, code, words) = (condition.kind(), condition.code(), condition.to_string());
            let stood = stands.conditions.iter().find(|own| &*own.kind == kind.name());
            let stood = stood.map(|own| (identity(kind, &own.reason, &own.message), own.status));
            let topic = (regarding.clone(), Topic::Condition(kind));
            let (before, was) = self.before(now, &topic, stood);
            let what = identity(kind, &code, &words);
            if before == what {
                continue;
            }
            let told = if condition.quotes() { discreet(&words, QUOTED_MAX) } else { words };
            let event = EventReason::of(condition, was)
                .map(|reason| Event::new(reason, regarding.clone(), &told, None::<Name>));
            self.becomes(now, topic, Told { what, status: Some(condition.status()), at: now }, event);
        }
        self.proposal(now, regarding, stands, said);
    }

    /// What was told last of a condition, and whether it was so. What stands in the API tells it at the first look, of who led
    /// before; later on it is what this process wrote there, which it may not have told as an event.
    fn before(
        &mut self,
        now: Time,
        topic: &(Regarding, Topic),
        stood: Option<(String, ConditionStatus)>,
    ) -> (String, Option<ConditionStatus>) {
        if let Some(told) = self.told.get(topic) {
            return (told.what.clone(), told.status);
        }
        let (what, status) = stood.map_or((String::new(), None), |(what, status)| (what, Some(status)));
        self.remember(topic.clone(), Told { what: what.clone(), status, at: now - ANEW_EVERY });
        (what, status)
    }

    /// A plan that waits for an approval.
    fn proposal(&mut self, now: Time, regarding: Regarding, stands: &DocumentStatus, said: &Said) {
        let proposed = said.plan.as_ref().filter(|plan| plan.state == PlanState::Proposed);
        let Some(plan) = proposed else { return };
        let (topic, what) = ((regarding.clone(), Topic::Plan), plan.id.to_string());
        let told = self.told.get(&topic).map(|told| told.what.clone());
        let stood = stands.plan.as_ref().map(|plan| plan.id.to_string());
        if told.or(stood).as_ref() != Some(&what) {
            let words = format!("{}; `ballast approve {what}` carries it out", plan.summary);
            let event = Event::new(EventReason::PlanProposed, regarding, &words, Some(plan.id));
            self.becomes(now, topic, Told { what, status: None, at: now }, Some(event));
        }
    }

    /// This is what pods wait for.
    pub fn pods(&mut self, now: Time, events: Vec<Event>) {
        for event in events {
            let topic = (event.regarding.clone(), Topic::Wait);
            let what = event.reason.to_string();
            if self.told.get(&topic).is_none_or(|told| told.what != what) {
                self.becomes(now, topic, Told { what, status: None, at: now }, Some(event));
            }
        }
    }

    /// Something has become so. What changes to and fro is told at the pace of who reads.
    fn becomes(&mut self, now: Time, topic: (Regarding, Topic), told: Told, event: Option<Event>) {
        if self.told.get(&topic).is_some_and(|last| now < last.at + ANEW_EVERY) {
            return;
        }
        if event.as_ref().is_some_and(|event| event.reason.must_last()) {
            let what = &told.what;
            let begins = Rising { what: what.clone(), since: now, seen: now };
            let rising = self.rising.entry(topic.clone()).or_insert_with(|| begins.clone());
            match rising.what == *what {
                true => rising.seen = now,
                false => *rising = begins,
            }
            if now < rising.since + LASTS {
                return;
            }
        }
        match event {
            Some(event) => self.tell(topic, told, event),
            None => self.remember(topic, Told { at: now - ANEW_EVERY, ..told }),
        }
    }

    fn tell(&mut self, topic: (Regarding, Topic), told: Told, event: Event) {
        if self.waiting.len() >= WAITING_MAX {
            self.dropped += 1;
            let newest = self.waiting.iter().rposition(|(_, waiting)| !is_warning(waiting));
            let Some(newest) = newest.filter(|_| is_warning(&event)) else { return };
            // What gives way was not told: while it is so, it is tried again.
            let given_way = self.waiting.remove(newest);
            given_way.and_then(|(topic, _)| self.told.remove(&topic));
        }
        self.waiting.push_back((topic.clone(), event));
        self.remember(topic, told);
    }

    fn remember(&mut self, topic: (Regarding, Topic), told: Told) {
        self.told.insert(topic, told);
        if self.told.len() > REMEMBERED_MAX {
            let oldest = self.told.iter().min_by_key(|(_, told)| told.at).map(|(topic, _)| topic.clone());
            oldest.and_then(|oldest| self.told.remove(&oldest));
        }
    }

    /// All that is so was told: what is so no longer need not last.
    pub fn is_told(&mut self, now: Time) {
        self.rising.retain(|_, rising| rising.seen == now && now < rising.since + LASTS);
    }

    /// Whether something may have lasted long enough: it is time to tell what is so.
    pub fn is_due(&self, now: Time) -> bool {
        self.rising.values().any(|rising| rising.since + LASTS <= now)
    }

    /// The event that is to be told now, if any is.
    pub fn next(&mut self, now: Time) -> Option<Event> {
        if self.full_at - PER_EVENT.times(AT_ONCE - 1) > now {
            return None;
        }
        let first = self.waiting.iter().position(|(_, event)| is_warning(event)).unwrap_or(0);
        let (_, event) = self.waiting.remove(first)?;
        self.full_at = self.full_at.max(now) + PER_EVENT;
        Some(event)
    }

    /// How many were dropped since this was last asked.
    pub fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }
}

fn is_warning(event: &Event) -> bool {
    event.reason.row().is_warning
}

/// What makes a condition another one. Numbers in its words do not; what a person wrote does.
fn identity(kind: ConditionType, code: &str, words: &str) -> String {
    match kind == ConditionType::Paused || code == "Invalid" {
        true => format!("{code}: {words}"),
        false => code.to_owned(),
    }
}

/// Whether it is so at every start, and says nothing of what was before.
fn is_passing(condition: &ConditionReason) -> bool {
    matches!(
        condition,
        ConditionReason::NotSynced { .. }
            | ConditionReason::SourceUnknown { why: SourceTrouble::NotSynced, .. }
    )
}
