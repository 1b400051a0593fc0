//! The status of a pod as a kubelet writes it, from what is known of it. No I/O.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, HostIP, Pod, PodCondition, PodIP, PodSpec, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::view::{Ended, Seen, State, View};

/// The status of a pod; times of conditions that did not change since `before` stay.
pub(super) fn of(
    pod: &Pod,
    view: &View,
    gateway: Ipv4Addr,
    before: Option<&PodStatus>,
    now: Timestamp,
) -> PodStatus {
    let spec = pod.spec.clone().unwrap_or_default();
    let phase = phase(&spec, view);
    let statuses = |containers: &[Container]| {
        containers.iter().map(|container| container_status(pod, container, view)).collect::<Vec<_>>()
    };
    let inits = spec.init_containers.as_deref().unwrap_or_default();
    PodStatus {
        conditions: Some(conditions(pod, &spec, view, phase, before, now)),
        container_statuses: Some(statuses(&spec.containers)),
        init_container_statuses: (!inits.is_empty()).then(|| statuses(inits)),
        host_ip: Some(gateway.to_string()),
        host_ips: Some(vec![HostIP { ip: gateway.to_string() }]),
        pod_ip: view.ip.map(|ip| ip.to_string()),
        pod_ips: view.ip.map(|ip| vec![PodIP { ip: ip.to_string() }]),
        phase: Some(phase.to_owned()),
        reason: view.failure.as_ref().map(|(reason, _)| (*reason).to_owned()),
        message: view.failure.as_ref().map(|(_, message)| message.clone()),
        start_time: view.since.map(Time),
        ..PodStatus::default()
    }
}

/// An init container that runs beside the others.
pub(super) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn seen<'a>(view: &'a View, container: &Container) -> Option<&'a Seen> {
    view.containers.get(&container.name)
}

/// A phase that nothing leaves is told only when nothing runs any more.
fn phase(spec: &PodSpec, view: &View) -> &'static str {
    let is = |container: &Container, holds: fn(&Seen) -> bool| seen(view, container).is_some_and(holds);
    let all = |holds: fn(&Seen) -> bool| spec.containers.iter().all(|container| is(container, holds));
    let mut inits = spec.init_containers.iter().flatten().filter(|container| !is_sidecar(container));
    let init_failed = inits.any(|init| is(init, |seen| seen.is_over && !seen.succeeded()));
    let has_run = spec.containers.iter().any(|container| is(container, Seen::has_run));
    match view.is_over {
        true if view.failure.is_none() && all(Seen::succeeded) => "Succeeded",
        true if view.failure.is_some() || init_failed || all(|seen| seen.is_over) => "Failed",
        _ if has_run => "Running",
        _ => "Pending",
    }
}

/// Names of init containers that hold up the others.
fn not_initialized<'a>(spec: &'a PodSpec, view: &View) -> Vec<&'a str> {
    let done = |init: &Container| {
        let seen = seen(view, init);
        if is_sidecar(init) {
            seen.is_some_and(|seen| seen.started || seen.is_over)
        } else {
            seen.is_some_and(Seen::succeeded)
        }
    };
    let inits = spec.init_containers.iter().flatten().filter(|init| !done(init));
    inits.map(|init| init.name.as_str()).collect()
}

