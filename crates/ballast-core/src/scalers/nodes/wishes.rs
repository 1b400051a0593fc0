//! What pods that wait, gangs, requests, buffers and headroom ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::grant::{Need, Tier};
use crate::kube::{Labels, Meta, Name, PodSpec, Toleration, TolerationOperator};
use crate::plan::{Shared, Subject, Waiting, WaitingOn};
use crate::policy::ObjectReference;
use crate::resources::{ResourceNames, amounts_of, pod_requests};
use crate::snapshot::{AskRef, Class, ClassKey, Constraint, Gang, Snapshot};
use crate::units::Quantity;
use crate::wish::{Scaler, Wish};

use super::asks::{Asked, How, Units};
use super::quota::{Beyond, Excess};

/// What waits, and the classes that headroom stands for.
#[derive(Debug)]
pub(crate) struct NodeWishes {
    /// One wish for each class that waits, for each gang, for each set of pods of a buffer or request, for each headroom.
    pub wishes: Shared<Wish>,
    /// Who each wish is about.
    pub subjects: Vec<Subject>,
    /// What waits for something that no node can give.
    pub waiting: Vec<Waiting>,
    /// Gangs whose members are all there, in the order of their numbers.
    pub gangs: Vec<GangState>,
    /// All gangs with members that wait, as `namespace/name`.
    pub waiting_gangs: BTreeSet<Name>,
    entries: Vec<Entry>,
    /// Numbers of the wishes, in the order in which they are placed.
    order: Vec<usize>,
}

/// A gang that waits.
#[derive(Clone, Debug)]
pub(crate) struct GangState {
    /// Which.
    pub gang: Gang,
    /// Members that are bound.
    pub bound: u32,
    /// Members that wait.
    pub pending: u32,
    /// Members that wait behind a gate.
    pub gated: u32,
}

/// What a wish is made of.
#[derive(Debug)]
enum Entry {
    Units { class: u32, gang: Option<u32>, count: u32, tier: Tier, grows: bool },
    Headroom { class: Box<Class>, constraint: Constraint, pool: u32, count: u32 },
}

impl NodeWishes {
    /// Of a snapshot, with what buffers and requests ask for.
    pub(crate) fn new(
        snapshot: &Snapshot,
        preemptions: &Preemptions,
        asked: &[Asked],
        beyond: &Beyond,
    ) -> Self {
        let mut all = Self {
            wishes: Shared::default(),
            subjects: Vec::new(),
            waiting: Vec::new(),
            gangs: Vec::new(),
            waiting_gangs: BTreeSet::new(),
            entries: Vec::new(),
            order: Vec::new(),
        };
        let gangs = gangs(snapshot, preemptions);
        all.waiting_gangs.extend(gangs.values().map(|state| state.gang.key()));
        for queue in in_order(snapshot) {
            let class = snapshot.class(queue.slot);
            if let Some(on) = kept_back(class) {
                let subject = subject_of(class, queue.first, queue.waiting);
                all.waiting.push(Waiting { subject, on });
                continue;
            }
            let preempting = preemptions.get(&queue.slot);
            if let Some(Preemption { count, node }) = preempting.cloned() {
                let subject = subject_of(class, queue.first, count);
                all.waiting.push(Waiting { subject, on: WaitingOn::Preemption { count, node } });
            }
            let count = queue.waiting - preempting.map_or(0, |preempting| preempting.count);
            let count = count - all.beyond_quota(class, &queue, count, beyond);
            if count == 0 {
                continue;
            }
            let subject = subject_of(class, queue.first, count);
            if let Some(ask) = asked.iter().find(|ask| ask.is_consumed_by(class)) {
                let part = all.part_of(ask);
                all.push_pending(snapshot, &queue, count, part, subject);
                continue;
            }
            let gang = match class.gang.as_ref().and_then(|gang| gangs.get(&gang.identity())) {
                Some(state) if state.bound + state.pending < state.gang.size => {
                    let on =
                        WaitingOn::Gang { present: state.bound + state.pending, needed: state.gang.size };
                    all.waiting.push(Waiting { subject, on });
                    continue;
                }
                Some(state) => Some(all.gang_number(state)),
                None => None,
            };
            let tier = if gang.is_some() { Tier::Floor } else { Tier::Pending };
            all.push_pending(snapshot, &queue, count, Part { gang, tier, grows: true }, subject);
        }
        for (ask, Excess { count, resource }) in &beyond.asks {
            let on = WaitingOn::Quota { count: *count, resource: resource.clone() };
            all.waiting.push(Waiting { subject: subject_of_ask(ask), on });
        }
        for ask in asked {
            let part = all.part_of(ask);
            ask.units.iter().for_each(|units| all.push_ask(snapshot, ask, *units, part));
        }
        for (pool, entry) in snapshot.pools.iter().enumerate() {
            for headroom in &entry.spec.headroom {
                all.push_headroom(snapshot, pool as u32, &entry.name, &headroom.requests, headroom.count);
            }
        }
        all.order = all.order(snapshot);
        all
    }

