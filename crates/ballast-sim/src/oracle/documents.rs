//! Checks on what documents forbid altogether: modes and pauses, also where a document changes while Ballast runs.

use ballast_core::kube::Name;
use ballast_core::policy::{Direction, Mode};
use ballast_core::procedure::Request;
use ballast_core::units::Span;

use super::Oracle;
use crate::scenario::DocumentChange;
use crate::world::{NONE, World};

/// How long a changed document may go unheeded: until the next look, and a request's way.
const HEEDED_WITHIN: Span = Span::from_secs(7);

impl Oracle {
    /// A document was changed.
    pub(crate) fn document_changed(&mut self, world: &World, change: &DocumentChange) {
        self.changed_at = Some(world.now);
        self.begun.clone_from(&self.asked);
        if let Some(policy) = &change.policy {
            self.policy = policy.clone();
        }
        let pool = world.pools.iter().position(|pool| Some(&pool.name) == change.pool.as_ref());
        if let (Some(pool), Some(spec)) = (pool, &change.spec) {
            self.pools[pool].spec = spec.clone();
        }
    }

    pub(super) fn note_asked(&mut self, request: &Request) {
        if let Some(name) = identity(request) {
            self.asked.insert(name.clone());
        }
    }

    /// I-23, I-24: what documents forbid is not asked for.
    pub(super) fn check_documents(&mut self, world: &World, request: &Request) {
        if self.changed_at.is_some_and(|at| world.now.since(at) <= HEEDED_WITHIN) || !request.changes() {
            return;
        }
        self.check_mode(world, request);
        let Some(pool) = pool_of(world, request) else { return };
        // What was asked for before is asked for again until it is known what came of it.
        if identity(request).is_some_and(|name| self.begun.contains(name)) {
            return;
        }
        let rules = &self.pools[pool as usize].spec;
        let name = &world.pools[pool as usize].name;
        let mode = rules.mode.unwrap_or(self.policy.mode).min(self.policy.mode);
        self.judge(world, "I-24", mode == Mode::Enforce, || {
            format!("pool `{name}` is in mode {mode:?}, which allows no such request: {request:?}")
        });
        let rules = &self.pools[pool as usize].spec;
        let direction = match request {
            Request::StartInstance { .. } | Request::CreateInstance { .. } => Direction::Up,
            _ => Direction::Down,
        };
        let pauses = [&rules.pause, &self.policy.pause];
        let is_paused = pauses.iter().any(|pause| pause.holds(direction, world.now));
        self.judge(world, "I-23", !is_paused, || format!("it is paused, and yet: {request:?}"));
    }

    /// I-24: Observe changes nothing, Recommend only what is Ballast's own.
    fn check_mode(&mut self, world: &World, request: &Request) {
        let own = matches!(request, Request::WriteLedger { .. } | Request::WriteHistory { .. });
        let is_allowed = match self.policy.mode {
            Mode::Enforce => true,
            Mode::Recommend => own,
            Mode::Observe => false,
        };
        let mode = self.policy.mode;
        self.judge(world, "I-24", is_allowed, || format!("{mode:?} allows no such request: {request:?}"));
    }
}

/// What a request asks for by a name of its own: the same again is the same request.
pub(super) fn identity(request: &Request) -> Option<&Name> {
    match request {
        Request::StartInstance { id, .. } | Request::StopInstance { id, .. } => Some(id),
        Request::CreateInstance { token, .. } => Some(token),
        _ => None,
    }
}

/// The pool from which a request takes or to which it gives.
fn pool_of(world: &World, request: &Request) -> Option<u32> {
    let of_machine = |machine: u32| world.kinds[world.machines[machine as usize].kind as usize].pool;
    let pool = match request {
        Request::StartInstance { pool, .. }
        | Request::CreateInstance { pool, .. }
        | Request::StopInstance { pool, .. } => {
            world.pools.iter().position(|entry| entry.name == *pool)? as u32
        }
        Request::Cordon { name, .. } => of_machine(*world.by_name.get(name)?),
        Request::Evict { uid, .. } => {
            let pod = &world.pods[world.pod_of(uid)?];
            if pod.is_bound() { of_machine(pod.machine) } else { NONE }
        }
        _ => NONE,
    };
    (pool != NONE).then_some(pool)
}
