//! Sources: how fresh and how believable each one's last answer is. Unknown is never zero.

use crate::observation::SourceError;
use crate::plan::SourceTrouble;
use crate::units::{Share, Span, Time};

/// Lists shorter than this may shrink without suspicion: half of three is noise. That nothing is left is never noise.
const SUSPICIOUS_FROM: usize = 4;

/// What is known of one source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceState {
    /// When it last gave a good answer.
    pub good_at: Option<Time>,
    /// Its last failure, if it came after the last good answer.
    pub error: Option<SourceError>,
    /// How many things its last believed list had that were there to stay.
    pub len: usize,
    /// A much shorter list that waits for a second look.
    pub shrunk: bool,
}

impl SourceState {
    /// Judges a complete list: whether it may be believed.
    ///
    /// A list that is suddenly empty or much shorter is believed only when a second look agrees.
    pub fn believes(&mut self, len: usize, at: Time, max_shrink: Share) -> bool {
        let least = self.len as u64 - max_shrink.of_floor(self.len as u64).min(self.len as u64);
        let emptied = len == 0 && self.len > 0;
        let shrunk = self.len >= SUSPICIOUS_FROM && (len as u64) < least;
        if self.good_at.is_some() && (emptied || shrunk) && !self.shrunk {
            self.shrunk = true;
            return false;
        }
        *self = Self { good_at: Some(at), error: None, len, shrunk: false };
        true
    }

    /// Notes changes on top of the last list.
    pub fn changed(&mut self, at: Time, len: usize) {
        self.good_at = Some(at);
        self.error = None;
        self.len = len;
    }

    /// What is wrong with it now.
    pub fn trouble(&self, now: Time, max_age: Span) -> Option<SourceTrouble> {
        if let Some(error) = &self.error {
            return Some(SourceTrouble::Failed(error.class));
        }
        if self.shrunk {
            return Some(SourceTrouble::SuddenlyShrunk);
        }
        match self.good_at {
            None => Some(SourceTrouble::NotSynced),
            Some(at) if now.since(at) > max_age => Some(SourceTrouble::Stale(now.since(at))),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_suddenly_empty_is_believed_at_a_second_look() {
        // Of two storms: a single disruption budget was not listed for a while, and a removal began (seeds 23 and 238).
        for before in [1, 3, 40] {
            let mut state = SourceState::default();
            assert!(state.believes(before, Time::ZERO, Share::percent(50)));
            assert!(!state.believes(0, Time::ZERO, Share::percent(50)), "{before}");
            assert_eq!(state.trouble(Time::ZERO, Span::ZERO), Some(SourceTrouble::SuddenlyShrunk));
            assert!(state.believes(0, Time::ZERO, Share::percent(50)), "{before}");
            assert!(state.believes(0, Time::ZERO, Share::percent(50)), "nothing is left to vanish");
        }
    }
}
