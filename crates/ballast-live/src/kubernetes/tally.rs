//! A count of all requests to the API, by what they ask for and how it ended: what metrics show, and what readiness is judged
//! by. It stands between the client and the connection, so that no request passes it by.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use tower::{Layer, Service};

use ballast_core::publish::EventReason;

use super::access::{ACCESS, Verb};

/// What a request asks for; a request that is not in the table is counted as one of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What is done…
    pub verb: &'static str,
    /// …with what.
    pub resource: &'static str,
}

const OTHER: Asked = Asked { verb: "other", resource: "other" };

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As it was meant.
    Ok,
    /// For want of a right.
    Denied,
    /// It met another, or a precondition did not hold.
    Conflict,
    /// There is no such object.
    NotFound,
    /// The API wants to be left alone, or a disruption budget allows none.
    Throttled,
    /// Otherwise.
    Failed,
}

impl Ended {
    /// Every way.
    pub const ALL: [Self; 6] =
        [Self::Ok, Self::Denied, Self::Conflict, Self::NotFound, Self::Throttled, Self::Failed];

    fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            100..=399 => Self::Ok,
            401 | 403 => Self::Denied,
            404 | 410 => Self::NotFound,
            409 => Self::Conflict,
            429 => Self::Throttled,
            _ => Self::Failed,
        }
    }
}

/// Two failures further apart are two, not one that lasts.
const FAILS_ON: Duration = Duration::from_secs(60);

/// The counts of one connection.
#[derive(Clone, Default)]
pub struct Tally(Arc<Counts>);

struct Counts {
    rows: Vec<(Asked, [AtomicU64; Ended::ALL.len()])>,
    /// What was refused and has not gone well since, and whether that is for want of a right.
    refused: Mutex<Vec<(Asked, bool)>>,
    /// When something last went well, by row.
    well: Mutex<BTreeMap<usize, Instant>>,
    /// Since when something has not gone well any more, and when it last did not, by row.
    failing: Mutex<BTreeMap<usize, (Instant, Instant)>>,
    /// Events that were told, by reason.
    events: [AtomicU64; EventReason::CATALOGUE.len()],
    /// Events that were not: too many waited, or for want of a lease, of an answer or of a right.
    dropped: AtomicU64,
}

impl Default for Counts {
    fn default() -> Self {
        let mut rows: Vec<Asked> = Vec::new();
        for access in ACCESS {
            for resource in access.resources {
                for verb in access.verbs {
                    let asked = Asked { verb: verb.word(), resource };
                    if !rows.contains(&asked) {
                        rows.push(asked);
                    }
                }
            }
        }
        let rows = rows.into_iter().chain([OTHER]).map(|asked| (asked, Default::default())).collect();
        let events = [const { AtomicU64::new(0) }; EventReason::CATALOGUE.len()];
        Self {
            rows,
            refused: Mutex::default(),
            well: Mutex::default(),
            failing: Mutex::default(),
            events,
            dropped: AtomicU64::new(0),
        }
    }
}

impl Tally {
    /// Everything that can be asked for, with how often it ended in which way.
    pub fn rows(&self) -> impl Iterator<Item = (Asked, Ended, u64)> {
        self.0.rows.iter().flat_map(|(asked, counts)| {
            let count = |(ended, count): (Ended, &AtomicU64)| (*asked, ended, count.load(Ordering::Relaxed));
            Ended::ALL.into_iter().zip(counts).map(count)
        })
    }

    /// What was refused the last time that it was asked for, for want of a right. A webhook refuses too, and so does a namespace
    /// that is going: only a review of rights tells.
    pub fn denied(&self) -> Vec<Asked> {
        let refused = self.0.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.iter().filter(|(_, is_denied)| *is_denied).map(|(asked, _)| *asked).collect()
    }

    /// Everything that was refused the last time that it was asked for, whyever.
    pub(super) fn refused(&self) -> Vec<Asked> {
        let refused = self.0.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.iter().map(|(asked, _)| *asked).collect()
    }

    /// What was refused was reviewed: it is for want of a right, or it is not, or not any more.
    pub(super) fn reviewed(&self, reviewed: Asked, is_denied: bool) {
        let mut refused = self.0.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match is_denied {
            true => refused.iter_mut().filter(|(asked, _)| *asked == reviewed).for_each(|own| own.1 = true),
            false => refused.retain(|(asked, _)| *asked != reviewed),
        }
    }

