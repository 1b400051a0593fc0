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

mod approvals;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use ballast_core::engine::{Engine, Outcome, RequestId};
use ballast_core::observation::{Body, ErrorClass, ObjectKind, Observation, Source, SourceError};
use ballast_core::policy::{ClusterPolicySpec, Mode, VmPool};
use ballast_core::procedure::{Reply, Request};
use ballast_core::publish::DocumentRef;
use ballast_core::units::Time;

use crate::clock::Clock;
use crate::kubernetes::{
    Answer, Connection, EventWriter, Events, Kubernetes, Leadership, Lease, LeaseTimes, Publisher,
    REQUEST_TIMEOUT, Secrets, SeenDocument, SeenDocuments, Stored, Word, review_refusals, watch_all,
};
use crate::providers::{AllowedHosts, Polling, Providers};

/// Observations that wait for the engine; who has more to tell waits.
const OBSERVATIONS_MAX: usize = 1024;
/// Answers that wait for the engine.
const ANSWERS_MAX: usize = 1024;
/// Entries of the record that are kept until whoever listens takes them, which is at once.
const ENTRIES_MAX: usize = 10_000;
/// How much longer than a plan took it is rested after it, so that planning takes about a fifth of the time of one processor,
/// however large the cluster is; and the longest rest.
const REST: u32 = 4;
const REST_LONGEST: Duration = Duration::from_millis(500);

/// What is said of documents is gathered no more often: it is written far less often still.
const SAID_EVERY: Duration = Duration::from_secs(1);
/// How often the loop turns when nothing happens, so that one that hangs can be told from one that rests.
const TURN_EVERY: Duration = Duration::from_secs(5);
/// How often one that only watches reads what the process that leads has stored.
const RECALL_EVERY: Duration = Duration::from_secs(5);

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
    /// It never wants the lease, and so never writes, whatever the policy says.
    pub only_watches: bool,
}

/// Whoever keeps the lease is no more, which is a mistake of ours.
#[derive(Debug, thiserror::Error)]
#[error("the task that keeps the lease has ended: nothing could be changed any more")]
pub struct LeaseKeeperEnded;

/// Hears of everything that the engine does.
pub trait Listener: Send {
    /// The engine was told something; this came of it.
    fn heard(&mut self, now: Time, engine: &mut Engine, outcome: &Outcome);

    /// A plan was made, and took so long.
    fn planned_in(&mut self, _took: Duration) {}

    /// The lease is this process's, and this keeps it from leading; or nothing does any more.
    fn kept_from_leading(&mut self, _why: Option<&str>) {}

    /// The runner's loop has turned: it does so every few seconds, also when nothing happens.
    fn turned(&mut self) {}
}

/// Runs the engine against a cluster.
pub struct Runner<L> {
    options: Options,
    clock: Clock,
    kubernetes: Kubernetes,
    providers: Providers,
    polling: Polling,
    engine: Engine,
    listener: L,
    observations: mpsc::Receiver<Observation>,
    /// Where answers go, and where they come from.
    answered: mpsc::Sender<(RequestId, Answer)>,
    answers: mpsc::Receiver<(RequestId, Answer)>,
    /// Whether the lease is wanted, as its keeper is told…
    lease_wanted: watch::Sender<bool>,
    /// …and what it answers.
    leadership: watch::Receiver<Leadership>,
    keeper: JoinHandle<()>,
    leads: bool,
    policy: Arc<ClusterPolicySpec>,
    pools: Vec<VmPool>,
    wake_at: Time,
    /// Not before then is anything taken in: the last plan took long.
    rested_at: Instant,
    /// The lease is given back.
    ends: CancellationToken,
    /// Requests that are out.
    requests: TaskTracker,
    /// Documents as they stand in the API.
    documents: watch::Receiver<BTreeMap<DocumentRef, SeenDocument>>,
    /// What is said of documents, for whoever writes it, and that one.
    word: watch::Sender<Word>,
    publisher: JoinHandle<()>,
    /// What is told on the objects that people look at, and whoever writes it.
    events: Events,
    event_writer: JoinHandle<()>,
    /// Nothing more is written or asked besides what the engine asks for.
    hush: CancellationToken,
    /// Something was decided or has ended since it was last said what is so; and when that was.
    unsaid: bool,
    said_at: Instant,
    /// The pools were listed: what the ledger says of their machines can be asked for.
    knows_pools: bool,
    /// What the process that leads had stored when it was last read, by one that only watches; and when that is done next.
    recalled: Stored,
    recall_at: Instant,
}

