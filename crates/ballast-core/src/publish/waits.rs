//! What pods that wait are told: that a node comes, or why none does.

use std::collections::BTreeMap;

use super::{Event, EventReason, Regarding, RegardingKind};
use crate::foreign::discreet;
use crate::kube::Name;
use crate::memory::Ledger;
use crate::plan::{DecisionId, Infeasible, Report, SkipReason, Subject, WaitingOn};
use crate::snapshot::Snapshot;

/// Pods of one class that are told: who looks at one of a thousand alike looks at the first.
const TOLD_MAX: usize = 10;
/// Pools whose reasons are told, and bytes of what a person gave as one.
const POOLS_MAX: usize = 3;
const QUOTED_MAX: usize = 200;

/// What all pods of a class are told.
struct Wait {
    reason: EventReason,
    words: String,
    decision: Option<DecisionId>,
}

/// What is told to pods that wait. What is planned comes only where the engine `acts`.
pub(crate) fn pods_told(snapshot: &Snapshot, report: &Report, ledger: &Ledger, acts: bool) -> Vec<Event> {
    let waits = waits(report, ledger, acts);
    let mut events = Vec::new();
    for (&class, queue) in &snapshot.pending {
        let namespace = &snapshot.class(class).key.namespace;
        let Some((_, first, _)) = queue.first() else { continue };
        let Some(wait) = waits.get(&(namespace, first)) else { continue };
        for (_, name, pod) in queue.iter().take(TOLD_MAX) {
            let (namespace, uid) = (namespace.clone(), snapshot.pod(*pod).uid.clone());
            let regarding = Regarding { kind: RegardingKind::Pod, namespace, name: name.clone(), uid };
            events.push(Event::new(wait.reason, regarding, &wait.words, wait.decision));
        }
    }
    events
}

/// What a plan says of each class, by the first of its pods.
fn waits<'a>(report: &'a Report, ledger: &Ledger, acts: bool) -> BTreeMap<(&'a Name, &'a Name), Wait> {
    fn first(subject: &Subject) -> Option<(&Name, &Name)> {
        match subject {
            Subject::Pods { namespace, name, .. } => Some((namespace, name)),
            _ => None,
        }
    }
    let waiting = report.waiting.iter();
    let waiting = waiting.filter_map(|own| Some((first(&own.subject)?, waits_for(&own.on, ledger, acts)?)));
    let left = report.infeasible.iter().filter_map(|own| Some((first(&own.subject)?, no_node_fits(own))));
    // Of a class of which some are served and some are not, the latter is told.
    waiting.chain(left).collect()
}

fn waits_for(on: &WaitingOn, ledger: &Ledger, acts: bool) -> Option<Wait> {
    match on {
        // What is only proposed does not come, also where another's launch is under way in the same pool.
        WaitingOn::Planned { .. } if !acts => None,
        WaitingOn::Starting { pool, .. } | WaitingOn::Planned { pool, .. } => {
            let launches = ledger.launches.values().filter(|launch| launch.pool == *pool);
            let decision = launches.max_by_key(|launch| (launch.since, launch.decision))?.decision;
            let words = format!("a node of pool {pool} comes for it");
            Some(Wait { reason: EventReason::NodeComing, words, decision })
        }
        WaitingOn::Quota { .. } => {
            let words = format!("no node is started for it: {}", on.cause());
            Some(Wait { reason: EventReason::NoNodeFits, words, decision: None })
        }
        WaitingOn::Gang { present, needed } => {
            let words = format!("{present} of {needed} members of its gang are there: all of them or none");
            Some(Wait { reason: EventReason::GangWaits, words, decision: None })
        }
        _ => None,
    }
}

fn no_node_fits(left: &Infeasible) -> Wait {
    let pools = left.pools.iter().take(POOLS_MAX);
    let cause = |reason: &SkipReason| match reason {
        // A person wrote why.
        SkipReason::Paused { .. } => discreet(&reason.cause(), QUOTED_MAX),
        reason => reason.cause(),
    };
    let mut told: Vec<String> =
        pools.map(|verdict| format!("{}: {}", verdict.pool, cause(&verdict.reason))).collect();
    match left.pools.len().saturating_sub(POOLS_MAX) {
        0 if told.is_empty() => told.push("there is none".to_owned()),
        0 => {}
        more => told.push(format!("and {more} more")),
    }
    let words = format!("no pool can serve it now; {}", told.join("; "));
    Wait { reason: EventReason::NoNodeFits, words, decision: None }
}
