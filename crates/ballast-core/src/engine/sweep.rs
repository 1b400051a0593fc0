//! The sweep: cordons of ours that nobody remembers come off.
//!
//! A crash between two writes, a person who starts a machine that we stopped, an uncordon that could not be sent in time: each
//! leaves a node that carries our mark and has no removal in the ledger. Such a node, once it has been ready for a while, is
//! uncordoned; so is one that is not ready while its machine runs, which could else never be weighed again. A machine that we
//! stopped keeps its mark: its node is not ready, and it does not run.

use std::collections::BTreeMap;

use crate::kube::{Name, Node};
use crate::observation::{Body, Change, InstanceState, Object, ObjectKind, Observation};
use crate::snapshot::{CORDON_MARK, Snapshot};
use crate::units::{Span, Time};

use super::executor::Executor;
use super::waking::speaks_of;

/// How long a node must look forgotten: longer than a node whose machine was just stopped still says that it is ready, and
/// than lists lag.
const FORGOTTEN_AFTER: Span = Span::from_secs(120);

/// Nodes with our mark.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    marked: BTreeMap<Name, Marked>,
}

/// A node with our mark.
#[derive(Clone, Copy, Debug)]
struct Marked {
    /// Since when it looks forgotten.
    since: Time,
    ready: bool,
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
                        let since = before.get(&node.metadata.name).map_or(now, |marked| marked.since);
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
        if !node.metadata.annotations.contains_key(CORDON_MARK) {
            self.marked.remove(&node.metadata.name);
            return;
        }
        let ready = node.is_ready();
        let marked = self.marked.entry(node.metadata.name.clone()).or_insert(Marked { since, ready });
        if ready != marked.ready {
            *marked = Marked { since, ready };
        }
    }

    /// A procedure on a node has ended: whatever it left is looked at anew.
    pub(super) fn ended(&mut self, now: Time, name: &Name) {
        if let Some(marked) = self.marked.get_mut(name) {
            marked.since = now;
        }
    }

    /// Lets forgotten cordons be taken off.
    pub(super) fn run(&mut self, now: Time, snapshot: &Snapshot, executor: &mut Executor) {
        for (name, marked) in &mut self.marked {
            if executor.is_busy(name) || !(marked.ready || runs(snapshot, name)) {
                marked.since = now;
            } else if now.since(marked.since) >= FORGOTTEN_AFTER {
                executor.uncordon(now, name);
                marked.since = now;
            }
        }
    }
}

/// Whether the machine of a node is seen to run.
fn runs(snapshot: &Snapshot, name: &str) -> bool {
    let pool =
        snapshot.node_named(name).and_then(|node| node.pool).map(|pool| &snapshot.pools[pool as usize]);
    pool.is_some_and(|pool| pool.states.get(name) == Some(&InstanceState::Running))
}
