//! What is said of the ClusterPolicy and of each pool, from one instant of an engine.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::plan::{Shown, few};
use super::{ConditionReason, DocumentRef, LastAction, PlanSaid, PlanState, Published, Said, TenantStatus};
use crate::documents::DocumentKind;
use crate::kube::Name;
use crate::memory::{Approval, BackOff, Ledger};
use crate::observation::{ObjectKind, Source};
use crate::plan::{
    Action, ActionKind, Hold, HoldReason, Limit, Plan, PlanId, SkipReason, SourceTrouble, Subject, WaitingOn,
    plural,
};
use crate::policy::{Mode, Pause};
use crate::scalers::nodes::{Asked, Kept, kept};
use crate::snapshot::{PoolEntry, Snapshot};
use crate::units::{Money, Time};
use crate::view::{NodeState, PoolView, View};

/// Marks that other autoscalers leave on nodes.
const CLUSTER_AUTOSCALER_TAINT: &str = "ToBeDeletedByClusterAutoscaler";
const KARPENTER_LABEL: &str = "karpenter.sh/nodepool";
/// Namespaces that are told of by name: a status has its bounds, and whoever keeps most matters most.
const TENANTS_MAX: usize = 20;
/// Kinds without which nothing is decided, and nothing can be said of what stands in a plan.
pub(crate) const NEEDED: [ObjectKind; 5] = [
    ObjectKind::ClusterPolicy,
    ObjectKind::VmPool,
    ObjectKind::Node,
    ObjectKind::Pod,
    ObjectKind::PodDisruptionBudget,
];

/// What is known of an engine.
pub(crate) struct Parts<'a> {
    pub(crate) now: Time,
    pub(crate) view: &'a View,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) ledger: &'a Ledger,
    pub(crate) plan: Option<&'a Plan>,
    /// What buffers and requests came to when it was made.
    pub(crate) asked: &'a [Asked],
    /// What it plans is carried out.
    pub(crate) acts: bool,
    /// The name of the ClusterPolicy, where there is one.
    pub(crate) policy: Option<&'a Name>,
    /// What was last begun in each pool.
    pub(crate) begun: &'a BTreeMap<Name, LastAction>,
    /// The plan that was approved in a ledger that is not stored yet: nobody is told before it is sure.
    pub(crate) unstored: Option<(PlanId, Time)>,
}

/// Machines of a pool, or of all: those that are and those that shall be.
#[derive(Clone, Copy, Default)]
struct Sizes {
    current: u32,
    /// Those that are not on their way out.
    staying: u32,
    /// Planned and not begun.
    more: u32,
    fewer: u32,
    /// Under way.
    coming: u32,
    leaving: u32,
}

/// What is said of every document that the engine knows.
pub(crate) fn publish(parts: &Parts<'_>) -> Published {
    let foreign = parts.foreign();
    let (mut documents, mut all) = (BTreeMap::new(), Sizes::default());
    for (pool, view) in parts.snapshot.pools.iter().zip(&parts.view.pools) {
        let sizes = parts.sizes(view);
        all.add(sizes);
        let (kind, namespace) = (DocumentKind::VmPool, Name::default());
        let with = foreign.get(&pool.name).copied();
        let said = parts.of_pool(pool, view, sizes, with);
        documents.insert(DocumentRef { kind, namespace, name: pool.name.clone() }, said);
    }
    if let Some(name) = parts.policy {
        let (kind, namespace) = (DocumentKind::ClusterPolicy, Name::default());
        let said = parts.of_cluster(all, foreign.values().next().copied());
        documents.insert(DocumentRef { kind, namespace, name: name.clone() }, said);
    }
    Published { documents, asks: super::ask::asks(parts) }
}

