//! What is said of buffers and requests.

use super::*;
use crate::kube::{AskCondition, CONSUMES};
use crate::observation::{Body, Change, Object, ObjectKind};
use crate::snapshot::AskKind;

const ATOMIC: &str = "best-effort-atomic-scale-up";
const CHECK: &str = "check-capacity";
const BIG: [(&str, &str); 1] = [("cpu", "3")];

/// A pool of small nodes, and a template of pods of which a node carries one.
fn a_cluster(max: u32, nodes: u32) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&[("cpu", "4")], max, 1.0)).scale_down.enabled = false;
    (0..nodes).for_each(|number| _ = cluster.node(&format!("n{number}"), "cpu"));
    cluster.template("big", &BIG);
    cluster
}

/// The conditions of the only ask, as they shall stand: type, status and reason.
fn told(cluster: &Cluster) -> Vec<String> {
    conditions(&published(cluster))
}

fn conditions(published: &Published) -> Vec<String> {
    let Some(said) = published.asks.values().next() else { return Vec::new() };
    let conditions = serde_json::from_value(said.status["conditions"].clone());
    let conditions: Vec<AskCondition> = conditions.expect("conditions");
    assert!(conditions.iter().all(|own| own.last_transition_time.is_some() && !own.message.is_empty()));
    conditions.iter().map(|own| format!("{}={}/{}", own.kind, own.status, own.reason)).collect()
}

