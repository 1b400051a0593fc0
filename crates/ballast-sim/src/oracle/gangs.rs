//! I-16: a gang gets all or nothing, and what was launched for it is kept for it while it forms.
//!
//! That a part is given back at its deadline is not judged here: removal budgets may hold it back for longer.

use ballast_core::kube::Name;
use ballast_core::plan::{ActionKind, Plan};
use ballast_core::procedure::Request;

use super::documents::identity;
use super::growth::{is_starting, kind_launched, kinds_launched};
use super::layout::Layout;
use super::{Forming, Oracle, Promised};
use crate::world::{Life, Power, World};

impl Oracle {
    /// Holds the launches of a plan against what waits.
    pub(super) fn check_launches(&mut self, world: &World, plan: &Plan) {
        let kinds = kinds_launched(world, plan);
        if kinds.is_empty() {
            return;
        }
        self.check_need_of_plan(world, &kinds);
        let mut gangs: Vec<&Name> = plan.actions.iter().map(|action| &action.gang).collect();
        gangs.retain(|gang| !gang.is_empty());
        gangs.dedup();
        for gang in gangs {
            let members = waiting_members(world, gang);
            let mut layout = Layout::on_open(world, &[]);
            let rising = (0..world.machines.len() as u32).filter(|&machine| is_starting(world, machine));
            rising.for_each(|machine| layout.open(world.machines[machine as usize].kind));
            kinds.iter().for_each(|&kind| layout.open(kind));
            taken_back(world, plan).for_each(|machine| layout.add(machine));
            self.still_to_come().for_each(|kind| layout.open(kind));
            // It comes with the cordon that it was stopped with, which the launch takes away at its end.
            let named = self.promised.keys().filter_map(|name| world.by_name.get(name).copied());
            named
                .filter(|&machine| has_come_cordoned(world, machine))
                .for_each(|machine| layout.add(machine));
            self.judge(world, "I-16", layout.take_all(&members, true), || {
                format!("nodes are launched for gang {gang}, and not all of it gets a place")
            });
        }
    }

    /// The kinds of the machines that plans launched and that their clouds were not asked for yet, or have not begun.
    pub(super) fn still_to_come(&self) -> impl Iterator<Item = u32> {
        self.promised.values().filter(|promised| !promised.came).map(|promised| promised.kind)
    }

    /// Notes what has come of all that was launched: what is stopped after it came does not come any more.
    pub(super) fn note_arrivals(&mut self, world: &World) {
        for (name, promised) in self.promised.iter_mut().filter(|(_, promised)| !promised.came) {
            let machine = world.by_name.get(name).map(|&machine| &world.machines[machine as usize]);
            promised.came = machine.is_some_and(|machine| machine.power.counts());
        }
    }

    /// Remembers what is launched, and for which gangs.
    pub(super) fn note_plan(&mut self, world: &World, plan: &Plan) {
        self.note_removals(world, plan);
        self.gangs_since.retain(|gang, _| !waiting_members(world, gang).is_empty());
        let (pools, gangs) = (&self.pools, &self.gangs_since);
        self.promised.retain(|_, promised| {
            let pool = &pools[world.kinds[promised.kind as usize].pool as usize];
            let is_late = world.now.since(promised.since) > pool.spec.times.boot_deadline;
            !is_late || gangs.contains_key(&promised.gang)
        });
        for action in &plan.actions {
            let Some(kind) = kind_launched(world, action) else { continue };
            let (gang, target) = (action.gang.clone(), &action.target);
            let identity = match action.kind {
                ActionKind::StartInstance => &target.provider_id,
                _ => &action.precondition.token,
            };
            self.note_decision(world, identity);
            if !gang.is_empty() {
                let deadline = self.pools[world.kinds[kind as usize].pool as usize].spec.times.gang_deadline;
                let forming = self.gangs_since.entry(gang.clone());
                let forming = forming.or_insert(Forming { since: world.now, renewed: false });
                if world.now.since(forming.since) >= deadline && !forming.renewed {
                    *forming = Forming { since: world.now, renewed: true };
                }
            }
            let promised = Promised { gang, kind, identity: identity.clone(), since: world.now, came: false };
            self.promised.insert(target.name.clone(), promised);
        }
    }

    /// Forgets a launch that its cloud refused.
    pub(super) fn note_refusal(&mut self, request: &Request) {
        self.promised.retain(|_, promised| Some(&promised.identity) != identity(request));
    }

    /// What was launched for a gang that still forms is not idle.
    pub(super) fn check_hold(&mut self, world: &World, pool: u32, name: &Name) {
        let Some(gang) = self.promised.get(name).map(|promised| promised.gang.clone()) else { return };
        let Some(&Forming { since, .. }) = self.gangs_since.get(&gang) else { return };
        let deadline = self.pools[pool as usize].spec.times.gang_deadline;
        let forms = !waiting_members(world, &gang).is_empty() && world.now.since(since) < deadline;
        self.judge(world, "I-16", !forms, || format!("`{name}` is removed while gang {gang} forms"));
    }
}

fn has_come_cordoned(world: &World, machine: u32) -> bool {
    let entry = &world.machines[machine as usize];
    let is_cordoned = entry.node.as_ref().is_some_and(|node| node.cordoned);
    entry.power == Power::Running && !is_starting(world, machine) && is_cordoned
}

/// The machines whose nodes a plan opens again: there is room for a gang on them too.
fn taken_back<'a>(world: &'a World, plan: &'a Plan) -> impl Iterator<Item = u32> + 'a {
    let opened = plan.actions.iter().filter(|action| action.kind == ActionKind::UncordonNode);
    opened.filter_map(|action| world.by_name.get(&action.target.name).copied())
}

/// The pods of a gang that wait; none where it has come together before.
fn waiting_members(world: &World, gang: &Name) -> Vec<u32> {
    let is_it = |class: u32, name: &Name| {
        let namespace = &world.classes[class as usize].namespace;
        gang.strip_prefix(&**namespace).and_then(|rest| rest.strip_prefix('/')) == Some(&**name)
    };
    let jobs = world.jobs.iter().map(|(_, job)| job);
    let job = jobs.filter(|job| job.gang && !job.was_assembled()).find(|job| is_it(job.class, &job.name));
    let waits = |pod: &u32| world.pods[*pod].life == Life::Waiting;
    job.map(|job| job.pods.iter().copied().filter(waits).collect()).unwrap_or_default()
}
