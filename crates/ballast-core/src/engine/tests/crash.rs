//! One fault at each request in turn: whatever it is, the end is the one that no fault would have given.

use crate::observation::{ErrorClass, InstanceState};
use crate::units::Span;

use super::acting::{one_unneeded, three_wait};
use super::world::{Fault, World};

const FAULTS: [Fault; 7] = [
    Fault::CrashBefore,
    Fault::CrashAfter,
    Fault::AnswerLost,
    Fault::RequestLost,
    Fault::Refused(ErrorClass::Transient),
    Fault::Refused(ErrorClass::Throttled),
    Fault::Refused(ErrorClass::Conflict),
];

/// Long enough for a lost reply to be noticed, a back-off to end, and a forgotten cordon to be found.
const LONG: Span = Span::from_mins(16);

#[test]
fn growth_converges_whatever_one_fault_hits() {
    let mut calm = World::new(three_wait());
    calm.run(LONG);
    for fault in FAULTS {
        for at in 0..calm.log.len() {
            let mut world = World::new(three_wait());
            world.fault = Some((at, fault));
            world.run(LONG);
            let story = format!("{fault:?} at {at} ({:?})", world.log.get(at));
            assert_eq!(world.waiting(), 0, "{story}");
            assert_eq!((world.made, world.up()), (3, 4), "{story}");
            assert!(world.cordoned().is_empty(), "{story}");
            assert!(world.engine.memory().ledger.launches.is_empty(), "{story}");
            assert!(world.engine.memory().ledger.removals.is_empty(), "{story}");
        }
    }
}

#[test]
fn removal_converges_whatever_one_fault_hits() {
    let mut calm = World::new(one_unneeded());
    calm.run(LONG);
    assert!(calm.log.len() > 5);
    for fault in FAULTS {
        for at in 0..calm.log.len() {
            let mut world = World::new(one_unneeded());
            world.fault = Some((at, fault));
            world.run(LONG);
            let story = format!("{fault:?} at {at} ({:?})", world.log.get(at));
            assert_eq!(world.cluster.instances["sim:///n2"].state, InstanceState::Stopped, "{story}");
            assert_eq!(world.cluster.instances["sim:///n1"].state, InstanceState::Running, "{story}");
            assert!(world.stops <= 1, "{story}");
            assert!(world.cordoned().is_empty(), "{story}");
            assert!(world.engine.memory().ledger.removals.is_empty(), "{story}");
        }
    }
}

#[test]
fn budgets_hold_across_restarts() {
    let mut world = World::new(one_unneeded());
    world.run(Span::from_mins(2));
    let spent = world.engine.memory().ledger.removed.clone();
    assert_eq!(spent.len(), 1);
    for hours in [-24 * 365 * 10, -1, 1, 24 * 365 * 10] {
        let stored = world.stored.as_ref().map(|(_, body)| body.as_str());
        let mut engine = crate::engine::Engine::new(stored).unwrap();
        let now = world.now() + Span::from_hours(hours);
        let _ = engine.tick(now, world.cluster.observations());
        let after = &engine.memory().ledger.removed;
        assert_eq!(after.len(), 1);
        assert!(now.since(after[0].at) <= Span::from_mins(2), "{hours} hours: {:?}", after[0].at);
    }
}
