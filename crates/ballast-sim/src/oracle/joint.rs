//! I-12: what a plan displaces fits elsewhere, all of it together, and together with what removals under way still displace.
//!
//! Relations between pods are not laid out, nor are pods that wait: they are the scheduler's to place, and where there is no
//! room for them nodes are started.

use ballast_core::kube::Name;
use ballast_core::plan::{Action, ActionKind, Plan};

use super::Oracle;
use super::layout::{Layout, by_size};
use crate::world::{Life, World};

impl Oracle {
    /// Lays out all pods that a plan displaces on the nodes that stay. Only where no order of trying works is it a breach.
    pub(super) fn check_jointly(&mut self, world: &World, plan: &Plan) {
        let removals: Vec<&Action> = plan.actions.iter().filter(|action| is_removal(action)).collect();
        if removals.is_empty() {
            return;
        }
        let mut leaving: Vec<u32> = Vec::new();
        let mut displaced: Vec<u32> = Vec::new();
        let begun = self.displaces.iter();
        let begins = removals.iter().map(|action| (&action.target.name, &action.precondition.displaces));
        for (name, pods) in begun.chain(begins) {
            let Some(&machine) = world.by_name.get(name) else { continue };
            leaving.push(machine);
            displaced.extend(pods.iter().filter_map(|uid| still_there(world, machine, uid)));
        }
        let given = displaced.clone();
        by_size(world, &mut displaced);
        let fits = [true, false].into_iter().any(|tight| {
            let lay_out = |pods: &[u32]| Layout::on_open(world, &leaving).take_all(pods, tight);
            lay_out(&displaced) || lay_out(&given)
        });
        self.judge(world, "I-12", fits, || {
            let names: Vec<&str> = leaving.iter().map(|&at| &*world.machines[at as usize].name).collect();
            format!("{} pods of {} fit nowhere else together", given.len(), names.join(", "))
        });
    }

    /// Remembers what removals may displace, as long as their nodes are cordoned or are about to be.
    pub(super) fn note_removals(&mut self, world: &World, plan: &Plan) {
        self.displaces.retain(|name, _| {
            let machine = world.by_name.get(name).map(|&machine| &world.machines[machine as usize]);
            machine.and_then(|machine| machine.node.as_ref()).is_some_and(|node| node.cordoned)
        });
        for action in plan.actions.iter().filter(|action| is_removal(action)) {
            self.displaces.insert(action.target.name.clone(), action.precondition.displaces.clone());
        }
    }
}

fn is_removal(action: &Action) -> bool {
    matches!(action.kind, ActionKind::StopInstance | ActionKind::CordonNode)
}

/// A pod that is on a machine and was not told to leave.
fn still_there(world: &World, machine: u32, uid: &Name) -> Option<u32> {
    let pod = world.pod_of(uid)?;
    let entry = &world.pods[pod];
    let alive = matches!(entry.life, Life::Running | Life::Starting);
    (alive && entry.machine == machine).then_some(pod)
}
