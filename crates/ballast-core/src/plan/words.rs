//! The words of every reason: what happened, with its numbers, and what would change it. Nowhere else are they worded.
//!
//! What lies in time is told from the reader's instant (`in 3m10s`), so those reasons take one.

use std::fmt;

use super::{
    ActionCode, ActionKind, HoldReason, Limit, Misfit, Offer, PodBlock, SkipReason, SourceTrouble, Subject,
    UnsafeToRemove, Waiting, WaitingOn,
};
use crate::observation::ErrorClass;
use crate::policy::Strategy;
use crate::units::{Span, Time};

/// A reason in words, as read at an instant.
pub trait Words {
    /// One sentence without its full stop.
    fn words(&self, now: Time) -> String;
}

/// `in 3m10s`, or `now` where it has come.
fn when(at: Time, now: Time) -> String {
    if at == Time::FAR_FUTURE {
        return "never by itself".to_owned();
    }
    match at.since(now) {
        Span::ZERO => "now".to_owned(),
        span => format!("in {}", span.rounded()),
    }
}

/// A count with its noun: `1 pod`, `2 pods`.
pub(crate) fn plural(count: u32, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

impl Words for HoldReason {
    fn words(&self, now: Time) -> String {
        match self {
            Self::SourceUnknown { source, why } => {
                format!("{source} {why}: what is unknown is never read as zero, so nothing is removed until it answers")
            }
            Self::Paused { reason } if reason.is_empty() => {
                "paused by a person, without a reason given; `ballast resume` lifts it".to_owned()
            }
            Self::Paused { reason } => format!("paused by a person: {reason}; `ballast resume` lifts it"),
            Self::LowerMode { mode } => {
                format!("its document says {mode:?}, which is less than the cluster's policy allows: nothing is done with it")
            }
            Self::LimitsNotSet => {
                "Enforce needs a limit on nodes and on cost; set limits.nodes and limits.costPerHour".to_owned()
            }
            Self::HealthGate { unready, managed } => format!(
                "{unready} of {managed} nodes are unwell; nothing is removed while more than health.maxUnreadyShare are"
            ),
            Self::NeverANode { count: 1, first } => {
                format!("instance {first} runs and is no node; Ballast did not make it and leaves it alone")
            }
            Self::NeverANode { count, first } => {
                format!("{count} instances, {first} the first, run and are no nodes; Ballast did not make them and leaves them alone")
            }
            Self::MachineGone { count: 1, first } => {
                format!("the machine of node {first} is gone; it counts for nothing, delete it")
            }
            Self::MachineGone { count, first } => {
                format!("the machines of {count} nodes, {first} the first, are gone; they count for nothing, delete them")
            }
            Self::RemovalBudget { limit } => {
                format!("{limit} is spent; removals go on as the window slides")
            }
            Self::GrowthBudget => "as many nodes are starting as the growth budget allows; the next follow as these become ready".to_owned(),
            Self::ProtectionCap { namespace, nodes, cap } => format!(
                "pods of {namespace} are annotated to keep {}; `tenants` lets them keep {cap}, those whose pods are there longest",
                plural(*nodes, "node")
            ),
            Self::CoolDown => "a node was added a short while ago; nothing is removed until the cool-down has passed".to_owned(),
            Self::TooMuchUnderWay { waiting } => {
                format!("as much is under way as can be at once; {} as it ends", follow(*waiting))
            }
            Self::StepsUsedUp => "this plan's count of steps was used up; the rest follows with the next plan".to_owned(),
            Self::PlanRefused => "the check found a broken promise in the plan, so none of it is applied".to_owned(),
            Self::Conflict { with } => {
                format!("{with} acts on the same target; Ballast stays away until only one of them does")
            }
            Self::NotFollowed { size, since } => {
                format!("size {size} was written {} ago and is not followed; no further move until it is", now.since(*since).rounded())
            }
            Self::Changing => "its last change has not ended; the next follows when it has".to_owned(),
            Self::NotAllRemovable { name } => {
                format!("its controller picks who goes and could pick {name}, which must stay")
            }
            Self::Settling => "its master began a short while ago and does not know all of it yet".to_owned(),
            Self::MetricUnknown { metric } => {
                format!("metric {metric} cannot be reckoned: what is unknown never shrinks anything")
            }
            Self::LossDoesNotPay => "what the cache would lose costs more than it would save".to_owned(),
            Self::Invalid { message } => format!("not valid: {message}"),
        }
    }
}

impl fmt::Display for SourceTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSynced => f.write_str("has not answered yet"),
            Self::Failed(class) => write!(f, "failed ({class})"),
            Self::Stale(age) => write!(f, "last answered {} ago", age.rounded()),
            Self::Ahead(by) => write!(f, "gave an answer from {} in the future", by.rounded()),
            Self::SuddenlyShrunk => f.write_str("shrank suddenly and has not been so for long enough"),
        }
    }
}

