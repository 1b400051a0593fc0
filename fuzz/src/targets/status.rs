//! The status of a ClusterPolicy as it comes back from the API: whatever somebody wrote there is read as far as it can be, and of a
//! plan that was altered nothing is carried out.

use ballast_core::documents::{DocumentKind, File, load};
use ballast_core::engine::Engine;
use ballast_core::publish::{DocumentStatus, PublishedPlan};
use ballast_core::units::Time;
use serde_json::{Value, json};

/// A small cluster with something to do in it.
const CLUSTER: &str = include_str!("../../../crates/ballast/tests/documents/cluster.yaml");

pub(super) fn run(input: &[u8]) {
    let Ok(change) = serde_json::from_slice::<Value>(input) else { return };
    let now = Time::from_secs(1_794_700_800);
    let (mut engine, proposed) = proposing(now);
    let published = proposed.plan.clone().expect("a plan is proposed");
    let mut status = json!(proposed);
    overlay(&mut status, change);
    let read = DocumentStatus::read(status);
    assert_eq!(DocumentStatus::read(json!(read)), read, "what was read is written and read the same");
    let Some(plan) = read.plan else { return };
    // What is looked at and what is judged comes to an end, whenever it was made.
    let _ = engine.judgement(now, &plan);
    if engine.approve(now, &plan, &[]).is_ok() {
        assert_eq!(decided(&plan), decided(&published), "an altered plan is carried out");
    } else {
        let ledger = &engine.memory().ledger;
        assert!(ledger.launches.is_empty() && ledger.removals.is_empty(), "a refused plan is begun");
    }
}

/// An engine that leads in `Recommend`, and the status that it would write.
fn proposing(now: Time) -> (Engine, DocumentStatus) {
    let cluster = CLUSTER.replacen("Enforce", "Recommend", 1).into_bytes();
    let documents = load(&[File { name: "cluster".to_owned(), bytes: cluster }]);
    let mut engine = Engine::new(None).expect("there is no ledger to be unreadable");
    let observations = documents.map(|documents| documents.into_observations(now)).unwrap_or_default();
    drop(engine.tick(now, observations));
    let published = engine.published(now);
    let policy = published.documents.iter().find(|(own, _)| own.kind == DocumentKind::ClusterPolicy);
    let said = policy.expect("there is a policy").1;
    (engine, DocumentStatus::default().merge(said, 1, None, now))
}

/// What would be done to whom, under which conditions.
fn decided(plan: &PublishedPlan) -> Vec<Value> {
    let of = |action| -> Value {
        let mut action = json!(action);
        if let Some(fields) = action.as_object_mut() {
            ["id", "from", "code", "message"].iter().for_each(|field| drop(fields.remove(*field)));
        }
        action
    };
    plan.actions.iter().map(of).collect()
}

/// Writes a value over another: fields and items are written over one by one, all else is replaced.
fn overlay(value: &mut Value, change: Value) {
    match (value, change) {
        (Value::Object(value), Value::Object(change)) => {
            for (name, change) in change {
                overlay(value.entry(name).or_insert(Value::Null), change);
            }
        }
        (Value::Array(value), Value::Array(change)) => {
            for (at, change) in change.into_iter().enumerate() {
                match value.get_mut(at) {
                    Some(value) => overlay(value, change),
                    None => value.push(change),
                }
            }
        }
        (value, change) => *value = change,
    }
}
