//! Looks at the instances of every pool again and again, each pool on its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use ballast_core::kube::Name;
use ballast_core::observation::{Body, Observation, Source};

use crate::clock::Clock;

use super::Providers;

/// The looks at all pools.
pub struct Polling {
    providers: Providers,
    clock: Clock,
    told: mpsc::Sender<Observation>,
    every: Duration,
    under_way: BTreeMap<Name, JoinHandle<()>>,
}

impl Polling {
    /// Looks `every` so often; nothing is looked at before the pools are known.
    pub fn new(providers: Providers, clock: Clock, told: mpsc::Sender<Observation>, every: Duration) -> Self {
        Self { providers, clock, told, every, under_way: BTreeMap::new() }
    }

    /// Takes up new pools, lets go of those that are no more, and looks at once at those that were set up `anew`: a pool that
    /// could not be asked until now must not be passed over until the next look is due.
    pub fn follow(&mut self, anew: &BTreeSet<Name>) {
        let names = self.providers.names();
        self.under_way.retain(|name, look| {
            let stays = names.contains(name) && !anew.contains(name);
            if !stays {
                look.abort();
            }
            stays
        });
        for name in names {
            let look = Look { pool: name.clone(), ..self.look() };
            self.under_way.entry(name).or_insert_with(|| tokio::spawn(look.run()));
        }
    }

    fn look(&self) -> Look {
        Look {
            providers: self.providers.clone(),
            clock: self.clock,
            told: self.told.clone(),
            every: self.every,
            pool: Name::default(),
        }
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        self.under_way.values().for_each(JoinHandle::abort);
    }
}

struct Look {
    providers: Providers,
    clock: Clock,
    told: mpsc::Sender<Observation>,
    every: Duration,
    pool: Name,
}

impl Look {
    async fn run(self) {
        let mut last_error = None;
        loop {
            // What a list says is as old as the moment it was asked for.
            let taken_at = self.clock.now();
            let outcome = self.providers.list(&self.pool).await.map(|list| Body::Instances(list.into()));
            let error = outcome.as_ref().err().cloned();
            if let Some(error) = error.as_ref().filter(|error| Some(*error) != last_error.as_ref()) {
                tracing::warn!(pool = %self.pool, %error, "cannot see the instances of this pool");
            }
            last_error = error;
            let observation = Observation { source: Source::instances(&self.pool), taken_at, outcome };
            if self.told.send(observation).await.is_err() {
                return;
            }
            sleep(self.every).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::Secrets;
    use crate::providers::AllowedHosts;
    use crate::providers::tests::nobody;
    use ballast_core::observation::ErrorClass;
    use ballast_core::policy::VmPool;

    /// A pool whose provider listens nowhere: what is told of it shows only whether it was asked.
    fn pool() -> VmPool {
        let spec = serde_json::json!({
            "provider": {"kind": "External", "settings": {"endpoint": "http://127.0.0.1:1"}},
            "template": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}},
            "max": 1,
        });
        VmPool {
            name: "w".into(),
            namespace: Name::default(),
            spec: serde_json::from_value(spec).expect("a pool"),
        }
    }

    async fn class(told: &mut mpsc::Receiver<Observation>) -> ErrorClass {
        told.recv().await.expect("a look").outcome.expect_err("nobody listens").class
    }

    #[tokio::test]
    async fn another_policy_is_a_reason_to_look_at_once() {
        crate::install_crypto();
        let (tell, mut told) = mpsc::channel(8);
        let client = kube::Client::new(tower::service_fn(nobody), "default");
        let providers = Providers::new(Secrets::new(&client, "ballast"));
        let mut polling = Polling::new(providers.clone(), Clock::start(), tell, Duration::from_hours(1));
        let (nowhere, here) = (AllowedHosts::default(), AllowedHosts::new(&["127.0.0.1".into()]));
        polling.follow(&providers.set(&[pool()], &nowhere));
        assert_eq!(class(&mut told).await, ErrorClass::Invalid, "the host is not allowed");
        polling.follow(&providers.set(&[pool()], &here));
        assert_eq!(
            class(&mut told).await,
            ErrorClass::Transient,
            "it is asked, long before the hour is over"
        );
        assert!(providers.set(&[pool()], &here).is_empty(), "nothing has changed, nothing is looked at");
    }
}
