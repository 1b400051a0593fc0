//! The way back: our own cordon comes off, nobody else's.

use crate::observation::{ErrorClass, SourceError};
use crate::units::Time;

use super::super::{GaveUp, Next, Receipt, Reply};
use super::{Phase, Seen, VmStop};

impl VmStop {
    /// Gives up: takes our cordon off where it may be on.
    pub(super) fn give_up(&mut self, now: Time, why: GaveUp) -> Next {
        self.why = Some(why);
        if !self.touched {
            return self.end(why);
        }
        // Undoing has its own time, however late it begins.
        self.deadline = now;
        self.pace.reset();
        (self.tries, self.misses, self.runs, self.pods) = (0, 0, 0, 0);
        self.queue.clear();
        self.on(now, if self.uid.is_empty() { Phase::UndoCheck } else { Phase::Undo })
    }

    /// Ends where nothing of ours is on the node.
    pub(super) fn end(&mut self, why: GaveUp) -> Next {
        self.why = Some(why);
        Next::Done(Receipt::GaveUp { why, cordon_left: false })
    }

    pub(super) fn undone(&mut self, now: Time, reply: &Reply) -> Next {
        let why = self.why.unwrap_or(GaveUp::Cancelled);
        match reply {
            Reply::Done | Reply::Failed(SourceError { class: ErrorClass::NotFound, .. }) => self.end(why),
            _ => self.wait(now, Phase::UndoCheck),
        }
    }

    pub(super) fn undo_checked(&mut self, now: Time, reply: &Reply) -> Next {
        let why = self.why.unwrap_or(GaveUp::Cancelled);
        match reply {
            Reply::Node(node) => {
                if self.uid.is_empty() {
                    self.adopt(node);
                }
                match self.judge(node) {
                    Seen::Ours | Seen::Uncordoned => self.on(now, Phase::Undo),
                    Seen::Replaced | Seen::NotOurs | Seen::Open => self.end(why),
                }
            }
            Reply::Failed(SourceError { class: ErrorClass::NotFound, .. }) => self.end(why),
            _ => self.wait(now, Phase::UndoCheck),
        }
    }
}
