//! The browser itself, on pages of a line: what later tests rely on when they look at ours.

use ballast_e2e::browser::Browser;

fn page(body: &str) -> String {
    let escaped: String = body.bytes().map(|byte| format!("%{byte:02x}")).collect();
    format!("data:text/html;charset=utf-8,{escaped}")
}

#[test]
fn a_click_reaches_the_page_and_its_text_is_seen() {
    let mut browser = Browser::launch().expect("a browser");
    let body =
        "<h1>before</h1><button onclick=\"document.querySelector('h1').textContent='after'\">go</button>";
    let mut page = browser.open(&page(body)).expect("opened");
    assert_eq!(page.text("h1").expect("a heading"), "before");
    page.click("button").expect("clicked");
    page.wait_for("document.querySelector('h1').textContent === 'after'").expect("changed");
    assert_eq!(page.complaints().expect("asked"), Vec::<String>::new());
}

#[test]
fn keys_sizes_schemes_and_pictures_work() {
    let mut browser = Browser::launch().expect("a browser");
    let body = "<button onclick='window.pressed = true'>go</button>";
    let mut page = browser.open(&page(body)).expect("opened");
    page.press("Tab").expect("pressed");
    page.press("Enter").expect("pressed");
    page.wait_for("window.pressed").expect("the button had the focus");
    page.resize(400, 300).expect("resized");
    assert_eq!(page.eval("innerWidth").expect("a number"), 400);
    page.prefer_dark(true).expect("dark");
    assert_eq!(page.eval("matchMedia('(prefers-color-scheme: dark)').matches").expect("a bool"), true);

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.png");
    page.screenshot(&file).expect("taken");
    assert!(std::fs::read(&file).expect("written").starts_with(b"\x89PNG"));
}

#[test]
fn every_complaint_of_the_browser_is_kept() {
    let mut browser = Browser::launch().expect("a browser");
    let body = "<script>console.error('told'); setTimeout(() => { window.done = true; nothing.here(); })</script>\
        <img src='http://127.0.0.1:9/none.png'>";
    let mut page = browser.open(&page(body)).expect("opened");
    page.wait_for("window.done").expect("the script ran");
    let all = page.complaints().expect("asked").join("\n");
    for part in ["told", "nothing is not defined", "request: "] {
        assert!(all.contains(part), "{part} is not in {all}");
    }
}
