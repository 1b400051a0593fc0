//! A program that runs beside the test, ended with the value that holds it, its log in a file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// How long a program may take to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(10);
/// Lines of a log that are shown when a program ends too early.
const LINES: usize = 15;

/// A program that runs.
pub struct Daemon {
    child: Mutex<Child>,
    log: PathBuf,
}

impl Daemon {
    /// Starts a program; what it says goes to `NAME.log` in a folder.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(name: &str, mut command: Command, folder: &Path) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let open = || File::options().create(true).append(true).open(&log).context("cannot open a log");
        let child = command
            .stdin(Stdio::null())
            .stdout(open()?)
            .stderr(open()?)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        Ok(Self { child: Mutex::new(child), log })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child().id()
    }

    /// The end of its log, if it has ended.
    pub fn ended(&self) -> Option<String> {
        match self.child().try_wait() {
            Ok(None) => None,
            _ => Some(self.last_lines()),
        }
    }

    /// Everything that it said.
    ///
    /// # Errors
    ///
    /// When its log cannot be read.
    pub fn log(&self) -> Result<String> {
        std::fs::read_to_string(&self.log).context("cannot read a log")
    }

    /// What it said last.
    pub fn last_lines(&self) -> String {
        let text = self.log().unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    /// Sends it a signal, such as `STOP`.
    ///
    /// # Errors
    ///
    /// When it cannot be sent.
    pub fn signal(&self, signal: &str) -> Result<()> {
        let id = self.id().to_string();
        Command::new("kill")
            .args([&format!("-{signal}"), &id])
            .stderr(Stdio::null())
            .status()
            .context("cannot run kill")?;
        Ok(())
    }

    fn child(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.signal("TERM");
        let until = Instant::now() + GRACE;
        while Instant::now() < until {
            if !matches!(self.child().try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child().kill();
        let _ = self.child().wait();
    }
}
