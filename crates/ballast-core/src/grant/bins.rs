//! Bins: everything that pods can be placed on, on trial. Nodes that are there lie in an overlay over the snapshot's index;
//! nodes that are starting or could be started come after them.

use rustc_hash::FxHashMap;

use super::need::Need;
use super::new_bin::NewBin;
use super::relations::{Terms, Ties};
use crate::kube::Name;
use crate::plan::Misfit;
use crate::resources::{GpuDevices, GpuNeed, Resources};
use crate::snapshot::{Allowed, Class, HOSTNAME_LABEL, NodeChange, NodeIndex, Overlay, Snapshot, Stamp};

/// Memory that is kept from plan to plan only for its size, and answers that stay true while the nodes are the same.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    overlay: Overlay,
    allowed: FxHashMap<(u64, u32), Allowed>,
    allowed_for: Stamp,
}

/// A place for pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Bin {
    /// A node that is there, by its place in the order of names.
    Node(usize),
    /// A node that is not there yet.
    New(usize),
}

/// Everything that pods can be placed on.
pub(crate) struct Bins<'a> {
    pub(crate) snapshot: &'a Snapshot,
    scratch: &'a mut Scratch,
    /// What was placed and opened so far.
    pub(crate) trial: Trial,
    terms: Terms,
    /// Ties by the identity of the class.
    ties: FxHashMap<usize, Ties>,
}

/// What was placed and opened, on top of a snapshot.
#[derive(Debug, Default)]
pub(crate) struct Trial {
    devices: FxHashMap<usize, GpuDevices>,
    ports: FxHashMap<usize, Vec<crate::snapshot::HostPort>>,
    /// Nodes that are starting or are started by this plan.
    pub(crate) new: Vec<NewBin>,
    new_index: NodeIndex,
    new_allowed: FxHashMap<(u64, u32, u32), bool>,
    /// Everything that was placed, for a roll-back.
    log: Vec<Undo>,
    /// How many nodes were opened, by pool and template.
    opened: FxHashMap<(u32, u32), u32>,
    /// Steps that this plan may still take.
    pub(crate) steps_left: u64,
    /// How many nodes, from the first on, were looked at since this was last set to 0.
    pub(crate) seen: usize,
}

/// A point that a trial can be taken back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    log: usize,
    new: usize,
    changes: usize,
    steps_left: u64,
}

#[derive(Debug)]
struct Undo {
    bin: Bin,
    free: Resources,
    gpus: Option<GpuDevices>,
    ports: usize,
    class: usize,
    count: i64,
}

impl Undo {
    /// Of a change to a node's room alone.
    fn of_room(rank: usize, before: Resources) -> Self {
        Self { bin: Bin::Node(rank), free: before, gpus: None, ports: 0, class: 0, count: 0 }
    }
}

impl<'a> Bins<'a> {
    /// Over a snapshot, for needs that depend on these terms.
    pub(crate) fn new(snapshot: &'a Snapshot, scratch: &'a mut Scratch, terms: Terms, steps: u64) -> Self {
        if scratch.allowed_for != snapshot.fleet {
            scratch.allowed.clear();
            scratch.allowed_for = snapshot.fleet.clone();
        }
        scratch.overlay.reset(snapshot.index());
        let trial = Trial { steps_left: steps, ..Trial::default() };
        Self { snapshot, scratch, trial, terms, ties: FxHashMap::default() }
    }

    /// Goes on with the trial that was made last with this scratch, on the same fleet, where no relation between pods binds.
    pub(crate) fn resume(snapshot: &'a Snapshot, scratch: &'a mut Scratch, trial: Trial) -> Self {
        Self { snapshot, scratch, trial, terms: Terms::default(), ties: FxHashMap::default() }
    }

