//! The life of one container: started, probed, stopped, and started again as its restart policy says.

use std::fs::Permissions;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Container;
use tokio::time::{Instant, sleep};

use super::environment::Environment;
use super::handlers::Handler;
use super::orders::Orders;
use super::pod::Life;
use super::probes::{self, Unhealthy};
use super::process::Process;
use super::sandbox::{Mount, Start};
use super::view::{Ended, Seen, State};
use super::volumes;

/// Before the second start after a failure; a tenth of a kubelet's, for tests do not wait for minutes. The first comes at once.
const BACK_OFF_FIRST: Duration = Duration::from_secs(1);
const BACK_OFF_LONGEST: Duration = Duration::from_secs(30);
/// What could not be started, such as for want of a Secret, is tried again after this.
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// No hook at the start may take longer.
const POST_START_LONGEST: Duration = Duration::from_secs(60);
/// What is told of what a container leaves to be said, in bytes.
const MESSAGE_MAX: usize = 4096;

/// Whether a container is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restart {
    /// However it ended.
    Always,
    /// When it failed.
    OnFailure,
    /// Never.
    Never,
}

impl Restart {
    /// As a pod names it.
    pub(super) fn of(policy: Option<&str>) -> Self {
        match policy {
            Some("Never") => Self::Never,
            Some("OnFailure") => Self::OnFailure,
            _ => Self::Always,
        }
    }

    fn again(self, code: i32) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => code != 0,
            Self::Never => false,
        }
    }
}

/// A container that runs.
pub(super) struct Running<'a> {
    life: &'a Life,
    spec: &'a Container,
    pid: u32,
    environment: &'a Environment,
}

/// Runs a container until it is over: it ended and is not started again, or was told to end.
pub(super) async fn run(life: &Life, spec: &Container, restart: Restart, mut orders: Orders) {
    orders.turn().await;
    let mut ends = 0;
    while orders.by().is_none() {
        let wait = match start(life, spec, ends).await {
            Ok((process, environment)) => {
                let ended = live(life, spec, process, &environment, &mut orders).await;
                if let Ok(sandbox) = life.sandbox() {
                    sandbox.forget(&layer(spec, ends));
                }
                let again = orders.by().is_none() && restart.again(ended.code);
                let wait = back_off(ends);
                ends += 1;
                life.see(&spec.name, |seen| told_ended(seen, ended, again.then_some(wait)));
                if !again {
                    break;
                }
                wait
            }
            Err((reason, error)) => {
                life.see(&spec.name, |seen| seen.state = State::Waiting(reason, format!("{error:#}")));
                TRY_AGAIN
            }
        };
        tokio::select! {
            () = sleep(wait) => {}
            _ = orders.stop() => {}
        }
    }
    life.see(&spec.name, |seen| {
        seen.is_over = true;
        if let (State::Waiting(..), Some(last)) = (&seen.state, &seen.last) {
            seen.state = State::Ended(last.clone());
        }
    });
}

/// How long a container waits for its next start when it has ended so often before.
fn back_off(ends: u32) -> Duration {
    match ends.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => BACK_OFF_FIRST.saturating_mul(1 << doublings.min(10)).min(BACK_OFF_LONGEST),
    }
}

/// What a container writes in one of its starts has this name.
fn layer(spec: &Container, ends: u32) -> String {
    format!("{}-{ends}", spec.name)
}

fn told_ended(seen: &mut Seen, ended: Ended, next: Option<Duration>) {
    (seen.ready, seen.started) = (false, false);
    match next {
        None => seen.state = State::Ended(ended),
        Some(wait) => {
            seen.last = Some(ended);
            seen.state =
                State::Waiting("CrashLoopBackOff", format!("back-off {wait:?} restarting failed container"));
        }
    }
}

/// Starts a container that ended so often before.
///
/// # Errors
///
/// The reason, as a kubelet tells it, and what is the matter.
async fn start(
    life: &Life,
    spec: &Container,
    ends: u32,
) -> Result<(Process, Environment), (&'static str, anyhow::Error)> {
    let configured = life.environment(spec).await;
    let environment = configured.map_err(|error| ("CreateContainerConfigError", error))?;
    let started = start_in(life, spec, ends, &environment).await;
    let process = started.map_err(|error| ("CreateContainerError", error))?;
    life.see(&spec.name, |seen| {
        seen.restarts = i32::try_from(ends).unwrap_or(i32::MAX);
        seen.state = State::Running(Timestamp::now());
    });
    Ok((process, environment))
}

async fn start_in(life: &Life, spec: &Container, ends: u32, environment: &Environment) -> Result<Process> {
    let sandbox = life.sandbox()?;
    let mut mounts = life.files();
    mounts.extend(volumes::mounts(&life.folder, &life.spec, spec, environment, sandbox)?);
    let message = life.folder.join(format!("{}.message", spec.name));
    std::fs::write(&message, "").context("cannot write the folder of a pod")?;
    // Whoever the container is, it may leave something to be said.
    std::fs::set_permissions(&message, Permissions::from_mode(0o666)).context("cannot open a file to all")?;
    let target = spec.termination_message_path.clone().unwrap_or_else(|| "/dev/termination-log".to_owned());
    mounts.push(Mount { source: message, target, writable: true });
    let words = spec.command.iter().flatten().chain(spec.args.iter().flatten());
    let words: Vec<String> = words.map(|word| environment.expand(word)).collect();
    let start = Start {
        layer: &layer(spec, ends),
        mounts: &mounts,
        log: &life.log(&spec.name)?,
        read_only: environment.is_read_only(),
        command: &environment.command(&words),
    };
    sandbox.start(&start).await
}

