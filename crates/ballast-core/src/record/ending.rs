//! The last instant of a record: the engine as its inputs left it.

use std::io::BufRead;

use crate::engine::Engine;
use crate::units::Time;

use super::replay::{Lines, ReplayError, feed, started};

/// The engine at the end of a record, and when that was.
#[derive(Debug)]
pub struct Ending {
    /// As the inputs of the record left it.
    pub engine: Engine,
    /// The time of the last entry.
    pub at: Time,
}

/// Feeds the inputs of a record to an engine; what came out then is not looked at.
pub fn ending(reader: impl BufRead) -> Result<Ending, ReplayError> {
    let mut lines = Lines::new(reader);
    let mut ending: Option<Ending> = None;
    while let Some((_, entry)) = lines.next_entry()? {
        if let Some(engine) = started(&entry, lines.line())? {
            ending = Some(Ending { engine, at: entry.at });
        }
        let ending = ending.as_mut().ok_or(ReplayError::NoStart)?;
        ending.at = ending.at.max(entry.at);
        feed(&mut ending.engine, &entry)?;
    }
    ending.ok_or(ReplayError::Empty)
}