impl SourceTrouble {
    /// What is wrong, without anything that passes with time.
    pub fn cause(&self) -> String {
        match self {
            Self::Stale(_) => "has not answered for too long".to_owned(),
            Self::Ahead(_) => "gave an answer from the future".to_owned(),
            Self::NotSynced | Self::Failed(_) | Self::SuddenlyShrunk => self.to_string(),
        }
    }
}

impl SkipReason {
    /// Why, without what passes or would change it: alike for all that are stuck alike.
    pub fn cause(&self) -> String {
        match self {
            Self::AtLimit { limit: Limit::Growth } => "the growth budget is spent for now".to_owned(),
            Self::AtLimit { limit } => format!("{limit} leaves too little room"),
            Self::BackOff { class, .. } => format!("a launch failed ({class})"),
            Self::Quarantined { strikes } => format!("{strikes} launches in a row never joined"),
            Self::Paused { cluster, reason } => {
                let what = if *cluster { "the cluster is paused" } else { "the pool is paused" };
                if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
            }
            Self::Mode => {
                "the pool's own mode is below the cluster's, so nothing is started there".to_owned()
            }
            Self::DoesNotFit { misfit } => format!("a new node of this pool would not do: {misfit}"),
            Self::PartOfGang { members } => {
                format!(
                    "room for only {} of the gang, and a gang gets all or nothing",
                    plural(*members, "member")
                )
            }
            Self::NotBest { chosen, by, offer, better } => {
                let rule = match by {
                    Strategy::Price => "price",
                    Strategy::LeastWaste => "least waste",
                    Strategy::Priority => "priority",
                };
                format!(
                    "would do with a node for {offer}, but {chosen} serves better by {rule}, with one for {better}"
                )
            }
            Self::NothingToStart => {
                "nothing is stopped that could be started, and the pool may not create".to_owned()
            }
            Self::ZoneUnknown => {
                "what could be started is in a zone that its provider does not tell, and this demands one"
                    .to_owned()
            }
            Self::Unknown => "the pool's instances are not known, so none is counted on".to_owned(),
        }
    }

    /// When it ends, or what would end it.
    fn remedy(&self, now: Time) -> Option<String> {
        Some(match self {
            Self::AtLimit { limit: Limit::Growth } => {
                "more may start as those under way become ready".to_owned()
            }
            Self::AtLimit { .. } => "raise it to let this pool serve".to_owned(),
            Self::BackOff { until, .. } => format!("tried again {}", when(*until, now)),
            Self::Quarantined { .. } => {
                "quarantined until one is seen to join or a person lifts it".to_owned()
            }
            Self::Mode => "raise it to let it serve".to_owned(),
            _ => return None,
        })
    }
}

impl Words for SkipReason {
    fn words(&self, now: Time) -> String {
        match self.remedy(now) {
            Some(remedy) => format!("{}; {remedy}", self.cause()),
            None => self.cause(),
        }
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waste = f64::from(self.waste_milli) / 10.0;
        write!(f, "{} at {} per hour, {waste}% unused", plural(self.pods, "pod"), self.price)
    }
}

