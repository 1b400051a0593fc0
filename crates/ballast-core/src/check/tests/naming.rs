//! Plans that do not say certainly whom they mean.

use std::sync::Arc;

use super::*;
use crate::plan::{ActionCode, ActionId, Input, Precondition, Reason, Target, TargetKind};
use crate::policy::ObjectReference;

/// An action with all the identity that any kind has to name.
fn an_action(kind: ActionKind, target: TargetKind, object: &str, name: &str) -> Action {
    let object = ObjectReference { api_version: "x/v1".into(), kind: object.into(), name: name.into() };
    let inputs = vec![Input { name: "ratio".into(), value: 2.into(), age_seconds: 0.0 }];
    let message = "it is asked for".to_owned();
    Action {
        id: ActionId(1),
        kind,
        target: Target {
            kind: target,
            namespace: "data".into(),
            name: name.into(),
            object: Some(Arc::new(object)),
            uid: format!("uid of {name}").into(),
            worker_id: "worker-1".into(),
            ..Target::default()
        },
        from: "5".into(),
        to: "7".into(),
        precondition: Precondition {
            uid: format!("uid of {name}").into(),
            resource_version: "812".into(),
            size: Some(5),
            token: "jhub-1".into(),
            ..Precondition::default()
        },
        after: Vec::new(),
        gang: "".into(),
        reason: Reason { code: ActionCode::Granted, message, inputs, limit: None },
    }
}

/// The promises that a plan of these actions would break.
fn broken_by(actions: Vec<Action>) -> Vec<u8> {
    let mut cluster = Cluster::new();
    let mut plan = cluster.plan();
    *plan.actions.make_mut() = actions;
    broken(&cluster, &plan)
}

#[test]
fn two_things_of_one_name_are_two() {
    let scale = |object| an_action(ActionKind::SetReplicas, TargetKind::Scale, object, "web");
    let job = an_action(ActionKind::ResizeJob, TargetKind::Job, "Job", "web");
    assert!(broken_by(vec![scale("Deployment"), scale("StatefulSet"), job]).is_empty());
    let mut elsewhere = scale("Deployment");
    elsewhere.target.namespace = "ml".into();
    assert!(broken_by(vec![scale("Deployment"), elsewhere]).is_empty());
    assert_eq!(broken_by(vec![scale("Deployment"), scale("Deployment")]), [2]);
}

#[test]
fn a_node_and_its_instance_are_one() {
    let start = |kind, name: &str, id: &str| {
        let mut action = an_action(ActionKind::UncordonNode, kind, "", name);
        (action.target.object, action.target.provider_id) = (None, id.into());
        action
    };
    let node = |id| start(TargetKind::Node, "n1", id);
    assert!(broken_by(vec![node("x://1"), start(TargetKind::Instance, "n2", "x://2")]).is_empty());
    assert_eq!(broken_by(vec![node(""), start(TargetKind::Instance, "n1", "x://1")]), [2], "by name");
    assert_eq!(broken_by(vec![node("x://1"), start(TargetKind::Instance, "n2", "x://1")]), [2], "by id");
}

#[test]
fn what_is_written_or_removed_is_certain() {
    use ActionKind::{
        CreateSparkWorker, RemoveRayWorker, RemoveSparkWorker, ResizeJob, ResizeRayGroup, SetReplicas,
    };
    type Slip = fn(&mut Action);
    let no_uid: Slip = |action| action.target.uid = "".into();
    let other_uid: Slip = |action| action.precondition.uid = "another".into();
    let no_version: Slip = |action| action.precondition.resource_version = "".into();
    let no_size: Slip = |action| action.precondition.size = None;
    let no_object: Slip = |action| action.target.object = None;
    let no_worker: Slip = |action| action.target.worker_id = "".into();
    let no_token: Slip = |action| action.precondition.token = "".into();
    let (sized, removed) =
        ([no_uid, other_uid, no_version, no_size, no_object], [no_uid, other_uid, no_worker]);
    let table: [(ActionKind, TargetKind, &[Slip]); 6] = [
        (ResizeJob, TargetKind::Job, &sized),
        (SetReplicas, TargetKind::Scale, &sized),
        (ResizeRayGroup, TargetKind::RayGroup, &sized),
        (RemoveRayWorker, TargetKind::RayWorker, &removed),
        (RemoveSparkWorker, TargetKind::SparkWorker, &removed),
        (CreateSparkWorker, TargetKind::SparkWorker, &[no_token]),
    ];
    for (kind, target, slips) in table {
        let good = an_action(kind, target, "Thing", "web");
        assert!(broken_by(vec![good.clone()]).is_empty(), "{kind}");
        for (at, slip) in slips.iter().enumerate() {
            let mut bad = good.clone();
            slip(&mut bad);
            assert_eq!(broken_by(vec![bad]), [2], "{kind}, slip {at}");
        }
    }
}
