//! `ballast run`: the runner, and what shows what it does: log lines, the page, metrics and health.

mod faces;
mod meter;
mod recording;

use std::net::SocketAddr;

use axum::Router;
use ballast_live::kubernetes::{ConnectError, Connection, Place};
use ballast_live::runner::{Options, Runner};
use clap::ValueEnum;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::cli::{Outcome, Result};
use crate::console::{self, Feed};
use crate::present::{Doing, Failure, Screen};
use crate::serve::{self, Health, Metrics};

use faces::Faces;
use meter::Meter;
pub use recording::Record;
use recording::Recording;

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Where it is listened.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// For the page.
    pub page: SocketAddr,
    /// For metrics and health; else beside the page.
    pub metrics: Option<SocketAddr>,
}

/// Runs until SIGTERM or Ctrl-C.
///
/// # Errors
///
/// When there is no cluster to talk to, or the address cannot be listened on.
pub fn run(
    place: &Place,
    options: Options,
    addresses: Addresses,
    record: Option<Record>,
    format: LogFormat,
    screen: &mut Screen,
) -> Result {
    log_to_stderr(format);
    ballast_live::install_crypto();
    let runtime = Runtime::new().doing(|| "cannot start the runtime")?;
    let outcome = runtime.block_on(go(place, options, addresses, record, screen));
    // Readers of the page's events would hold it open.
    runtime.shutdown_background();
    outcome
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.doing(|| format!("cannot listen on {address}"))
}

async fn go(
    place: &Place,
    mut options: Options,
    addresses: Addresses,
    record: Option<Record>,
    screen: &mut Screen,
) -> Result {
    let connection: Connection = place.connect().await.map_err(not_connected)?;
    if options.namespace.is_empty() {
        options.namespace.clone_from(&connection.namespace);
    }
    let page = bind(addresses.page).await?;
    let address = page.local_addr().doing(|| "cannot tell the page's address")?;
    let apart = match addresses.metrics {
        Some(address) => Some(bind(address).await?),
        None => None,
    };
    let stop = stop_on_signals()?;
    let feed = Feed::new();
    tracing::info!(server = %connection.server, namespace = %options.namespace, identity = %options.identity, "watching");
    screen.line(format!("http://{address}/"))?;
    screen.finish()?;
    let tally = connection.tally.clone();
    let (health, metrics) = (Health::new(tally.clone()), Metrics::new());
    let served = serve::router(health.clone(), metrics.clone());
    let shown = feed.clone();
    let servers = match apart {
        None => vec![tokio::spawn(console::serve(page, feed, served))],
        Some(apart) => vec![
            tokio::spawn(console::serve(page, feed, Router::new())),
            tokio::spawn(async move { axum::serve(apart, served).await }),
        ],
    };
    let mut over = stop.child_token();
    let mut recording = record.as_ref().map(|record| Recording::begin(record, over.clone())).transpose()?;
    let ran = loop {
        let meter = Meter::new(metrics.clone(), health.clone(), tally.clone());
        let faces = Faces::new(shown.clone(), meter, recording);
        let ran = Runner::start(connection.clone(), options.clone(), faces).run(over).await;
        if ran.is_err() || stop.is_cancelled() {
            break ran.map_err(Failure::from);
        }
        tracing::info!("a new segment of the record: begins anew with what is stored");
        over = stop.child_token();
        recording = record.as_ref().map(|record| Recording::again(record, over.clone()));
    };
    servers.iter().for_each(JoinHandle::abort);
    ran?;
    Ok(Outcome::Done)
}

/// There is no cluster to talk to.
pub(crate) fn not_connected(error: ConnectError) -> Failure {
    let hint = error.hint();
    Failure::from(anyhow::Error::from(error).context("cannot connect to the cluster")).hint(hint)
}

/// Both ways of being told to stop.
pub(crate) fn stop_on_signals() -> Result<CancellationToken> {
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