fn conditions(
    pod: &Pod,
    spec: &PodSpec,
    view: &View,
    phase: &str,
    before: Option<&PodStatus>,
    now: Timestamp,
) -> Vec<PodCondition> {
    // What others have told before us, such as the scheduler, keeps its time too.
    let before = before.or(pod.status.as_ref());
    let sidecars = spec.init_containers.iter().flatten().filter(|init| is_sidecar(init));
    let unready: Vec<&str> = spec
        .containers
        .iter()
        .chain(sidecars)
        .filter(|container| view.ending || !seen(view, container).is_some_and(|seen| seen.ready))
        .map(|container| container.name.as_str())
        .collect();
    let uninitialized = not_initialized(spec, view);
    let over = matches!(phase, "Succeeded" | "Failed");
    let wants = |reason: &'static str, what: &str, names: &[&str]| match (phase, names) {
        (_, []) => None,
        ("Succeeded", _) => Some(("PodCompleted", String::new())),
        ("Failed", _) => Some(("PodFailed", String::new())),
        _ => Some((reason, format!("containers with {what} status: [{}]", names.join(" ")))),
    };
    let containers = wants("ContainersNotReady", "unready", &unready);
    let gates: Vec<&str> = spec
        .readiness_gates
        .iter()
        .flatten()
        .map(|gate| gate.condition_type.as_str())
        .filter(|gate| !holds(pod.status.as_ref(), gate))
        .collect();
    let ready = containers.clone().or_else(|| match gates.as_slice() {
        [] => None,
        gates => Some(("ReadinessGatesNotReady", format!("not true: {}", gates.join(" ")))),
    });
    let initialized = match over {
        true => None,
        false => wants("ContainersNotInitialized", "incomplete", &uninitialized),
    };
    let told = [
        ("Initialized", initialized),
        ("ContainersReady", containers),
        ("Ready", ready),
        ("PodScheduled", None),
    ];
    told.into_iter().map(|(kind, why_not)| condition(kind, why_not, before, now)).collect()
}

fn condition(
    kind: &str,
    why_not: Option<(&str, String)>,
    before: Option<&PodStatus>,
    now: Timestamp,
) -> PodCondition {
    let status = if why_not.is_none() { "True" } else { "False" };
    let mut conditions = before.and_then(|before| before.conditions.as_ref()).into_iter().flatten();
    let same = conditions.find(|known| known.type_ == kind && known.status == status);
    let since = same.and_then(|known| known.last_transition_time.clone());
    // Empty rather than left out: what is left out of a patch stays as it was.
    let (reason, message) = why_not.unwrap_or_default();
    PodCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_transition_time: since.or(Some(Time(now))),
        ..PodCondition::default()
    }
}

fn holds(status: Option<&PodStatus>, kind: &str) -> bool {
    let mut conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    conditions.any(|condition| condition.type_ == kind && condition.status == "True")
}

fn container_status(pod: &Pod, container: &Container, view: &View) -> ContainerStatus {
    let seen = seen(view, container).cloned().unwrap_or_default();
    let id = format!("test://{}/{}/{}", pod.uid().unwrap_or_default(), container.name, seen.restarts);
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        image_id: String::new(),
        container_id: seen.has_run().then(|| id.clone()),
        ready: seen.ready && !view.ending,
        started: Some(seen.started),
        restart_count: seen.restarts,
        state: Some(state(&seen.state, &id)),
        last_state: seen.last.map(|last| ContainerState {
            terminated: Some(terminated(&last, &id)),
            ..ContainerState::default()
        }),
        ..ContainerStatus::default()
    }
}

fn state(state: &State, id: &str) -> ContainerState {
    let mut told = ContainerState::default();
    match state {
        State::Waiting(reason, message) => {
            told.waiting = Some(ContainerStateWaiting {
                reason: Some((*reason).to_owned()),
                message: Some(message.clone()).filter(|message| !message.is_empty()),
            });
        }
        State::Running(since) => {
            told.running = Some(ContainerStateRunning { started_at: Some(Time(*since)) });
        }
        State::Ended(ended) => told.terminated = Some(terminated(ended, id)),
    }
    told
}

fn terminated(ended: &Ended, id: &str) -> ContainerStateTerminated {
    ContainerStateTerminated {
        container_id: Some(id.to_owned()),
        exit_code: ended.code,
        reason: Some(if ended.code == 0 { "Completed" } else { "Error" }.to_owned()),
        message: Some(ended.message.clone()).filter(|message| !message.is_empty()),
        started_at: Some(Time(ended.since)),
        finished_at: Some(Time(ended.until)),
        ..ContainerStateTerminated::default()
    }
}