    /// Takes everything back that was done since a mark, as if it had never been tried. Nothing may have been placed before it
    /// on nodes that changed in the snapshot since.
    pub(crate) fn take_back(&mut self, mark: Mark, changed: &[NodeChange]) {
        self.roll_back(mark);
        self.trial.steps_left = mark.steps_left;
        let (index, overlay) = (self.snapshot.index(), &mut self.scratch.overlay);
        for rank in overlay.drop_changes(index, mark.changes) {
            self.trial.devices.remove(&rank);
            self.trial.ports.remove(&rank);
        }
        changed.iter().for_each(|change| overlay.refresh(index, change.rank));
    }

    /// Places up to `count` units of a need on nodes that are there. Returns how many.
    pub(crate) fn place_on_nodes(&mut self, need: &Need<'_>, count: u32) -> u32 {
        self.allow(need);
        let ties = self.ties_of(need.class);
        if ties.is_free() && need.class.ports.is_empty() && need.class.gpu == GpuNeed::None {
            return self.place_plainly(need, count);
        }
        let (mut from, mut left) = (0, count);
        while left > 0 && self.step() {
            let Some(rank) = self.look(need, from) else { break };
            let bin = Bin::Node(rank);
            let times = self.times(need.class, &ties, bin).min(left);
            if times > 0 {
                self.take(need, &ties, bin, times);
                left -= times;
            }
            from = if times > 0 && ties.may_turn() { 0 } else { rank + 1 };
        }
        count - left
    }

    /// The same for a need that nothing but room and its constraint binds: one pass from left to right.
    fn place_plainly(&mut self, need: &Need<'_>, count: u32) -> u32 {
        let index = self.snapshot.index();
        let requests = &need.class.requests;
        let (mut from, mut left) = (0, count);
        let mut changed = Vec::new();
        while left > 0 && self.step() {
            let Some(rank) = self.look(need, from) else { break };
            let before = *self.scratch.overlay.free(index, rank);
            let times = requests.times_in(&before).min(left);
            let mut free = before;
            free.subtract(requests, i64::from(times));
            self.scratch.overlay.set_leaf(index, rank, free);
            changed.push(rank);
            left -= times;
            from = rank + 1;
            self.trial.log.push(Undo::of_room(rank, before));
        }
        self.scratch.overlay.settle(index, &changed);
        count - left
    }

    /// The first node from `from` on that is allowed and has room.
    fn look(&mut self, need: &Need<'_>, from: usize) -> Option<usize> {
        let allowed = self.scratch.allowed.get(&allow_key(need));
        let found = self.scratch.overlay.next_fit(self.snapshot.index(), from, &need.class.requests, allowed);
        self.trial.seen = self.trial.seen.max(found.map_or(usize::MAX, |rank| rank + 1));
        found
    }

    /// Whether a search that comes to a node that changed may go on differently: it would have stopped there, or would now.
    pub(crate) fn concerns(&self, need: &Need<'_>, change: &NodeChange) -> bool {
        let requests = &need.class.requests;
        let is_allowed =
            || self.scratch.allowed.get(&allow_key(need)).is_none_or(|allowed| allowed.leaf(change.rank));
        (requests.fits(&change.before) || requests.fits(self.snapshot.index().get(change.rank)))
            && is_allowed()
    }

    /// Whether a node that changed may refuse a need for another reason than before.
    pub(crate) fn refuses_otherwise(&self, need: &Need<'_>, change: &NodeChange) -> bool {
        let requests = &need.class.requests;
        let now = self.snapshot.index().get(change.rank);
        change.stirred || requests.misfit(&change.before) != requests.misfit(now)
    }

    /// Places up to `count` units of a need on nodes that are not there yet. Returns how many.
    pub(crate) fn place_on_new(&mut self, need: &Need<'_>, count: u32) -> u32 {
        let ties = self.ties_of(need.class);
        let (mut from, mut left) = (0, count);
        while left > 0 && self.step() {
            let Some(at) = self.next_new(need, from) else { break };
            let times = self.times(need.class, &ties, Bin::New(at)).min(left);
            if times > 0 {
                self.take(need, &ties, Bin::New(at), times);
                left -= times;
            }
            from = if times > 0 && ties.may_turn() { 0 } else { at + 1 };
        }
        count - left
    }

