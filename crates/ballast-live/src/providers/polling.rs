//! Looks at the instances of every pool again and again, each pool on its own.

use std::collections::BTreeMap;
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

    /// Takes up new pools and lets go of those that are no more.
    pub fn follow(&mut self) {
        let names = self.providers.names();
        self.under_way.retain(|name, look| {
            let stays = names.contains(name);
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
