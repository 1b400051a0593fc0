//! Pace: which of the documents that are to be written is written now. Told the time, it knows no clock.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::DocumentRef;
use crate::units::{Span, Time};

/// What an API server does not feel: two writes a second, and some more where many things change at once.
const PER_WRITE: Span = Span::from_millis(500);
const AT_ONCE: i64 = 20;
/// Documents that nothing is decided by are written when nothing else is, and more slowly still.
const PER_SPARE: Span = Span::from_secs(1);
/// A document of which only numbers change is written no more often.
const NUMBERS_EVERY: Span = Span::from_mins(1);
/// What was refused is not tried again before.
const REFUSED_FOR: Span = Span::from_mins(1);

/// How much it matters that a document is written; the later matters more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// Only numbers or words have changed.
    Numbers,
    /// A condition holds that did not, or the other way round; or a plan waits for a person.
    Meaning,
}

/// Which of the documents that are to be written is written now.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    waiting: BTreeMap<DocumentRef, Waiting>,
    /// When each was last written, and when each that was refused may be tried again.
    rests_until: BTreeMap<DocumentRef, Rest>,
    /// The bucket is full again then.
    full_at: Time,
    /// What can wait is written not before.
    spare_at: Time,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    urgency: Urgency,
    since: Time,
}

/// Until when a document is not written.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    numbers: Time,
    all: Time,
}

impl Pace {
    /// A document says something else than what stands in the API.
    pub fn want(&mut self, document: &DocumentRef, urgency: Urgency, now: Time) {
        let waiting = self.waiting.entry(document.clone()).or_insert(Waiting { urgency, since: now });
        waiting.urgency = urgency;
    }

    /// What stands in the API of a document is right, or there is no such document.
    pub fn settle(&mut self, document: &DocumentRef) {
        self.waiting.remove(document);
    }

    /// Forgets every document that is not there any more.
    pub fn keep(&mut self, is_there: impl Fn(&DocumentRef) -> bool) {
        self.waiting.retain(|document, _| is_there(document));
        self.rests_until.retain(|document, _| is_there(document));
    }

    /// The document that is to be written now, if any is: what changed its meaning first, then what has waited longest.
    pub fn next(&mut self, now: Time) -> Option<DocumentRef> {
        if self.next_token() > now {
            return None;
        }
        let due = self.waiting.iter().filter(|(document, waiting)| self.due(document, waiting) <= now);
        let first = due.max_by_key(|(document, waiting)| {
            (waiting.urgency, Reverse(waiting.since), Reverse((*document).clone()))
        });
        let document = first?.0.clone();
        self.waiting.remove(&document);
        self.full_at = self.full_at.max(now) + PER_WRITE;
        self.rests_until.entry(document.clone()).or_default().numbers = now + NUMBERS_EVERY;
        Some(document)
    }

    /// Whether something may be written now that nobody waits for, and which is not among these documents.
    pub fn spare(&mut self, now: Time) -> bool {
        let is_free = self.spare_at() <= now;
        if is_free {
            self.full_at = now + PER_WRITE;
            self.spare_at = now + PER_SPARE;
        }
        is_free
    }

    /// When the next of that kind may be.
    pub fn spare_at(&self) -> Time {
        self.spare_at.max(self.full_at)
    }

    /// The API refused to have a document written.
    pub fn refused(&mut self, document: &DocumentRef, now: Time) {
        self.postpone(document, now + REFUSED_FOR);
    }

    /// A document cannot be written before.
    pub fn postpone(&mut self, document: &DocumentRef, until: Time) {
        self.rests_until.entry(document.clone()).or_default().all = until;
    }

    /// When the next document may be due, of those that wait now.
    pub fn wake_at(&self) -> Time {
        let due = self.waiting.iter().map(|(document, waiting)| self.due(document, waiting)).min();
        due.map_or(Time::FAR_FUTURE, |due| due.max(self.next_token()))
    }