impl Parts<'_> {
    fn of_pool(
        &self,
        pool: &PoolEntry,
        view: &PoolView,
        sizes: Sizes,
        foreign: Option<&'static str>,
    ) -> Said {
        let cluster = &self.snapshot.policy;
        let mode = pool.spec.mode.unwrap_or(cluster.mode).min(cluster.mode);
        let limit = self.limit_of(&pool.name);
        let pause = both(&cluster.pause.at(self.now), &pool.spec.pause.at(self.now));
        Said {
            mode,
            current: Some(sizes.current),
            desired: Some(sizes.desired()),
            limited_by: limit.as_ref().map(Limit::code),
            pending: Some(self.waiting_for(&pool.name)),
            cost_per_hour: Some(view.cost_per_hour.to_string().into()),
            last_action: self.begun.get(&pool.name).cloned(),
            conditions: vec![
                self.provider(&pool.name),
                sizes.active(mode),
                limit.map_or(ConditionReason::WithinLimits, ConditionReason::AtLimit),
                paused(pause),
                self.pool_degraded(pool),
                conflicted(foreign),
            ],
            plan: None,
            approvals: Vec::new(),
            tenants: Vec::new(),
        }
    }

    fn of_cluster(&self, sizes: Sizes, foreign: Option<&'static str>) -> Said {
        let policy = &self.snapshot.policy;
        let limit = self.cluster_limit();
        let newest = self.begun.values().max_by_key(|action| action.at);
        Said {
            mode: policy.mode,
            current: Some(sizes.current),
            desired: Some(sizes.desired()),
            limited_by: limit.as_ref().map(Limit::code),
            pending: Some(self.snapshot.pending.values().map(|queue| queue.len() as u32).sum()),
            cost_per_hour: Some(self.view.cost_per_hour.to_string().into()),
            last_action: newest.cloned(),
            conditions: vec![
                self.cluster_ready(),
                sizes.active(policy.mode),
                limit.map_or(ConditionReason::WithinLimits, ConditionReason::AtLimit),
                paused(policy.pause.at(self.now)),
                self.cluster_degraded(),
                conflicted(foreign),
            ],
            plan: self.plan_said(),
            approvals: self.approvals(),
            tenants: self.tenants(),
        }
    }

    /// What namespaces keep by annotations of their pods: those that keep most.
    fn tenants(&self) -> Vec<TenantStatus> {
        let mut all: Vec<_> = kept(self.snapshot).collect();
        all.sort_by_key(|kept| Reverse(kept.nodes));
        let told = all.into_iter().take(TENANTS_MAX).map(|Kept { namespace, nodes, cap }| TenantStatus {
            namespace: namespace.clone(),
            protected_nodes: nodes,
            cap,
        });
        told.collect()
    }

    /// Counts machines and what is planned of them. What a plan asks for that has come to be meanwhile counts once.
    fn sizes(&self, pool: &PoolView) -> Sizes {
        let own = || self.view.nodes.iter().filter(|node| node.pool == pool.name);
        let is_leaving = |state: NodeState| matches!(state, NodeState::Draining | NodeState::Stopping);
        let current = own().filter(|node| node.state != NodeState::Stopped);
        let staying = current.clone().filter(|node| !is_leaving(node.state)).count() as u32;
        let states: BTreeMap<&Name, NodeState> = own().map(|node| (&node.name, node.state)).collect();
        let is_up = |action: &Action| {
            let state = states.get(&action.target.name).copied().unwrap_or(NodeState::Stopped);
            state != NodeState::Stopped && !is_leaving(state)
        };
        let planned = || self.view.actions.iter().filter(|action| action.target.pool == pool.name);
        let ledger = self.ledger;
        Sizes {
            current: current.count() as u32,
            staying,
            more: planned().filter(|action| is_launch(action) && !is_up(action)).count() as u32,
            fewer: planned().filter(|action| is_removal(action) && is_up(action)).count() as u32,
            coming: ledger.launches.values().filter(|launch| launch.pool == pool.name).count() as u32,
            leaving: ledger.removals.values().filter(|removal| removal.pool == pool.name).count() as u32,
        }
    }

    /// Pods that wait for nodes of a pool.
    fn waiting_for(&self, name: &Name) -> u32 {
        let waiting = self.plan.map(|plan| plan.report.waiting.as_slice()).unwrap_or_default();
        let concerns = |on: &WaitingOn| match on {
            WaitingOn::Starting { pool, .. }
            | WaitingOn::Planned { pool, .. }
            | WaitingOn::Growth { pool, .. } => pool == name,
            _ => false,
        };
        waiting.iter().filter(|wait| concerns(&wait.on)).map(|wait| wait.pods()).sum()
    }

    /// The limit that keeps a pool from growing, or from shrinking.
    fn limit_of(&self, name: &Name) -> Option<Limit> {
        let report = &self.plan?.report;
        let at_limit = |reason: &SkipReason| match reason {
            SkipReason::AtLimit { limit } => Some(limit.clone()),
            _ => None,
        };
        let verdicts = report.infeasible.iter().flat_map(|left| &left.pools);
        let verdicts = verdicts.filter(|own| own.pool == *name).filter_map(|own| at_limit(&own.reason));
        let skipped = report.skipped.iter().filter(|own| own.pool == *name);
        let skipped = skipped.filter_map(|own| at_limit(&own.reason));
        let actions = self.view.actions.iter().filter(|action| action.target.pool == *name);
        let actions = actions.filter_map(|action| action.reason.limit.clone());
        let subject = Subject::Pool { name: name.clone() };
        let held = self.holds(&subject).filter_map(held_by);
        verdicts.chain(skipped).chain(actions).chain(held).next()
    }

    /// The limit of the whole cluster that binds in a pool, or in all of them.
    fn cluster_limit(&self) -> Option<Limit> {
        let in_pools = self.snapshot.pools.iter().filter_map(|pool| self.limit_of(&pool.name));
        let of_cluster = |limit: &Limit| {
            matches!(
                limit,
                Limit::Nodes
                    | Limit::Cores
                    | Limit::Memory
                    | Limit::Gpus(_)
                    | Limit::CostPerHour
                    | Limit::Growth
                    | Limit::ClusterRemovalBudget
            )
        };
        in_pools.chain(self.holds(&Subject::Cluster).filter_map(held_by)).find(of_cluster)
    }

    fn holds(&self, subject: &Subject) -> impl Iterator<Item = &HoldReason> {
        self.view.holds.iter().filter(move |hold| hold.subject == *subject).map(|Hold { reason, .. }| reason)
    }

    /// Whether whoever runs the machines of a pool answers.
    fn provider(&self, pool: &Name) -> ConditionReason {
        match self.snapshot.trouble(&Source::instances(pool), self.now) {
            Some(SourceTrouble::NotSynced) => {
                ConditionReason::NotSynced { source: "the provider of its machines".to_owned() }
            }
            Some(SourceTrouble::Failed(class)) => ConditionReason::ProviderUnusable { class },
            _ => ConditionReason::Ready,
        }
    }

    fn cluster_ready(&self) -> ConditionReason {
        let is_unheard = |kind: &ObjectKind| {
            let source = Source::kubernetes(*kind);
            self.snapshot.trouble(&source, self.now) == Some(SourceTrouble::NotSynced)
        };
        if let Some(kind) = NEEDED.into_iter().find(is_unheard) {
            return ConditionReason::NotSynced { source: format!("the list of {}s", kind.name()) };
        }
        match self.holds(&Subject::Cluster).any(|hold| *hold == HoldReason::LimitsNotSet) {
            true => ConditionReason::LimitsNotSet,
            false => ConditionReason::Ready,
        }
    }

    fn cluster_degraded(&self) -> ConditionReason {
        let all: Vec<ConditionReason> = self.holds(&Subject::Cluster).filter_map(degraded).collect();
        let gravest = all.iter().find(|reason| **reason == ConditionReason::PlanRefused);
        gravest.or(all.first()).cloned().unwrap_or(ConditionReason::AllWell)
    }

    fn pool_degraded(&self, pool: &PoolEntry) -> ConditionReason {
        let subject = Subject::Pool { name: pool.name.clone() };
        if let Some(held) = self.holds(&subject).find_map(degraded) {
            return held;
        }
        let strikes = self.ledger.strikes.get(&pool.name).copied().unwrap_or(0);
        if strikes >= self.snapshot.policy.health.strikes.max(1) {
            return ConditionReason::Quarantined { strikes };
        }
        let concerns = |entry: &&BackOff| {
            let of_type = ["", pool.instance_type()].contains(&&*entry.key.instance_type);
            entry.key.pool == pool.name && of_type && self.now < entry.until
        };
        let backed_off = self.ledger.back_off.iter().find(concerns);
        backed_off.map_or(ConditionReason::AllWell, |entry| ConditionReason::BackOff { class: entry.class })
    }

    /// Pools with nodes that carry the marks of another autoscaler, and whose.
    fn foreign(&self) -> BTreeMap<&Name, &'static str> {
        let mark = |node: &crate::snapshot::NodeEntry| {
            let object = node.node.as_ref()?;
            let pool = &self.snapshot.pools[node.pool? as usize].name;
            if object.spec.taints.iter().any(|taint| &*taint.key == CLUSTER_AUTOSCALER_TAINT) {
                return Some((pool, "cluster-autoscaler"));
            }
            node.label(KARPENTER_LABEL).map(|_| (pool, "Karpenter"))
        };
        self.snapshot.nodes().filter_map(mark).collect()
    }

    /// What is published of the plan: nothing in `Observe`, where nobody could approve it.
    fn plan_said(&self) -> Option<PlanSaid> {
        let (plan, mode) = (self.plan?, self.snapshot.policy.mode);
        let is_refused = self.holds(&Subject::Cluster).any(|hold| *hold == HoldReason::PlanRefused);
        // What takes a removal back needs nobody's yes: it is done by itself, or belongs to what another mode has begun.
        let is_asked = |action: &&Action| mode == Mode::Enforce || action.kind != ActionKind::UncordonNode;
        let actions: Vec<Action> = plan.actions.iter().filter(is_asked).cloned().collect();
        let state = match mode {
            Mode::Observe => return None,
            _ if actions.is_empty() => PlanState::Empty,
            _ if is_refused => PlanState::Refused,
            Mode::Recommend => PlanState::Proposed,
            Mode::Enforce => PlanState::UnderWay,
        };
        let shown = Shown::of(&actions);
        let summary = self.summary(&shown.actions);
        let mut said = PlanSaid::of(shown, state, summary);
        if is_refused {
            let told: Vec<String> =
                plan.report.promises.iter().map(|note| note.message.to_string()).collect();
            said.message = few(&told);
        } else if mode == Mode::Enforce {
            // All of it is done, also what is not shown.
            said.message.clear();
        }
        if mode == Mode::Enforce {
            let launches = self.ledger.launches.values().filter_map(|launch| launch.decision);
            let removals = self.ledger.removals.values().filter_map(|removal| removal.decision);
            said.under_way = launches.chain(removals).map(|decision| decision.plan).collect();
        }
        Some(said)
    }

    fn approvals(&self) -> Vec<Approval> {
        let is_sure = |own: &&Approval| self.unstored != Some((own.plan, own.made_at));
        self.ledger.approvals.iter().filter(is_sure).cloned().collect()
    }

    /// `2 nodes more, 1 less; 12.40 → 13.40 USD an hour`
    fn summary(&self, actions: &[Action]) -> String {
        let more = actions.iter().filter(|action| is_launch(action));
        let fewer = actions.iter().filter(|action| is_removal(action));
        let price = |action: &Action| {
            let pool = self.snapshot.pool_named(&action.target.pool).map(|pool| pool.spec.price);
            let running =
                pool.and_then(|price| price.per_hour).unwrap_or_else(|| self.snapshot.assumed_price());
            running - pool.map_or(Money::ZERO, |price| price.stopped_per_hour)
        };
        let after = self.view.cost_per_hour + more.clone().map(price).sum() - fewer.clone().map(price).sum();
        let (more, fewer) = (more.count() as u32, fewer.count() as u32);
        let nodes = match (more, fewer) {
            (0, 0) if actions.is_empty() => return "nothing to do".to_owned(),
            (0, 0) => return plural(actions.len() as u32, "action"),
            (more, 0) => format!("{} more", plural(more, "node")),
            (0, fewer) => format!("{} less", plural(fewer, "node")),
            (more, fewer) => format!("{} more, {fewer} less", plural(more, "node")),
        };
        let (before, currency) = (self.view.cost_per_hour, &self.snapshot.policy.currency);
        format!("{nodes}; {before} → {after} {currency} an hour")
    }
}

