//! One tab: what a person can see and do, and what the browser complains of.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::devtools::DevTools;

/// How long a page may take to show what is waited for.
const SHOW_TIME_MAX: Duration = Duration::from_secs(20);
/// How often it is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the browser says to a question that it cannot answer because it goes to another page just then.
const CUT_OFF: [&str; 3] = [
    "Inspected target navigated or closed",
    "Execution context was destroyed",
    "Cannot find context with specified id",
];

/// A tab.
pub struct Page<'a> {
    devtools: &'a mut DevTools,
    session: String,
    complaints: Vec<String>,
}

impl<'a> Page<'a> {
    pub(super) fn open(devtools: &'a mut DevTools, session: String, url: &str) -> Result<Self> {
        let mut page = Self { devtools, session, complaints: Vec::new() };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"] {
            page.call(domain, json!({}))?;
        }
        // Keys reach only a page that has the focus, and there is no window to have it.
        page.call("Emulation.setFocusEmulationEnabled", json!({"enabled": true}))?;
        page.go(url)?;
        Ok(page)
    }

    /// Goes to another address and waits until it has loaded.
    ///
    /// # Errors
    ///
    /// When the address cannot be reached or the page does not load in time.
    pub fn go(&mut self, url: &str) -> Result<()> {
        let went = self.call("Page.navigate", json!({"url": url}))?;
        ensure!(went["errorText"].is_null(), "cannot open {url}: {}", went["errorText"]);
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")
    }

    /// The value of a JavaScript expression; a promise is awaited.
    ///
    /// # Errors
    ///
    /// When the expression throws.
    pub fn eval(&mut self, expression: &str) -> Result<Value> {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", params)?;
        let thrown = &answer["exceptionDetails"];
        ensure!(thrown.is_null(), "`{expression}` threw: {}", thrown["exception"]["description"]);
        Ok(answer["result"]["value"].take())
    }

    /// Waits until a JavaScript expression is true.
    ///
    /// # Errors
    ///
    /// When it throws, or is still not true after 20 seconds.
    pub fn wait_for(&mut self, expression: &str) -> Result<()> {
        let deadline = Instant::now() + SHOW_TIME_MAX;
        while !self.holds(expression)? {
            if Instant::now() > deadline {
                let seen = self.eval("document.body ? document.body.innerText : ''")?;
                bail!("still not so after {SHOW_TIME_MAX:?}: {expression}\nthe page shows:\n{seen}");
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Whether an expression is true now; while a page gives way to the next, nothing is.
    fn holds(&mut self, expression: &str) -> Result<bool> {
        match self.eval(&format!("Boolean({expression})")) {
            Err(error) if CUT_OFF.iter().any(|words| error.to_string().contains(words)) => Ok(false),
            seen => Ok(seen? == json!(true)),
        }
    }

    /// The text that a person sees in the first element that matches.
    ///
    /// # Errors
    ///
    /// When no element matches within 20 seconds.
    pub fn text(&mut self, selector: &str) -> Result<String> {
        let element = self.element(selector)?;
        let text = self.eval(&format!("{element}.innerText"))?;
        Ok(text.as_str().context("the element has no text")?.to_owned())
    }

    /// Clicks on the first element that matches, with the mouse, where it is on the screen.
    ///
    /// # Errors
    ///
    /// When no element matches within 20 seconds or it cannot be seen.
    pub fn click(&mut self, selector: &str) -> Result<()> {
        let element = self.element(selector)?;
        let place = self.eval(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect();
                return r.width && r.height ? [r.x + r.width / 2, r.y + r.height / 2] : null; }})()"
        ))?;
        ensure!(place.is_array(), "`{selector}` is there but cannot be seen");
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event)?;
        }
        Ok(())
    }

    /// Presses a key, such as `Tab` or `Enter`, on whatever has the focus.
    ///
    /// # Errors
    ///
    /// When the browser refuses.
    pub fn press(&mut self, key: &str) -> Result<()> {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            "Escape" => (27, ""),
            " " => (32, " "),
            _ => (0, key),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", event)?;
        }
        Ok(())
    }

    /// Asks for the dark or the light scheme, as the reader's system would.
    ///
    /// # Errors
    ///
    /// When the browser refuses.
    pub fn prefer_dark(&mut self, dark: bool) -> Result<()> {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features)?;
        Ok(())
    }

    /// Gives the page another size, in CSS pixels.
    ///
    /// # Errors
    ///
    /// When the browser refuses.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<()> {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        Ok(())
    }

    /// Saves the whole page as a PNG.
    ///
    /// # Errors
    ///
    /// When the picture cannot be taken or written.
    pub fn screenshot(&mut self, file: &Path) -> Result<()> {
        self.picture(file, true)
    }

    /// Saves what fits on the screen as a PNG.
    ///
    /// # Errors
    ///
    /// When the picture cannot be taken or written.
    pub fn screenshot_of_screen(&mut self, file: &Path) -> Result<()> {
        self.picture(file, false)
    }

    fn picture(&mut self, file: &Path, whole: bool) -> Result<()> {
        let taken = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": whole}))?;
        let bytes = decode(taken["data"].as_str().context("no picture")?)?;
        std::fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
    }

    /// What the browser complained of since the last time: exceptions, errors in the console, failed requests.
    ///
    /// # Errors
    ///
    /// When the browser is gone.
    pub fn complaints(&mut self) -> Result<Vec<String>> {
        // A round trip, so that what happened before it has been told.
        self.eval("null")?;
        self.listen();
        Ok(std::mem::take(&mut self.complaints))
    }

    /// A JavaScript expression for the first element that matches, once there is one.
    fn element(&mut self, selector: &str) -> Result<String> {
        let element = format!("document.querySelector({})", json!(selector));
        self.wait_for(&element)?;
        Ok(element)
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let answer = self.devtools.call(method, params, Some(&self.session));
        self.listen();
        answer
    }

    fn listen(&mut self) {
        let events = self.devtools.take_events(&self.session);
        self.complaints.extend(events.iter().filter_map(complaint));
    }
}

