//! Asks: room that is asked for ahead of the pods that will need it.
//!
//! A buffer keeps room free for whoever comes; a request wants room for sets of pods, all or nothing. Each stands in the
//! snapshot with the classes of the pods that it stands for, so that it is weighed in the same currency as pods that wait.

use std::sync::Arc;

use crate::kube::{AskCondition, CapacityBuffer, Meta, Name, ProvisioningRequest};
use crate::units::{Span, Time};

/// How long room is held for a request once it was found: so long do its pods have to come. What cluster-autoscaler does.
const BOOKED_FOR: Span = Span::from_mins(10);
/// How long a request is sought room for where it does not say; what cluster-autoscaler does.
const SOUGHT_FOR: Span = Span::from_hours(7 * 24);
/// The strategy of buffers on nodes that run.
const ACTIVE: &str = "buffer.x-k8s.io/active-capacity";
/// What is read of the parameters of a request.
pub(crate) const REQUEST_PARAMETERS: [&str; 2] = [NO_RETRY, VALID_UNTIL];
const NO_RETRY: &str = "noRetry";
const VALID_UNTIL: &str = "ValidUntilSeconds";

/// The kinds of ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AskKind {
    /// Room that is kept free.
    CapacityBuffer,
    /// Room for sets of pods.
    ProvisioningRequest,
}

impl AskKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::CapacityBuffer, Self::ProvisioningRequest];

    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::CapacityBuffer => "CapacityBuffer",
            Self::ProvisioningRequest => "ProvisioningRequest",
        }
    }
}

/// Names an ask.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskRef {
    /// Its kind.
    pub kind: AskKind,
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
}

impl AskRef {
    /// What is kept for it is kept under this name. No gang of pods has such a one.
    pub fn gang_key(&self) -> Name {
        let Self { kind, namespace, name } = self;
        format!("{namespace}/{}/{name}", kind.name()).into()
    }
}

/// A buffer or a request, with the classes of the pods that it stands for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The object.
    pub object: AskObject,
    /// The sets of pods, in the order of the object; none where nothing is to be done for it any more.
    pub sets: Vec<UnitSet>,
}

/// The object of an ask.
#[derive(Clone, Debug)]
pub enum AskObject {
    /// A buffer.
    Buffer(Arc<CapacityBuffer>),
    /// A request.
    Request(Arc<ProvisioningRequest>),
}

/// Pods of one template that nobody has made yet.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitSet {
    /// Name of the template.
    pub template: Name,
    /// Number of the class; none where there is no such template.
    pub class: Option<u32>,
    /// How many are asked for; what a buffer asks for is reckoned when it is planned.
    pub count: u32,
}

/// The ways in which a request is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestClass {
    /// Room on what is there, held without new nodes.
    CheckCapacity,
    /// Nodes are started, for all of it or for nothing.
    AtomicScaleUp,
}

impl RequestClass {
    /// How requests name them.
    pub const NAMES: [&str; 2] =
        ["check-capacity.autoscaling.x-k8s.io", "best-effort-atomic-scale-up.autoscaling.x-k8s.io"];
}

/// Where a request is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStage {
    /// Room is sought.
    Sought {
        /// So long.
        until: Time,
    },
    /// Room was found, and is held.
    Booked {
        /// So long.
        until: Time,
    },
    /// No room was found in time.
    Expired,
    /// Room was held for as long as it is.
    BookingOver,
    /// It was told to be over, or it is not for Ballast.
    Over,
}

impl AskObject {
    /// Its metadata.
    pub fn meta(&self) -> &Meta {
        match self {
            Self::Buffer(buffer) => &buffer.metadata,
            Self::Request(request) => &request.metadata,
        }
    }

    /// The version of the API that it was told in.
    pub fn api_version(&self) -> &Name {
        match self {
            Self::Buffer(buffer) => &buffer.api_version,
            Self::Request(request) => &request.api_version,
        }
    }

    /// Names it.
    pub fn reference(&self) -> AskRef {
        let kind = match self {
            Self::Buffer(_) => AskKind::CapacityBuffer,
            Self::Request(_) => AskKind::ProvisioningRequest,
        };
        AskRef { kind, namespace: self.meta().namespace.clone(), name: self.meta().name.clone() }
    }

    /// What is said of it.
    pub fn conditions(&self) -> &[AskCondition] {
        match self {
            Self::Buffer(buffer) => &buffer.status.conditions,
            Self::Request(request) => &request.status.conditions,
        }
    }

    /// Whether something may have to be done for it, now or later.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Buffer(buffer) => buffer.is_ours(),
            Self::Request(request) => request.class().is_some() && !request.was_told_over(),
        }
    }

    /// The sets of pods, by template.
    pub(super) fn sets(&self) -> Vec<UnitSet> {
        let set = |template: &Name, count: u32| UnitSet { template: template.clone(), class: None, count };
        match self {
            Self::Buffer(buffer) => {
                buffer.spec.pod_template_ref.iter().map(|template| set(&template.name, 0)).collect()
            }
            Self::Request(request) => {
                let sets = request.spec.pod_sets.iter();
                sets.map(|own| set(&own.pod_template_ref.name, own.count.max(0) as u32)).collect()
            }
        }
    }
}

impl CapacityBuffer {
    /// Whether its strategy is the one that is followed here.
    pub fn is_ours(&self) -> bool {
        matches!(&*self.spec.provisioning_strategy, "" | ACTIVE)
    }

    /// The strategy that is followed.
    pub fn strategy(&self) -> &'static str {
        ACTIVE
    }
}

impl ProvisioningRequest {
    /// How it is to be served; none where that is not for Ballast.
    pub fn class(&self) -> Option<RequestClass> {
        let [check, atomic] = RequestClass::NAMES;
        match &*self.spec.provisioning_class_name {
            name if name == check => Some(RequestClass::CheckCapacity),
            name if name == atomic => Some(RequestClass::AtomicScaleUp),
            _ => None,
        }
    }

    /// Whether it is given up at once where there is no room.
    pub fn is_asked_once(&self) -> bool {
        self.parameter(NO_RETRY).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Where it is in its life.
    pub fn stage(&self, now: Time) -> RequestStage {
        if self.class().is_none() || self.was_told_over() {
            return RequestStage::Over;
        }
        if let Some(provisioned) = self.told("Provisioned") {
            // Without a time nobody can tell how long it was held.
            let until = provisioned.last_transition_time.unwrap_or(Time::ZERO) + BOOKED_FOR;
            return if now < until { RequestStage::Booked { until } } else { RequestStage::BookingOver };
        }
        let sought_for = self.parameter(VALID_UNTIL).and_then(|seconds| seconds.parse().ok());
        let sought_for = sought_for.map_or(SOUGHT_FOR, Span::from_secs);
        let until = self.metadata.creation_timestamp.unwrap_or(now) + sought_for;
        if now < until { RequestStage::Sought { until } } else { RequestStage::Expired }
    }

    fn was_told_over(&self) -> bool {
        ["Failed", "BookingExpired", "CapacityRevoked"].into_iter().any(|kind| self.told(kind).is_some())
    }

    /// The condition of a type, where it is true.
    fn told(&self, kind: &str) -> Option<&AskCondition> {
        let is_so = |own: &&AskCondition| &*own.kind == kind && &*own.status == "True";
        self.status.conditions.iter().find(is_so)
    }

    fn parameter(&self, key: &str) -> Option<&str> {
        let found = self.spec.parameters.iter().find(|(own, _)| own.eq_ignore_ascii_case(key));
        found.map(|(_, value)| &**value)
    }
}
