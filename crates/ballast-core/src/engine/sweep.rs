//! The sweep: cordons of ours that nobody remembers come off.
//!
//! A crash between two writes, a person who starts a machine that we stopped, an uncordon that could not be sent in time: each
//! leaves a node that carries our mark and has no removal in the ledger. Such a node, once it has been ready for a while, is
//! uncordoned; so is one that is not ready while its machine runs, which could else never be weighed again. A machine that we
//! stopped keeps its mark: its node is not ready, and it does not run.

use std::collections::BTreeMap;

use crate::kube::Name;
use crate::snapshot::Snapshot;
use crate::units::{Span, Time};

use super::executor::Executor;

/// How long a node must look forgotten: longer than a node whose machine was just stopped still says that it is ready, and
/// than lists lag.
const FORGOTTEN_AFTER: Span = Span::from_secs(120);

/// Nodes with our mark that look forgotten, since when.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    since: BTreeMap<Name, Time>,
}

impl Sweep {
    /// A procedure on a node has ended: whatever it left is looked at anew.
    pub(super) fn ended(&mut self, name: &Name) {
        self.since.remove(name);
    }

    /// Lets forgotten cordons be taken off; not while only what a person approved may be done.
    pub(super) fn run(&mut self, now: Time, snapshot: &Snapshot, executor: &mut Executor) {
        let before = std::mem::take(&mut self.since);
        for &slot in &snapshot.marked {
            let name = &snapshot.node(slot).name;
            if executor.is_busy(name) {
                continue;
            }
            let since = before.get(name).copied().unwrap_or(now);
            if now.since(since) >= FORGOTTEN_AFTER && executor.may_begin() {
                executor.uncordon(now, name);
            } else {
                self.since.insert(name.clone(), since);
            }
        }
    }
}
