//! What buffers and requests ask for at an instant.
//!
//! A buffer asks for its whole size beside all that runs and waits: whoever comes takes of it, and it is filled up again. A
//! request asks for those of its pods that nobody has made yet; those that were made, and say so, are pods like others, but
//! belong to it until it is over.

use std::cmp::Reverse;

use crate::kube::{CapacityBuffer, Name, Requests, ScalableReference};
use crate::snapshot::{Ask, AskKind, AskObject, AskRef, Class, Gang, RequestClass, RequestStage, Snapshot};
use crate::units::Time;

/// Pods that a buffer, or one set of a request, may stand for: more would only cost time, for no pool grows by so many at once.
pub(crate) const UNITS_MAX: u32 = 5000;

/// What an ask comes to now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) reference: AskRef,
    pub(crate) how: How,
    pub(crate) units: Vec<Units>,
    /// When time alone changes it.
    pub(crate) until: Option<Time>,
}

/// How room is provided for an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// For whoever comes.
    Buffer,
    /// All of it or nothing, on new nodes where it must be.
    Atomic,
    /// All of it or nothing, on what nobody needs of the nodes that are there.
    Checked,
    /// Room was found and is held; it is made anew where new nodes may be started for it.
    Booked { grows: bool },
}

/// So many pods of a class that nobody has made yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    pub(crate) class: u32,
    /// The serial of the class: numbers are used again.
    serial: u64,
    pub(crate) count: u32,
}

impl Asked {
    /// The gang that an ask is, where it is all or nothing. No pod's own gang has such a name.
    pub(crate) fn gang(&self) -> Option<Gang> {
        matches!(self.how, How::Atomic | How::Checked).then(|| Gang {
            namespace: self.reference.namespace.clone(),
            name: format!("{}/{}", self.reference.kind.name(), self.reference.name).into(),
            size: self.count(),
        })
    }

    /// Pods that nobody has made yet.
    pub(crate) fn count(&self) -> u32 {
        self.units.iter().map(|units| units.count).fold(0, u32::saturating_add)
    }

    /// Whether pods of a class take room of it.
    pub(crate) fn is_consumed_by(&self, class: &Class) -> bool {
        self.reference.kind == AskKind::ProvisioningRequest && consumes(class, &self.reference)
    }
}

impl How {
    /// Whether nodes are started for it.
    pub(crate) fn grows(self) -> bool {
        match self {
            Self::Buffer | Self::Atomic => true,
            Self::Checked => false,
            Self::Booked { grows } => grows,
        }
    }
}

/// What all asks come to at an instant, by kind and name.
pub(crate) fn asked(snapshot: &Snapshot, now: Time) -> Vec<Asked> {
    snapshot.asks.iter().filter_map(|(reference, ask)| of(snapshot, reference, ask, now)).collect()
}

fn of(snapshot: &Snapshot, reference: &AskRef, ask: &Ask, now: Time) -> Option<Asked> {
    let (how, until, units) = match &ask.object {
        AskObject::Buffer(buffer) => {
            let (class, count) = size_of(snapshot, buffer, ask)?;
            (How::Buffer, None, vec![units(snapshot, class, count)])
        }
        AskObject::Request(request) => {
            let grows = request.class()? == RequestClass::AtomicScaleUp;
            let (how, until) = match request.stage(now) {
                RequestStage::Sought { until } if grows => (How::Atomic, until),
                RequestStage::Sought { until } => (How::Checked, until),
                RequestStage::Booked { until } => (How::Booked { grows }, until),
                RequestStage::Expired | RequestStage::BookingOver | RequestStage::Over => return None,
            };
            (how, Some(until), still_to_come(snapshot, reference, ask)?)
        }
    };
    Some(Asked { reference: reference.clone(), how, units, until })
}