impl<L: Listener> Runner<L> {
    /// Begins to watch a cluster. Nothing is asked of it yet.
    pub fn start(connection: Connection, options: Options, listener: L) -> Self {
        let clock = Clock::start();
        let (told, observations) = mpsc::channel(OBSERVATIONS_MAX);
        let (answered, answers) = mpsc::channel(ANSWERS_MAX);
        let providers = Providers::new(Secrets::new(&connection.client, &options.namespace));
        let (lease_wanted, wanted) = watch::channel(false);
        let (lease_told, leadership) = watch::channel(Leadership::default());
        let ends = CancellationToken::new();
        let Options { namespace, identity, lease, .. } = &options;
        let lease = Lease::new(&connection.client, namespace, identity.clone(), *lease);
        let writes = wanted.clone();
        let keeper = tokio::spawn(lease.keep(wanted, lease_told, ends.clone()));
        let seen = SeenDocuments::default();
        watch_all(&connection.client, clock, &told, &seen);
        let (word, words) = watch::channel(Word::None);
        let documents = seen.subscribe();
        let publisher = Publisher::new(connection.client.clone(), clock, seen, leadership.clone());
        let hush = CancellationToken::new();
        let publisher = tokio::spawn(publisher.run(words, hush.clone()));
        let (events, handed) = Events::new(connection.tally.clone());
        let event_writer = EventWriter {
            client: connection.client.clone(),
            documents: documents.clone(),
            leadership: leadership.clone(),
            identity: options.identity.clone(),
            tally: connection.tally.clone(),
        };
        let event_writer = tokio::spawn(event_writer.run(handed, hush.clone()));
        let (client, own, tally) = (connection.client.clone(), options.namespace.clone(), connection.tally);
        tokio::spawn(review_refusals(client, own, tally, writes, hush.clone()));
        let mut engine = Engine::following();
        engine.record(ENTRIES_MAX);
        let polling = Polling::new(providers.clone(), clock, told, options.instances_every);
        Self {
            kubernetes: Kubernetes::new(connection.client.clone(), &options.namespace),
            polling,
            providers,
            engine,
            listener,
            observations,
            answered,
            answers,
            lease_wanted,
            leadership,
            keeper,
            leads: false,
            policy: Arc::default(),
            pools: Vec::new(),
            wake_at: Time::ZERO,
            rested_at: Instant::now(),
            ends,
            requests: TaskTracker::new(),
            documents,
            word,
            hush,
            publisher,
            events,
            event_writer,
            unsaid: false,
            said_at: Instant::now(),
            knows_pools: false,
            recalled: Stored::default(),
            recall_at: Instant::now(),
            clock,
            options,
        }
    }