impl Words for UnsafeToRemove {
    fn words(&self, now: Time) -> String {
        match self {
            Self::NotManaged => "belongs to no pool of Ballast's".to_owned(),
            Self::ScaleDownOff => "its pool's scaleDown is off".to_owned(),
            Self::DoNotDisrupt => "the node is annotated do-not-disrupt".to_owned(),
            Self::ControlPlane => {
                "runs the control plane or Ballast itself, which is never touched".to_owned()
            }
            Self::AtMinimum => "the pool would fall below its minimum".to_owned(),
            Self::Utilised { share } => format!("in use: {share} of its scarcest resource is requested"),
            Self::TooSoon { at } => format!("unneeded, but not for long enough; may go {}", when(*at, now)),
            Self::PodBlocks { pod, namespace, why } => format!("pod {namespace}/{pod} must stay: it {why}"),
            Self::NoPlaceFor { pod, namespace } => format!("pod {namespace}/{pod} would fit nowhere else"),
            Self::NeededByGrant => "pods or a gang that were granted a place will need it".to_owned(),
            Self::HeldForGang { gang, until } => {
                format!("kept for gang {gang}, of which not all fits yet; given back {}", when(*until, now))
            }
            Self::DoesNotPay { saves, costs } => {
                format!("it would not pay: stopping it saves {saves}, and costs {costs} in restarts and lost work")
            }
            Self::Mode => {
                "could go, but the pool's own mode is below the cluster's; raise it to let it go".to_owned()
            }
            Self::Budget { limit } => format!("{limit} is spent; it may go as the window slides"),
            Self::CoolDown { until } => {
                format!("a node was added to the pool a short while ago; may go {}", when(*until, now))
            }
            Self::HealthGate => "too much of the pool is unwell, so nothing is removed".to_owned(),
            Self::BeingRemoved => "on its way out already".to_owned(),
            Self::InstanceUnknown => {
                "its instance is not known at the provider, so it is left alone".to_owned()
            }
            Self::SharedMachine => {
                "another Node object has its providerID, so it may be work of this machine that would go; delete \
                 the object that is of the past"
                    .to_owned()
            }
            Self::CordonedByOther => "somebody else cordoned it, so it is theirs".to_owned(),
        }
    }
}

impl Words for Waiting {
    /// What it waits for; how many do is told where that is not all of the subject.
    fn words(&self, now: Time) -> String {
        let is_all = self.pods() == self.subject.pods();
        let do_it = |count: u32, one: &str, many: &str| {
            let verb = if count == 1 { one } else { many };
            if is_all { verb.to_owned() } else { format!("{count} {verb}") }
        };
        let fit = |count: u32| do_it(count, "fits", "fit");
        match &self.on {
            WaitingOn::Scheduler { count } => {
                format!("{} on nodes that are there; the scheduler will place them", fit(*count))
            }
            WaitingOn::Starting { count, pool, ready_at } => {
                let ready = ready(*ready_at, now);
                format!("{} on nodes of {pool} that are starting and should be ready {ready}", fit(*count))
            }
            WaitingOn::Growth { count, pool, ready_at } => {
                let first = ready_at.map(|at| format!(": the first should be ready {}", ready(at, now)));
                let (waits, first) = (do_it(*count, "waits", "wait"), first.unwrap_or_default());
                format!(
                    "{waits} for nodes of {pool} that start as those under way become ready, as the growth budget demands{first}"
                )
            }
            WaitingOn::Planned { count, pool } => {
                format!("{} on nodes of {pool} that this plan starts", fit(*count))
            }
            WaitingOn::Quota { count, resource } => {
                let (go, cause) = (do_it(*count, "goes", "go"), "no node is started for it");
                format!("{go} beyond the quota of {resource} that `tenants` gives the namespace: {cause}")
            }
            WaitingOn::Gang { present, needed } => {
                format!("{present} of the gang's {needed} members are there")
            }
            WaitingOn::Drain { pods } => format!("{} still to leave", plural(*pods, "pod")),
            WaitingOn::Completion { pods } => {
                format!("{} still at work, which runs to its end", plural(*pods, "pod"))
            }
            WaitingOn::Preemption { count, node } => {
                format!("the scheduler makes room for {count} by preemption, on {node} first")
            }
            WaitingOn::SchedulingGate | WaitingOn::VolumeBinding { .. } => self.on.cause(),
        }
    }
}

impl WaitingOn {
    /// For what, without counts and times: alike for all that wait alike.
    pub fn cause(&self) -> String {
        match self {
            Self::Scheduler { .. } => "fits on nodes that are there".to_owned(),
            Self::Starting { pool, .. } => format!("nodes of {pool} are starting"),
            Self::Planned { pool, .. } => format!("nodes of {pool} are about to start"),
            Self::Growth { pool, .. } => format!("nodes of {pool} start as the growth budget allows"),
            Self::Quota { resource, .. } => format!("beyond the quota of {resource} of its namespace"),
            Self::Gang { .. } => "members of its gang are missing".to_owned(),
            Self::Drain { .. } => "pods have still to leave".to_owned(),
            Self::Completion { .. } => "pods are still at work".to_owned(),
            Self::SchedulingGate => "a scheduling gate that somebody else opens".to_owned(),
            Self::VolumeBinding { claim } => {
                format!("claim {claim} is not bound, and the scheduler waits until somebody binds it")
            }
            Self::Preemption { .. } => "the scheduler makes room for it by preemption".to_owned(),
        }
    }
}

