//! The page as text: routes, headers, what each page says, and what hostile names cannot do.

mod console {
    pub(super) mod cluster;
}

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use ballast::console::{Feed, router};
use ballast_core::view::View;
use console::cluster;
use snapbox::{assert_data_eq, file};
use tower::ServiceExt;

fn feed(view: View) -> Feed {
    let feed = Feed::new();
    feed.publish(view);
    feed
}

#[tokio::main(flavor = "current_thread")]
async fn ask(feed: &Feed, request: Request<Body>) -> (Response<()>, String) {
    let response = router(feed.clone(), true).oneshot(request).await.expect("an answer");
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, 1 << 24).await.expect("a body");
    (Response::from_parts(parts, ()), String::from_utf8(body.to_vec()).expect("text"))
}

fn get(feed: &Feed, path: &str) -> (Response<()>, String) {
    let request = Request::get(path).header("host", "127.0.0.1:8080").body(Body::empty());
    ask(feed, request.expect("a request"))
}

/// A page with an element a line, so that a difference can be read.
fn lines(html: &str) -> String {
    html.replace("><", ">\n<").replace(env!("CARGO_PKG_VERSION"), "[VERSION]") + "\n"
}

#[test]
fn the_overview_shows_pools_nodes_what_waits_and_what_is_planned() {
    let (response, html) = get(&feed(cluster::busy()), "/");
    assert_eq!(response.status(), StatusCode::OK);
    assert_data_eq!(lines(&html), file!["console/overview.html"].raw());
}

#[test]
fn the_reason_of_what_waits_is_one_link_away_and_complete() {
    let feed = feed(cluster::busy());
    let (_, overview) = get(&feed, "/");
    assert!(overview.contains("href=\"/pending/research/llm-eval\""));
    let (response, html) = get(&feed, "/pending/research/llm-eval");
    assert_eq!(response.status(), StatusCode::OK);
    assert_data_eq!(lines(&html), file!["console/why.html"].raw());
}

#[test]
fn a_node_says_why_it_is_kept_and_a_pool_lists_its_nodes() {
    let feed = feed(cluster::busy());
    let (_, node) = get(&feed, "/nodes/cpu-003");
    assert!(node.contains("in use: ") && node.contains("Why it is kept"), "{node}");
    let (_, node) = get(&feed, "/nodes/cpu-026");
    assert!(node.contains("draining: 1 pod still to leave"), "{node}");
    let (_, pool) = get(&feed, "/pools/a100-spot");
    assert!(pool.contains("a100-spot-001") && pool.contains("Takes no launches"), "{pool}");
    let (_, plan) = get(&feed, "/plan");
    assert!(
        plan.contains("Bound by the cluster&#39;s removal budget")
            || plan.contains("Bound by the cluster's removal budget")
    );
}

