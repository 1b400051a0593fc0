//! `ballast run`: the runner, and what shows what it does: log lines, and the page.

mod faces;

use std::net::SocketAddr;

use ballast_live::kubernetes::{Connection, Place};
use ballast_live::runner::{Options, Runner};
use clap::ValueEnum;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::cli::{Outcome, Result};
use crate::console::{self, Feed};
use crate::present::{Doing, Failure, Screen};

use faces::Faces;

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Runs until SIGTERM or Ctrl-C.
///
/// # Errors
///
/// When there is no cluster to talk to, or the address cannot be listened on.
pub fn run(
    place: &Place,
    options: Options,
    listen: SocketAddr,
    format: LogFormat,
    screen: &mut Screen,
) -> Result {
    log_to_stderr(format);
    ballast_live::install_crypto();
    let runtime = Runtime::new().doing(|| "cannot start the runtime")?;
    let outcome = runtime.block_on(go(place, options, listen, screen));
    // Readers of the page's events would hold it open.
    runtime.shutdown_background();
    outcome
}

async fn go(place: &Place, mut options: Options, listen: SocketAddr, screen: &mut Screen) -> Result {
    let connection: Connection = place.connect().await.map_err(|error| {
        let hint = error.hint();
        Failure::from(anyhow::Error::from(error).context("cannot connect to the cluster")).hint(hint)
    })?;
    if options.namespace.is_empty() {
        options.namespace.clone_from(&connection.namespace);
    }
    let listener = TcpListener::bind(listen).await.doing(|| format!("cannot listen on {listen}"))?;
    let address = listener.local_addr().doing(|| "cannot tell the page's address")?;
    let stop = stop_on_signals()?;
    let feed = Feed::new();
    tracing::info!(server = %connection.server, namespace = %options.namespace, identity = %options.identity, "watching");
    screen.line(format!("http://{address}/"))?;
    screen.finish()?;
    let server = tokio::spawn(console::serve(listener, feed.clone()));
    let ran = Runner::start(connection, options, Faces::new(feed)).run(stop).await;
    server.abort();
    ran?;
    Ok(Outcome::Done)
}

/// Both ways of being told to stop.
fn stop_on_signals() -> Result<CancellationToken> {
    let stop = CancellationToken::new();
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let mut signals = signal(kind).doing(|| "cannot listen for signals")?;
        let stop = stop.clone();
        tokio::spawn(async move {
            signals.recv().await;
            stop.cancel();
        });
    }
    Ok(stop)
}

fn log_to_stderr(format: LogFormat) {
    let filter =
        EnvFilter::try_from_env("BALLAST_LOG").unwrap_or_else(|_| EnvFilter::new("info,kube_client=error"));
    // As for all that is written to stderr: --color, NO_COLOR, and whether it is a terminal.
    let colours = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .with_target(false);
    // A second call in one process is one of a test; the first holds.
    let _ = match format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
