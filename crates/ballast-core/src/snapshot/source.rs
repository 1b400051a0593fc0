//! Sources: how fresh and how believable each one's last answer is. Unknown is never zero.

use crate::observation::SourceError;
use crate::plan::SourceTrouble;
use crate::units::{Share, Span, Time};

/// Lists shorter than this may shrink without suspicion: half of three is noise. That nothing is left is never noise.
const SUSPICIOUS_FROM: usize = 4;

/// How long after a list was suddenly much shorter nothing is removed on it, though looks agree: a server that tells a lie tells
/// it again. Longer than most outages; a true loss of so much only costs what is idle meanwhile.
const SHRINK_SETTLES: Span = Span::from_hours(1);

/// What is known of one source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceState {
    /// When it first gave a good answer, of those that this process has heard.
    pub first_good_at: Option<Time>,
    /// When it last gave a good answer.
    pub good_at: Option<Time>,
    /// Its last failure, if it came after the last good answer.
    pub error: Option<SourceError>,
    /// How many things its last believed list had that were there to stay.
    pub len: usize,
    /// How many a much shorter list had that waits for a second look.
    pub shrunk: Option<usize>,
    /// When a list was last suddenly much shorter, until one is longer again.
    pub shrank_at: Option<Time>,
}

impl SourceState {
    /// Judges a complete list: whether it may be believed.
    ///
    /// A list that is suddenly empty or much shorter is believed only when a second look agrees.
    pub fn believes(&mut self, len: usize, at: Time, max_shrink: Share) -> bool {
        let known = self.good_at.is_some() && (self.len >= SUSPICIOUS_FROM || len == 0);
        let suspicious = known && shrinks_much(self.len, len, max_shrink);
        let agrees = |first: usize| !shrinks_much(first.max(len), first.min(len), max_shrink);
        if suspicious && !self.shrunk.is_some_and(agrees) {
            self.shrunk = Some(len);
            self.shrank_at = Some(at);
            return false;
        }
        let shrank_at = self.shrank_at.filter(|_| suspicious || len <= self.len);
        let first_good_at = self.first_good_at.or(Some(at));
        *self = Self { first_good_at, good_at: Some(at), error: None, len, shrunk: None, shrank_at };
        true
    }

    /// Until when nothing is removed on it, where a list was suddenly much shorter a while ago.
    pub fn settles_at(&self, now: Time) -> Option<Time> {
        self.shrank_at.map(|at| at + SHRINK_SETTLES).filter(|&at| now < at)
    }

    /// Whether what it does not list may be there all the same: it was suddenly much shorter a while ago, or this process has
    /// not listened for long enough to tell.
    pub fn may_lack(&self, now: Time) -> bool {
        let is_new = |at: Time| now < at + SHRINK_SETTLES;
        self.settles_at(now).is_some() || self.first_good_at.is_some_and(is_new)
    }

    /// Notes changes on top of the last list. Where there is none, or it failed since, nobody knows what is missing: only a
    /// list makes it good again.
    pub fn changed(&mut self, at: Time, len: usize) {
        if self.good_at.is_some() && self.error.is_none() {
            self.good_at = Some(at);
            self.len = len;
        }
    }

    /// What is wrong with it now.
    pub fn trouble(&self, now: Time, max_age: Span) -> Option<SourceTrouble> {
        if let Some(error) = &self.error {
            return Some(SourceTrouble::Failed(error.class));
        }
        if self.shrunk.is_some() {
            return Some(SourceTrouble::SuddenlyShrunk);
        }
        match self.good_at {
            None => Some(SourceTrouble::NotSynced),
            Some(at) if at > now => Some(SourceTrouble::Ahead(at.since(now))),
            Some(at) if now.since(at) > max_age => Some(SourceTrouble::Stale(now.since(at))),
            Some(_) => None,
        }
    }
}

/// Whether a list became shorter by more than a share of it.
fn shrinks_much(from: usize, to: usize, max_shrink: Share) -> bool {
    (from as u64).saturating_sub(to as u64) > max_shrink.of_floor(from as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::ErrorClass;

    #[test]
    fn what_is_suddenly_shorter_needs_a_second_look_that_agrees() {
        let half = Share::percent(50);
        for (lists, believed) in [
            (&[100, 45, 44][..], &[true, false, true][..]),
            (&[100, 45, 0, 0], &[true, false, false, true]),
            (&[100, 0, 90], &[true, false, true]),
            (&[100, 60, 40], &[true, true, true]),
            (&[3, 1], &[true, true]),
            // Of two storms: a single disruption budget was not listed for a while, and a removal began (seeds 23 and 238).
            (&[1, 0, 0, 0], &[true, false, true, true]),
        ] {
            let mut state = SourceState::default();
            let told: Vec<bool> = lists.iter().map(|&len| state.believes(len, Time::ZERO, half)).collect();
            assert_eq!(told, believed, "{lists:?}");
        }
    }

    #[test]
    fn changes_alone_make_no_source_good() {
        let (at, age) = (Time::from_secs(1000), Span::from_mins(2));
        let mut never_listed = SourceState::default();
        never_listed.changed(at, 1);
        assert_eq!(never_listed.trouble(at, age), Some(SourceTrouble::NotSynced));
        let mut failed = SourceState::default();
        failed.believes(10, at, Share::percent(50));
        failed.error = Some(SourceError { class: ErrorClass::Transient, message: "said the test".into() });
        failed.changed(at, 11);
        assert_eq!(failed.trouble(at, age), Some(SourceTrouble::Failed(ErrorClass::Transient)));
        failed.believes(10, at, Share::percent(50));
        failed.changed(at, 11);
        assert_eq!((failed.trouble(at, age), failed.len), (None, 11));
    }

    #[test]
    fn what_was_suddenly_shorter_settles_after_an_hour_or_when_it_is_longer_again() {
        let (half, at) = (Share::percent(50), |minutes| Time::ZERO + Span::from_mins(minutes));
        let mut state = SourceState::default();
        for (minute, len) in [(0, 100), (1, 0), (2, 0), (3, 0)] {
            state.believes(len, at(minute), half);
        }
        assert_eq!(state.settles_at(at(4)), Some(at(61)));
        assert_eq!(state.settles_at(at(61)), None);
        state.believes(90, at(5), half);
        assert_eq!(state.settles_at(at(5)), None, "the truth is told again");
    }

    #[test]
    fn what_is_not_listed_may_be_there_for_an_hour_after_the_first_list_and_after_a_sudden_loss() {
        let (half, at) = (Share::percent(50), |minutes| Time::ZERO + Span::from_mins(minutes));
        let mut state = SourceState::default();
        assert!(!state.may_lack(at(0)), "nobody has listed anything");
        state.believes(10, at(0), half);
        assert_eq!((state.may_lack(at(59)), state.may_lack(at(60))), (true, false));
        for minute in [70, 71] {
            state.believes(0, at(minute), half);
        }
        assert_eq!((state.may_lack(at(72)), state.may_lack(at(130))), (true, false));
    }

    #[test]
    fn an_answer_from_the_future_is_as_bad_as_an_old_one() {
        let mut state = SourceState::default();
        state.believes(1, Time::from_secs(1000), Share::percent(50));
        let trouble = |now| state.trouble(Time::from_secs(now), Span::from_mins(2));
        assert_eq!(trouble(1060), None);
        assert_eq!(trouble(1200), Some(SourceTrouble::Stale(Span::from_secs(200))));
        assert_eq!(trouble(990), Some(SourceTrouble::Ahead(Span::from_secs(10))));
    }
}