    /// Runs until it is told to stop; then gives the lease back and waits for what is out.
    ///
    /// # Errors
    ///
    /// When whoever keeps the lease is no more: nothing could be sent ever again, and nobody would know why.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), LeaseKeeperEnded> {
        let outcome = loop {
            self.listener.turned();
            self.unsaid |= self.events.tell(self.clock.now());
            let is_rested = self.rested_at <= Instant::now();
            let wake = self.clock.instant(self.wake_at).max(self.rested_at);
            tokio::select! {
                () = stop.cancelled() => break Ok(()),
                Some(observation) = self.observations.recv(), if is_rested => self.observe(observation),
                Some((id, answer)) = self.answers.recv() => self.settle(id, answer),
                Ok(()) = self.leadership.changed() => self.lead_or_follow().await,
                _ = &mut self.keeper => break Err(LeaseKeeperEnded),
                () = sleep_until(self.rested_at), if !is_rested => {}
                () = sleep_until(self.said_at + SAID_EVERY), if self.unsaid => self.say().await,
                Ok(()) = self.documents.changed() => self.heed_approval().await,
                () = sleep_until(self.recall_at), if self.options.only_watches => self.recall().await,
                () = sleep_until(wake) => self.observe_nothing(),
                () = sleep(TURN_EVERY) => {}
            }
        };
        self.end().await;
        outcome
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
        let began = Instant::now();
        let outcome = self.engine.tick(now, observations);
        let has_planned = outcome.plan.is_some();
        if let Some(plan) = &outcome.plan {
            tracing::debug!(plan = %plan.id, actions = plan.actions.len(), "planned");
            self.listener.planned_in(began.elapsed());
        }
        self.carry_out(now, outcome);
        if has_planned {
            self.rested_at = Instant::now() + (began.elapsed() * REST).min(REST_LONGEST);
        }
        if speaks_of_policies {
            self.heed_policy();
        }
    }

    fn settle(&mut self, id: RequestId, answer: Answer) {
        let now = self.clock.now();
        let engine = &self.engine;
        let reply = answer.reply(|node| engine.is_usable(node));
        self.events.answered(now, &mut self.engine, id, &reply);
        let outcome = self.engine.settle(now, id, reply);
        self.carry_out(now, outcome);
    }

    fn carry_out(&mut self, now: Time, outcome: Outcome) {
        self.listener.heard(now, &mut self.engine, &outcome);
        if self.speaks() {
            self.events.heard(now, &mut self.engine, &outcome);
        }
        self.wake_at = outcome.wake_at;
        self.unsaid |=
            outcome.plan.is_some() || !outcome.receipts.is_empty() || !outcome.approvals.is_empty();
        outcome.approvals.iter().for_each(approvals::log);
        for (id, request) in outcome.requests {
            self.send(id, request);
        }
    }

    /// Sends a request in a task of its own; its answer comes back as any other.
    fn send(&mut self, id: RequestId, request: Request) {
        let leadership = *self.leadership.borrow();
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
        let anew = self.providers.set(&pools, &AllowedHosts::new(&policy.allowed_hosts));
        self.polling.follow(&anew);
        self.want_lease(policy.mode != Mode::Observe && !self.options.only_watches);
        (self.policy, self.pools) = (policy, pools);
    }

    /// Says what is so of each document, where this process is the one that writes. A plan that a person approved stays where it
    /// stands until that was judged; nothing else waits for it.
    async fn say(&mut self) {
        self.said_at = Instant::now();
        self.unsaid = false;
        self.heed_approval().await;
        let now = self.clock.now();
        let word = self.speaks().then(|| Arc::new(self.engine.published(now)));
        if let Some(published) = &word {
            self.events.stands(now, &mut self.engine, published, &self.documents.borrow());
        }
        self.word.send_replace(word);
    }

    /// Whether this process is the one that says in the cluster what is so.
    fn speaks(&self) -> bool {
        self.leads && self.policy.mode != Mode::Observe
    }

    /// Begins to want the lease, or lets it go.
    fn want_lease(&mut self, wanted: bool) {
        self.lease_wanted.send_replace(wanted);
        if !wanted {
            self.follow();
        }
    }

    async fn lead_or_follow(&mut self) {
        let is_ours = self.leadership.borrow_and_update().until().is_some();
        match (is_ours && *self.lease_wanted.borrow(), self.leads) {
            (true, false) if self.knows_pools => {
                let led = self.lead().await;
                if let Err(why) = &led {
                    tracing::error!(why, "not leading yet");
                }
                self.listener.kept_from_leading(led.err().as_deref());
            }
            (true, false) => self.listener.kept_from_leading(Some("the pools are not known")),
            (false, true) => self.follow(),
            _ => {}
        }
    }

    /// Takes over what the process that leads has stored: who only watches begins nothing itself, and would take what is under
    /// way for undone. Where it may not be read, what is seen has to do.
    async fn recall(&mut self) {
        self.recall_at = Instant::now() + RECALL_EVERY;
        let Ok(stored) = self.stored().await else { return };
        if stored == self.recalled {
            return;
        }
        let now = self.clock.now();
        if self.engine.lead(now, stored.ledger.as_deref(), stored.history.as_deref()).is_ok() {
            self.engine.follow(now);
            self.recalled = stored;
            self.observe_nothing();
        }
    }

    /// The memory as it is stored.
    async fn stored(&self) -> Result<Stored, String> {
        let read = tokio::time::timeout(REQUEST_TIMEOUT, self.kubernetes.memory().read()).await;
        read.map_err(|_| "no answer about the memory in time".to_owned())?
            .map_err(|error| format!("the memory cannot be read: {error}"))
    }

    /// Leads from now on, with the memory that is stored. Where it cannot be read, the next renewal of the lease tries again.
    async fn lead(&mut self) -> Result<(), String> {
        let stored = self.stored().await?;
        self.engine
            .lead(self.clock.now(), stored.ledger.as_deref(), stored.history.as_deref())
            // Else what was begun would be forgotten.
            .map_err(|error| format!("the stored ledger cannot be understood: {error}"))?;
        self.leads = true;
        tracing::info!(identity = %self.options.identity, "this process leads");
        self.observe_nothing();
        Ok(())
    }

    fn follow(&mut self) {
        self.listener.kept_from_leading(None);
        if std::mem::take(&mut self.leads) {
            self.engine.follow(self.clock.now());
            self.word.send_replace(None);
            self.events.forget();
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
        // Nothing more is written about documents before the lease is another's.
        self.hush.cancel();
        let writers = async { tokio::join!(self.publisher, self.event_writer) };
        let _ = tokio::time::timeout(REQUEST_TIMEOUT, writers).await;
        self.ends.cancel();
        if !self.keeper.is_finished() {
            // Where it cannot be given back in time, it runs out by itself.
            let _ = tokio::time::timeout(REQUEST_TIMEOUT, self.keeper).await;
        }
    }
}

fn too_short() -> SourceError {
    let message = "the lease does not outlast the request: it is not sent".into();
    SourceError { class: ErrorClass::Transient, message }
}
