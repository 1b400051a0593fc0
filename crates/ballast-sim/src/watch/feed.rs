//! One kind of Kubernetes objects, as a watch tells of it.

use ballast_core::observation::{
    Body, Change, ErrorClass, Object, ObjectKind, Observation, Source, SourceError,
};
use ballast_core::units::{Span, Time};

use super::{BOOKMARK, less_than_half};
use crate::scenario::{Fault, FaultKind};
use crate::world::World;

/// How often a view that fails is tried again.
const RETRY: Span = Span::from_secs(10);

/// Lists that are told when trouble is over.
const AFTER_TROUBLE: u8 = 2;

/// One kind of objects, as a watch tells of it.
#[derive(Debug)]
pub(super) struct Feed {
    source: Source,
    /// Lists that are still to be told before deltas: after trouble a second one, since whoever listens may not believe the first.
    lists: u8,
    told_at: Time,
    /// What keeps it from showing the truth, and since when.
    pub(super) trouble: Option<(FaultKind, Time)>,
}

impl Feed {
    pub(super) fn new(kind: ObjectKind) -> Self {
        Self { source: Source::kubernetes(kind), lists: 1, told_at: Time::ZERO, trouble: None }
    }

    pub(super) fn restart(&mut self) {
        self.lists = 1;
        self.told_at = Time::ZERO;
    }

    /// What there is to tell now, if anything.
    pub(super) fn observe(
        &mut self,
        world: &mut World,
        fault: Option<&Fault>,
        list: impl Fn(&World) -> Vec<Object>,
        changes: impl Fn(&mut World) -> Vec<Change>,
    ) -> Option<Observation> {
        let now = world.now;
        let kind = fault.map(|fault| fault.kind);
        let begins = kind.is_some() && self.trouble.map(|(kind, _)| kind) != kind;
        if begins || kind.is_none() {
            self.trouble = kind.map(|kind| (kind, now));
        }
        let due = now >= self.told_at + BOOKMARK;
        let body = match kind {
            None if self.lists > 0 => {
                if self.lists < AFTER_TROUBLE && now < self.told_at + RETRY {
                    return None;
                }
                changes(world);
                self.lists -= 1;
                Ok(Body::Listed(list(world)))
            }
            None => {
                let changes = changes(world);
                if changes.is_empty() && !due {
                    return None;
                }
                Ok(Body::Changed(changes))
            }
            // It stands still: nothing is told, not even that it is still there.
            Some(FaultKind::StaleView) => return None,
            Some(FaultKind::FailedView) => {
                self.lists = AFTER_TROUBLE;
                if !begins && now < self.told_at + RETRY {
                    return None;
                }
                let class = fault.and_then(|fault| fault.class).unwrap_or(ErrorClass::Transient);
                Err(SourceError { class, message: "the list cannot be had".into() })
            }
            Some(kind) => {
                self.lists = AFTER_TROUBLE;
                if !begins && !due {
                    return None;
                }
                let mut objects = list(world);
                let kept = if kind == FaultKind::EmptyView { 0 } else { less_than_half(objects.len()) };
                objects.truncate(kept);
                Ok(Body::Listed(objects))
            }
        };
        self.told_at = now;
        Some(Observation { source: self.source.clone(), taken_at: now, outcome: body })
    }
}
