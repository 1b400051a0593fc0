//! The demo as a newcomer meets it: the real program and a real browser, from the first line to Ctrl-C.

use ballast_e2e::browser::{Browser, Page};
use ballast_e2e::program::Program;

/// Fast enough that the morning's story is told in seconds, and bounded should a test be lost.
const DEMO: &[&str] = &["demo", "--speed", "120", "--for", "3m"];

fn shows(page: &mut Page<'_>, selector: &str, words: &str) {
    let there = format!("document.querySelector({selector:?})?.innerText.includes({words:?})");
    page.wait_for(&there).unwrap_or_else(|error| panic!("{words} in {selector}: {error:#}"));
}

#[test]
fn the_demo_shows_a_cluster_keeps_it_fresh_and_explains_what_waits() {
    let mut demo = Program::start(DEMO).expect("the demo");
    let address = demo.line().expect("a first line");
    assert!(address.starts_with("http://127.0.0.1:"), "the first line is the address: {address}");

    let mut browser = Browser::launch().expect("a browser");
    let mut page = browser.open(&address).expect("opened");
    page.wait_for("document.querySelector('#connection.live')").expect("live");
    for pool in ["gpu", "gpu-spot", "plain"] {
        shows(&mut page, "#pools", pool);
    }
    page.wait_for("document.querySelectorAll('#pools a.cell.ready').length >= 6").expect("nodes");
    page.wait_for("document.querySelector('#pools a.cell.devices rect')").expect("GPUs one by one");
    shows(&mut page, "#plan", "Planned now");

    // The clock of the cluster goes on, and the page was never loaded anew.
    page.eval("window.same = true; window.then = document.querySelector('#head time').dateTime")
        .expect("noted");
    page.wait_for("document.querySelector('#head time').dateTime > window.then")
        .expect("it goes on by itself");
    page.wait_for("document.querySelector('#lately .sign.up')").expect("a decision to grow");
    page.wait_for("document.querySelector('#charts .line')").expect("a chart");
    assert_eq!(page.eval("window.same").expect("a value"), true, "the page was loaded anew");

    // One click from a pod that waits to its reason.
    page.click("#pending a.row-link[href^='/pending/research/llm-eval']").expect("clicked");
    page.wait_for("location.pathname.startsWith('/pending/research/llm-eval')").expect("its page");
    shows(&mut page, "h1", "Why research/llm-eval");
    shows(&mut page, ".verdict-words", "No node of any pool could ever serve it");
    for words in ["What was tried", "gpu-spot", "plain"] {
        shows(&mut page, "main", words);
    }
    assert_eq!(page.complaints().expect("asked"), Vec::<String>::new());

    let ended = demo.interrupt().expect("interrupted");
    assert_eq!(ended.code(), Some(130), "{ended}");
}

#[test]
fn a_log_gets_lines_without_escapes() {
    let mut demo = Program::start(DEMO).expect("the demo");
    let address = demo.line().expect("a first line");
    let status = demo.line().expect("a second line");
    assert!(address.starts_with("http://") && status.contains("nodes: "), "{address}\n{status}");
    assert!(!status.contains('\u{1b}'), "{status}");
    assert_eq!(demo.interrupt().expect("interrupted").code(), Some(130));
}
