//! What is seen of an API, observation by observation.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use ballast_core::observation::{Body, Change, Object, ObjectKind, Observation, Source};
use ballast_core::units::Span;
use ballast_live::clock::Clock;
use ballast_live::kubernetes::{SeenDocuments, watch_all};

use crate::api::Api;

/// Longer than anything may take, by the test's own clock.
const PATIENCE: Duration = Duration::from_secs(600);

/// Whoever looks at an API.
pub(crate) struct Sight {
    clock: Clock,
    told: mpsc::Receiver<Observation>,
}

impl Sight {
    /// Begins to look.
    pub(crate) fn of(api: &Api) -> Self {
        let clock = Clock::start();
        let (sender, told) = mpsc::channel(1000);
        watch_all(&api.client(), clock, &sender, &SeenDocuments::default());
        Self { clock, told }
    }

    /// The next thing that is said of a kind; what is said of others is passed over.
    pub(crate) async fn next(&mut self, kind: ObjectKind) -> Observation {
        loop {
            let told = timeout(PATIENCE, self.told.recv()).await.expect("nothing is said any more");
            let told = told.expect("the watches have ended");
            if told.source == Source::kubernetes(kind) {
                return told;
            }
        }
    }

    /// The next complete list of a kind, in names.
    pub(crate) async fn listed(&mut self, kind: ObjectKind) -> Vec<String> {
        loop {
            if let Ok(Body::Listed(objects)) = self.next(kind).await.outcome {
                return objects.iter().map(name).collect();
            }
        }
    }

    /// The next failure of a kind, in words.
    pub(crate) async fn failed(&mut self, kind: ObjectKind) -> String {
        loop {
            if let Err(error) = self.next(kind).await.outcome {
                return error.to_string();
            }
        }
    }

    /// The next changes of a kind that are any, in words.
    pub(crate) async fn changed(&mut self, kind: ObjectKind) -> Vec<String> {
        loop {
            match self.next(kind).await.outcome {
                Ok(Body::Changed(changes)) if !changes.is_empty() => {
                    return changes.iter().map(words).collect();
                }
                _ => {}
            }
        }
    }

    /// How old something is that was said.
    pub(crate) fn age(&self, told: &Observation) -> Span {
        self.clock.now().since(told.taken_at)
    }
}

fn name(object: &Object) -> String {
    object.name().0.to_string()
}

fn words(change: &Change) -> String {
    match change {
        Change::Applied(object) => {
            let uid = object.meta().map(|meta| meta.uid.to_string()).unwrap_or_default();
            format!("{} is {uid}", name(object))
        }
        Change::Deleted(key) => format!("{} was {}", key.name, key.uid),
    }
}

/// A node as the API sends it.
pub(crate) fn node(uid: &str) -> Value {
    json!({"metadata": {"uid": uid}, "spec": {}, "status": {}})
}