#[test]
fn no_link_leads_nowhere_also_not_to_a_machine_that_never_came() {
    let mut view = cluster::busy();
    let mut never = view.actions[0].clone();
    never.target.name = "never-came".into();
    view.actions.push(never);
    let feed = feed(view);
    for page in ["/", "/plan", "/pending"] {
        let (_, html) = get(&feed, page);
        let links: Vec<&str> =
            html.split(" href=\"/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(links.len() > 5, "{page}");
        for link in links {
            assert_eq!(get(&feed, &format!("/{link}")).0.status(), StatusCode::OK, "{page}: /{link}");
        }
    }
    assert!(get(&feed, "/nodes/never-came").1.contains("Planned"));
}

#[test]
fn what_is_gone_says_so_and_stays_a_page() {
    let feed = feed(cluster::busy());
    for (path, words) in [
        ("/pending/web/gone", "does not wait any more"),
        ("/nodes/gone", "No node or instance of this name"),
        ("/pools/gone", "No pool of this name"),
        ("/nowhere", "There is no such page"),
    ] {
        let (response, html) = get(&feed, path);
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        assert!(html.contains(words), "{path}");
    }
    assert_eq!(get(&Feed::new(), "/").0.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[test]
fn nothing_at_all_is_a_page_too() {
    let (response, html) = get(&feed(cluster::empty()), "/");
    assert_eq!(response.status(), StatusCode::OK);
    assert!(html.contains("No pool is known yet") && html.contains("No pod waits"));
}

#[test]
fn every_answer_carries_the_strict_headers() {
    let feed = feed(cluster::busy());
    for path in
        ["/", "/console.css", "/console.js", "/favicon.svg", "/favicon.ico", "/api/v1/view", "/nowhere"]
    {
        let (response, _) = get(&feed, path);
        let header =
            |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        assert!(header("content-security-policy").unwrap().starts_with("default-src 'self';"), "{path}");
        assert_eq!(header("x-content-type-options").as_deref(), Some("nosniff"), "{path}");
        assert_eq!(header("x-frame-options").as_deref(), Some("DENY"), "{path}");
    }
}

#[test]
fn nothing_inline_needs_a_hole_in_the_policy() {
    let feed = feed(cluster::busy());
    for path in ["/", "/plan", "/pending", "/pending/research/llm-eval", "/nodes/cpu-003", "/pools/cpu"] {
        let (_, html) = get(&feed, path);
        for inline in ["style=", "<style", "onclick", "onload", "javascript:", "http://", "https://"] {
            assert!(!html.contains(inline), "{path} has {inline}");
        }
        assert_eq!(html.matches("<script").count(), 1, "{path}");
    }
}

#[test]
fn the_view_is_there_for_programs() {
    let (response, body) = get(&feed(cluster::busy()), "/api/v1/view");
    assert_eq!(response.headers()["content-type"], "application/json");
    let view: View = serde_json::from_str(&body).expect("a view");
    assert_eq!(view, cluster::busy());
}

#[test]
fn only_names_of_this_machine_are_answered_and_nothing_can_be_written() {
    let feed = feed(cluster::busy());
    let request = Request::get("/").header("host", "evil.example").body(Body::empty()).unwrap();
    assert_eq!(ask(&feed, request).0.status(), StatusCode::FORBIDDEN);
    let request = Request::post("/").header("host", "localhost").body(Body::empty()).unwrap();
    assert_eq!(ask(&feed, request).0.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[test]
fn hostile_names_are_shown_and_do_nothing() {
    let hostile = "</a><script>alert(1)</script>\"'\u{202e}\u{7}&amp;/../x";
    let mut view = cluster::busy();
    view.pending[0].namespace = hostile.into();
    view.pending[0].workload = hostile.into();
    view.pending[0].requests = hostile.to_owned();
    view.pending[0].pods[0] = hostile.into();
    view.nodes[0].name = hostile.into();
    view.nodes[0].kept_because = Some(hostile.to_owned());
    view.pools[0].name = hostile.into();
    view.nodes[0].pool = hostile.into();
    view.actions[0].target.name = hostile.into();
    view.actions[0].reason.message = hostile.to_owned();
    view.in_flight[0].target = "x".repeat(253).into();
    let feed = feed(view);
    let encoded = "%3C%2Fa%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E%22%27%E2%80%AE%07%26amp%3B%2F..%2Fx";
    for path in [
        "/".to_owned(),
        format!("/nodes/{encoded}"),
        format!("/pools/{encoded}"),
        format!("/pending/{encoded}/{encoded}"),
    ] {
        let (response, html) = get(&feed, &path);
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(html.matches("<script").count(), 1, "{path}");
        assert!(html.contains("&lt;script&gt;"), "{path}");
    }
}

#[test]
fn a_page_of_fifteen_hundred_nodes_is_small_and_quick() {
    let feed = feed(cluster::large(1500));
    let started = std::time::Instant::now();
    let (_, html) = get(&feed, "/");
    assert_eq!(html.matches("<a class=\"cell ").count(), 1500, "a cell a node");
    assert!(html.len() < 400_000, "{} bytes", html.len());
    // Rendering takes some ten milliseconds unoptimised; the bar catches a square in the number of nodes.
    assert!(started.elapsed().as_secs_f64() < 1.0, "{:?}", started.elapsed());
}
