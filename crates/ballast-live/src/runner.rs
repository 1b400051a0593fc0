//! The runner: awaits the world and calls the engine.
//!
//! ```text
//! observations ─┐            ┌─▶ requests, each sent once ─▶ replies ─┐
//! replies ──────┼─▶ engine ──┤                                        │
//! the clock ────┤            └─▶ told: whoever shows or records       │
//! leadership ───┘◀───────────────────────────────────────────────────┘
//! ```
//!
//! In `Observe` no lease is wanted and nothing is written. In the other modes the process that holds the lease leads: it takes
//! up the stored memory, and only it asks for anything. A request that changes something is sent only while the lease outlasts
//! the longest that its answer may take.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use ballast_core::engine::{Engine, Outcome, RequestId};
use ballast_core::observation::{Body, ErrorClass, ObjectKind, Observation, Source, SourceError};
use ballast_core::policy::{ClusterPolicySpec, Mode, VmPool};
use ballast_core::procedure::{Reply, Request};
use ballast_core::units::Time;

use crate::clock::Clock;
use crate::kubernetes::{
    Answer, Connection, Kubernetes, Leadership, Lease, LeaseTimes, REQUEST_TIMEOUT, watch_all,
};
use crate::providers::{AllowedHosts, Polling, Providers};

/// Observations that wait for the engine; who has more to tell waits.
const OBSERVATIONS_MAX: usize = 1024;
/// Answers that wait for the engine.
const ANSWERS_MAX: usize = 1024;
/// The name of the lease.
const LEASE: &str = "ballast";

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The namespace that Ballast lives in: its lease and its memory.
    pub namespace: String,
    /// Who this process is among several.
    pub identity: String,
    /// How the lease is kept.
    pub lease: LeaseTimes,
    /// How often a provider is asked for its instances.
    pub instances_every: Duration,
    /// How long requests that are out are waited for in the end.
    pub grace: Duration,
}

/// Hears of everything that the engine does.
pub trait Listener: Send {
    /// The engine was told something; this came of it.
    fn heard(&mut self, now: Time, engine: &mut Engine, outcome: &Outcome);
    /// This process begins or ceases to lead.
    fn leads(&mut self, leads: bool);
}

/// Runs the engine against a cluster.
pub struct Runner<L> {
    options: Options,
    clock: Clock,
    connection: Connection,
    kubernetes: Kubernetes,
    providers: Providers,
    polling: Polling,
    engine: Engine,
    listener: L,
    observations: mpsc::Receiver<Observation>,
    /// Where answers go, and where they come from.
    answered: mpsc::Sender<(RequestId, Answer)>,
    answers: mpsc::Receiver<(RequestId, Answer)>,
    /// Whether the lease is ours; `None` while it is not wanted.
    lease: Option<watch::Receiver<Leadership>>,
    leads: bool,
    policy: Arc<ClusterPolicySpec>,
    pools: Vec<VmPool>,
    wake_at: Time,
    /// The lease was asked for at the end: it is given back.
    ends: CancellationToken,
    keeper: TaskTracker,
    /// Requests that are out.
    requests: TaskTracker,
    /// The pools were listed: what the ledger says of their machines can be asked for.
    knows_pools: bool,
}

impl<L: Listener> Runner<L> {
    /// Begins to watch a cluster. Nothing is asked of it yet.
    pub fn start(connection: Connection, options: Options, listener: L) -> Self {
        let clock = Clock::start();
        let (told, observations) = mpsc::channel(OBSERVATIONS_MAX);
        let (answered, answers) = mpsc::channel(ANSWERS_MAX);
        let providers = Providers::default();
        watch_all(&connection.client, clock, &told);
        let polling = Polling::new(providers.clone(), clock, told, options.instances_every);
        Self {
            kubernetes: Kubernetes::new(connection.client.clone(), &options.namespace),
            polling,
            providers,
            engine: Engine::following(),
            listener,
            observations,
            answered,
            answers,
            lease: None,
            leads: false,
            policy: Arc::default(),
            pools: Vec::new(),
            wake_at: Time::ZERO,
            ends: CancellationToken::new(),
            keeper: TaskTracker::new(),
            requests: TaskTracker::new(),
            knows_pools: false,
            clock,
            connection,
            options,
        }
    }

