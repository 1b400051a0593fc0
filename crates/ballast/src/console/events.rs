//! Live updates: for each follower, the fragments of its page that changed, as server-sent events.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_stream::wrappers::ReceiverStream;

use super::Feed;
use super::page::Page;
use super::server::VERSION;

/// Faster than this no eye follows, and a phone's battery would pay for it.
const FRAME_EVERY: Duration = Duration::from_millis(500);
/// A page that hears nothing for a few of these knows that the connection is lost.
const BEAT_EVERY: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
pub(super) struct Wanted {
    /// The path of the page that wants to be kept fresh.
    #[serde(default)]
    page: String,
}

#[derive(Serialize)]
struct Change<'a> {
    target: &'a str,
    html: &'a str,
}

pub(super) async fn follow(State(feed): State<Feed>, Query(wanted): Query<Wanted>) -> Response {
    let Some(page) = Page::parse(&wanted.page) else {
        return (axum::http::StatusCode::NOT_FOUND, "no such page").into_response();
    };
    // One frame's worth of fragments: a reader that is slower waits and then gets the newest, not a backlog.
    let (send, receive) = mpsc::channel::<Result<Event, Infallible>>(8);
    tokio::spawn(push(feed, page, send));
    Sse::new(ReceiverStream::new(receive)).into_response()
}

/// Sends what changes until the reader goes away.
async fn push(feed: Feed, page: Page, send: mpsc::Sender<Result<Event, Infallible>>) {
    let mut frames = feed.follow();
    frames.mark_changed();
    let mut sent: BTreeMap<&'static str, u64> = BTreeMap::new();
    let hello = Event::default().event("hello").data(VERSION);
    if send.send(Ok(hello)).await.is_err() {
        return;
    }
    loop {
        let event = match timeout(BEAT_EVERY, frames.changed()).await {
            Ok(Ok(())) => None,
            Ok(Err(_)) => return,
            Err(_) => Some(Event::default().event("beat").data("")),
        };
        if let Some(beat) = event {
            if send.send(Ok(beat)).await.is_err() {
                return;
            }
            continue;
        }
        let next = Instant::now() + FRAME_EVERY;
        let frame = frames.borrow_and_update().clone();
        for fragment in frame.iter().flat_map(|frame| page.fragments(frame)) {
            let html = fragment.html.into_string();
            let digest = digest(&html);
            if sent.insert(fragment.target, digest) == Some(digest) {
                continue;
            }
            let change = Change { target: fragment.target, html: &html };
            let Ok(event) = Event::default().json_data(change) else { return };
            if send.send(Ok(event)).await.is_err() {
                return;
            }
        }
        sleep_until(next).await;
    }
}

/// Tells apart what was sent from what is new; not used for anything that must not be forged.
fn digest(html: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    html.hash(&mut hasher);
    hasher.finish()
}
