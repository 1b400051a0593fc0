//! Leadership by a Lease: one process writes.
//!
//! A lease counts from the moment its renewal was *sent*, by our own monotonic clock, so the leader stops believing in it
//! before anybody else may take it. Another candidate takes it only after it has seen the very same lease for a whole
//! duration, by its own clock: nobody's wall clock matters. What the choice depends on is a value, and the choice a function.
//!
//! Written by hand because callers must know *until when* they lead, not only whether: a request to a system without
//! preconditions is sent only while the lease outlasts the request.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease as LeaseObject, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{Api, PostParams};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::units::{Span, Time};

use super::FIELD_MANAGER;
use super::error::{classed, not_installed};

/// Its name.
pub(super) const NAME: &str = "ballast";
/// How often in a row a look at the lease is repeated because a write met another one.
const ROUNDS_MAX: u32 = 3;

/// How the lease is kept, with the defaults of the control plane's own components.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTimes {
    /// How long it holds after it was renewed.
    pub duration: Duration,
    /// How often it is renewed, or looked at.
    pub retry: Duration,
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self { duration: Duration::from_secs(15), retry: Duration::from_secs(2) }
    }
}

/// Whether this process leads, and until when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leadership {
    until: Option<Instant>,
}

impl Leadership {
    /// Whether it leads at an instant and for some time after it.
    pub fn outlasts(&self, now: Instant, span: Duration) -> bool {
        self.until.is_some_and(|until| now + span < until)
    }

    /// One that leads until then.
    #[cfg(test)]
    pub(super) fn until_then(until: Instant) -> Self {
        Self { until: Some(until) }
    }

    /// Until when it leads, if it does.
    pub fn until(&self) -> Option<Instant> {
        self.until
    }
}

/// The lease of this process.
pub struct Lease {
    leases: Api<LeaseObject>,
    identity: String,
    times: LeaseTimes,
    /// The version that was last seen, and since when it has been the same.
    seen: Option<(String, Instant)>,
}

/// Who leads, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The identity of the process.
    pub identity: String,
    /// When it last said so, by its own clock.
    pub renewed_at: Option<Time>,
    /// For how long that holds.
    pub lasts: Span,
}

/// Leases that pass in silence until people are told that their holder does not live: clocks differ, and a renewal may come late.
const SILENT_AFTER: i64 = 4;

impl Holder {
    /// For how long it has said nothing, where that is so long that it does not lead any more.
    pub fn is_silent_for(&self, now: Time) -> Option<Span> {
        let silence = now.since(self.renewed_at?);
        Some(silence).filter(|silence| *silence > self.lasts.times(SILENT_AFTER))
    }
}

/// Who holds the lease of a namespace; nobody where there is none, or it was given back.
///
/// # Errors
///
/// When it cannot be read.
pub async fn holder(client: &Client, namespace: &str) -> Result<Option<Holder>, SourceError> {
    let leases: Api<LeaseObject> = Api::namespaced(client.clone(), namespace);
    let lease = leases.get_opt(NAME).await.map_err(|error| classed(&error))?;
    let spec = lease.and_then(|lease| lease.spec).unwrap_or_default();
    let renewed_at = spec.renew_time.map(|at| Time::from_millis(at.0.as_millisecond()));
    let lasts = Span::from_secs(spec.lease_duration_seconds.unwrap_or(0).into());
    let identity = spec.holder_identity.filter(|identity| !identity.is_empty());
    Ok(identity.map(|identity| Holder { identity, renewed_at, lasts }))
}

/// What to do about a lease.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// It is ours: renew it.
    Renew,
    /// Its holder is gone, or gave it back: take it.
    Take,
    /// It is somebody else's.
    Leave,
}

impl Lease {
    /// The lease in a namespace, held by `identity`.
    pub fn new(client: &Client, namespace: &str, identity: String, times: LeaseTimes) -> Self {
        let leases = Api::namespaced(client.clone(), namespace);
        Self { leases, identity, times, seen: None }
    }

