//! The two streams of a command: data on stdout, all else on stderr.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

use super::Failure;

/// Where a command writes. Colours are left out where nobody would see them.
pub struct Screen {
    out: BufWriter<anstream::AutoStream<io::Stdout>>,
    err: anstream::AutoStream<io::Stderr>,
}

impl Screen {
    /// The streams of this process.
    pub fn new() -> Self {
        Self {
            out: BufWriter::new(anstream::AutoStream::auto(io::stdout())),
            err: anstream::AutoStream::auto(io::stderr()),
        }
    }

    /// Whether stdout is a terminal that understands escapes: then a block can be written over in place.
    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Data: written to stdout as it is.
    pub fn write(&mut self, data: &str) -> io::Result<()> {
        unless_closed(self.out.write_all(data.as_bytes()))
    }

    /// Moves the cursor about on a terminal: written as it is, also where colours are not wanted.
    pub fn draw(&mut self, escapes: &str) -> io::Result<()> {
        self.out.flush()?;
        let mut raw = io::stdout().lock();
        raw.write_all(escapes.as_bytes())?;
        raw.flush()
    }

    /// Data that shall be seen now: a line on stdout, flushed.
    pub fn line(&mut self, data: impl Display) -> io::Result<()> {
        writeln!(self.out, "{data}")?;
        self.out.flush()
    }

    /// Anything that is not data: a line on stderr.
    pub fn note(&mut self, note: impl Display) {
        // A closed stderr leaves nobody to tell.
        let _ = writeln!(self.err, "{note}");
    }

    /// Whether somebody sees what is noted, as it is noted.
    pub fn notes_are_seen(&self) -> bool {
        io::stderr().is_terminal()
    }

    /// Tells a failure on stderr, after everything that was written before.
    pub fn complain(&mut self, failure: &Failure) {
        let _ = self.out.flush();
        let _ = self.err.write_all(failure.render().as_bytes());
    }

    /// Writes out what is still held back.
    pub fn finish(&mut self) -> Result<(), Failure> {
        Ok(unless_closed(self.out.flush())?)
    }
}

/// A reader that went away is nobody to write to, and no failure: what the command came to stays its exit code.
fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

impl Default for Screen {
    fn default() -> Self {
        Self::new()
    }
}