/// From its start to its end, whoever brings that about.
async fn live(
    life: &Life,
    spec: &Container,
    mut process: Process,
    environment: &Environment,
    orders: &mut Orders,
) -> Ended {
    let since = Timestamp::now();
    let container = Running { life, spec, pid: process.pid(), environment };
    let mut why = String::new();
    let by = tokio::select! {
        _ = process.wait() => None,
        by = orders.stop() => Some(by),
        unhealthy = keep(spec, &container) => {
            why = format!("Container {} {}", spec.name, unhealthy.message);
            Some(Instant::now() + unhealthy.grace.unwrap_or_else(|| life.grace()))
        }
    };
    if let Some(by) = by {
        end(&container, &mut process, by, orders).await;
    }
    let code = process.wait().await;
    let message = [left_message(life, spec, code), why].concat();
    Ended { code, since, until: Timestamp::now(), message }
}

async fn keep(spec: &Container, container: &Running<'_>) -> Unhealthy {
    let hook = spec.lifecycle.as_ref().and_then(|lifecycle| lifecycle.post_start.as_ref());
    if let Some(handler) = hook.and_then(Handler::of_hook)
        && let Err(error) = handler.run(container, POST_START_LONGEST).await
    {
        return Unhealthy { message: format!("failed postStart hook: {error}"), grace: None };
    }
    probes::keep(spec, container).await
}

/// The hook before the end, SIGTERM, and when the time has come SIGKILL.
async fn end(container: &Running<'_>, process: &mut Process, by: Instant, orders: &mut Orders) {
    let hook = container.spec.lifecycle.as_ref().and_then(|lifecycle| lifecycle.pre_stop.as_ref());
    let gently = async {
        if let Some(handler) = hook.and_then(Handler::of_hook) {
            // One that fails holds up nothing.
            let _ = handler.run(container, by.saturating_duration_since(Instant::now())).await;
        }
        process.terminate().await;
        process.wait().await
    };
    let ended = tokio::select! {
        biased;
        () = orders.deadline(by) => None,
        code = gently => Some(code),
    };
    if ended.is_none() {
        process.kill().await;
    }
}

/// What it left to be said, or where it wants that, the end of its log.
fn left_message(life: &Life, spec: &Container, code: i32) -> String {
    let file = life.folder.join(format!("{}.message", spec.name));
    let mut bytes = std::fs::read(file).unwrap_or_default();
    let falls_back = spec.termination_message_policy.as_deref() == Some("FallbackToLogsOnError");
    if bytes.is_empty() && code != 0 && falls_back {
        bytes = life.log(&spec.name).ok().and_then(|log| std::fs::read(log).ok()).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(MESSAGE_MAX)..]).into_owned()
}

impl Running<'_> {
    /// Runs a command in the container.
    ///
    /// # Errors
    ///
    /// What it said when it failed, or that it took too long.
    pub(super) async fn exec(&self, command: &[String], within: Duration) -> Result<(), String> {
        let sandbox = self.life.sandbox().map_err(|error| error.to_string())?;
        sandbox.exec(self.pid, &self.environment.command(command), within).await
    }

    /// The address of its pod.
    pub(super) fn ip(&self) -> Ipv4Addr {
        self.life.ip()
    }

    /// The port that it calls so.
    pub(super) fn port(&self, name: &str) -> Option<i32> {
        let mut ports = self.spec.ports.iter().flatten();
        ports.find(|port| port.name.as_deref() == Some(name)).map(|port| port.container_port)
    }

    /// Asks for pages.
    pub(super) fn web(&self) -> &reqwest::Client {
        self.life.web()
    }

    /// It has started, and is ready if nothing else has to tell.
    pub(super) fn has_started(&self, ready: bool) {
        self.life.see(&self.spec.name, |seen| (seen.started, seen.ready) = (true, ready));
    }

    /// It can serve, or cannot.
    pub(super) fn is_ready(&self, ready: bool) {
        self.life.see(&self.spec.name, |seen| seen.ready = ready);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_restart_comes_at_once_and_later_ones_ever_later() {
        let waits: Vec<u64> = (0..8).map(|ends| back_off(ends).as_secs()).collect();
        assert_eq!(waits, [0, 1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn restart_policies() {
        for (policy, after_success, after_failure) in
            [("Always", true, true), ("OnFailure", false, true), ("Never", false, false)]
        {
            let restart = Restart::of(Some(policy));
            assert_eq!((restart.again(0), restart.again(1)), (after_success, after_failure), "{policy}");
        }
    }
}