    /// Runs until it is told to stop; then gives the lease back and waits for what is out.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let wake = tokio::time::Instant::from_std(self.clock.instant(self.wake_at));
            tokio::select! {
                () = stop.cancelled() => break,
                Some(observation) = self.observations.recv() => self.observe(observation),
                Some((id, answer)) = self.answers.recv() => self.settle(id, answer),
                leadership = changed(&mut self.lease) => self.lead_or_follow(leadership).await,
                () = sleep_until(wake) => self.observe_nothing(),
            }
        }
        self.end().await;
    }

    /// Takes in what has been observed by now.
    fn observe(&mut self, first: Observation) {
        let mut observations = vec![first];
        while observations.len() < OBSERVATIONS_MAX
            && let Ok(next) = self.observations.try_recv()
        {
            observations.push(next);
        }
        self.tick(observations);
    }

    fn observe_nothing(&mut self) {
        self.tick(Vec::new());
    }

    fn tick(&mut self, observations: Vec<Observation>) {
        let now = self.clock.now();
        let policies = [ObjectKind::ClusterPolicy, ObjectKind::VmPool].map(Source::kubernetes);
        let speaks_of_policies =
            observations.iter().any(|observation| policies.contains(&observation.source));
        let lists_pools =
            |told: &Observation| told.source == policies[1] && matches!(told.outcome, Ok(Body::Listed(_)));
        self.knows_pools |= observations.iter().any(lists_pools);
        let outcome = self.engine.tick(now, observations);
        self.carry_out(now, outcome);
        if speaks_of_policies {
            self.heed_policy();
        }
    }

    fn settle(&mut self, id: RequestId, answer: Answer) {
        let now = self.clock.now();
        let engine = &self.engine;
        let reply = answer.reply(|node| engine.is_usable(node));
        let outcome = self.engine.settle(now, id, reply);
        self.carry_out(now, outcome);
    }

    fn carry_out(&mut self, now: Time, outcome: Outcome) {
        self.listener.heard(now, &mut self.engine, &outcome);
        self.wake_at = outcome.wake_at;
        for (id, request) in outcome.requests {
            self.send(id, request);
        }
    }

    /// Sends a request in a task of its own; its answer comes back as any other.
    fn send(&mut self, id: RequestId, request: Request) {
        let leadership = self.lease.as_ref().map(|lease| *lease.borrow()).unwrap_or_default();
        let (kubernetes, providers) = (self.kubernetes.clone(), self.providers.clone());
        let answered = self.answered.clone();
        self.requests.spawn(async move {
            let answer = if request.changes() && !leadership.outlasts(Instant::now(), REQUEST_TIMEOUT) {
                Answer::Reply(Reply::Failed(too_short()))
            } else if request.pool().is_some() {
                Answer::Reply(providers.send(&request).await)
            } else {
                kubernetes.send(&request).await
            };
            // Nobody waits for it any more: the runner has ended.
            let _ = answered.send((id, answer)).await;
        });
    }

    /// Takes up another policy or other pools.
    fn heed_policy(&mut self) {
        let policy = self.engine.policy().clone();
        let pools = self.engine.pools();
        if *policy == *self.policy && pools == self.pools {
            return;
        }
        self.providers.set(&pools, &AllowedHosts::new(&policy.allowed_hosts));
        self.polling.follow();
        self.want_lease(policy.mode != Mode::Observe);
        (self.policy, self.pools) = (policy, pools);
    }

    /// Begins to want the lease, or lets it go.
    fn want_lease(&mut self, wanted: bool) {
        if wanted == self.lease.is_some() {
            return;
        }
        if !wanted {
            self.lease = None;
            self.follow();
            return;
        }
        let Options { namespace, identity, lease, .. } = &self.options;
        let (told, leadership) = watch::channel(Leadership::default());
        let lease = Lease::new(&self.connection.client, namespace, LEASE, identity.clone(), *lease);
        self.keeper.spawn(lease.keep(told, self.ends.clone()));
        self.lease = Some(leadership);
    }

    async fn lead_or_follow(&mut self, leadership: Leadership) {
        match (leadership.until().is_some(), self.leads) {
            (true, false) if self.knows_pools => self.lead().await,
            (false, true) => self.follow(),
            _ => {}
        }
    }

    /// Leads from now on, with the memory that is stored. Where it cannot be read, the next renewal of the lease tries again.
    async fn lead(&mut self) {
        let stored = match tokio::time::timeout(REQUEST_TIMEOUT, self.kubernetes.memory().read()).await {
            Ok(Ok(stored)) => stored,
            Ok(Err(error)) => return tracing::error!(%error, "cannot read the memory: not leading yet"),
            Err(_) => return tracing::error!("no answer about the memory in time: not leading yet"),
        };
        if let Err(error) = self.engine.lead(stored.ledger.as_deref(), stored.history.as_deref()) {
            return tracing::error!(%error, "the stored ledger cannot be read: not leading, so that nothing is forgotten");
        }
        self.leads = true;
        self.listener.leads(true);
        tracing::info!(identity = %self.options.identity, "this process leads");
        self.observe_nothing();
    }

    fn follow(&mut self) {
        if std::mem::take(&mut self.leads) {
            self.engine.follow(self.clock.now());
            self.listener.leads(false);
            tracing::warn!(identity = %self.options.identity, "this process leads no longer");
        }
    }

    /// Asks for nothing more, waits for what is out, and gives the lease back. What was begun is in the ledger: whoever leads
    /// next goes on with it.
    async fn end(mut self) {
        self.follow();
        self.requests.close();
        if tokio::time::timeout(self.options.grace, self.requests.wait()).await.is_err() {
            tracing::warn!("some requests are still out; whoever leads next looks what came of them");
        }
        self.ends.cancel();
        self.keeper.close();
        // Where it cannot be given back in time, it runs out by itself.
        let _ = tokio::time::timeout(REQUEST_TIMEOUT, self.keeper.wait()).await;
    }
}

/// The next word about the lease; never where it is not wanted.
async fn changed(lease: &mut Option<watch::Receiver<Leadership>>) -> Leadership {
    let Some(lease) = lease else { return std::future::pending().await };
    match lease.changed().await {
        Ok(()) => *lease.borrow_and_update(),
        Err(_) => std::future::pending().await,
    }
}

fn too_short() -> SourceError {
    let message = "the lease does not outlast the request: it is not sent".into();
    SourceError { class: ErrorClass::Transient, message }
}