/// What an event complains of, if it does.
fn complaint(event: &Value) -> Option<String> {
    let params = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => {
            Some(format!("exception: {}", params["exceptionDetails"]["exception"]["description"]))
        }
        "Runtime.consoleAPICalled" if params["type"] == "error" => {
            Some(format!("console: {}", params["args"]))
        }
        "Log.entryAdded" if params["entry"]["level"] == "error" => {
            Some(format!("log: {} {}", params["entry"]["text"], params["entry"]["url"]))
        }
        // A page that is left cancels what it was loading; that is no fault.
        "Network.loadingFailed" if params["canceled"] != true => {
            Some(format!("request: {}", params["errorText"]))
        }
        _ => None,
    }
}

/// Base64 as the protocol writes it: the ordinary alphabet, padded.
fn decode(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for letter in text.bytes().filter(|&letter| letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => bail!("not base64: {letter}"),
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_base64() {
        assert_eq!(decode("").expect("empty"), b"");
        assert_eq!(decode("Zm9vYmE=").expect("padded"), b"fooba");
        assert_eq!(decode("/+8A").expect("all letters"), [0xff, 0xef, 0]);
        assert!(decode("a b").is_err());
    }

    #[test]
    fn tells_complaints_from_other_events() {
        let canceled =
            json!({"method": "Network.loadingFailed", "params": {"canceled": true, "errorText": "x"}});
        assert_eq!(complaint(&canceled), None);
        let failed =
            json!({"method": "Network.loadingFailed", "params": {"canceled": false, "errorText": "x"}});
        assert_eq!(complaint(&failed).as_deref(), Some("request: \"x\""));
        assert_eq!(complaint(&json!({"method": "Page.loadEventFired"})), None);
    }
}
