//! What time and money say against the removal of a node that is not needed.

use crate::memory::{LaunchKind, Memory};
use crate::plan::UnsafeToRemove;
use crate::policy::StopMode;
use crate::snapshot::{BaseState, NodeEntry, PoolEntry, Snapshot};
use crate::units::{Money, Span, Time};

/// What a displaced pod is away: a container whose image is at hand is placed and started within a few seconds. A hundred small
/// pods keep their node for ten minutes longer by that; at a whole minute each it would be two hours, and nodes full of small
/// services would never be emptied.
const MOVE: Span = Span::from_secs(6);

/// How fast a pool comes and when it last grew.
pub(super) struct Pace {
    boot: Span,
    last_added: Option<Time>,
}

impl Pace {
    pub(super) fn new(pool: &PoolEntry, memory: &Memory) -> Self {
        let added = memory.ledger.added.iter().filter(|added| added.pool == pool.name);
        let again = match pool.spec.stop {
            StopMode::Delete => LaunchKind::Create,
            StopMode::Deallocate => LaunchKind::Start,
        };
        Self {
            boot: memory.history.boot_p95(&pool.name, again).unwrap_or(pool.spec.times.boot),
            last_added: added.map(|added| added.at).max(),
        }
    }
}

/// What time says against the removal of a node that is not needed.
pub(super) fn not_yet(
    pool: &PoolEntry,
    node: &NodeEntry,
    pace: &Pace,
    price: Money,
    now: Time,
    since: Time,
    lost: Span,
) -> Option<UnsafeToRemove> {
    let rules = &pool.spec.scale_down;
    if let Some(until) = pace.last_added.map(|at| at + rules.cool_down).filter(|&until| now < until) {
        return Some(UnsafeToRemove::CoolDown { until });
    }
    let boot = pace.boot;
    let patience = match node.state {
        BaseState::NotReady => rules.unready_after,
        _ if rules.idle_after == Span::ZERO => Span::ZERO,
        _ => rules.idle_after.max(boot.times(2)),
    };
    if now < since + patience {
        return Some(UnsafeToRemove::TooSoon { at: since + patience });
    }
    if rules.payback { does_not_pay(pool, price, now.since(since), boot, lost) } else { None }
}

/// A node that has been idle for some time will, for want of better knowledge, stay so for as long again. What that saves
/// must be worth stopping it, starting it again, and what is lost of the work that it displaces.
fn does_not_pay(
    pool: &PoolEntry,
    price: Money,
    idle: Span,
    boot: Span,
    lost: Span,
) -> Option<UnsafeToRemove> {
    let per_hour = price.as_f64() - pool.spec.price.stopped_per_hour.as_f64();
    let saves = per_hour * idle.as_hours_f64();
    let again = boot.as_hours_f64() + pool.spec.times.stop.as_hours_f64();
    let costs = price.as_f64() * (again + lost.as_hours_f64());
    let amount = |value: f64| Money::from_f64(value.max(0.0)).unwrap_or_default();
    (price > Money::ZERO && saves < costs)
        .then(|| UnsafeToRemove::DoesNotPay { saves: amount(saves), costs: amount(costs) })
}

/// The time that displaced pods lose together: each is away for a moment, and work that has an end begins anew. It counts at
/// the price of the whole node, however little of it a pod takes: somebody waits for the work.
pub(super) fn lost(snapshot: &Snapshot, displaces: &[u32], now: Time) -> Span {
    let of_one = |&number: &u32| {
        let pod = snapshot.pod(number);
        // What leaves by itself loses nothing by a removal; a service has nothing to begin anew.
        let begins_anew = snapshot.class(pod.class).traits.finite && !pod.leaving;
        let started = pod.started.filter(|_| begins_anew);
        MOVE + started.map_or(Span::ZERO, |started| now.since(started))
    };
    displaces.iter().map(of_one).fold(Span::ZERO, |all, one| all + one)
}
