//! What is said of buffers and requests, in the words of their API.
//!
//! They are other people's objects: only in `Enforce`, where somebody acts on them, anything is said at all. What stands there
//! is also what is remembered of a request: that room was found, and since when it is held.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use super::document::Parts;
use crate::grant::Capacity;
use crate::kube::{AskCondition, CapacityBuffer, Name, ProvisioningRequest};
use crate::observation::{ObjectKind, Source};
use crate::plan::{Limit, SkipReason, Subject, Waiting, WaitingOn, plural};
use crate::policy::Mode;
use crate::scalers::nodes::{Asked, UNITS_MAX, asked, heed_quotas, size_of};
use crate::snapshot::{Ask, AskObject, AskRef, RequestClass, RequestStage};
use crate::units::Time;

/// What is to stand in the API of a buffer or a request.
#[derive(Clone, Debug, PartialEq)]
pub struct AskSaid {
    /// The version of the API in which it is told of; empty where nobody knows.
    pub api_version: Name,
    /// Its identity.
    pub uid: Name,
    /// The version of the object that this takes the place of.
    pub resource_version: Name,
    /// All of its status.
    pub status: Value,
}

/// Why a condition of a buffer or a request is what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskReason {
    /// The request is being seen to.
    Accepted,
    /// Room is there, and is held from now on.
    CapacityIsFound,
    /// Room was made, and is held from now on.
    CapacityIsProvisioned,
    /// There is no room for all of it.
    CapacityIsNotFound,
    /// No room was found in time.
    Expired,
    /// Room was held for as long as it is.
    CapacityReservationTimeExpired,
    /// A template that it names is not there.
    PodTemplateNotFound {
        /// Its name.
        template: Name,
    },
    /// Of the workload that it names no pod is there, whose shape it could have.
    WorkloadHasNoPods,
    /// It does not say how much.
    NothingAsked,
    /// How much of what shape is known.
    Resolved,
    /// So much room is there.
    CapacityIsHeld {
        /// Room for so many pods.
        pods: u32,
    },
    /// More room is on its way.
    CapacityIsComing,
    /// A limit keeps nodes from being started for it.
    AtLimit(Limit),
    /// No limit does.
    WithinLimits,
}

impl AskReason {
    /// As programs know it.
    pub fn code(&self) -> Name {
        match self {
            Self::Accepted => "Accepted".into(),
            Self::CapacityIsFound => "CapacityIsFound".into(),
            Self::CapacityIsProvisioned => "CapacityIsProvisioned".into(),
            Self::CapacityIsNotFound => "CapacityIsNotFound".into(),
            Self::Expired => "Expired".into(),
            Self::CapacityReservationTimeExpired => "CapacityReservationTimeExpired".into(),
            Self::PodTemplateNotFound { .. } => "PodTemplateNotFound".into(),
            Self::WorkloadHasNoPods => "WorkloadHasNoPods".into(),
            Self::NothingAsked => "NothingAsked".into(),
            Self::Resolved => "Resolved".into(),
            Self::CapacityIsHeld { .. } => "CapacityIsHeld".into(),
            Self::CapacityIsComing => "CapacityIsComing".into(),
            // A reason of a condition is one word.
            Self::AtLimit(limit) => limit.code().split('/').next().unwrap_or_default().into(),
            Self::WithinLimits => "WithinLimits".into(),
        }
    }
}

impl fmt::Display for AskReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("Ballast sees to it"),
            Self::CapacityIsFound => f.write_str("room for all of it is there, and is held for ten minutes"),
            Self::CapacityIsProvisioned => {
                f.write_str("room for all of it was made, and is held for ten minutes")
            }
            Self::CapacityIsNotFound => f.write_str("there is no room for all of it"),
            Self::Expired => f.write_str("no room for all of it was found in time"),
            Self::CapacityReservationTimeExpired => f.write_str("room was held for ten minutes"),
            Self::PodTemplateNotFound { template } => write!(f, "there is no PodTemplate {template}"),
            Self::WorkloadHasNoPods => f.write_str("the workload has no pod whose shape could be taken"),
            Self::NothingAsked => f.write_str("neither replicas, percentage nor limits say how much"),
            Self::Resolved => f.write_str("how much room of what shape is known"),
            Self::CapacityIsHeld { pods } => write!(f, "room for {} is held free", plural(*pods, "pod")),
            Self::CapacityIsComing => f.write_str("nodes are on their way for what is missing"),
            Self::AtLimit(limit) => write!(f, "{limit} is reached"),
            Self::WithinLimits => f.write_str("no limit keeps nodes from being started"),
        }
    }
}

