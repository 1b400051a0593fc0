//! The probes of a running container: whether it has started, is alive, and is ready.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Probe};
use tokio::time::sleep;

use super::container::Running;
use super::handlers::Handler;

/// Which probe found that a container has to be killed, and why.
pub(super) struct Unhealthy {
    /// For people.
    pub(super) message: String,
    /// How long it then has to end by itself, where the probe says so.
    pub(super) grace: Option<Duration>,
}

/// Keeps what is known of a container true; ends when it has to be killed.
pub(super) async fn keep(spec: &Container, container: &Running<'_>) -> Unhealthy {
    if let Some(startup) = &spec.startup_probe {
        let mut gauge = Gauge::of(startup);
        while !gauge.look(container).await {
            if gauge.has_failed() {
                return gauge.unhealthy("startup");
            }
        }
    }
    container.has_started(spec.readiness_probe.is_none());
    tokio::select! {
        never = keep_ready(spec.readiness_probe.as_ref(), container) => never,
        unhealthy = keep_alive(spec.liveness_probe.as_ref(), container) => unhealthy,
    }
}

async fn keep_ready(probe: Option<&Probe>, container: &Running<'_>) -> Unhealthy {
    let Some(probe) = probe else { return std::future::pending().await };
    let mut gauge = Gauge::of(probe);
    loop {
        gauge.look(container).await;
        if gauge.has_succeeded() {
            container.is_ready(true);
        } else if gauge.has_failed() {
            container.is_ready(false);
        }
    }
}

async fn keep_alive(probe: Option<&Probe>, container: &Running<'_>) -> Unhealthy {
    let Some(probe) = probe else { return std::future::pending().await };
    let mut gauge = Gauge::of(probe);
    while !gauge.has_failed() {
        gauge.look(container).await;
    }
    gauge.unhealthy("liveness")
}

/// A probe with what it found lately.
struct Gauge<'a> {
    probe: &'a Probe,
    looks: u32,
    successes: i32,
    failures: i32,
    last: String,
}

impl<'a> Gauge<'a> {
    fn of(probe: &'a Probe) -> Self {
        Self { probe, looks: 0, successes: 0, failures: 0, last: String::new() }
    }

    /// Waits until it is time, and looks: whether it found the container well.
    async fn look(&mut self, container: &Running<'_>) -> bool {
        let Probe { initial_delay_seconds, period_seconds, timeout_seconds, .. } = self.probe;
        let wait =
            if self.looks == 0 { seconds(*initial_delay_seconds, 0) } else { seconds(*period_seconds, 10) };
        sleep(wait).await;
        self.looks += 1;
        let found = match Handler::of_probe(self.probe) {
            Some(handler) => handler.run(container, seconds(*timeout_seconds, 1)).await,
            None => Err("a probe that does nothing".to_owned()),
        };
        match found {
            Ok(()) => (self.successes, self.failures) = (self.successes + 1, 0),
            Err(why) => {
                (self.successes, self.failures) = (0, self.failures + 1);
                self.last = why;
            }
        }
        self.has_succeeded()
    }

    fn has_succeeded(&self) -> bool {
        self.successes >= self.probe.success_threshold.unwrap_or(1).max(1)
    }

    fn has_failed(&self) -> bool {
        self.failures >= self.probe.failure_threshold.unwrap_or(3).max(1)
    }

    fn unhealthy(&self, kind: &str) -> Unhealthy {
        let grace = self.probe.termination_grace_period_seconds;
        Unhealthy {
            message: format!("failed {kind} probe, will be restarted: {}", self.last),
            grace: grace.map(|grace| Duration::from_secs(u64::try_from(grace).unwrap_or(0))),
        }
    }
}

fn seconds(given: Option<i32>, default: u64) -> Duration {
    Duration::from_secs(given.map_or(default, |given| u64::try_from(given).unwrap_or(0)))
}