impl Sizes {
    fn add(&mut self, other: Self) {
        // Taken apart in full, so that no field is left out of a sum.
        let Self { current, staying, more, fewer, coming, leaving } = other;
        self.current += current;
        self.staying += staying;
        self.more += more;
        self.fewer += fewer;
        self.coming += coming;
        self.leaving += leaving;
    }

    fn desired(self) -> u32 {
        (self.staying + self.more).saturating_sub(self.fewer)
    }

    fn active(self, mode: Mode) -> ConditionReason {
        let is_planned = self.more + self.fewer > 0;
        let begins = u32::from(mode == Mode::Enforce);
        let (coming, leaving) = (self.coming + self.more * begins, self.leaving + self.fewer * begins);
        match (coming, leaving) {
            (0, 0) if is_planned => ConditionReason::OnlyRecommends { mode },
            (0, 0) => ConditionReason::AtRest,
            (coming, 0) => ConditionReason::Growing { coming },
            (0, leaving) => ConditionReason::Shrinking { leaving },
            (coming, leaving) => ConditionReason::Changing { coming, leaving },
        }
    }
}

/// What a hold says of how well Ballast can do its work.
fn degraded(hold: &HoldReason) -> Option<ConditionReason> {
    match hold.clone() {
        HoldReason::SourceUnknown { source, why } => Some(ConditionReason::SourceUnknown { source, why }),
        HoldReason::HealthGate { unready, managed } => Some(ConditionReason::HealthGate { unready, managed }),
        HoldReason::PlanRefused => Some(ConditionReason::PlanRefused),
        _ => None,
    }
}