    /// Keeps the lease while it is wanted, and tells of every change: one keeper for the life of a process, so that no two of
    /// one identity ever write it. At the end it gives it back; where it is not wanted any more it lets it run out, since who
    /// changed to `Observe` writes nothing more.
    pub async fn keep(
        mut self,
        mut wanted: watch::Receiver<bool>,
        told: watch::Sender<Leadership>,
        end: CancellationToken,
    ) {
        let mut leadership = Leadership::default();
        loop {
            let is_wanted = *wanted.borrow_and_update();
            leadership = match is_wanted {
                true => self.look(leadership).await,
                false => Leadership::default(),
            };
            told.send_if_modified(|last| std::mem::replace(last, leadership) != leadership);
            tokio::select! {
                () = sleep(self.times.retry), if is_wanted => {}
                changed = wanted.changed() => if changed.is_err() { return },
                () = end.cancelled() => return self.give_back(leadership).await,
            }
        }
    }

    /// One look at the lease, and what it makes of our leadership.
    async fn look(&mut self, mut leadership: Leadership) -> Leadership {
        let sent = Instant::now();
        match timeout(self.times.retry.max(Duration::from_secs(1)), self.rounds()).await {
            Ok(Ok(true)) => leadership.until = Some(sent + self.times.duration),
            Ok(Ok(false)) => leadership.until = None,
            // The lease still holds for as long as it was last renewed for.
            Ok(Err(error)) => tracing::warn!(%error, "cannot renew the lease"),
            Err(_) => tracing::warn!("no answer about the lease in time"),
        }
        leadership.until = leadership.until.filter(|until| *until > Instant::now());
        leadership
    }

    /// Whether we hold it now. A write that meets another one looks again at once: it may have been our own that came late, or
    /// somebody's annotation. Only another holder ends our leadership.
    async fn rounds(&mut self) -> Result<bool, SourceError> {
        for _ in 1..ROUNDS_MAX {
            match self.round().await {
                Err(error) if error.class == ErrorClass::Conflict => {}
                answer => return answer,
            }
        }
        self.round().await
    }

    /// One look, and one write where it is due.
    async fn round(&mut self) -> Result<bool, SourceError> {
        let found = self.leases.get_opt(NAME).await.map_err(|error| classed(&error))?;
        let found = found.ok_or_else(|| not_installed("Lease", NAME))?;
        // What was seen counts from when it was seen: from when it was asked for, it might be taken too early.
        let step = self.step(&found, Instant::now());
        if step == Step::Leave {
            return Ok(false);
        }
        let renewed = self.renewed(found, step == Step::Take);
        let written = self.leases.replace(NAME, &params(), &renewed).await;
        written.map(|_| true).map_err(|error| classed(&error))
    }

    fn step(&mut self, found: &LeaseObject, now: Instant) -> Step {
        let spec = found.spec.clone().unwrap_or_default();
        let version = found.metadata.resource_version.clone().unwrap_or_default();
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != version) {
            self.seen = Some((version, now));
        }
        let since = self.seen.as_ref().map_or(now, |(_, since)| *since);
        let duration = spec.lease_duration_seconds.and_then(|secs| u64::try_from(secs).ok());
        let duration = duration.map_or(self.times.duration, Duration::from_secs);
        match spec.holder_identity.as_deref() {
            Some(holder) if holder == self.identity => Step::Renew,
            None | Some("") => Step::Take,
            Some(_) if now.duration_since(since) > duration => Step::Take,
            Some(_) => Step::Leave,
        }
    }

    fn renewed(&self, mut lease: LeaseObject, taken: bool) -> LeaseObject {
        let now = MicroTime(Timestamp::now());
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        spec.holder_identity = Some(self.identity.clone());
        spec.lease_duration_seconds = i32::try_from(whole_seconds(self.times.duration)).ok();
        spec.renew_time = Some(now.clone());
        if taken {
            spec.acquire_time = Some(now);
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0) + 1);
        }
        lease
    }

    /// Lets the next one take over at once.
    async fn give_back(self, leadership: Leadership) {
        if leadership.until.is_none() {
            return;
        }
        let Ok(Some(mut lease)) = self.leases.get_opt(NAME).await else { return };
        let Some(spec) = &mut lease.spec else { return };
        if spec.holder_identity.as_deref() == Some(&self.identity) {
            spec.holder_identity = None;
            if let Err(error) = self.leases.replace(NAME, &params(), &lease).await {
                let error = classed(&error);
                tracing::warn!(%error, "cannot give the lease back; the next leader waits until it is over");
            }
        }
    }
}