fn ready(at: Time, now: Time) -> String {
    match at.since(now) {
        span if span < Span::from_secs(1) => "any moment".to_owned(),
        span => format!("in {}", span.rounded()),
    }
}

fn follow(count: u32) -> String {
    if count == 1 { "1 action follows".to_owned() } else { format!("{count} actions follow") }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PoolMax => f.write_str("the pool's max"),
            Self::PoolMin => f.write_str("the pool's min"),
            Self::Nodes => f.write_str("the cluster's limit on nodes"),
            Self::Cores => f.write_str("the cluster's limit on cores"),
            Self::Memory => f.write_str("the cluster's limit on memory"),
            Self::Gpus(model) if &**model == "*" => f.write_str("the cluster's limit on GPUs"),
            Self::Gpus(model) => write!(f, "the cluster's limit on {model} GPUs"),
            Self::CostPerHour => f.write_str("the cluster's limit on cost per hour"),
            Self::Growth => f.write_str("the growth budget"),
            Self::PoolRemovalBudget => f.write_str("the pool's removal budget"),
            Self::ClusterRemovalBudget => f.write_str("the cluster's removal budget"),
            Self::WorkloadMax => f.write_str("the workload's most"),
            Self::WorkloadMin => f.write_str("the workload's least"),
            Self::MaxLoad => f.write_str("the share of the cluster beyond which no job grows"),
            Self::Rate => f.write_str("the rate at which the workload may change"),
            Self::Quota => f.write_str("the namespace's quota"),
            Self::Granted => f.write_str("what the grant could give"),
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StockOut => "the cloud has none to give",
            Self::Quota => "a quota is used up",
            Self::Throttled => "too many requests",
            Self::Conflict => "something else changed it meanwhile",
            Self::NotFound => "it is not there",
            Self::Auth => "not allowed",
            Self::Invalid => "the request itself is wrong",
            Self::Transient => "a passing failure",
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("cluster"),
            Self::Pool { name } => write!(f, "pool {name}"),
            Self::Node { name } => write!(f, "node {name}"),
            Self::Instance { name } => write!(f, "instance {name}"),
            Self::Pods { namespace, name, count: 1, gang, .. } => {
                write!(f, "pod {namespace}/{name}")?;
                if gang.is_empty() { Ok(()) } else { write!(f, " of gang {gang}") }
            }
            Self::Pods { namespace, workload, count, gang, .. } if gang.is_empty() => {
                write!(f, "{count} pods of {namespace}/{workload}")
            }
            Self::Pods { namespace, count, gang, .. } => {
                write!(f, "{count} pods of gang {namespace}/{gang}")
            }
            Self::Workload { namespace, name, object: None } => write!(f, "workload {namespace}/{name}"),
            Self::Workload { namespace, name, object: Some(object) } => {
                write!(f, "{} {namespace}/{name}", object.kind)
            }
        }
    }
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StartInstance => "start",
            Self::CreateInstance => "create",
            Self::StopInstance => "drain and stop",
            Self::ReleaseInstance => "release",
            Self::CordonNode => "cordon",
            Self::UncordonNode => "uncordon",
            Self::ResizeJob => "resize job",
            Self::SetReplicas => "set replicas",
            Self::ResizeRayGroup => "resize Ray group",
            Self::RemoveRayWorker => "remove Ray worker",
            Self::CreateSparkWorker => "create Spark worker",
            Self::RemoveSparkWorker => "remove Spark worker",
        })
    }
}

