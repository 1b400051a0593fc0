//! What the containers of a pod share: the address, and where the machine allows it the namespaces.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use super::addresses::Address;
use super::network::Network;
use super::process::{self, Process};

const SANDBOX: &str = include_str!("sandbox.sh");
const CONTAINER: &str = include_str!("container.sh");
const LOOPBACK: &str = include_str!("loopback.sh");

/// The sandbox of one pod.
pub(super) struct Sandbox {
    network: Arc<Network>,
    address: Address,
    folder: PathBuf,
    /// Holds the namespaces; none on loopback.
    holder: Option<Child>,
}

/// A file or folder of the host that a container sees at a place of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// On the host.
    pub(super) source: PathBuf,
    /// In the container.
    pub(super) target: String,
    /// It can be written.
    pub(super) writable: bool,
}

/// How a container is started.
pub(super) struct Start<'a> {
    /// A name for what it writes, another one at each start.
    pub(super) layer: &'a str,
    /// What it sees beside the file system of the host.
    pub(super) mounts: &'a [Mount],
    /// Where what it says goes.
    pub(super) log: &'a Path,
    /// Nothing but mounts can be written.
    pub(super) read_only: bool,
    /// What it runs.
    pub(super) command: &'a [String],
}

impl Sandbox {
    /// Makes the sandbox of a pod with this folder and host name.
    pub(super) async fn make(network: &Arc<Network>, folder: &Path, host_name: &str) -> Result<Self> {
        let address = network.addresses().lend()?;
        let mut sandbox = Self { network: network.clone(), address, folder: folder.to_owned(), holder: None };
        if let Network::Namespaces(bridge) = &**network {
            let holder = sandbox.holder.insert(hold(folder, host_name).await?);
            let process = holder.id().context("the sandbox ended at once")?;
            bridge.tie(process, &sandbox.address)?;
        }
        Ok(sandbox)
    }

    /// The address of the pod.
    pub(super) fn ip(&self) -> Ipv4Addr {
        self.address.ip()
    }

    /// A path as the sandbox sees it: some folders are only there.
    pub(super) fn inside(&self, path: &Path) -> PathBuf {
        match self.holder_id() {
            Some(process) => {
                let relative = path.strip_prefix("/").unwrap_or(path);
                PathBuf::from(format!("/proc/{process}")).join("root").join(relative)
            }
            None => path.to_owned(),
        }
    }

    /// Starts a container in it.
    pub(super) async fn start(&self, start: &Start<'_>) -> Result<Process> {
        let Some(holder) = self.holder_id() else {
            let ours = ["sh", "-c", LOOPBACK, "container"].map(str::to_owned);
            return Process::start(&[], &[&ours, start.command].concat(), start.log).await;
        };
        let table = self.folder.join(format!("{}.mounts", start.layer));
        std::fs::write(&table, table_of(start.mounts)).context("cannot write a table of mounts")?;
        let within = format!(
            "nsenter --target={holder} --net --uts --ipc --mount -- unshare --mount --pid --propagation=private --"
        );
        let within: Vec<String> = within.split(' ').map(str::to_owned).collect();
        let access = if start.read_only { "ro" } else { "rw" };
        let (folder, table) = (self.folder.display().to_string(), table.display().to_string());
        let ours = ["sh", "-c", CONTAINER, "container", &folder, start.layer, &table, access];
        Process::start(&within, &[&ours.map(str::to_owned), start.command].concat(), start.log).await
    }

    /// Forgets what a container wrote: it is not started again with this layer.
    pub(super) fn forget(&self, layer: &str) {
        // It goes with the sandbox at the latest.
        let _ = std::fs::remove_dir_all(self.inside(&self.folder.join("layers").join(layer)));
    }

    /// Runs a command beside a container's own.
    ///
    /// # Errors
    ///
    /// What it said when it failed, or that it took too long.
    pub(super) async fn exec(&self, pid: u32, command: &[String], timeout: Duration) -> Result<(), String> {
        match self.holder {
            Some(_) => {
                let enter = format!("nsenter --target={pid} --net --uts --ipc --mount --pid --");
                let enter: Vec<String> = enter.split(' ').map(str::to_owned).collect();
                process::run(&[&enter, command].concat(), timeout).await
            }
            None => process::run(command, timeout).await,
        }
    }

    /// Removes it, and whatever still ran in it.
    pub(super) async fn remove(mut self) {
        if let Network::Namespaces(bridge) = &*self.network {
            bridge.cut(&self.address);
        }
        if let Some(holder) = &mut self.holder {
            // It may be gone already.
            let _ = holder.kill().await;
        }
    }

    fn holder_id(&self) -> Option<u32> {
        self.holder.as_ref().and_then(Child::id)
    }
}

async fn hold(folder: &Path, host_name: &str) -> Result<Child> {
    let mut holder = process::dying_with_us();
    holder
        .args(["unshare", "--net", "--uts", "--ipc", "--mount", "--propagation=private", "--"])
        .args(["sh", "-c", SANDBOX, "sandbox"])
        .arg(folder)
        .arg(host_name);
    let mut holder = process::heard(holder)?;
    let mut told = BufReader::new(holder.stdout.take().context("was piped")?).lines();
    match told.next_line().await.context("cannot read what a sandbox says")? {
        Some(line) if line == "ready" => Ok(holder),
        _ => bail!("no sandbox: {}", process::complaint(&mut holder).await),
    }
}

/// A line a mount, in the order in which they are made.
fn table_of(mounts: &[Mount]) -> String {
    let line = |mount: &Mount| {
        let mode = if mount.writable { "rw" } else { "ro" };
        format!("{}\t{}\t{mode}\n", mount.source.display(), mount.target)
    };
    mounts.iter().map(line).collect()
}
