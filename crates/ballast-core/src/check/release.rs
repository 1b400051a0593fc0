//! Promises 1, 3, 6, 14 and 17 for instances that are let go because they never became a node. Removal budgets do not count
//! them: what never was a node takes no capacity with it.

use super::{fatal, subject};
use crate::observation::Source;
use crate::plan::{ActionKind, Plan, PromiseNote};
use crate::policy::Direction;
use crate::snapshot::Snapshot;

pub(super) fn check(snapshot: &Snapshot, plan: &Plan, notes: &mut Vec<PromiseNote>) {
    for action in plan.actions.iter().filter(|action| action.kind == ActionKind::ReleaseInstance) {
        let target = &action.target;
        let mut note = |promise, why| {
            notes.push(fatal(promise, subject(action), format!("{} is let go {why}", target.name)));
        };
        if snapshot.node_of_instance(&target.provider_id, &target.name).is_some() {
            note(1, "though it is a node");
        }
        if snapshot.trouble(&Source::instances(&target.pool), plan.now).is_some() {
            note(3, "though its pool's instances are not known");
        }
        let pool = snapshot.pool_named(&target.pool);
        let pauses = [Some(&snapshot.policy.pause), pool.map(|pool| &pool.spec.pause)];
        if pauses.into_iter().flatten().any(|pause| pause.holds(Direction::Down, plan.now)) {
            note(14, "though removals are paused");
        }
        let instance = pool.and_then(|pool| pool.instances.get(&target.provider_id));
        if instance.is_none_or(|instance| instance.token != action.precondition.token) {
            note(17, "though it does not carry our mark");
        }
        let up = instance.and_then(|instance| instance.since).map(|since| plan.now.since(since));
        if pool.is_some_and(|pool| up.is_some_and(|up| up <= pool.spec.times.boot_deadline)) {
            note(6, "before its time to join is over");
        }
    }
}