impl fmt::Display for ActionCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PendingPods => "pods wait that fit nowhere",
            Self::PendingGang => "a gang waits that fits nowhere",
            Self::ProvisioningRequest => "room is missing that was requested ahead of pods",
            Self::BelowMinimum => "the pool is below its minimum",
            Self::Headroom => "the headroom that the pool shall keep free is not there",
            Self::Granted => "a workload's wish was granted",
            Self::Unneeded => "the node has been unneeded for long enough",
            Self::AboveMaximum => "the pool is above its maximum",
            Self::NeverJoined => "the instance never became a usable node",
            Self::GangGivenUp => "a gang could not be completed by its deadline, so its part is given back",
            Self::CordonNotNeeded => "our own cordon is not needed any more",
            Self::Yielded => "a workload makes room for another",
            Self::Surplus => "the job takes what nobody else needs",
            Self::MetricAboveTarget => "a metric is above its target",
            Self::MetricsBelowTarget => "all metrics are below their targets",
            Self::Band => "a metric is in a band that moves it",
            Self::Demand => "there is so much to serve",
            Self::Schedule => "the schedule says so",
            Self::Fallback => "a source fails, and the fallback holds",
            Self::Evidence => "what was served is gone, so that there is no need to wait",
            Self::RayDemand => "the Ray cluster asks for it",
            Self::IdleBuffer => "so many workers shall stand ready beside those in use",
            Self::Idle => "the worker has been idle for long enough",
        })
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unschedulable => f.write_str("the node is cordoned"),
            Self::Taint(key) => write!(f, "taint `{key}` is not tolerated"),
            Self::NodeAffinity => f.write_str("node selector or affinity does not match"),
            Self::Volume => f.write_str("a volume is bound to another place"),
            Self::HostPort => f.write_str("a host port is taken"),
            Self::Resource(name) => write!(f, "not enough {name}"),
            Self::GpuDevices => f.write_str("too few free GPUs"),
            Self::PodAffinity => f.write_str("required pod affinity is not met"),
            Self::PodAntiAffinity => f.write_str("pod anti-affinity forbids it"),
            Self::TopologySpread => f.write_str("the spread would become too uneven"),
        }
    }
}

impl fmt::Display for PodBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bare => "has no controller that would make it anew",
            Self::DoNotDisrupt => "is annotated do-not-disrupt",
            Self::NotSafeToEvict => "is annotated safe-to-evict: false",
            Self::LocalStorage => "has local data",
            Self::System => "is a system pod without a disruption budget",
            Self::DisruptionBudget => "is covered by a disruption budget that allows none",
            Self::SeveralBudgets => {
                "is covered by several disruption budgets, and the eviction API then refuses"
            }
            Self::VolumeUnknown => "has volumes that are not known, and so where else it could go",
            Self::GangMember => "is a member of a running gang",
            Self::OnCompletion => "shall run to its end",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_from_the_readers_instant() {
        let now = Time::from_secs(1000);
        let back_off =
            SkipReason::BackOff { class: ErrorClass::StockOut, until: now + Span::from_millis(190_250) };
        assert_eq!(back_off.words(now), "a launch failed (the cloud has none to give); tried again in 3m10s");
        assert!(back_off.words(now + Span::from_mins(10)).ends_with("tried again now"));
        let too_soon = UnsafeToRemove::TooSoon { at: Time::FAR_FUTURE };
        assert!(too_soon.words(now).ends_with("never by itself"));
    }

    #[test]
    fn one_is_not_many() {
        let subject = Subject::Node { name: "n1".into() };
        let told =
            |pods| Waiting { subject: subject.clone(), on: WaitingOn::Drain { pods } }.words(Time::ZERO);
        assert_eq!((&*told(1), &*told(2)), ("1 pod still to leave", "2 pods still to leave"));
    }

    #[test]
    fn members_of_a_gang_are_told_by_its_name() {
        let told = |count, gang: &str| {
            let (namespace, workload, name) = ("ml".into(), "w-0".into(), "w-0".into());
            Subject::Pods { namespace, workload, name, count, gang: gang.into() }.to_string()
        };
        assert_eq!((&*told(1, ""), &*told(2, "")), ("pod ml/w-0", "2 pods of ml/w-0"));
        assert_eq!(
            (&*told(1, "bert"), &*told(2, "bert")),
            ("pod ml/w-0 of gang bert", "2 pods of gang ml/bert")
        );
    }

    #[test]
    fn how_many_wait_is_told_where_not_all_do() {
        let told = |all, count| {
            let (namespace, workload, name) = ("ml".into(), "etl".into(), "etl-1".into());
            let subject = Subject::Pods { namespace, workload, name, count: all, gang: "".into() };
            Waiting { subject, on: WaitingOn::Planned { count, pool: "cpu".into() } }.words(Time::ZERO)
        };
        assert_eq!(told(3, 3), "fit on nodes of cpu that this plan starts");
        assert_eq!(told(1, 1), "fits on nodes of cpu that this plan starts");
        assert_eq!(told(3, 1), "1 fits on nodes of cpu that this plan starts");
    }
}