    /// How many of some pods that wait go beyond the quota of their namespace; they are told of.
    fn beyond_quota(&mut self, class: &Class, queue: &Queue<'_>, count: u32, beyond: &Beyond) -> u32 {
        let Some(excess) = beyond.pods.get(&queue.slot) else { return 0 };
        let count = excess.count.min(count);
        if count > 0 {
            let on = WaitingOn::Quota { count, resource: excess.resource.clone() };
            self.waiting.push(Waiting { subject: subject_of(class, queue.first, count), on });
        }
        count
    }

    fn order(&self, snapshot: &Snapshot) -> Vec<usize> {
        let need = |wish: usize| self.need(snapshot, wish);
        // Turns side by side: with many classes it is the reach for each class that costs.
        let mut turns: Vec<_> = (0..self.entries.len()).map(|wish| (need(wish).turn(), wish)).collect();
        turns.sort_unstable_by(|(turn, wish), (other, other_wish)| {
            turn.cmp(other).then_with(|| need(*wish).order(&need(*other_wish)))
        });
        turns.into_iter().map(|(_, wish)| wish).collect()
    }

    /// The needs of all wishes, in the order in which they are placed.
    pub(crate) fn needs<'a>(&'a self, snapshot: &'a Snapshot) -> Vec<Need<'a>> {
        self.order.iter().map(|&wish| self.need(snapshot, wish)).collect()
    }

    fn need<'a>(&'a self, snapshot: &'a Snapshot, wish: usize) -> Need<'a> {
        match &self.entries[wish] {
            Entry::Units { class, gang, count, tier, grows } => {
                let class = snapshot.class(*class);
                Need {
                    class,
                    constraint: snapshot.constraint(class.constraint),
                    constraint_serial: snapshot.constraints.serial(class.constraint),
                    only_pool: None,
                    count: *count,
                    tier: *tier,
                    grows: *grows,
                    priority: self.wishes[wish].priority,
                    gang: *gang,
                    wish,
                }
            }
            Entry::Headroom { class, constraint, pool, count } => Need {
                class,
                constraint,
                constraint_serial: 0,
                only_pool: Some(*pool),
                count: *count,
                tier: Tier::Headroom,
                grows: true,
                priority: i32::MIN,
                gang: None,
                wish,
            },
        }
    }

    fn gang_number(&mut self, state: &GangState) -> u32 {
        let known = self.gangs.iter().position(|known| known.gang == state.gang);
        known.unwrap_or_else(|| {
            self.gangs.push(state.clone());
            self.gangs.len() - 1
        }) as u32
    }

    fn push_pending(
        &mut self,
        snapshot: &Snapshot,
        queue: &Queue<'_>,
        count: u32,
        part: Part,
        subject: Subject,
    ) {
        let Part { gang, tier, grows } = part;
        let class = snapshot.class(queue.slot);
        let have = snapshot.class_keys.users(queue.slot) - queue.waiting;
        let workload = match &subject {
            Subject::Pods { workload, .. } => workload.clone(),
            _ => Name::default(),
        };
        self.wishes.make_mut().push(Wish {
            scaler: Scaler::Nodes,
            namespace: class.key.namespace.clone(),
            workload,
            object: None,
            requests: class.amounts.clone(),
            have,
            floor: if gang.is_some() { have + count } else { have },
            want: have + count,
            at_most: have + count,
            priority: priority_of(snapshot, class),
            gang: gang.is_some(),
            yields: false,
            pending: count,
        });
        self.subjects.push(subject);
        self.entries.push(Entry::Units { class: queue.slot, gang, count, tier, grows });
    }

    /// When the turn of an ask comes, and of the pods that take its room.
    fn part_of(&mut self, ask: &Asked) -> Part {
        let tier = match ask.how {
            How::Buffer => Tier::Headroom,
            How::Atomic | How::Booked { .. } => Tier::Floor,
            How::Checked => Tier::Spare,
        };
        let gang = ask.gang().map(|gang| {
            self.waiting_gangs.insert(gang.key());
            self.gang_number(&GangState { bound: 0, pending: gang.size, gated: 0, gang })
        });
        Part { gang, tier, grows: ask.how.grows() }
    }

