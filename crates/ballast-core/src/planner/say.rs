//! Saying: who gets what, who waits for what, what the model does not know.

use std::collections::BTreeMap;

use crate::grant::{Bins, Capacity, Grant, Need, Place, Placement, Tier};
use crate::kube::Name;
use crate::plan::{Report, Unmodelled, Waiting, WaitingOn};
use crate::scalers::nodes::NodeWishes;
use crate::snapshot::Snapshot;
use crate::units::Time;

/// Where each wish has units on nodes that are not there yet: bin and units.
pub(super) struct Loads(Vec<Vec<(usize, u32)>>);

impl Loads {
    /// Of everything that was placed.
    pub(super) fn new(bins: &Bins<'_>, wishes: usize) -> Self {
        let mut loads = vec![Vec::new(); wishes];
        for (at, bin) in bins.new.iter().enumerate() {
            for &(wish, units) in &bin.load {
                loads[wish].push((at, units));
            }
        }
        Self(loads)
    }
}

/// What each wish gets, and where.
pub(super) fn grants(
    bins: &Bins<'_>,
    loads: &Loads,
    needs: &[Need<'_>],
    placements: &[Placement],
    wishes: &NodeWishes,
) -> Vec<Grant> {
    let mut grants: Vec<Option<Grant>> = vec![None; wishes.wishes.len()];
    for (need, placement) in needs.iter().zip(placements) {
        let wish = &wishes.wishes[need.wish];
        let mut places: BTreeMap<(Capacity, Name), u32> = BTreeMap::new();
        if placement.free > 0 {
            places.insert((Capacity::Free, Name::default()), placement.free);
        }
        for &(at, units) in &loads.0[need.wish] {
            let bin = &bins.new[at];
            let pool = bins.snapshot.pools[bin.pool as usize].name.clone();
            *places.entry((bin.capacity, pool)).or_default() += units;
        }
        grants[need.wish] = Some(Grant {
            scaler: wish.scaler,
            namespace: wish.namespace.clone(),
            workload: wish.workload.clone(),
            units: wish.have + need.count - placement.left,
            places: places
                .into_iter()
                .map(|((capacity, pool), units)| Place { capacity, pool, units })
                .collect(),
        });
    }
    grants.into_iter().flatten().collect()
}

/// Says what each need that was met waits for.
pub(super) fn waiting(
    bins: &Bins<'_>,
    loads: &Loads,
    needs: &[Need<'_>],
    placements: &[Placement],
    wishes: &NodeWishes,
    report: &mut Report,
) {
    for (need, placement) in needs.iter().zip(placements).filter(|(need, _)| need.tier != Tier::Headroom) {
        let subject = &wishes.subjects[need.wish];
        let mut say = |on: WaitingOn| report.waiting.push(Waiting { subject: subject.clone(), on });
        if placement.free > 0 {
            say(WaitingOn::Scheduler { count: placement.free });
        }
        let mut rising: BTreeMap<(bool, Name), (u32, Option<Time>)> = BTreeMap::new();
        for &(at, units) in &loads.0[need.wish] {
            let bin = &bins.new[at];
            let pool = bins.snapshot.pools[bin.pool as usize].name.clone();
            let entry = rising.entry((bin.ready_at.is_some(), pool)).or_default();
            *entry = (entry.0 + units, entry.1.max(bin.ready_at));
        }
        for ((_, pool), (count, ready_at)) in rising {
            say(match ready_at {
                Some(ready_at) => WaitingOn::Starting { count, pool, ready_at },
                None => WaitingOn::Planned { count, pool },
            });
        }
    }
}

/// Names what the model does not know.
pub(super) fn unmodelled(snapshot: &Snapshot, report: &mut Report) {
    let mut found: BTreeMap<Name, (u32, Name)> = BTreeMap::new();
    for (&slot, queue) in &snapshot.pending {
        let class = snapshot.class(slot);
        let mut note = |feature: Name| {
            let example = queue.first().map(|(_, name, _)| name.clone()).unwrap_or_default();
            let entry = found.entry(feature).or_insert((0, example.clone()));
            *entry = (entry.0 + queue.len() as u32, entry.1.clone().min(example));
        };
        class.unmodelled.iter().for_each(|feature| note(feature.clone()));
        // What is known well enough to plan with is told all the same.
        if class.gang.as_ref().is_some_and(|gang| gang.size == 0) {
            note("gang without a size: what is there counts as all of it".into());
        }
        let scheduler = &*class.key.spec.scheduler_name;
        if !scheduler.is_empty() && scheduler != "default-scheduler" {
            note(format!("scheduler {scheduler}: taken to place pods as the kube-scheduler does").into());
        }
    }
    let entries = found.into_iter().map(|(feature, (count, example))| Unmodelled { feature, count, example });
    report.unmodelled.extend(entries);
}
