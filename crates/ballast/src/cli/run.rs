//! `ballast run`: against a real cluster, until it is told to stop.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ballast_core::units::Span;
use ballast_live::kubernetes::{LeaseTimes, REQUEST_TIMEOUT};
use ballast_live::runner::Options;

use super::Result;
use super::sight::Cluster;
use crate::present::{Failure, Screen};
use crate::run::{self, Addresses, LogFormat, Record};
use crate::segments::Folder;

/// Watch a cluster, plan on every change, and act where the ClusterPolicy says `Enforce`.
///
/// In mode `Observe`, the default, nothing at all is written: it shows what it sees and would do. The first line is the address
/// of a page with the same. SIGTERM and Ctrl-C end it in good order: what was begun is in the cluster, and goes on with the
/// next process.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    cluster: Cluster,
    /// Where the page is served [default: 127.0.0.1 and a free port]
    #[arg(long, value_name = "ADDR", env = "BALLAST_LISTEN", value_parser = super::demo::address)]
    listen: Option<SocketAddr>,
    /// Where metrics and health are served [default: with the page]
    #[arg(long, value_name = "ADDR", env = "BALLAST_METRICS", value_parser = super::demo::address)]
    metrics: Option<SocketAddr>,
    /// The namespace that Ballast lives in: its lease and its memory [default: that of the context or pod]
    #[arg(long, value_name = "NAME", env = "BALLAST_NAMESPACE")]
    namespace: Option<String>,
    /// Who this process is among several [default: the name of the pod or machine]
    #[arg(long, value_name = "NAME", env = "BALLAST_IDENTITY")]
    identity: Option<String>,
    /// How long the lease holds after it was renewed
    #[arg(long, value_name = "T", default_value = "15s")]
    lease_duration: Span,
    /// How often the lease is renewed or looked at
    #[arg(long, value_name = "T", default_value = "2s")]
    lease_retry: Span,
    /// How often a provider is asked for its instances
    #[arg(long, value_name = "T", default_value = "20s")]
    instances_every: Span,
    /// How long requests that are out are waited for in the end
    #[arg(long, value_name = "T", default_value = "20s")]
    grace: Span,
    /// Keep a record of everything that it sees, decides and does in this folder, for `ballast replay`
    #[arg(long, value_name = "DIR", env = "BALLAST_RECORD")]
    record: Option<PathBuf>,
    /// MiB after which a segment of the record is full
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    record_size: u64,
    /// A segment lasts no shorter, full or not: to begin another, it gives the lease back and begins anew as after a restart
    #[arg(long, value_name = "T", default_value = "10m")]
    record_least: Span,
    /// Segments of the record that are kept
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    record_keep: u64,
    /// How log lines are written
    #[arg(long, value_enum, default_value = "text")]
    log_format: LogFormat,
}

const EXAMPLES: &str = "\
Examples:
  ballast run
  ballast run --context staging --listen 127.0.0.1:8080
  ballast run --metrics 0.0.0.0:9464
  ballast run --namespace ballast --log-format json
  ballast run --record records/";

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let (duration, retry) = (length(args.lease_duration), length(args.lease_retry));
    let least = REQUEST_TIMEOUT + retry * 3;
    if duration < least {
        return Err(Failure::new(format!("--lease-duration {} is too short", args.lease_duration)).hint(format!(
            "a request is sent only while the lease outlasts its answer: with --lease-retry {} write {}s or more",
            args.lease_retry,
            least.as_secs(),
        )));
    }
    let free = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let options = Options {
        namespace: args.namespace.clone().unwrap_or_default(),
        identity: args.identity.clone().unwrap_or_else(own_name),
        lease: LeaseTimes { duration, retry },
        instances_every: length(args.instances_every),
        grace: length(args.grace),
        only_watches: false,
    };
    let addresses = Addresses { page: args.listen.unwrap_or(free), metrics: args.metrics };
    let record = args.record.clone().map(|path| Record {
        folder: Folder { path, size: args.record_size, keep: args.record_keep },
        least: length(args.record_least),
    });
    run::run(&args.cluster.place(), options, addresses, record, args.log_format, screen)
}

fn length(span: Span) -> Duration {
    Duration::from_millis(span.as_millis().unsigned_abs())
}

/// In a pod its name is the name of the machine; elsewhere two processes of one machine must differ.
fn own_name() -> String {
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}", machine.trim(), std::process::id())
}