    fn push_ask(&mut self, snapshot: &Snapshot, ask: &Asked, units: Units, part: Part) {
        let (Units { class: slot, count, .. }, Part { gang, tier, grows }) = (units, part);
        if count == 0 {
            return;
        }
        let class = snapshot.class(slot);
        let subject = subject_of_ask(&ask.reference);
        let Subject::Workload { namespace, name, object } = subject.clone() else { return };
        let is_buffer = ask.how == How::Buffer;
        self.wishes.make_mut().push(Wish {
            scaler: Scaler::Nodes,
            namespace,
            workload: name,
            object,
            requests: class.amounts.clone(),
            have: 0,
            floor: if is_buffer { 0 } else { count },
            want: count,
            at_most: count,
            priority: match ask.how {
                How::Buffer => i32::MIN,
                // What was promised goes before what is only wanted.
                How::Booked { .. } => i32::MAX,
                How::Atomic | How::Checked => priority_of(snapshot, class),
            },
            gang: gang.is_some(),
            yields: is_buffer,
            pending: 0,
        });
        self.subjects.push(subject);
        self.entries.push(Entry::Units { class: slot, gang, count, tier, grows });
    }

    fn push_headroom(
        &mut self,
        snapshot: &Snapshot,
        pool: u32,
        name: &Name,
        requests: &BTreeMap<Name, Quantity>,
        count: u32,
    ) {
        let class = headroom_class(requests, &snapshot.names);
        self.wishes.make_mut().push(Wish {
            scaler: Scaler::Nodes,
            namespace: Name::default(),
            workload: format!("headroom of {name}").into(),
            object: None,
            requests: class.amounts.clone(),
            have: 0,
            floor: 0,
            want: count,
            at_most: count,
            priority: i32::MIN,
            gang: false,
            yields: false,
            pending: 0,
        });
        self.subjects.push(Subject::Pool { name: name.clone() });
        // Headroom is for whoever comes: no taint keeps it away.
        let everything = Toleration { operator: Some(TolerationOperator::Exists), ..Toleration::default() };
        let spec = PodSpec { tolerations: vec![everything], ..PodSpec::default() };
        let constraint = Constraint::new(&spec, Vec::new(), None, None);
        self.entries.push(Entry::Headroom { class: Box::new(class), constraint, pool, count });
    }
}

/// When the turn of some units comes, and what they are a part of.
#[derive(Clone, Copy)]
struct Part {
    gang: Option<u32>,
    tier: Tier,
    grows: bool,
}

/// A class of which pods wait: the name of the first and how many.
struct Queue<'a> {
    slot: u32,
    first: &'a Name,
    waiting: u32,
}

/// Classes that wait, in an order that does not depend on which was seen first: by namespace and the name of the first pod.
fn in_order(snapshot: &Snapshot) -> Vec<Queue<'_>> {
    let mut numbers: FxHashMap<&Name, usize> = FxHashMap::default();
    let mut all: Vec<_> = Vec::with_capacity(snapshot.pending.len());
    for (&slot, queue) in &snapshot.pending {
        let Some((_, first, _)) = queue.first() else { continue };
        let next = numbers.len();
        let namespace = *numbers.entry(&snapshot.class(slot).key.namespace).or_insert(next);
        all.push((namespace, beginning(first), first, slot, queue.len() as u32));
    }
    // Namespaces were numbered as they came; their order is that of their names.
    let mut namespaces: Vec<(&Name, usize)> = numbers.into_iter().collect();
    namespaces.sort_unstable();
    let mut order = vec![0; namespaces.len()];
    namespaces.iter().enumerate().for_each(|(at, (_, number))| order[*number] = at);
    all.iter_mut().for_each(|(namespace, ..)| *namespace = order[*namespace]);
    all.sort_unstable();
    all.into_iter().map(|(_, _, first, slot, waiting)| Queue { slot, first, waiting }).collect()
}

/// The beginning of a name as one number in the order of names, so that most can be told apart without a look at them.
fn beginning(name: &str) -> u128 {
    let mut bytes = [0; 16];
    let len = name.len().min(bytes.len());
    bytes[..len].copy_from_slice(&name.as_bytes()[..len]);
    u128::from_be_bytes(bytes)
}

/// Pods of a class, as the report speaks of them.
fn subject_of(class: &Class, first: &Name, count: u32) -> Subject {
    let key = &class.key;
    let workload = key.owner.as_ref().map_or(first, |(_, owner)| owner).clone();
    let gang = class.gang.as_ref().map(|gang| gang.name.clone()).unwrap_or_default();
    Subject::Pods { namespace: key.namespace.clone(), workload, name: first.clone(), count, gang }
}