    fn next_new(&mut self, need: &Need<'_>, from: usize) -> Option<usize> {
        let mut from = from;
        loop {
            let at = self.trial.new_index.next_fit(from, &need.class.requests, |_| true)?;
            let (pool, template) = (self.trial.new[at].pool, self.trial.new[at].template);
            if self.template_misfit(need, pool, template).is_none() {
                return Some(at);
            }
            from = at + 1;
        }
    }

    /// Opens the first bins of a trial at once.
    pub(crate) fn open_all(&mut self, bins: &[NewBin]) {
        let snapshot = self.snapshot;
        self.trial.new_index = NodeIndex::build(bins.iter().map(|bin| bin.room(snapshot)));
        bins.iter().for_each(|bin| self.add(bin.clone()));
    }

    /// Opens a new bin.
    pub(crate) fn open(&mut self, bin: NewBin) -> usize {
        self.trial.new_index.push(bin.room(self.snapshot));
        self.add(bin);
        self.trial.new.len() - 1
    }

    fn add(&mut self, mut bin: NewBin) {
        *self.trial.opened.entry((bin.pool, bin.template)).or_default() += 1;
        if !self.terms.is_empty() {
            let pool = &self.snapshot.pools[bin.pool as usize];
            let template = &pool.templates[bin.template as usize];
            let profile = template.profile(&bin.name, &pool.spec.template.taints);
            bin.domains = self.terms.open(self.snapshot, &profile, (HOSTNAME_LABEL, &bin.name));
        }
        self.trial.new.push(bin);
    }

    /// Places up to `most` units on a new bin that was just opened for them and has the room: fewer where relations to what
    /// is there or was placed refuse more. `spread_over` names the key over whose domains the need was split.
    pub(crate) fn take_on_new(
        &mut self,
        need: &Need<'_>,
        at: usize,
        most: u32,
        spread_over: Option<&Name>,
    ) -> (u32, Option<Misfit>) {
        let all = self.ties_of(need.class);
        let ties = spread_over.map(|key| self.terms.without_spread_over(&all, key));
        let mut placed = 0;
        while placed < most {
            match self.room(need.class, ties.as_ref().unwrap_or(&all), Bin::New(at), most - placed) {
                Ok(units) => {
                    self.take(need, &all, Bin::New(at), units);
                    placed += units;
                }
                Err(misfit) => return (placed, Some(misfit)),
            }
        }
        (placed, None)
    }

    /// How many units of a class, at most `most`, ports and relations let on a bin that has the room.
    fn room(&self, class: &Class, ties: &Ties, bin: Bin, most: u32) -> Result<u32, Misfit> {
        if self.ports_taken(class, bin) {
            return Err(Misfit::HostPort);
        }
        let most = if class.ports.is_empty() { most } else { most.min(1) };
        if ties.is_free() {
            return Ok(most);
        }
        self.terms.room(ties, most, domain_of(self.snapshot, &self.trial.new, bin))
    }

    /// Pods leave a node on trial: they do not count there any more.
    pub(crate) fn leave(&mut self, class: &Class, rank: usize, pods: u32) {
        let ties = self.ties_of(class);
        if ties.is_free() {
            return;
        }
        let bin = Bin::Node(rank);
        self.terms.count(&ties, domain_of(self.snapshot, &self.trial.new, bin), -i64::from(pods));
        let class = std::ptr::from_ref(class) as usize;
        self.trial.log.push(Undo {
            bin,
            free: *self.free(bin),
            gpus: None,
            ports: 0,
            class,
            count: -i64::from(pods),
        });
    }

    /// Places exactly `times` units on a node where they were found to fit.
    pub(crate) fn take_on_node(&mut self, need: &Need<'_>, rank: usize, times: u32) {
        let ties = self.ties_of(need.class);
        self.take(need, &ties, Bin::Node(rank), times);
    }

