//! What came of a command, and the one place where it becomes an exit code.

use std::process::ExitCode;

/// What came of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, nothing to change.
    Done,
    /// An error, of usage or any other; it has been told on stderr.
    Error,
    /// A plan would change something.
    WouldChange,
    /// A `--fail-if` held, an expected range was missed, a promise broke or a replay differed.
    Gate,
    /// Interrupted by the user.
    Interrupted,
}

impl Outcome {
    /// The exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Error => 1,
            Self::WouldChange => 2,
            Self::Gate => 3,
            Self::Interrupted => 130,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome.code())
    }
}
