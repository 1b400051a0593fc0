//! The DevTools protocol over two pipes: requests with a number, answers with the same one, events between them.
//!
//! Chromium reads from descriptor 3 and writes to descriptor 4 when it is told `--remote-debugging-pipe`; messages
//! are JSON and end with a zero byte. Named pipes and a shell give it those descriptors.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

/// An answer takes milliseconds; the first one waits for the browser to start, on a busy machine for seconds.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// A running browser and the two pipes to it.
pub(super) struct DevTools {
    child: Child,
    requests: File,
    messages: Receiver<Value>,
    next_id: u64,
    events: Vec<Value>,
    /// Pipes and profile; removed when the browser has ended.
    _folder: TempDir,
}

impl DevTools {
    /// Starts the program.
    pub(super) fn start(program: &Path, flags: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir().context("no folder for the browser")?;
        let (to, from) = (folder.path().join("to"), folder.path().join("from"));
        let made = Command::new("mkfifo").args([&to, &from]).status().context("cannot run mkfifo")?;
        ensure!(made.success(), "mkfifo ended with {made}");
        let child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<to 4>from", "sh"])
            .arg(program)
            .args(flags)
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the browser")?;
        // In the order of the shell: opening an end of a named pipe waits for the other end.
        let requests = OpenOptions::new().write(true).open(&to).context("cannot write to the browser")?;
        let answers = File::open(&from).context("cannot read from the browser")?;
        let (send, messages) = channel();
        thread::spawn(move || {
            for message in BufReader::new(answers).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { return };
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, requests, messages, next_id: 1, events: Vec::new(), _folder: folder })
    }

    /// Calls a method and waits for its answer; events that come meanwhile are kept.
    pub(super) fn call(&mut self, method: &str, params: Value, session: Option<&str>) -> Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        let mut request = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            request["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&request)?;
        bytes.push(0);
        self.requests.write_all(&bytes).with_context(|| format!("the browser is gone before {method}"))?;
        let deadline = Instant::now() + ANSWER_TIME_MAX;
        loop {
            let mut message = self.receive(deadline).with_context(|| format!("no answer to {method}"))?;
            if message["id"] != json!(id) {
                self.events.push(message);
            } else if message["error"].is_null() {
                return Ok(message["result"].take());
            } else {
                bail!("{method}: {}", message["error"]["message"]);
            }
        }
    }

    /// Takes the events of a session that came so far.
    pub(super) fn take_events(&mut self, session: &str) -> Vec<Value> {
        self.events.extend(self.messages.try_iter());
        let (taken, kept) = self.events.drain(..).partition(|event| event["sessionId"] == json!(session));
        self.events = kept;
        taken
    }

    fn receive(&mut self, deadline: Instant) -> Result<Value> {
        match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(message) => Ok(message),
            Err(RecvTimeoutError::Timeout) => bail!("waited for {ANSWER_TIME_MAX:?}"),
            Err(RecvTimeoutError::Disconnected) => bail!("the browser has ended"),
        }
    }
}

impl Drop for DevTools {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.call("Browser.close", json!({}), None);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
