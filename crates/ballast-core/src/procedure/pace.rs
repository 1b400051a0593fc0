//! Paces: how long to wait before the next try or the next look.

use crate::units::{Span, Time};

/// The first wait of every other pace.
const FIRST: Span = Span::from_secs(1);
/// The longest wait between two tries or looks. What is seen of the node wakes a procedure earlier, so that looking often
/// would only load the API; longer waits would show in the time that a node takes to join.
const LONGEST: Span = Span::from_secs(15);
/// The first and the longest wait between two looks at a node that runs empty by itself: that takes hours, and the engine
/// wakes the procedure once the node looks empty.
const FIRST_FOR_COMPLETION: Span = Span::from_secs(30);
const LONGEST_FOR_COMPLETION: Span = Span::from_mins(5);

/// Counts tries that led nowhere, for waits that grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pace {
    waits: u32,
}

impl Pace {
    /// When to go on: a little later each time, never after `deadline`.
    pub(super) fn wait(&mut self, now: Time, deadline: Time) -> Time {
        self.grow(now, deadline, FIRST, LONGEST)
    }

    /// The same for what may take hours.
    pub(super) fn wait_for_completion(&mut self, now: Time, deadline: Time) -> Time {
        self.grow(now, deadline, FIRST_FOR_COMPLETION, LONGEST_FOR_COMPLETION)
    }

    fn grow(&mut self, now: Time, deadline: Time, first: Span, longest: Span) -> Time {
        let doubled = Span::from_millis(first.as_millis() << self.waits.min(10));
        self.waits = self.waits.saturating_add(1);
        (now + doubled.min(longest)).min(deadline)
    }

    /// There was progress: waits are short again.
    pub(super) fn reset(&mut self) {
        self.waits = 0;
    }
}