/// What shall stand does stand.
fn write(cluster: &mut Cluster) {
    for (reference, said) in published(cluster).asks {
        for object in &mut cluster.asks {
            match (object, reference.kind) {
                (Object::CapacityBuffer(own), AskKind::CapacityBuffer) => {
                    own.status = serde_json::from_value(said.status.clone()).expect("a status");
                }
                (Object::ProvisioningRequest(own), AskKind::ProvisioningRequest) => {
                    own.status = serde_json::from_value(said.status.clone()).expect("a status");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_check_is_accepted_booked_and_over() {
    let mut cluster = a_cluster(10, 1);
    cluster.request("train", CHECK, "big", 2);
    assert_eq!(told(&cluster), ["Accepted=True/Accepted", "Provisioned=False/CapacityIsNotFound"]);
    write(&mut cluster);
    assert_eq!(told(&cluster), [""; 0], "it is said once");
    cluster.node("n1", "cpu");
    assert_eq!(told(&cluster), ["Accepted=True/Accepted", "Provisioned=True/CapacityIsFound"]);
    write(&mut cluster);
    cluster.now = noon() + Span::from_mins(9);
    assert_eq!(told(&cluster), [""; 0]);
    cluster.now = noon() + Span::from_mins(10);
    let over = "BookingExpired=True/CapacityReservationTimeExpired";
    assert_eq!(told(&cluster).last().map(String::as_str), Some(over));
    write(&mut cluster);
    assert_eq!(told(&cluster), [""; 0]);
}

#[test]
fn a_check_that_is_asked_once_fails_at_once() {
    let mut cluster = a_cluster(10, 0);
    let request = cluster.request("train", CHECK, "big", 2);
    request.spec.parameters.insert("noRetry".into(), "true".into());
    assert_eq!(told(&cluster).last().map(String::as_str), Some("Failed=True/CapacityIsNotFound"));
    write(&mut cluster);
    cluster.node("n0", "cpu");
    cluster.node("n1", "cpu");
    assert_eq!(told(&cluster), [""; 0], "that is its end");
}

#[test]
fn an_atomic_request_is_provisioned_once_all_of_it_is_ready() {
    let mut cluster = a_cluster(10, 1);
    cluster.request("train", ATOMIC, "big", 2);
    assert_eq!(told(&cluster)[1], "Provisioned=False/CapacityIsNotFound", "one of two is there");
    cluster.node("n1", "cpu");
    assert_eq!(told(&cluster)[1], "Provisioned=True/CapacityIsProvisioned");
    cluster.now = noon() + Span::from_hours(7 * 24);
    assert_eq!(told(&cluster), ["Failed=True/Expired"]);
}

#[test]
fn a_request_whose_pods_wait_is_not_provisioned() {
    let mut cluster = a_cluster(10, 0);
    cluster.request("train", ATOMIC, "big", 2);
    for name in ["train-0", "train-1"] {
        let pod = cluster.pending(name, &BIG);
        pod.metadata.annotations = labels(&[(CONSUMES[0], "train")]);
    }
    assert_eq!(
        told(&cluster),
        ["Accepted=True/Accepted"],
        "nothing is still to come, and nothing has its room"
    );
}

#[test]
fn a_request_without_its_template_waits_for_it() {
    let mut cluster = a_cluster(10, 1);
    cluster.request("train", ATOMIC, "small", 2);
    assert_eq!(told(&cluster), ["Accepted=True/Accepted", "Provisioned=False/PodTemplateNotFound"]);
}

#[test]
fn a_buffer_says_how_much_it_is_and_whether_that_is_there() {
    let mut cluster = a_cluster(2, 2);
    cluster.buffer("spare", "big", 2);
    let said = |last: [&str; 2]| {
        let all = ["ReadyForProvisioning=True/Resolved", last[0], last[1]];
        all.map(str::to_owned)
    };
    assert_eq!(
        told(&cluster),
        said(["Provisioning=True/CapacityIsHeld", "LimitedByQuotas=False/WithinLimits"])
    );
    let status = published(&cluster).asks.into_values().next().expect("one").status;
    assert_eq!((&status["replicas"], &status["podTemplateRef"]["name"]), (&2.into(), &"big".into()));
    assert_eq!(status["provisioningStrategy"], "buffer.x-k8s.io/active-capacity");
    write(&mut cluster);
    assert_eq!(told(&cluster), [""; 0], "it is said once");
    cluster.pending("web-1", &BIG);
    assert_eq!(
        told(&cluster),
        said(["Provisioning=False/CapacityIsNotFound", "LimitedByQuotas=True/PoolMax"])
    );
    cluster.pools.get_mut("cpu").expect("it is there").max = 3;
    assert_eq!(
        told(&cluster),
        said(["Provisioning=True/CapacityIsComing", "LimitedByQuotas=False/WithinLimits"])
    );
    cluster.asks.retain(|own| !matches!(own, Object::PodTemplate(_)));
    assert_eq!(told(&cluster)[0], "ReadyForProvisioning=False/PodTemplateNotFound");
}

#[test]
fn of_what_others_own_nothing_is_said_without_enforce() {
    let mut cluster = a_cluster(10, 1);
    cluster.buffer("spare", "big", 1);
    cluster.policy.mode = Mode::Recommend;
    assert!(published(&cluster).asks.is_empty());
}

/// What an engine that has seen `before` and planned says, once it was told of changes that no plan has seen yet.
fn told_before_the_next_plan(before: &Cluster, changes: Vec<Object>) -> Vec<String> {
    let mut engine = Engine::new(None).unwrap();
    assert!(engine.tick(before.now, before.observations()).plan.is_some());
    let soon = before.now + Span::from_millis(1);
    for object in changes {
        let (source, outcome) =
            (Source::kubernetes(object.kind()), Ok(Body::Changed(vec![Change::Applied(object)])));
        assert!(engine.tick(soon, vec![Observation { source, taken_at: soon, outcome }]).plan.is_none());
    }
    conditions(&engine.published(soon))
}

#[test]
fn of_what_no_plan_has_seen_nobody_says_that_room_is_there() {
    let cluster = a_cluster(10, 2);
    let mut with = a_cluster(10, 2);
    with.buffer("spare", "big", 2);
    let buffer = with.asks.last().expect("the buffer").clone();
    assert_eq!(told_before_the_next_plan(&cluster, vec![buffer]), ["ReadyForProvisioning=True/Resolved"]);
    // A plan that sees no pods gives nobody anything.
    let mut observations = with.observations();
    let pods = Source::kubernetes(ObjectKind::Pod);
    let pods = observations.iter_mut().find(|own| own.source == pods).expect("pods");
    pods.outcome = Err(SourceError { class: ErrorClass::Transient, message: "503".into() });
    let mut engine = Engine::new(None).unwrap();
    assert!(engine.tick(with.now, observations).plan.is_some());
    assert_eq!(conditions(&engine.published(with.now)), ["ReadyForProvisioning=True/Resolved"]);
}

#[test]
fn an_answer_is_about_the_request_as_it_is_now() {
    let mut cluster = a_cluster(10, 2);
    cluster.request("train", ATOMIC, "big", 2);
    assert_eq!(told_before_the_next_plan(&cluster, vec![])[1], "Provisioned=True/CapacityIsProvisioned");
    let mut other = Cluster::new();
    other.template("big", &[("cpu", "400")]);
    assert_eq!(
        told_before_the_next_plan(&cluster, other.asks),
        [""; 0],
        "the plan was made of another shape"
    );
}

#[test]
fn what_was_not_listed_yet_is_not_told_to_be_missing() {
    let mut cluster = a_cluster(10, 2);
    cluster.buffer("spare", "big", 2);
    let mut observations = cluster.observations();
    observations.retain(|own| own.source != Source::kubernetes(ObjectKind::PodTemplate));
    let mut engine = Engine::new(None).unwrap();
    let _ = engine.tick(cluster.now, observations);
    assert_eq!(conditions(&engine.published(cluster.now)), [""; 0]);
}

#[test]
fn what_is_only_planned_does_not_come() {
    let mut cluster = a_cluster(10, 0);
    cluster.buffer("spare", "big", 2);
    assert_eq!(told(&cluster)[1], "Provisioning=True/CapacityIsComing");
    cluster.policy.limits.nodes = None;
    assert_eq!(told(&cluster)[1], "Provisioning=False/CapacityIsNotFound", "nothing is done without limits");
}

#[test]
fn room_for_more_than_is_looked_for_is_not_found() {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&[("cpu", "9000"), ("pods", "9000")], 1, 1.0)).scale_down.enabled = false;
    cluster.node("n1", "cpu");
    cluster.template("one", &[("cpu", "1")]);
    cluster.request("train", CHECK, "one", 5000);
    assert_eq!(told(&cluster)[1], "Provisioned=True/CapacityIsFound");
    cluster.asks.pop();
    cluster.request("train", CHECK, "one", 5001);
    assert_eq!(told(&cluster)[1], "Provisioned=False/CapacityIsNotFound");
}
