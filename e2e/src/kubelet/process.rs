//! A process of a container: a supervisor of ours outside, the command inside, and signals to the command.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const SUPERVISE: &str = include_str!("supervise.sh");
/// What our scripts say in front of the process that they become.
const RUNNING: &str = "running as ";
/// How long after its end a process may be heard: what it started may outlive it on loopback.
const ECHO: Duration = Duration::from_secs(1);

/// A command that runs under a supervisor. Both die with the thread that started them, and with this value.
pub(super) struct Process {
    supervisor: Child,
    /// The command itself, as the host numbers it.
    pid: u32,
    /// Writes the log.
    listens: JoinHandle<()>,
}

impl Process {
    /// Starts a command of ours that says who it is when all is set up, within what other commands make of it. What it says from
    /// then on goes to a log.
    ///
    /// # Errors
    ///
    /// When it ends before that: what it complained of.
    pub(super) async fn start(within: &[String], command: &[String], log: &Path) -> Result<Self> {
        let log = File::options().create(true).append(true).open(log).context("cannot open a log")?;
        let mut supervisor = dying_with_us();
        supervisor
            .args(within)
            .args(["sh", "-c", SUPERVISE, "supervise"])
            .args(["setpriv", "--pdeathsig=KILL", "setsid"])
            .args(command);
        let mut supervisor = heard(supervisor)?;
        let mut says = BufReader::new(supervisor.stdout.take().context("was piped")?);
        let mut line = String::new();
        says.read_line(&mut line).await.context("cannot read what a supervisor says")?;
        match line.trim().strip_prefix(RUNNING).and_then(|pid| pid.parse().ok()) {
            Some(pid) => Ok(Self { supervisor, pid, listens: tokio::spawn(listen(says, log)) }),
            None => bail!("{}", complaint(&mut supervisor).await),
        }
    }

    /// The command itself, as the host numbers it.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for its end: the exit code, or 128 and the signal that ended it.
    pub(super) async fn wait(&mut self) -> i32 {
        let status = self.supervisor.wait().await;
        if !self.listens.is_finished() {
            // What it said last is in the log before its end is told.
            let _ = timeout(ECHO, &mut self.listens).await;
        }
        status.ok().and_then(|status| status.code()).unwrap_or(137)
    }

    /// Asks the command to end. One that has no handler for it and is the first of its namespace does not hear it.
    pub(super) async fn terminate(&self) {
        kill("-TERM", i64::from(self.pid)).await;
    }

    /// Ends the command and all that it started.
    pub(super) async fn kill(&self) {
        kill("-KILL", -i64::from(self.pid)).await;
    }
}

/// Writes down what a process says. Through a pipe, as containers have it: a file could be cut short by its own writer.
async fn listen(mut says: BufReader<ChildStdout>, mut log: File) {
    let mut buffer = vec![0; 8192];
    while let Ok(length @ 1..) = says.read(&mut buffer).await {
        if log.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}

/// Runs a command to its end.
///
/// # Errors
///
/// What it said when it failed, or that it took too long.
pub(super) async fn run(words: &[String], timeout: Duration) -> Result<(), String> {
    let seconds = timeout.as_secs_f64();
    let running = dying_with_us()
        .args(["timeout", "--signal=KILL", &format!("{seconds:.3}")])
        .args(words)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = running.await.map_err(|error| error.to_string())?;
    match output.status.code() {
        Some(0) => Ok(()),
        // `timeout` ends itself by the signal too.
        None | Some(137) => Err(format!("no end within {seconds} s")),
        Some(code) => {
            let said = [output.stdout, output.stderr].concat();
            Err(format!("exit code {code}: {}", String::from_utf8_lossy(&said).trim()))
        }
    }
}

/// The front of every command of ours: killed when the thread that starts it ends, however that comes about.
pub(super) fn dying_with_us() -> Command {
    let mut command = Command::new("setpriv");
    command.arg("--pdeathsig=KILL");
    command
}

/// Starts a command that listens to nobody and is listened to, and that goes when it is dropped.
pub(super) fn heard(mut command: Command) -> Result<Child> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("cannot run setpriv: install the package `util-linux`")
}

/// What a process said before it ended.
pub(super) async fn complaint(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        // What cannot be read is not said.
        let _ = stderr.read_to_string(&mut text).await;
    }
    let _ = child.wait().await;
    text.trim().to_owned()
}

async fn kill(signal: &str, pid: i64) {
    // It may be gone already.
    let _ = Command::new("kill").args([signal, "--", &pid.to_string()]).stderr(Stdio::null()).status().await;
}