    /// How many units fit on a bin now.
    pub(crate) fn times_on(&mut self, need: &Need<'_>, bin: Bin) -> u32 {
        let ties = self.ties_of(need.class);
        self.times(need.class, &ties, bin)
    }

    /// How many pods that a term means are in each domain now.
    pub(crate) fn counts(
        &self,
        class: &Class,
        term: &crate::snapshot::PodTerm,
    ) -> std::collections::BTreeMap<Name, u32> {
        self.terms.counts(class, term)
    }

    /// How many nodes this plan opened in a zone of a pool.
    pub(crate) fn opened_in(&self, pool: u32, template: u32) -> u32 {
        self.trial.opened.get(&(pool, template)).copied().unwrap_or(0)
    }

    /// Whether an instance is started by this plan already.
    pub(crate) fn is_opened(&self, provider_id: &Name) -> bool {
        self.trial.new.iter().any(|bin| bin.provider_id == *provider_id)
    }

    /// A point to roll back to.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            log: self.trial.log.len(),
            new: self.trial.new.len(),
            changes: self.scratch.overlay.changes(),
            steps_left: self.trial.steps_left,
        }
    }

    /// Takes back everything placed and opened since a mark.
    pub(crate) fn roll_back(&mut self, mark: Mark) {
        while self.trial.log.len() > mark.log {
            let undo = self.trial.log.pop().expect("it is longer than the mark");
            self.undo(undo);
        }
        while self.trial.new.len() > mark.new {
            let bin = self.trial.new.pop().expect("there are more than at the mark");
            *self.trial.opened.entry((bin.pool, bin.template)).or_default() -= 1;
            self.terms.close(&bin.domains);
            self.trial.new_index.pop();
        }
    }

    /// Why a template will not do for a need, room left aside.
    pub(crate) fn template_misfit(&mut self, need: &Need<'_>, pool: u32, template: u32) -> Option<Misfit> {
        if need.only_pool.is_some_and(|only| only != pool) {
            return Some(Misfit::NodeAffinity);
        }
        let entry = &self.snapshot.pools[pool as usize];
        let name = Name::default();
        let judge = || {
            let profile = entry.templates[template as usize].profile(&name, &entry.spec.template.taints);
            need.constraint.misfit(&profile)
        };
        if need.constraint_serial == 0 {
            return judge();
        }
        let key = (need.constraint_serial, pool, template);
        if *self.trial.new_allowed.entry(key).or_insert_with(|| judge().is_none()) { None } else { judge() }
    }

    /// Why most nodes that are there refuse a need: each reason with its number of nodes, the most first.
    pub(crate) fn verdicts(&mut self, need: &Need<'_>) -> Vec<(Misfit, u32)> {
        let mut verdicts: std::collections::BTreeMap<Misfit, u32> = Default::default();
        let ties = self.ties_of(need.class);
        for rank in 0..self.snapshot.index().len() {
            if let Some(misfit) = self.node_misfit(need, &ties, rank) {
                *verdicts.entry(misfit).or_default() += 1;
            }
        }
        let mut verdicts: Vec<_> = verdicts.into_iter().collect();
        verdicts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        verdicts
    }

    fn node_misfit(&self, need: &Need<'_>, ties: &Ties, rank: usize) -> Option<Misfit> {
        let node = self.snapshot.node_at(rank);
        if !node.takes_pods() {
            return Some(Misfit::Unschedulable);
        }
        let profile = node.profile()?;
        if let Some(misfit) = need.constraint.misfit(&profile) {
            return Some(misfit);
        }
        let free = self.scratch.overlay.free(self.snapshot.index(), rank);
        match need.class.requests.misfit(free) {
            Some(Resources::GPU_WHOLE | Resources::GPU_SHARE) => return Some(Misfit::GpuDevices),
            Some(dimension) => return Some(Misfit::Resource(self.snapshot.names.name(dimension))),
            None => {}
        }
        if self.ports_taken(need.class, Bin::Node(rank)) {
            return Some(Misfit::HostPort);
        }
        self.terms.misfit(ties, &domain_of(self.snapshot, &self.trial.new, Bin::Node(rank)))
    }

    fn step(&mut self) -> bool {
        self.trial.steps_left = self.trial.steps_left.saturating_sub(1);
        self.trial.steps_left > 0
    }

    /// Works out which nodes a need's constraint allows, once for all needs that share it.
    fn allow(&mut self, need: &Need<'_>) {
        let key = allow_key(need);
        if key == (0, u32::MAX) || self.scratch.allowed.contains_key(&key) {
            return;
        }
        let snapshot = self.snapshot;
        let holds = |rank: usize| {
            let node = snapshot.node_at(rank);
            need.only_pool.is_none_or(|pool| node.pool == Some(pool))
                && node.profile().is_some_and(|profile| need.constraint.misfit(&profile).is_none())
        };
        self.scratch.allowed.insert(key, Allowed::build(snapshot.index(), holds));
    }

    fn ties_of(&mut self, class: &Class) -> Ties {
        if self.terms.is_empty() {
            return Ties::default();
        }
        self.ties.entry(std::ptr::from_ref(class) as usize).or_insert_with(|| self.terms.ties(class)).clone()
    }

    /// How many units of a class a bin takes now.
    fn times(&self, class: &Class, ties: &Ties, bin: Bin) -> u32 {
        let free = *self.free(bin);
        let times = class.requests.times_in(&free).min(self.gpus(bin).times(class.gpu));
        if times == 0 { 0 } else { self.room(class, ties, bin, times).unwrap_or(0) }
    }

    fn take(&mut self, need: &Need<'_>, ties: &Ties, bin: Bin, times: u32) {
        let class = need.class;
        let before = *self.free(bin);
        let mut free = before;
        free.subtract(&class.requests, i64::from(times));
        let mut gpus = None;
        if class.gpu != GpuNeed::None {
            let mut devices = *self.gpus(bin);
            gpus = Some(devices);
            for _ in 0..times {
                devices.take(class.gpu);
            }
            free[Resources::GPU_WHOLE] = devices.wholly_free();
            free[Resources::GPU_SHARE] = devices.greatest_share();
            self.set_gpus(bin, devices);
        }
        self.set_free(bin, free);
        if !ties.is_free() {
            let domain = domain_of(self.snapshot, &self.trial.new, bin);
            self.terms.count(ties, domain, i64::from(times));
        }
        if !class.ports.is_empty() {
            self.ports_mut(bin).extend(class.ports.iter().cloned());
        }
        if let Bin::New(at) = bin {
            self.trial.new[at].load.push((need.wish, times));
        }
        let class_id = std::ptr::from_ref(class) as usize;
        self.trial.log.push(Undo {
            bin,
            free: before,
            gpus,
            ports: class.ports.len(),
            class: class_id,
            count: i64::from(times),
        });
    }

    fn undo(&mut self, undo: Undo) {
        if let Some(gpus) = undo.gpus {
            self.set_gpus(undo.bin, gpus);
        }
        self.set_free(undo.bin, undo.free);
        if let Some(ties) = self.ties.get(&undo.class).filter(|ties| !ties.is_free()).cloned() {
            let domain = domain_of(self.snapshot, &self.trial.new, undo.bin);
            self.terms.count(&ties, domain, -undo.count);
        }
        if undo.ports > 0 {
            let ports = self.ports_mut(undo.bin);
            ports.truncate(ports.len() - undo.ports);
        }
        if let Bin::New(at) = undo.bin {
            self.trial.new[at].load.pop();
        }
    }

    /// Gives room on a node back: what an elastic workload holds above its floor, or what would leave with a removal.
    pub(crate) fn release(&mut self, rank: usize, requests: &Resources, gpu: GpuNeed, times: u32) {
        let mut free = *self.free(Bin::Node(rank));
        free.add(requests, i64::from(times));
        if gpu != GpuNeed::None {
            let mut devices = *self.gpus(Bin::Node(rank));
            for _ in 0..times {
                devices.give_back(gpu);
            }
            self.set_gpus(Bin::Node(rank), devices);
        }
        let devices = self.gpus(Bin::Node(rank));
        free[Resources::GPU_WHOLE] = devices.wholly_free();
        free[Resources::GPU_SHARE] = devices.greatest_share();
        self.set_free(Bin::Node(rank), free);
    }

    /// Closes a node: nothing more is placed there.
    pub(crate) fn close(&mut self, rank: usize) {
        let before = *self.free(Bin::Node(rank));
        self.set_free(Bin::Node(rank), crate::snapshot::CLOSED);
        self.trial.log.push(Undo::of_room(rank, before));
    }

    /// Whether something was placed on a node.
    pub(crate) fn is_used(&self, rank: usize) -> bool {
        self.scratch.overlay.is_changed(self.snapshot.index(), rank)
    }

    fn free(&self, bin: Bin) -> &Resources {
        match bin {
            Bin::Node(rank) => self.scratch.overlay.free(self.snapshot.index(), rank),
            Bin::New(at) => self.trial.new_index.get(at),
        }
    }

    fn set_free(&mut self, bin: Bin, free: Resources) {
        match bin {
            Bin::Node(rank) => self.scratch.overlay.set(self.snapshot.index(), rank, free),
            Bin::New(at) => self.trial.new_index.set(at, free),
        }
    }

    fn gpus(&self, bin: Bin) -> &GpuDevices {
        match bin {
            Bin::Node(rank) => self.trial.devices.get(&rank).unwrap_or(&self.snapshot.node_at(rank).gpus),
            Bin::New(at) => &self.trial.new[at].gpus,
        }
    }

    fn set_gpus(&mut self, bin: Bin, gpus: GpuDevices) {
        match bin {
            Bin::Node(rank) => {
                self.trial.devices.insert(rank, gpus);
            }
            Bin::New(at) => self.trial.new[at].gpus = gpus,
        }
    }

    fn ports_mut(&mut self, bin: Bin) -> &mut Vec<crate::snapshot::HostPort> {
        match bin {
            Bin::Node(rank) => self.trial.ports.entry(rank).or_default(),
            Bin::New(at) => &mut self.trial.new[at].ports,
        }
    }

    fn ports_taken(&self, class: &Class, bin: Bin) -> bool {
        if class.ports.is_empty() {
            return false;
        }
        let clash = |ports: &[crate::snapshot::HostPort]| {
            ports.iter().any(|b| class.ports.iter().any(|a| a.clashes(b)))
        };
        match bin {
            Bin::New(at) => {
                let new = &self.trial.new[at];
                let template = &self.snapshot.pools[new.pool as usize].templates[new.template as usize];
                clash(&template.ports) || clash(&new.ports)
            }
            Bin::Node(rank) => {
                let running = &self.snapshot.node_at(rank).pods;
                self.trial.ports.get(&rank).is_some_and(|ports| clash(ports))
                    || running
                        .iter()
                        .any(|&pod| clash(&self.snapshot.class(self.snapshot.pod(pod).class).ports))
            }
        }
    }
}

fn allow_key(need: &Need<'_>) -> (u64, u32) {
    (need.constraint_serial, need.only_pool.unwrap_or(u32::MAX))
}

/// The value of a topology key on a bin.
fn domain_of<'b>(snapshot: &'b Snapshot, new: &'b [NewBin], bin: Bin) -> impl Fn(&Name) -> Option<Name> + 'b {
    move |key| match bin {
        Bin::Node(rank) => snapshot.node_at(rank).label(key).cloned(),
        Bin::New(at) if &**key == HOSTNAME_LABEL => Some(new[at].name.clone()),
        Bin::New(at) => {
            let bin = &new[at];
            snapshot.pools[bin.pool as usize].templates[bin.template as usize].labels.get(key).cloned()
        }
    }
}