/// A buffer or a request, as the report speaks of it.
fn subject_of_ask(ask: &AskRef) -> Subject {
    let AskRef { kind, namespace, name } = ask.clone();
    let object = ObjectReference { api_version: "".into(), kind: kind.name().into(), name: name.clone() };
    Subject::Workload { namespace, name, object: Some(Arc::new(object)) }
}

/// The priority that the policy gives, else the pod's own.
pub(super) fn priority_of(snapshot: &Snapshot, class: &Class) -> i32 {
    let applies = |rule: &&crate::policy::PriorityRule| {
        (rule.namespaces.is_empty() || rule.namespaces.contains(&class.key.namespace))
            && rule.selector.matches(&class.key.labels)
    };
    snapshot.policy.priorities.iter().find(applies).map_or(class.priority, |rule| rule.priority)
}

/// Pods of a class for which the scheduler makes room on nodes that are there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Preemption {
    count: u32,
    /// The first of the nodes by name.
    node: Name,
}

/// The same, by class.
pub(crate) type Preemptions = BTreeMap<u32, Preemption>;

/// Pods for which the scheduler makes room: they need no node as long as the one that it chose takes pods.
pub(crate) fn preemptions(snapshot: &Snapshot) -> Preemptions {
    let mut all = Preemptions::new();
    for (&pod, node) in &snapshot.nominated {
        let pod = snapshot.pod(pod);
        let is_coming = snapshot.node_named(node).is_some_and(|node| node.takes_pods());
        if is_coming && !pod.leaving {
            let known = all.entry(pod.class).or_insert(Preemption { count: 0, node: node.clone() });
            known.count += 1;
            known.node = known.node.clone().min(node.clone());
        }
    }
    all
}

/// What keeps the scheduler from looking at pods of a class at all.
pub(super) fn kept_back(class: &Class) -> Option<WaitingOn> {
    if !class.key.spec.scheduling_gates.is_empty() {
        return Some(WaitingOn::SchedulingGate);
    }
    class.volumes.awaits.clone().map(|claim| WaitingOn::VolumeBinding { claim })
}

/// Gangs with members that wait. A gang is one by its name: where its members say different sizes, or only some of them say
/// one, the greatest counts.
pub(super) fn gangs<'a>(
    snapshot: &'a Snapshot,
    preemptions: &Preemptions,
) -> BTreeMap<(&'a Name, &'a Name), GangState> {
    let mut gangs: BTreeMap<(&Name, &Name), GangState> = BTreeMap::new();
    if !snapshot.pending.keys().any(|&slot| snapshot.class(slot).gang.is_some()) {
        return gangs;
    }
    for &slot in &snapshot.in_gangs {
        let Some(gang) = &snapshot.class(slot).gang else { continue };
        let waiting = snapshot.pending.get(&slot).map_or(0, |queue| queue.len() as u32);
        let new = GangState { gang: gang.clone(), bound: 0, pending: 0, gated: 0 };
        let state = gangs.entry(gang.identity()).or_insert(new);
        state.gang.size = state.gang.size.max(gang.size);
        state.bound += snapshot.class_keys.users(slot) - waiting;
        // Behind a gate a member is not there yet: the scheduler will not look at it.
        if kept_back(snapshot.class(slot)).is_some() {
            state.gated += waiting;
            continue;
        }
        let placed = preemptions.get(&slot).map_or(0, |preempting| preempting.count);
        state.bound += placed;
        state.pending += waiting - placed;
    }
    gangs.retain(|_, state| state.pending + state.gated > 0);
    gangs
}

fn headroom_class(requests: &BTreeMap<Name, Quantity>, names: &ResourceNames) -> Class {
    let mut container = crate::kube::Container::default();
    container.resources.requests = requests.clone();
    let spec = Arc::new(PodSpec { containers: vec![container], ..PodSpec::default() });
    let (requests, gpu, unmodelled) = pod_requests(&spec, &Meta::default(), names);
    let key = ClassKey {
        namespace: Name::default(),
        labels: Arc::new(Labels::new()),
        annotations: Vec::new(),
        owner: None,
        spec,
    };
    Class {
        amounts: Arc::new(amounts_of(&requests, gpu, names)),
        requests,
        gpu,
        priority: i32::MIN,
        constraint: 0,
        gang: None,
        ports: Vec::new(),
        relations: Default::default(),
        traits: Default::default(),
        unmodelled,
        claims: Vec::new(),
        volumes: Default::default(),
        key: Arc::new(key),
    }
}