    /// When there is room in the bucket.
    fn next_token(&self) -> Time {
        self.full_at - PER_WRITE.times(AT_ONCE - 1)
    }

    fn due(&self, document: &DocumentRef, waiting: &Waiting) -> Time {
        let rest = self.rests_until.get(document).copied().unwrap_or_default();
        match waiting.urgency {
            Urgency::Meaning => rest.all,
            Urgency::Numbers => rest.all.max(rest.numbers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::DocumentKind;

    fn scaler(number: u32) -> DocumentRef {
        let name = format!("scaler-{number:05}").into();
        DocumentRef { kind: DocumentKind::MetricScaler, namespace: "ml".into(), name }
    }

    /// Everything that is written within a span, looked at each tenth of a second.
    fn written(pace: &mut Pace, from: Time, span: Span) -> Vec<(Time, DocumentRef)> {
        let mut all = Vec::new();
        let mut now = from;
        while now < from + span {
            while let Some(document) = pace.next(now) {
                all.push((now, document));
            }
            now += Span::from_millis(100);
        }
        all
    }

    #[test]
    fn a_storm_is_written_two_a_second_and_the_gravest_first() {
        let (mut pace, start) = (Pace::default(), Time::from_secs(1_000_000));
        for number in 0..1000 {
            let urgency = if number % 100 == 7 { Urgency::Meaning } else { Urgency::Numbers };
            pace.want(&scaler(number), urgency, start);
        }
        let all = written(&mut pace, start, Span::from_secs(60));
        let at_once = all.iter().filter(|(at, _)| *at == start).count();
        assert_eq!((at_once, all.len()), (20, 20 + 119));
        let first: Vec<DocumentRef> = all.iter().take(11).map(|(_, document)| document.clone()).collect();
        let grave: Vec<DocumentRef> = (0..10).map(|at| scaler(at * 100 + 7)).chain([scaler(0)]).collect();
        assert_eq!(first, grave);
    }

    #[test]
    fn numbers_alone_are_written_once_a_minute_and_a_change_of_meaning_at_once() {
        let (mut pace, start) = (Pace::default(), Time::from_secs(1_000_000));
        let mut times = Vec::new();
        for second in 0..180 {
            let now = start + Span::from_secs(second);
            let urgency = if second == 90 { Urgency::Meaning } else { Urgency::Numbers };
            pace.want(&scaler(1), urgency, now);
            times.extend(pace.next(now).map(|_| second));
        }
        assert_eq!(times, [0, 60, 90, 150]);
    }

    #[test]
    fn what_nobody_waits_for_is_written_once_a_second_and_after_all_else() {
        let (mut pace, start) = (Pace::default(), Time::from_secs(1_000_000));
        let spared = |pace: &mut Pace, from: i64, to: i64| {
            (from..to).filter(|tenth| pace.spare(start + Span::from_millis(tenth * 100))).count()
        };
        assert_eq!(spared(&mut pace, 0, 100), 10);
        let now = start + Span::from_secs(10);
        (0..30).for_each(|number| pace.want(&scaler(number), Urgency::Meaning, now));
        let others = std::iter::from_fn(|| pace.next(now)).count();
        assert_eq!((others, spared(&mut pace, 100, 190)), (20, 0), "what matters took its room");
        assert!(spared(&mut pace, 190, 230) > 0);
    }

    #[test]
    fn what_was_refused_is_tried_again_after_a_minute_and_what_is_right_is_not_written() {
        let (mut pace, start) = (Pace::default(), Time::from_secs(1_000_000));
        pace.want(&scaler(1), Urgency::Meaning, start);
        assert_eq!(pace.next(start), Some(scaler(1)));
        pace.refused(&scaler(1), start);
        pace.want(&scaler(1), Urgency::Meaning, start);
        assert_eq!((pace.next(start), pace.wake_at()), (None, start + REFUSED_FOR));
        pace.settle(&scaler(1));
        assert_eq!((pace.next(start + REFUSED_FOR), pace.wake_at()), (None, Time::FAR_FUTURE));
    }
}