/// The class of a buffer's pods, and how many of them it keeps room for; none where its shape is not known.
pub(crate) fn size_of(snapshot: &Snapshot, buffer: &CapacityBuffer, ask: &Ask) -> Option<(u32, u32)> {
    if !buffer.is_ours() {
        return None;
    }
    let namespace = &buffer.metadata.namespace;
    let workload = buffer.spec.scalable_ref.as_ref().and_then(|of| workload(snapshot, namespace, of));
    let templated = ask.sets.first().and_then(|set| set.class);
    let class = templated.or(workload.map(|(class, _)| class))?;
    let fixed = buffer.spec.replicas.map(|replicas| replicas.max(0) as u64);
    let share = buffer.spec.percentage.filter(|percent| *percent > 0).zip(workload);
    let share = share.map(|(percent, (_, pods))| (u64::from(pods) * percent as u64).div_ceil(100).max(1));
    let within = within(&snapshot.class(class).amounts, &buffer.spec.limits);
    let wanted = fixed.max(share).or(within)?;
    Some((class, wanted.min(within.unwrap_or(u64::MAX)).min(u64::from(UNITS_MAX)) as u32))
}

/// How many units fit into limits, where they say.
fn within(unit: &Requests, limits: &Requests) -> Option<u64> {
    let times = |(name, limit): (&Name, &crate::units::Quantity)| {
        let each = unit.get(name).map(|each| each.milli()).filter(|each| *each > 0)?;
        Some((limit.milli() / each).max(0) as u64)
    };
    limits.iter().filter_map(times).min()
}

/// Pods of a workload: the class that most of them are of, and how many there are in all.
fn workload(snapshot: &Snapshot, namespace: &Name, of: &ScalableReference) -> Option<(u32, u32)> {
    let belongs = |class: &Class| class.key.namespace == *namespace && is_of(class, of);
    let classes = snapshot.classes.iter().enumerate();
    let own = classes.filter_map(|(slot, class)| class.as_ref().filter(|class| belongs(class)).map(|_| slot));
    let own: Vec<u32> = own.map(|slot| slot as u32).collect();
    let users = |slot: u32| snapshot.class_keys.users(slot);
    let rank = |slot: u32| {
        let key = &snapshot.class(slot).key;
        (users(slot), Reverse(&key.owner), Reverse(&key.labels), Reverse(&key.annotations))
    };
    // Numbers of classes depend on who came first: the spec decides before them.
    let spec = |slot: u32| serde_json::json!(snapshot.class(slot).key.spec).to_string();
    let order = |a: u32, b: u32| rank(a).cmp(&rank(b)).then_with(|| spec(b).cmp(&spec(a)));
    let most = own.iter().copied().max_by(|&a, &b| order(a, b))?;
    Some((most, own.iter().map(|&slot| users(slot)).sum()))
}

/// Whether pods of a class belong to a workload. Those of a Deployment belong to a ReplicaSet that bears its name.
fn is_of(class: &Class, of: &ScalableReference) -> bool {
    let Some((kind, name)) = &class.key.owner else { return false };
    if &*of.kind == "Deployment" && &**kind == "ReplicaSet" {
        let hash = class.key.labels.get("pod-template-hash");
        return hash.is_some_and(|hash| **name == *format!("{}-{hash}", of.name));
    }
    *kind == of.kind && *name == of.name
}

/// The pods of a request that nobody has made yet; none where a template is not known.
fn still_to_come(snapshot: &Snapshot, reference: &AskRef, ask: &Ask) -> Option<Vec<Units>> {
    let sets = ask.sets.iter().map(|set| Some(units(snapshot, set.class?, set.count.min(UNITS_MAX))));
    let mut sets = sets.collect::<Option<Vec<Units>>>()?;
    for &slot in &snapshot.consumers {
        let class = snapshot.class(slot);
        if !consumes(class, reference) {
            continue;
        }
        let mut made = snapshot.class_keys.users(slot);
        if !class.key.spec.scheduling_gates.is_empty() {
            // Behind a gate a pod is not looked at: room is held for it as if it were not there.
            made -= snapshot.pending.get(&slot).map_or(0, |queue| queue.len() as u32);
        }
        // A pod may be of any set; those of its size come first.
        for alike in [true, false] {
            for set in &mut sets {
                if alike == (snapshot.class(set.class).amounts == class.amounts) {
                    let taken = set.count.min(made);
                    set.count -= taken;
                    made -= taken;
                }
            }
        }
    }
    Some(sets)
}

fn consumes(class: &Class, reference: &AskRef) -> bool {
    class.key.namespace == reference.namespace && class.key.consumes() == Some(&*reference.name)
}

fn units(snapshot: &Snapshot, class: u32, count: u32) -> Units {
    Units { class, serial: snapshot.class_keys.serial(class), count }
}
