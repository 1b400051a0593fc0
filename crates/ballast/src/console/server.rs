//! The server: routes, headers, and who may ask.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use super::events;
use super::feed::Feed;
use super::page::{self, Page};

/// A page from another version of the program reloads itself.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

const STYLE: &str = concat!(include_str!("../present/theme.css"), include_str!("console.css"));
const SCRIPT: &str = include_str!("console.js");
const MARK: &str = include_str!("mark.svg");

/// Everything comes from the program itself: no other host, no inline script or style, no frame, no form.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
];

/// The routes of the page. Where `local`, only names of this machine are answered: a page elsewhere that lets its own
/// name point to 127.0.0.1 must not read a cluster through its visitor's browser.
pub fn router(feed: Feed, local: bool) -> Router {
    router_with(feed, local, Router::new())
}

/// The same, with more routes beside them.
fn router_with(feed: Feed, local: bool, more: Router) -> Router {
    let router = Router::new()
        .route("/", get(overview))
        .route("/plan", get(plan))
        .route("/pending", get(all_pending))
        .route("/pending/{namespace}/{workload}", get(pending))
        .route("/pools/{name}", get(pool))
        .route("/nodes/{name}", get(node))
        .route("/api/v1/view", get(view))
        .route("/api/v1/events", get(events::follow))
        .route("/console.css", get(|| asset("text/css; charset=utf-8", STYLE)))
        .route("/console.js", get(|| asset("text/javascript; charset=utf-8", SCRIPT)))
        .route("/favicon.svg", get(|| asset("image/svg+xml", MARK)))
        .route("/favicon.ico", get(|| asset("image/svg+xml", MARK)))
        .fallback(lost)
        .with_state(feed)
        .merge(more);
    let router = if local { router.layer(middleware::from_fn(only_local_names)) } else { router };
    router.layer(middleware::map_response(with_headers))
}

/// Serves the page, and what stands beside it, until the task is dropped.
///
/// # Errors
///
/// When the listener fails.
pub async fn serve(listener: TcpListener, feed: Feed, beside: Router) -> std::io::Result<()> {
    let local = listener.local_addr()?.ip().is_loopback();
    axum::serve(listener, router_with(feed, local, beside)).await
}

async fn overview(State(feed): State<Feed>) -> Response {
    show(&feed, Page::Overview)
}

async fn plan(State(feed): State<Feed>) -> Response {
    show(&feed, Page::Plan)
}

async fn all_pending(State(feed): State<Feed>) -> Response {
    show(&feed, Page::AllPending)
}

async fn pending(State(feed): State<Feed>, Path((namespace, workload)): Path<(String, String)>) -> Response {
    show(&feed, Page::Pending { namespace, workload })
}

async fn pool(State(feed): State<Feed>, Path(name): Path<String>) -> Response {
    show(&feed, Page::Pool { name })
}

async fn node(State(feed): State<Feed>, Path(name): Path<String>) -> Response {
    show(&feed, Page::Node { name })
}

fn show(feed: &Feed, page: Page) -> Response {
    match feed.newest() {
        None => (StatusCode::SERVICE_UNAVAILABLE, page::not_yet()).into_response(),
        Some(frame) if page.is_known(&frame) => page.render(&frame).into_response(),
        // What was there a moment ago may be gone; the page says so and comes back should it return.
        Some(frame) => (StatusCode::NOT_FOUND, page.render(&frame)).into_response(),
    }
}

async fn view(State(feed): State<Feed>) -> Response {
    match feed.newest() {
        Some(frame) => Json(&frame.view).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "nothing seen yet").into_response(),
    }
}

async fn asset(kind: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, kind)], text).into_response()
}

async fn lost(uri: Uri) -> Response {
    (StatusCode::NOT_FOUND, page::lost(uri.path())).into_response()
}

async fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn only_local_names(request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if is_local(host) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "this page is served to names of this machine only").into_response()
    }
}

fn is_local(host: &str) -> bool {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let name = host.rsplit_once(':').map_or(host, |(name, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
    });
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn only_names_of_this_machine_are_local() {
        for host in
            ["localhost", "localhost:8080", "127.0.0.1", "127.0.0.1:1", "[::1]:8080", "[::1]", "LOCALHOST:1"]
        {
            assert!(is_local(host), "{host}");
        }
        for host in
            ["", "example.com", "localhost.example.com:80", "127.0.0.1.example.com", "10.0.0.1:80", "::1x"]
        {
            assert!(!is_local(host), "{host}");
        }
    }
}