    /// Since when something has not gone well any more, and when it last did not.
    pub fn failing(&self, verb: &str, resource: &str) -> Option<(Instant, Instant)> {
        let row = self.0.rows.iter().position(|(row, _)| (row.verb, row.resource) == (verb, resource))?;
        self.0.failing.lock().unwrap_or_else(PoisonError::into_inner).get(&row).copied()
    }

    /// When something was last asked of a resource and went well.
    pub fn went_well(&self, resource: &str) -> Option<Instant> {
        let well = self.0.well.lock().unwrap_or_else(PoisonError::into_inner);
        let own = well.iter().filter(|(row, _)| self.0.rows[**row].0.resource == resource);
        own.map(|(_, at)| *at).max()
    }

    /// Events that were told, by reason.
    pub fn events(&self) -> impl Iterator<Item = (EventReason, u64)> {
        let rows = EventReason::CATALOGUE.iter().zip(&self.0.events);
        rows.map(|(row, count)| (row.reason, count.load(Ordering::Relaxed)))
    }

    /// Events that were to be told and were not.
    pub fn events_dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn event_told(&self, reason: EventReason) {
        self.0.events[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn drop_events(&self, count: u64) {
        self.0.dropped.fetch_add(count, Ordering::Relaxed);
    }

    fn count(&self, asked: Asked, ended: Ended) {
        self.count_at(asked, ended, Instant::now());
    }

    fn count_at(&self, asked: Asked, ended: Ended, now: Instant) {
        if let Some(row) = self.0.rows.iter().position(|(row, _)| *row == asked) {
            self.0.rows[row].1[ended as usize].fetch_add(1, Ordering::Relaxed);
            let mut failing = self.0.failing.lock().unwrap_or_else(PoisonError::into_inner);
            if ended == Ended::Ok {
                failing.remove(&row);
                self.0.well.lock().unwrap_or_else(PoisonError::into_inner).insert(row, now);
            } else {
                let (since, last) = failing.entry(row).or_insert((now, now));
                // What was not tried for so long has not failed all the while: who lost a race for a lease may lose another days later.
                if now.saturating_duration_since(*last) > FAILS_ON {
                    *since = now;
                }
                *last = now;
            }
        }
        let mut refused = self.0.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = refused.iter().any(|(other, _)| *other == asked);
        match ended {
            // That nobody answers says nothing of what is allowed.
            Ended::Failed => {}
            Ended::Denied if is_known => {}
            Ended::Denied => refused.push((asked, false)),
            _ => refused.retain(|(other, _)| *other != asked),
        }
    }

    /// The row of a request.
    fn row<B>(&self, request: &Request<B>) -> Asked {
        let uri = request.uri();
        let asked = asked(request.method(), uri.path(), uri.query().unwrap_or_default());
        let row = asked.and_then(|(verb, resource)| {
            self.0.rows.iter().find(|(row, _)| row.verb == verb.word() && row.resource == resource)
        });
        row.map_or(OTHER, |(row, _)| *row)
    }
}

/// What an address of the API asks for.
fn asked(method: &Method, path: &str, query: &str) -> Option<(Verb, String)> {
    let path = path.strip_prefix("/api/v1/").or_else(|| {
        let (_, rest) = path.strip_prefix("/apis/")?.split_once('/')?;
        Some(rest.split_once('/')?.1)
    })?;
    let mut parts: Vec<&str> = path.split('/').collect();
    if parts.len() > 2 && parts[0] == "namespaces" {
        parts.drain(..2);
    }
    let (resource, name, sub) = (parts.first()?, parts.get(1), parts.get(2));
    let resource = sub.map_or_else(|| (*resource).to_owned(), |sub| format!("{resource}/{sub}"));
    let verb = match *method {
        Method::GET if name.is_some() => Verb::Get,
        Method::GET if query.split('&').any(|part| part == "watch=true" || part == "watch=1") => Verb::Watch,
        Method::GET => Verb::List,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        _ => return None,
    };
    Some((verb, resource))
}

impl<S> Layer<S> for Tally {
    type Service = Tallied<S>;

    fn layer(&self, inner: S) -> Tallied<S> {
        Tallied { inner, tally: self.clone() }
    }
}

/// A request that is out; counted when it has ended, or is not waited for any more.
struct Open {
    tally: Tally,
    asked: Asked,
    ended: Ended,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.tally.count(self.asked, self.ended);
    }
}

/// A connection whose requests are counted.
pub struct Tallied<S> {
    inner: S,
    tally: Tally,
}

impl<S, B, A> Service<Request<B>> for Tallied<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
{
    type Response = Response<A>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<A>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (tally, asked) = (self.tally.clone(), self.tally.row(&request));
        let answer = self.inner.call(request);
        Box::pin(async move {
            // Whoever has waited long enough drops this: that is counted too.
            let mut open = Open { tally, asked, ended: Ended::Failed };
            let answer = answer.await;
            open.ended = answer.as_ref().map_or(Ended::Failed, |answer| Ended::of(answer.status()));
            answer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_is_asked_for() {
        let rows = [
            (Method::GET, "/api/v1/nodes?limit=500", "list nodes"),
            (Method::GET, "/api/v1/nodes?watch=true&resourceVersion=1", "watch nodes"),
            (Method::GET, "/api/v1/nodes/a", "get nodes"),
            (Method::PATCH, "/api/v1/nodes/a?force=true", "patch nodes"),
            (Method::POST, "/api/v1/namespaces/a/pods/b/eviction", "create pods/eviction"),
            (Method::GET, "/apis/ballast.dev/v1alpha1/vmpools", "list vmpools"),
            (Method::PUT, "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", "update leases"),
            (
                Method::POST,
                "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                "create selfsubjectaccessreviews",
            ),
            (Method::POST, "/apis/coordination.k8s.io/v1/namespaces/a/leases", "other other"),
            (Method::GET, "/api/v1/secrets", "other other"),
            (Method::GET, "/version", "other other"),
            (Method::DELETE, "/api/v1/nodes/a", "other other"),
        ];
        for (method, address, expected) in rows {
            let request = Request::builder().method(method).uri(address).body(()).expect("a request");
            let Asked { verb, resource } = Tally::default().row(&request);
            assert_eq!(format!("{verb} {resource}"), expected, "{address}");
        }
    }

    #[test]
    fn what_was_denied_is_known_until_it_goes_well() {
        let tally = Tally::default();
        let patch = Asked { verb: "patch", resource: "nodes" };
        tally.count(patch, Ended::Denied);
        tally.count(Asked { verb: "list", ..patch }, Ended::Ok);
        assert_eq!((tally.refused(), tally.denied()), (vec![patch], vec![]), "it may be a webhook's");
        tally.reviewed(patch, true);
        tally.count(patch, Ended::Denied);
        assert_eq!(tally.denied(), [patch]);
        tally.count(patch, Ended::Conflict);
        assert_eq!((tally.refused(), tally.denied()), (vec![], vec![]));
        let counted: u64 = tally.rows().map(|(_, _, count)| count).sum();
        assert_eq!(counted, 4);
        tally.count(patch, Ended::Denied);
        tally.reviewed(patch, false);
        assert_eq!(tally.refused(), []);
    }

    #[test]
    fn what_fails_is_known_since_when_until_it_goes_well() {
        let tally = Tally::default();
        let (read, renew) =
            (Asked { verb: "get", resource: "leases" }, Asked { verb: "update", resource: "leases" });
        tally.count(renew, Ended::Ok);
        tally.count(renew, Ended::Conflict);
        let (since, last) = tally.failing("update", "leases").expect("it fails");
        assert_eq!(since, last);
        tally.count(read, Ended::Ok);
        tally.count(renew, Ended::Failed);
        let (still, again) = tally.failing("update", "leases").expect("it fails");
        assert!(still == since && again >= last);
        let days_later = again + Duration::from_secs(86_400);
        tally.count_at(renew, Ended::Conflict, days_later);
        assert_eq!(tally.failing("update", "leases"), Some((days_later, days_later)), "another one");
        tally.count(renew, Ended::Ok);
        assert_eq!(tally.failing("update", "leases"), None);
    }
}
