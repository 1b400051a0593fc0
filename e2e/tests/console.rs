//! The page in a real browser: it is quiet, it keeps itself fresh, and a reason is one click away.

#[expect(dead_code, reason = "the views are shared with tests that use more of them")]
#[path = "../../crates/ballast/tests/console/cluster.rs"]
mod cluster;

use std::net::SocketAddr;
use std::path::Path;

use axum::Router;
use ballast::console::{Feed, serve};
use ballast_core::view::View;
use ballast_e2e::browser::{Browser, Page};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// A server of ours, gone with its runtime.
struct Server {
    address: SocketAddr,
    feed: Feed,
    _runtime: Runtime,
}

impl Server {
    fn start(view: View) -> Self {
        Self::start_at(view, "127.0.0.1:0")
    }

    fn start_at(view: View, address: &str) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let feed = Feed::new();
        feed.publish(view);
        let listener = runtime.block_on(TcpListener::bind(address)).expect("a port");
        let address = listener.local_addr().expect("an address");
        runtime.spawn(serve(listener, feed.clone(), Router::new()));
        Self { address, feed, _runtime: runtime }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn is_quiet(page: &mut Page<'_>) {
    assert_eq!(page.complaints().expect("asked"), Vec::<String>::new());
}

fn is_live(page: &mut Page<'_>) {
    page.wait_for("document.querySelector('#connection.live')").expect("live");
}

#[test]
fn every_page_is_quiet_and_fits_on_wide_and_narrow_screens_light_and_dark() {
    let server = Server::start(cluster::busy());
    let mut browser = Browser::launch().expect("a browser");
    let mut page = browser.open(&server.url("/")).expect("opened");
    let paths = ["/", "/plan", "/pending", "/pending/research/llm-eval", "/pools/cpu", "/nodes/cpu-003"];
    for path in paths {
        page.go(&server.url(path)).expect("opened");
        is_live(&mut page);
        for (width, dark) in [(1280, false), (1280, true), (380, true), (380, false)] {
            page.resize(width, 900).expect("resized");
            page.prefer_dark(dark).expect("coloured");
            let name = format!("page{}-{width}-{dark}.png", path.replace('/', "-"));
            page.screenshot(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)).expect("a picture");
            let wide = page.eval("document.documentElement.scrollWidth").expect("a width");
            assert!(wide.as_u64().expect("a number") <= u64::from(width), "{path} is {wide} wide on {width}");
        }
        is_quiet(&mut page);
    }
}

#[test]
fn a_reason_is_one_click_away() {
    let server = Server::start(cluster::busy());
    let mut browser = Browser::launch().expect("a browser");
    let mut page = browser.open(&server.url("/")).expect("opened");
    page.click("a.row-link").expect("something waits");
    page.wait_for("location.pathname === '/pending/research/llm-eval'").expect("its page");
    let reason = page.text("main").expect("a page");
    for part in ["No node of any pool could ever serve it", "a100-east", "a100-spot"] {
        assert!(reason.contains(part), "{part} is not in {reason}");
    }
    is_quiet(&mut page);
}

#[test]
fn the_page_keeps_itself_fresh_without_losing_the_readers_place() {
    let server = Server::start(cluster::busy());
    let mut browser = Browser::launch().expect("a browser");
    let mut page = browser.open(&server.url("/")).expect("opened");
    is_live(&mut page);
    page.eval("window.same = true; document.querySelector('a.row-link').focus()").expect("focused");

    let mut next = cluster::busy();
    next.pending[0].count = 777;
    server.feed.publish(next);
    page.wait_for("document.querySelector('a.row-link').innerText.includes('777')").expect("fresh");
    assert_eq!(page.eval("window.same").expect("a value"), true, "the page was loaded anew");
    let focused = page.eval("document.activeElement.className").expect("a class");
    assert_eq!(focused, "row-link", "the focus was lost");

    let mut gone = cluster::busy();
    gone.pending.clear();
    server.feed.publish(gone);
    page.wait_for("document.body.innerText.includes('No pod waits')").expect("empty");
    is_quiet(&mut page);
}

#[test]
fn a_reader_with_a_keyboard_reaches_a_reason() {
    let server = Server::start(cluster::busy());
    let mut browser = Browser::launch().expect("a browser");
    let mut page = browser.open(&server.url("/pending")).expect("opened");
    is_live(&mut page);
    let on_link = "document.activeElement.matches('a.row-link')";
    for _ in 0..30 {
        page.press("Tab").expect("pressed");
        if page.eval(on_link).expect("a bool") == true {
            break;
        }
    }
    page.wait_for(on_link).expect("a link has the focus");
    page.press("Enter").expect("pressed");
    page.wait_for("location.pathname.startsWith('/pending/')").expect("followed");
    is_quiet(&mut page);
}

#[test]
fn a_lost_server_is_told_and_found_again() {
    let server = Server::start(cluster::busy());
    let (url, address) = (server.url("/"), server.address.to_string());
    let mut browser = Browser::launch().expect("a browser");
    let mut page = browser.open(&url).expect("opened");
    is_live(&mut page);
    drop(server);
    page.wait_for("document.querySelector('#connection.lost')").expect("lost");
    assert!(page.text("#connection").expect("words").contains("what you see is old"));

    let mut next = cluster::busy();
    next.pending[0].count = 555;
    let _server = Server::start_at(next, &address);
    is_live(&mut page);
    page.wait_for("document.body.innerText.includes('555')").expect("fresh");
}

#[test]
fn hostile_names_stay_text() {
    let mut view = cluster::busy();
    let hostile = "<img src=x onerror=window.hurt=1>";
    view.pending[0].workload = hostile.into();
    view.nodes[0].name = hostile.into();
    let server = Server::start(cluster::busy());
    let mut browser = Browser::launch().expect("a browser");
    let mut page = browser.open(&server.url("/")).expect("opened");
    is_live(&mut page);
    // Live fragments are put into the page by the script, which is where a name could become markup.
    server.feed.publish(view);
    page.wait_for("document.body.innerText.includes('onerror')").expect("shown");
    assert_eq!(
        page.eval("window.hurt === undefined && !document.querySelector('img[onerror]')").expect("a bool"),
        true
    );
    is_quiet(&mut page);
}