fn held_by(hold: &HoldReason) -> Option<Limit> {
    match hold {
        HoldReason::RemovalBudget { limit } => Some(limit.clone()),
        HoldReason::GrowthBudget => Some(Limit::Growth),
        _ => None,
    }
}

/// What the cluster's pause and a pool's own hold still together; the pool's words come first.
fn both(cluster: &Pause, own: &Pause) -> Pause {
    let told = if own.up || own.down { own } else { cluster };
    let reason = told.reason.clone().or_else(|| cluster.reason.clone());
    Pause { up: cluster.up || own.up, down: cluster.down || own.down, reason, until: told.until }
}

fn paused(pause: Pause) -> ConditionReason {
    match pause.up || pause.down {
        true => ConditionReason::Paused(pause),
        false => ConditionReason::NotPaused,
    }
}

fn conflicted(foreign: Option<&'static str>) -> ConditionReason {
    foreign.map_or(ConditionReason::Alone, |with| ConditionReason::ForeignAutoscaler { with })
}

fn is_launch(action: &Action) -> bool {
    matches!(action.kind, ActionKind::StartInstance | ActionKind::CreateInstance)
}

fn is_removal(action: &Action) -> bool {
    matches!(action.kind, ActionKind::StopInstance | ActionKind::CordonNode | ActionKind::ReleaseInstance)
}
