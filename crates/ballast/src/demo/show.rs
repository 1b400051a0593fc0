//! The terminal's side of the demo: a block that is written over in place, or a line now and then for a log.

use std::time::{Duration, Instant};

use terminal_size::{Height, Width, terminal_size};

use super::{LINE_EVERY, STEP_EVERY};
use crate::cli::Result;
use crate::console::Frame;
use crate::present::{Screen, status};

/// The terminal and what was last written to it.
pub(super) struct Terminal {
    /// The page's address, which stands above the block.
    address: String,
    in_place: bool,
    /// Lines of the block that are written over next, and how wide the terminal was for them.
    lines: usize,
    width: u16,
    last_line: Option<Instant>,
}

impl Terminal {
    pub(super) fn new(address: String, screen: &Screen) -> Self {
        Self { address, in_place: screen.is_terminal(), lines: 0, width: 0, last_line: None }
    }

    /// How long to wait until it is worth showing more.
    pub(super) fn pause(&self) -> Duration {
        if self.in_place { STEP_EVERY * 2 } else { STEP_EVERY }
    }

    /// Leaves the cursor on a line of its own, below what the terminal echoes of an interrupt.
    pub(super) fn leave(&self, screen: &mut Screen) -> Result<()> {
        if self.in_place {
            screen.draw("\n")?;
        }
        Ok(())
    }

    pub(super) fn show(&mut self, frame: &Frame, screen: &mut Screen) -> Result<()> {
        if self.in_place {
            let block = self.block(frame);
            screen.draw(&block)?;
        } else if self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            self.last_line = Some(Instant::now());
            screen.write(&(status::line(&frame.view) + "\n"))?;
        }
        screen.finish()
    }

    /// The block, with what moves the cursor back to its beginning and clears what was there.
    fn block(&mut self, frame: &Frame) -> String {
        let (Width(width), Height(height)) = terminal_size().unwrap_or((Width(100), Height(40)));
        let lately = frame.moments.iter().map(|moment| (moment.at, moment.to_string()));
        let mut lines = status::block(&frame.view, lately, width.into());
        let foot = status::cut("The page at the address above shows more. Ctrl-C ends this.", width.into());
        lines.extend([String::new(), foot]);
        // More than the screen would scroll, and could not be written over. One line stays for the address, one for the cursor.
        lines.truncate(usize::from(height).saturating_sub(2).max(1));
        let mut text = String::new();
        if width < self.width {
            // Lines that were wider are broken now, and nobody can tell where the block begins.
            text.push_str(&format!("\x1b[2J\x1b[H{}\n", self.address));
        } else if self.lines > 0 {
            text.push_str(&format!("\x1b[{}A", self.lines));
        }
        text.push_str("\r\x1b[J");
        for line in &lines {
            text.push_str(line);
            text.push('\n');
        }
        (self.lines, self.width) = (lines.len(), width);
        text
    }
}