/// Rounded up: others must not take for over what we still count on.
fn whole_seconds(span: Duration) -> u64 {
    span.as_secs() + u64::from(span.subsec_nanos() > 0)
}

fn params() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::api::ObjectMeta;

    fn lease(me: &str) -> Lease {
        // No request is ever sent: only the choice is asked for.
        let service = futures::future::pending::<Result<http::Response<kube::client::Body>, std::io::Error>>;
        let client =
            Client::new(tower::service_fn(move |_: http::Request<kube::client::Body>| service()), "default");
        Lease::new(&client, "default", me.to_owned(), LeaseTimes::default())
    }

    fn held(by: Option<&str>, version: &str) -> LeaseObject {
        let metadata = ObjectMeta { resource_version: Some(version.to_owned()), ..ObjectMeta::default() };
        let spec = LeaseSpec {
            holder_identity: by.map(str::to_owned),
            lease_duration_seconds: Some(15),
            ..LeaseSpec::default()
        };
        LeaseObject { metadata, spec: Some(spec) }
    }

    #[tokio::test]
    async fn a_lease_is_taken_only_after_it_was_seen_unchanged_for_its_whole_duration() {
        let mut me = lease("me");
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);
        assert_eq!(me.step(&held(Some("other"), "1"), at(0)), Step::Leave);
        assert_eq!(me.step(&held(Some("other"), "1"), at(15)), Step::Leave);
        // Renewed just in time: the whole duration counts anew.
        assert_eq!(me.step(&held(Some("other"), "2"), at(16)), Step::Leave);
        assert_eq!(me.step(&held(Some("other"), "2"), at(31)), Step::Leave);
        assert_eq!(me.step(&held(Some("other"), "2"), at(32)), Step::Take);
    }

    #[tokio::test]
    async fn a_lease_of_ours_is_renewed_and_one_that_was_given_back_is_taken_at_once() {
        let mut me = lease("me");
        let now = Instant::now();
        assert_eq!(me.step(&held(Some("me"), "1"), now), Step::Renew);
        assert_eq!(me.step(&held(None, "2"), now), Step::Take);
        assert_eq!(me.step(&held(Some(""), "3"), now), Step::Take);
    }

    #[test]
    fn a_request_is_sent_only_while_the_lease_outlasts_it() {
        let now = Instant::now();
        let leads = Leadership { until: Some(now + Duration::from_secs(10)) };
        assert!(leads.outlasts(now, Duration::from_secs(5)));
        assert!(!leads.outlasts(now + Duration::from_secs(5), Duration::from_secs(5)));
        assert!(!Leadership::default().outlasts(now, Duration::ZERO));
    }

    #[test]
    fn a_holder_that_says_nothing_for_long_does_not_lead() {
        let renewed_at = Some(Time::from_millis(1_000_000));
        let holder = Holder { identity: "a".to_owned(), renewed_at, lasts: Span::from_secs(15) };
        let after = |seconds| holder.is_silent_for(Time::from_millis(1_000_000) + Span::from_secs(seconds));
        assert_eq!(
            (after(-5), after(20), after(60), after(61)),
            (None, None, None, Some(Span::from_secs(61)))
        );
        let unknown = Holder { renewed_at: None, ..holder };
        assert_eq!(unknown.is_silent_for(Time::from_millis(9_000_000)), None);
    }
}
