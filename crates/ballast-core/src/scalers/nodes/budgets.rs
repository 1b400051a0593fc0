//! Budgets of removals: what is counted down while nodes are chosen.

use crate::grant::{Room, Rooms};
use crate::kube::Name;
use crate::memory::Memory;
use crate::observation::{ObjectKind, Source};
use crate::plan::{Limit, UnsafeToRemove};
use crate::policy::RemovalBudget;
use crate::snapshot::Snapshot;
use crate::units::{Share, Span, Time};

use super::leaving::still_to_leave;
use super::staying::covering;

/// No more than this share of a pool or cluster is removed within a window, whatever a document says, unless it lifts the
/// ceiling by name.
const CEILING: Share = Share::percent(34);

/// What is counted down while nodes are chosen.
pub(super) struct Budgets {
    pools: Vec<i64>,
    cluster: i64,
    /// Disruptions that each budget still allows.
    pub(super) disruptions: Vec<i64>,
    /// All claims and volumes there are have been told of.
    pub(super) volumes_known: bool,
}

impl Budgets {
    pub(super) fn new(snapshot: &Snapshot, memory: &Memory, rooms: &Rooms, now: Time) -> Self {
        let rules = &snapshot.policy.removal;
        // What is on its way out is spent already; counted among the nodes as well it would widen the share that may go.
        let staying = |room: &Room| room.size_before.saturating_sub(room.leaving);
        let managed = rooms.pools.iter().map(staying).sum();
        let spent = |window: Span, pool: Option<&Name>| {
            let since = now - window;
            let concerns = |name: &Name| pool.is_none_or(|pool| name == pool);
            let removed =
                memory.ledger.removed.iter().filter(|gone| gone.at > since && concerns(&gone.pool)).count();
            removed as i64
        };
        let pools = snapshot.pools.iter().zip(&rooms.pools).map(|(pool, room)| {
            let rule = pool.spec.budget.as_ref().unwrap_or(&rules.per_pool);
            left(rule, staying(room), spent(rule.window, Some(&pool.name)))
        });
        let volumes = [ObjectKind::PersistentVolume, ObjectKind::PersistentVolumeClaim];
        let mut budgets = Self {
            pools: pools.collect(),
            cluster: left(&rules.per_cluster, managed, spent(rules.per_cluster.window, None)),
            disruptions: snapshot.budgets.values().map(|budget| budget.allows()).collect(),
            volumes_known: volumes
                .into_iter()
                .all(|kind| snapshot.trouble(&Source::kubernetes(kind), now).is_none()),
        };
        for (_, pods) in still_to_leave(snapshot, memory) {
            budgets.disrupt(snapshot, &pods);
        }
        budgets
    }

    pub(super) fn bind(&self, pool: usize) -> Option<UnsafeToRemove> {
        if self.pools[pool] <= 0 {
            return Some(UnsafeToRemove::Budget { limit: Limit::PoolRemovalBudget });
        }
        (self.cluster <= 0).then_some(UnsafeToRemove::Budget { limit: Limit::ClusterRemovalBudget })
    }

    pub(super) fn spend(&mut self, snapshot: &Snapshot, pool: usize, displaces: &[u32]) {
        self.pools[pool] -= 1;
        self.cluster -= 1;
        self.disrupt(snapshot, displaces);
    }

    fn disrupt(&mut self, snapshot: &Snapshot, displaces: &[u32]) {
        for &pod in displaces {
            for at in covering(snapshot, snapshot.pod(pod).class).collect::<Vec<_>>() {
                self.disruptions[at] -= 1;
            }
        }
    }
}

/// What a budget still allows: its share of the nodes, at least one, less what was spent.
fn left(budget: &RemovalBudget, nodes: u32, spent: i64) -> i64 {
    let share = if budget.unlimited { budget.share } else { budget.share.min(CEILING) };
    let allowed =
        if share == Share::default() { 0 } else { share.of(u64::from(nodes) + spent as u64).max(1) };
    i64::try_from(allowed).unwrap_or(i64::MAX) - spent
}
