//! The sweep: cordons of ours that nobody remembers come off.
//!
//! A crash between two writes, a person who starts a machine that we stopped, an uncordon that could not be sent in time: each
//! leaves a node that carries our mark and has no removal in the ledger. Such a node, once it has been ready for a while, is
//! uncordoned. A machine that we stopped keeps its mark, since its node is not ready.

use std::collections::BTreeMap;

use crate::kube::{Name, Node};
use crate::observation::{Body, Change, Object, ObjectKind, Observation};
use crate::snapshot::CORDON_MARK;
use crate::units::{Span, Time};

use super::executor::Executor;
use super::waking::speaks_of;

/// How long a node must look forgotten: longer than a node whose machine was just stopped still says that it is ready, and
/// than lists lag.
const FORGOTTEN_AFTER: Span = Span::from_secs(120);

/// Ready nodes with our mark, and since when each looks forgotten.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    marked: BTreeMap<Name, Time>,
}

impl Sweep {
    /// Notes which nodes carry our mark.
    pub(super) fn note(&mut self, now: Time, observation: &Observation) {
        if !speaks_of(&observation.source, ObjectKind::Node) {
            return;
        }
        match &observation.outcome {
            Ok(Body::Listed(objects)) => {
                let before = std::mem::take(&mut self.marked);
                for object in objects {
                    if let Object::Node(node) = object {
                        let since = before.get(&node.metadata.name).copied().unwrap_or(now);
                        self.note_node(since, node);
                    }
                }
            }
            Ok(Body::Changed(changes)) => {
                for change in changes {
                    match change {
                        Change::Applied(Object::Node(node)) => self.note_node(now, node),
                        Change::Applied(_) => {}
                        Change::Deleted(key) => {
                            self.marked.remove(&key.name);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn note_node(&mut self, since: Time, node: &Node) {
        let marked = node.metadata.annotations.contains_key(CORDON_MARK);
        if marked && node.is_ready() {
            self.marked.entry(node.metadata.name.clone()).or_insert(since);
        } else {
            self.marked.remove(&node.metadata.name);
        }
    }

    /// A procedure on a node has ended: whatever it left is looked at anew.
    pub(super) fn ended(&mut self, now: Time, name: &Name) {
        if let Some(since) = self.marked.get_mut(name) {
            *since = now;
        }
    }

    /// Lets forgotten cordons be taken off.
    pub(super) fn run(&mut self, now: Time, executor: &mut Executor) {
        for (name, since) in &mut self.marked {
            if executor.is_busy(name) {
                *since = now;
            } else if now.since(*since) >= FORGOTTEN_AFTER {
                executor.uncordon(now, name);
                *since = now;
            }
        }
    }
}