/// A condition: its type, whether it is so, and why.
type Said = (&'static str, bool, AskReason);

/// What is to be said of buffers and requests, where that is not what stands there.
pub(super) fn asks(parts: &Parts<'_>) -> BTreeMap<AskRef, AskSaid> {
    let snapshot = parts.snapshot;
    if snapshot.asks.is_empty() || snapshot.policy.mode != Mode::Enforce || parts.knows_no_asks() {
        return BTreeMap::new();
    }
    // As the plan saw them: what goes beyond quotas was taken off.
    let mut asked = asked(snapshot, parts.now);
    heed_quotas(snapshot, &mut asked);
    let said = |(reference, ask): (&AskRef, &Ask)| {
        let (before, after) = match &ask.object {
            AskObject::Buffer(buffer) => parts.of_buffer(reference, buffer, ask, &asked)?,
            AskObject::Request(request) => parts.of_request(reference, request, ask, &asked)?,
        };
        let meta = ask.object.meta();
        let said = AskSaid {
            api_version: ask.object.api_version().clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            status: after.clone(),
        };
        (before != after).then(|| (reference.clone(), said))
    };
    snapshot.asks.iter().filter_map(said).collect()
}

/// Room that an ask wants and that the last plan gave it.
#[derive(Clone, Copy, Default)]
struct Given {
    wanted: u32,
    free: u32,
    coming: u32,
}

impl Parts<'_> {
    /// Not all of what is asked for was listed, or of late: a template that was not seen need not be missing.
    fn knows_no_asks(&self) -> bool {
        let sources = ObjectKind::ASKS.map(Source::kubernetes);
        sources.iter().any(|source| self.snapshot.trouble(source, self.now).is_some())
    }

    /// The status of a buffer as it stands, and as it shall.
    fn of_buffer(
        &self,
        reference: &AskRef,
        buffer: &CapacityBuffer,
        ask: &Ask,
        asked: &[Asked],
    ) -> Option<(Value, Value)> {
        if !buffer.is_ours() {
            return None;
        }
        let template = ask.sets.first();
        let size = size_of(self.snapshot, buffer, ask);
        let (ready, count) = match (size, template) {
            (Some((_, count)), _) => ((true, AskReason::Resolved), count),
            (None, Some(set)) if set.class.is_none() => {
                ((false, AskReason::PodTemplateNotFound { template: set.template.clone() }), 0)
            }
            (None, None) if buffer.spec.scalable_ref.is_some() => ((false, AskReason::WorkloadHasNoPods), 0),
            (None, _) => ((false, AskReason::NothingAsked), 0),
        };
        let mut said = vec![("ReadyForProvisioning", ready.0, ready.1)];
        let own = asked.iter().find(|own| own.reference == *reference);
        // Until a plan has seen it as it is now nobody knows.
        let given = own.and_then(|own| if count == 0 { Some(Given::default()) } else { self.given(own) });
        if let Some(Given { free, coming, .. }) = given {
            let (provides, provided) = match () {
                () if free == count => (true, AskReason::CapacityIsHeld { pods: free }),
                () if free + coming == count => (true, AskReason::CapacityIsComing),
                () => (false, AskReason::CapacityIsNotFound),
            };
            said.push(("Provisioning", provides, provided));
            said.push(match self.limit_of_ask(reference) {
                Some(limit) => ("LimitedByQuotas", true, AskReason::AtLimit(limit)),
                None => ("LimitedByQuotas", false, AskReason::WithinLimits),
            });
        }
        let key = template.map(|set| (reference.namespace.clone(), set.template.clone()));
        let template = key.and_then(|key| self.snapshot.templates.get(&key));
        let mut status = buffer.status.clone();
        status.pod_template_ref = buffer.spec.pod_template_ref.clone();
        status.pod_template_generation = template.and_then(|template| template.metadata.generation);
        status.replicas = Some(count as i32);
        status.provisioning_strategy = buffer.strategy().into();
        status.conditions = merged(&status.conditions, said, buffer.metadata.generation, self.now);
        Some((json!(buffer.status), json!(status)))
    }

    /// The status of a request as it stands, and as it shall; none where nothing is to be said.
    fn of_request(
        &self,
        reference: &AskRef,
        request: &ProvisioningRequest,
        ask: &Ask,
        asked: &[Asked],
    ) -> Option<(Value, Value)> {
        let said = match request.stage(self.now) {
            RequestStage::Over | RequestStage::Booked { .. } => return None,
            RequestStage::Expired => vec![("Failed", true, AskReason::Expired)],
            RequestStage::BookingOver => {
                vec![("BookingExpired", true, AskReason::CapacityReservationTimeExpired)]
            }
            RequestStage::Sought { .. } => {
                let own = asked.iter().find(|own| own.reference == *reference);
                self.of_sought(request, ask, own)?
            }
        };
        let mut status = request.status.clone();
        status.conditions = merged(&status.conditions, said, request.metadata.generation, self.now);
        Some((json!(request.status), json!(status)))
    }

    fn of_sought(
        &self,
        request: &ProvisioningRequest,
        ask: &Ask,
        asked: Option<&Asked>,
    ) -> Option<Vec<Said>> {
        let accepted = ("Accepted", true, AskReason::Accepted);
        if let Some(missing) = ask.sets.iter().find(|set| set.class.is_none()) {
            let reason = AskReason::PodTemplateNotFound { template: missing.template.clone() };
            return Some(vec![accepted, ("Provisioned", false, reason)]);
        }
        let asked = asked?;
        // Only what is bound has its room: while one of its pods waits, it is not all there.
        if self.snapshot.consumers.iter().any(|&slot| self.waits(asked, slot)) {
            return Some(vec![accepted]);
        }
        let units = asked.count();
        let is_checked = request.class() == Some(RequestClass::CheckCapacity);
        let is_found = match self.given(asked) {
            // Room is looked for no more of them than that.
            _ if ask.sets.iter().any(|set| set.count > UNITS_MAX) => false,
            // All its pods were made already.
            _ if units == 0 => true,
            _ if self.limit_of_ask(&asked.reference) == Some(Limit::Quota) => false,
            // No plan has seen it yet.
            None => return None,
            Some(given) => given.free == units && given.wanted == units,
        };
        let found = if is_checked { AskReason::CapacityIsFound } else { AskReason::CapacityIsProvisioned };
        let mut said = vec![accepted];
        match is_found {
            true => said.push(("Provisioned", true, found)),
            false => said.push(("Provisioned", false, AskReason::CapacityIsNotFound)),
        }
        if !is_found && is_checked && request.is_asked_once() {
            said.push(("Failed", true, AskReason::CapacityIsNotFound));
        }
        Some(said)
    }

    /// Whether pods of a class wait that are part of a request; those behind a gate are still to come.
    fn waits(&self, asked: &Asked, slot: u32) -> bool {
        let class = self.snapshot.class(slot);
        let is_open = class.key.spec.scheduling_gates.is_empty();
        let waits = self.snapshot.pending.get(&slot).is_some_and(|queue| !queue.is_empty());
        asked.is_consumed_by(class) && is_open && waits
    }

    /// What the last plan gave an ask; none where it does not speak of it as it is now: it is new, or has changed since.
    fn given(&self, asked: &Asked) -> Option<Given> {
        let plan = self.plan.filter(|_| self.asked.contains(asked))?;
        let AskRef { kind, namespace, name } = &asked.reference;
        let is_own = |object: Option<&Name>, of: &Name, workload: &Name| {
            object.is_some_and(|own| &**own == kind.name()) && of == namespace && workload == name
        };
        let mut given = None;
        for wish in &plan.wishes {
            if is_own(wish.object.as_ref().map(|object| &object.kind), &wish.namespace, &wish.workload) {
                given.get_or_insert_with(Given::default).wanted += wish.want;
            }
        }
        let own = plan.grants.iter().filter(|grant| {
            is_own(grant.object.as_ref().map(|object| &object.kind), &grant.namespace, &grant.workload)
        });
        for place in own.flat_map(|grant| &grant.places) {
            let given = given.get_or_insert_with(Given::default);
            match place.capacity {
                Capacity::Free => given.free += place.units,
                Capacity::Starting => given.coming += place.units,
                Capacity::Stopped | Capacity::Creatable if self.acts => given.coming += place.units,
                // What is only planned does not come.
                Capacity::Stopped | Capacity::Creatable => {}
            }
        }
        given
    }

    /// The limit that kept nodes from being started for an ask.
    fn limit_of_ask(&self, reference: &AskRef) -> Option<Limit> {
        let is_own = |subject: &Subject| match subject {
            Subject::Workload { namespace, name, object: Some(object) } => {
                (namespace, name, &*object.kind)
                    == (&reference.namespace, &reference.name, reference.kind.name())
            }
            _ => false,
        };
        let report = &self.plan?.report;
        let is_beyond = |wait: &Waiting| matches!(wait.on, WaitingOn::Quota { .. }) && is_own(&wait.subject);
        if report.waiting.iter().any(is_beyond) {
            return Some(Limit::Quota);
        }
        let skipped = report.skipped.iter().filter(|skip| is_own(&skip.subject));
        skipped.into_iter().find_map(|skip| match &skip.reason {
            SkipReason::AtLimit { limit } => Some(limit.clone()),
            _ => None,
        })
    }
}

/// Conditions with what is said now; one keeps its time while its status is the same. What others say stays.
fn merged(before: &[AskCondition], said: Vec<Said>, generation: Option<i64>, now: Time) -> Vec<AskCondition> {
    let mut all = before.to_vec();
    for (kind, is_so, reason) in said {
        let status: Name = if is_so { "True" } else { "False" }.into();
        let known = all.iter().position(|own| &*own.kind == kind);
        let since = known.filter(|&at| all[at].status == status).and_then(|at| all[at].last_transition_time);
        let condition = AskCondition {
            kind: kind.into(),
            status,
            reason: reason.code(),
            message: reason.to_string(),
            observed_generation: generation,
            last_transition_time: since.or(Some(super::status::whole_second(now))),
        };
        match known {
            Some(at) => all[at] = condition,
            None => all.push(condition),
        }
    }
    all
}
